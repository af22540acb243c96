// `cargo xtask interop`: our extension against servers of others. A table of what was tried, and 1 when a try failed.
//
// Behind LiteLLM's proxy stands the scripted model, so every request went through an independent reader of the wire, and
// what came out is checked again as a strict provider would.
import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../lib/chromium.mjs";
import { expect } from "../lib/expect.mjs";
import { Panelot } from "../lib/panelot.mjs";
import { scenario } from "../lib/testkit.mjs";
import { View } from "../lib/view.mjs";
import { litellm, llama } from "./servers.mjs";

const FOLDER = join(ROOT, "target", "interop");
const { PANELOT_VENV: environment, PANELOT_GGUF: gguf } = process.env;
const WORDS = "The mock's words: naïve café, 你好, and an emoji 🦀.";
// Not Responses: LiteLLM hands those on to an upstream as they are, so that nobody else would read them.
const WIRES = [
  { wire: "openai", says: "chat completions", path: "/v1" },
  { wire: "anthropic", says: "messages", path: "" },
];
const CALL = { kind: "toolCall", name: "tabs_list", arguments: {} };
/** A small model reads 3,300 tokens of prompt first: a minute or two on two free cores, a quarter of an hour on busy ones. */
const SLOW = { timeout: 30 * 60_000 };

const rows = [];
let panelot;

/** One line of the table; what fails stops nothing else. */
async function row(server, wire, what, run) {
  const started = Date.now();
  const told = { server, wire, what, result: "passed", remark: "" };
  try {
    told.remark = (await run()) ?? "";
  } catch (error) {
    told.result = "FAILED";
    told.remark = `${error.message ?? error}`.split("\n")[0].slice(0, 300);
    await panelot.report({ passed: false, name: `interop ${server} ${wire} ${what}` });
  }
  told.seconds = ((Date.now() - started) / 1000).toFixed(1);
  rows.push(told);
  console.log(`${told.result}: ${server}, ${wire}: ${what} (${told.seconds} s) ${told.remark}`);
}

async function connect(wire, baseUrl, model, key) {
  await panelot.settings(
    { type: "putConnection", id: "interop", name: "Interop", wire, baseUrl, models: [model], key },
    { type: "setDefaultModel", model: { connectionId: "interop", modelId: model } },
  );
}

async function chat(run) {
  const view = new View(await panelot.openPanel());
  try {
    await view.button("new-chat").first().click();
    return await run(view);
  } finally {
    await view.page.close();
  }
}

/** The calls of the newest thread, as they were stored. */
async function calls() {
  const { items } = await panelot.snapshot(await panelot.newestThread());
  return items.flatMap(({ body }) => (body.kind === "assistant_message" ? body.calls : []));
}

async function throughLitellm() {
  const { testkit } = panelot;
  const proxy = await litellm(FOLDER, environment, { words: WORDS, baseUrl: testkit.baseUrl });
  try {
    for (const { wire, says, path } of WIRES) {
      const at = `${proxy.origin}${path}`;
      await row("LiteLLM, its mock", says, "streamed text", async () => {
        await connect(wire, at, "mock", proxy.key);
        await chat(async (view) => {
          await view.send("Say your words");
          await view.sees(WORDS, { timeout: 60_000 });
        });
      });
      await row("LiteLLM, scripted upstream", says, "streamed text", async () => {
        const name = `halfway-${wire}`;
        await testkit.add(scenario(`Stream on ${wire}`, [
          { kind: "text", text: "The first half, ", chunkChars: 3 }, { kind: "hold", name }, { kind: "text", text: "and the second: 你好 🦀." },
        ]));
        await connect(wire, at, "scripted", proxy.key);
        await chat(async (view) => {
          await view.send(`Stream on ${wire}`);
          await view.sees("The first half,", { timeout: 60_000 }); // while the rest is held back
          await testkit.release(name);
          await view.sees("and the second: 你好 🦀.");
        });
      });
      await row("LiteLLM, scripted upstream", says, "tool round trip", async () => {
        const marker = `Which tabs on ${wire}`;
        await testkit.add(scenario(
          marker, [{ kind: "text", text: "I look. " }, CALL, CALL],
          { when: { afterTool: "tabs_list", toolResults: 2 }, reply: [{ kind: "text", text: "Both looks agree." }] },
        ));
        await connect(wire, at, "scripted", proxy.key);
        await chat(async (view) => {
          await view.send(`${marker}?`);
          await view.sees("Both looks agree.", { timeout: 60_000 });
        });
        const asked = (await testkit.requests()).filter((it) => it.scenario === marker);
        assert.deepEqual(asked.flatMap((it) => it.violations), []);
        const results = asked.at(-1).body.messages.filter(({ role }) => role === "tool");
        assert.equal(results.length, 2, "both results came out of the proxy");
        assert.ok(results.every(({ content }) => JSON.stringify(content).includes(panelot.testkit.site)), "with what the tool said");
        assert.deepEqual((await calls()).map(({ toolName }) => toolName), ["tabs_list", "tabs_list"]);
      });
      await row("LiteLLM", says, "a wrong key is told as one", async () => {
        await connect(wire, at, "mock", "sk-other");
        await chat(async (view) => {
          await view.send("Let me in");
          await view.sees(view.say("error-auth"), { timeout: 60_000 });
        });
      });
    }
  } finally {
    await proxy.stop();
  }
}

