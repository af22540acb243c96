// Criterion 5 of the providers: every way in which a provider fails shows what happened and what to do, in both
// languages, in the conversation and in the test of a connection. The pictures are for a person: target/e2e/remedies.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ROOT } from "./lib/chromium.mjs";
import { expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

const OUT = join(ROOT, "target", "e2e", "remedies");
const PANEL = { width: 400, height: 800 };
const LANGUAGES = ["en", "zh-CN"];
/** The message of a turn, and a part of the one that the test of a connection sends. */
const SAY = "Say something", TRY = "Reply with the single word";
const IDLE_MS = 120_000;

const error = (status, body, headers = {}) => ({ error: { status, headers, body } });
const said = (status, message, code) => error(status, { error: { message, code } });
const text = (text) => ({ kind: "text", text });
const seen = { kind: "stall", ms: 500 }; // what was not seen yet would be asked for again, silently

/** A port of this computer on which nobody listens. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// What the server does, the key of the text that must appear, and what else is special about a case.
const CASES = [
  { name: "a wrong key", key: "sk-wrong", shows: "error-auth" },
  { name: "a wrong model", step: said(404, "The model `x` does not exist", "model_not_found"), shows: "error-model-missing" },
  { name: "a wrong address", path: "/nowhere", shows: "error-not-found" },
  { name: "a server that refuses extensions", step: error(403, ""), shows: "error-origin", origin: true },
  { name: "a server that is not running", port: freePort, shows: "error-not-running" },
  // Only the address 127.0.0.1 is allowed to a test build; nobody can answer the browser's question in a test.
  { name: "an address that is not allowed", host: "localhost", shows: "error-no-access", panelOnly: true },
  { name: "a redirect", step: error(307, "", { Location: "/elsewhere" }), shows: "error-redirected" },
  {
    name: "a rate limit with a long wait", step: said(429, "Too many requests", "rate_limit_exceeded"), wait: "120",
    shows: "error-rate", next: ["error-rate-wait", { seconds: "120" }],
  },
  { name: "an exhausted quota", step: said(429, "You exceeded your current quota", "insufficient_quota"), shows: "error-quota" },
  {
    name: "a cut stream", step: { reply: [text("Well, "), seen, { kind: "cut", at: "insideString", text: "half" }] },
    shows: "error-broken-stream", partial: "Well,",
  },
  {
    name: "an error inside of a stream", shows: "error-overloaded", partial: "Well,",
    step: { reply: [text("Well, "), seen, { kind: "raw", text: 'data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n' }] },
  },
];
for (const it of CASES) if (it.wait) it.step.error.headers["Retry-After"] = it.wait;

let panelot;
let stalled; // a conversation whose model falls silent, and when it did
let current; // the case that runs

/** The server and the connection as a case wants them. */
async function prepare({ key = "sk-test", step, path = "", port, host = "127.0.0.1" }) {
  const { testkit } = panelot;
  for (const marker of [SAY, TRY]) {
    await testkit.add(scenario(marker, { ...(step ?? { reply: [text("ready")] }), repeat: true }));
  }
  const at = new URL(testkit.baseUrl);
  at.hostname = host;
  if (port) at.port = `${await port()}`;
  await panelot.connect({ key, baseUrl: `${at.origin}${path || at.pathname}` });
}

/** Two languages one after the other, in views that are open. */
async function speak(language) {
  await panelot.settings({ type: "setLanguage", language });
}

const fileOf = (language, where) => join(OUT, `${current.replace(/[^a-z]+/g, "-")}-${where}-${language}.png`);

async function check(within, say, { shows, next }) {
  await expect(within).toContainText(say(shows), { timeout: 30_000 });
  await expect(within).toContainText(next ? say(...next) : say(`${shows}-next`));
}

async function inPanel(it) {
  const page = await panelot.openPanel();
  try {
    const english = new View(page);
    await english.button("new-chat").first().click();
    await english.send(SAY);
    if (it.partial) await english.sees(it.partial);
    for (const language of LANGUAGES) {
      await speak(language);
      const view = new View(page, language);
      await check(view.conversation, view.say, it);
      await expect(view.button("retry").first()).toBeVisible();
      if (it.partial) await view.sees(it.partial);
      await page.screenshot({ path: fileOf(language, "panel") });
    }
    assert.ok(!(await page.content()).includes(it.key ?? "sk-test"), "the key is not shown");
  } finally {
    await page.close();
  }
}

async function inTest(it) {
  for (const language of LANGUAGES) {
    await speak(language);
    const page = await panelot.openOptions();
    try {
      await page.setViewportSize(PANEL);
      const { say } = new View(page, language);
      await page.getByRole("button", { name: `${say("connection-edit")}: Testkit` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: say("connection-test") }).click();
      await check(dialog, say, it);
      await dialog.getByText(say(it.shows)).first().scrollIntoViewIfNeeded();
      await page.screenshot({ path: fileOf(language, "test") });
      assert.ok(!(await page.content()).includes(it.key ?? "sk-test"), "the key is not shown");
    } finally {
      await page.close();
    }
  }
}

before(async () => {
  await mkdir(OUT, { recursive: true });
  panelot = await Panelot.start();
  await panelot.testkit.add(scenario("Fall silent", [text("Let me "), { kind: "hold", name: "never" }]));
  const page = await panelot.openPanel();
  const view = new View(page);
  await view.send("Fall silent");
  await view.sees("Let me");
  stalled = { page, at: Date.now(), thread: await panelot.newestThread() };
});
after(() => panelot?.close());

describe("what went wrong, and what to do about it, in both languages", () => {
  for (const it of CASES) {
    test(it.name, async (t) => {
      current = it.name;
      try {
        await prepare(it);
        const earlier = (await panelot.testkit.requests()).length;
        await speak("en");
        await inPanel(it);
        const sent = (await panelot.testkit.requests()).slice(earlier).filter(({ scenario }) => scenario === SAY);
        if (it.step) assert.equal(sent.length, 1, "nothing is repeated silently");
        if (it.origin) assert.match(sent[0].headers.origin, /^chrome-extension:/, "the server knows who asks");
        if (!it.panelOnly) await inTest(it);
        await speak("en");
      } catch (thrown) {
        await panelot.report({ passed: false, name: t.name });
        throw thrown;
      }
    });
  }

  test("a stalled stream", async () => {
    current = "a stalled stream";
    const it = { shows: "error-stalled" };
    const left = stalled.at + IDLE_MS + 20_000 - Date.now();
    await expect(new View(stalled.page).conversation).toContainText(new View(stalled.page).say(it.shows), {
      timeout: Math.max(left, 5_000),
    });
    for (const language of LANGUAGES) {
      await speak(language);
      const view = new View(stalled.page, language);
      await check(view.conversation, view.say, it);
      await view.sees("Let me");
      await stalled.page.screenshot({ path: fileOf(language, "panel") });
    }
    assert.ok(Date.now() - stalled.at >= IDLE_MS, "it was given its time");
    await speak("en");
  });
});