async function throughLlama() {
  const server = await llama(FOLDER, environment, gguf);
  try {
    const models = await (await fetch(`${server.origin}/v1/models`)).json();
    const model = models.data[0].id;
    await connect("openai", `${server.origin}/v1`, model, server.key);
    await row("llama.cpp", "chat completions", "streamed text", () => chat(async (view) => {
      await view.send("Count from one to twenty in words. Do not use tools.");
      await expect(view.button("stop").first()).toBeVisible(SLOW);
      let seen = new Set();
      for (const end = Date.now() + SLOW.timeout; Date.now() < end;) {
        const words = (await view.answers.allInnerTexts()).join(" ");
        seen.add(words);
        if (seen.size > 1 && !(await view.button("stop").first().isVisible())) break;
        await view.page.waitForTimeout(200);
      }
      const { items } = await panelot.snapshot(await panelot.newestThread());
      const answer = items.map(({ body }) => body).findLast((body) => body.kind === "assistant_message");
      assert.ok(answer?.text && !answer.incomplete, `there is a whole answer: ${JSON.stringify(items.at(-1))}`);
      assert.ok(seen.size > 3, `it was seen growing: ${seen.size} times`);
      return `${seen.size} states; ends with ${JSON.stringify(answer.text.slice(-40))}`;
    }));
    await row("llama.cpp", "chat completions", "tool round trip", () => chat(async (view) => {
      await view.send("Call the tool tabs_list to see which tabs are open. Then say in one sentence how many there are.");
      let made = [];
      for (const end = Date.now() + SLOW.timeout; Date.now() < end; await view.page.waitForTimeout(1_000)) {
        made = await calls();
        const { activeTurn, items } = await panelot.snapshot(await panelot.newestThread());
        if (activeTurn === null && items.length > 1) break;
      }
      const { items } = await panelot.snapshot(await panelot.newestThread());
      const last = items.at(-1).body;
      assert.ok(made.some(({ toolName }) => toolName === "tabs_list"), `it called the tool: ${JSON.stringify(last).slice(0, 300)}`);
      assert.equal(last.kind, "assistant_message", `it answered afterwards: ${JSON.stringify(last).slice(0, 300)}`);
      return JSON.stringify(last.text.slice(0, 80));
    }));
  } finally {
    await server.stop();
  }
}

function table() {
  const columns = ["server", "wire", "what", "result", "seconds", "remark"];
  const width = (name) => Math.max(name.length, ...rows.map((row) => `${row[name]}`.length));
  const line = (row) => columns.map((name) => `${row[name]}`.padEnd(width(name))).join(" | ").trimEnd();
  console.log(["", line(Object.fromEntries(columns.map((name) => [name, name]))), ...rows.map(line), ""].join("\n"));
}

const rules = [{ verdict: "allow", tool: "tabs_list", origin: "*" }];
panelot = await Panelot.start({ connected: false });
try {
  await panelot.connect({ rules });
  await panelot.openSite("/order");
  await throughLitellm();
  if (gguf) await throughLlama();
  else rows.push({ server: "llama.cpp", wire: "chat completions", what: "all", result: "skipped", seconds: "", remark: "no model: give one with --gguf FILE" });
} finally {
  await panelot.close();
}
table();
const failed = rows.filter(({ result }) => result === "FAILED").length;
console.log(`${rows.filter(({ result }) => result === "passed").length} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
