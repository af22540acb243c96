// The browser's own model: absent with the reason, downloaded by a click, and then a connection like any other, whose
// questions leave the computer for no server. A stand-in plays the model, in a copy of the extension.
import assert from "node:assert/strict";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { ROOT, TEST_BUILD, copyWithHost } from "./lib/chromium.mjs";
import { eventually, expect } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

const say = messages();
const OUT = join(ROOT, "target", "e2e");
const MODEL = { connectionId: "own", modelId: "gemini-nano" };
const CONNECTION = { type: "putConnection", id: "own", name: "Own", wire: "builtIn", baseUrl: "http://localhost", models: [MODEL.modelId] };

const group = (page) => page.getByRole("group", { name: say("built-in-title") });

/** The settings themselves: without a connection the way to the first chat stands before them. */
async function settingsOf(panelot) {
  const options = await panelot.openOptions();
  await options.getByRole("button", { name: say("welcome-later") }).click();
  return options;
}

describe("where the browser has no model", () => {
  let panelot;
  before(async () => { panelot = await Panelot.start({ connected: false }); });
  afterEach((test) => panelot.report(test));
  after(() => panelot?.close());

  test("the options say so, and a conversation on it says what to do", async () => {
    const options = await settingsOf(panelot);
    const words = await eventually(
      () => group(options).getByRole("status").innerText(), (it) => it !== "", "there is a reason",
    );
    assert.ok([say("built-in-missing"), say("built-in-unavailable"), say("built-in-downloadable")].includes(words), words);
    await panelot.settings(CONNECTION, { type: "setDefaultModel", model: MODEL });
    const view = new View(await panelot.openPanel());
    await view.send("Hello");
    const known = words === say("built-in-downloadable") ? "error-built-in-waiting" : "error-built-in-missing";
    await expect(view.page.getByText(say(known)).first()).toBeVisible();
    await expect(view.page.getByText(say(`${known}-next`)).first()).toBeVisible();
  });
});

describe("where it has one", () => {
  let panelot, copy;
  const model = (name, value) => panelot.console.evaluate(
    ({ name, value }) => localStorage.setItem(`model.${name}`, JSON.stringify(value)), { name, value },
  );
  const known = (name) => panelot.console.evaluate((name) => JSON.parse(localStorage.getItem(`model.${name}`)), name);
  const documents = () => panelot.console.evaluate(
    async () => (await chrome.runtime.getContexts({ contextTypes: ["OFFSCREEN_DOCUMENT"] })).length,
  );

  before(async () => {
    await mkdir(OUT, { recursive: true });
    copy = await copyWithHost(TEST_BUILD, "http://127.0.0.1/*");
    await cp(join(ROOT, "e2e", "lib", "language-model.js"), join(copy.folder, "stand-in.js"));
    for (const page of ["offscreen.html", "options.html"]) {
      const file = join(copy.folder, page);
      await writeFile(file, (await readFile(file, "utf8")).replace("<script", '<script src="stand-in.js"></script>\n    <script'));
    }
    panelot = await Panelot.start({ connected: false, extension: copy.folder });
  });
  afterEach((test) => panelot.report(test));
  after(async () => {
    await panelot?.close();
    await copy?.remove();
  });

  test("it is downloaded by a click, connected by another, and answers while it thinks", async () => {
    await model("state", "downloadable");
    const options = await settingsOf(panelot);
    const card = group(options);
    await expect(card).toContainText(say("built-in-downloadable"));
    await card.scrollIntoViewIfNeeded();
    await options.screenshot({ path: join(OUT, "built-in-options.png") });
    await card.getByRole("button", { name: say("built-in-download") }).click();
    await expect(card.getByRole("progressbar")).toBeVisible();
    await card.getByRole("button", { name: say("built-in-connect") }).click();
    await expect(card).toContainText(say("built-in-connected"));

    await model("replies", [['{"answer": "One, ', "two\\u", '002c three: \\"caf', 'é\\""}']]);
    const view = new View(await panelot.openPanel());
    await view.send("Count to three");
    await view.sees('One, two, three: "café"');
    const [asked] = await known("asked");
    assert.equal(asked.history[0].role, "system");
    assert.ok(JSON.stringify(asked.responseConstraint).includes("read_page"), "tools are offered by the schema");
    assert.match(asked.prompt[0].content, /Count to three/);
    assert.equal((await panelot.testkit.allRequests()).length, 0, "no server was asked");
    await eventually(documents, (count) => count === 0, "the page without a view goes when nothing is asked");
  });

  test("a tool is called by an object of the agreed form, and its result comes back to the model", async () => {
    await model("asked", []);
    await model("replies", [['{"tool": "tabs_', 'list", "arguments": {}}'], ['{"answer": "I saw them."}']]);
    await panelot.command("rule.put", { rule: { id: "r", verdict: "allow", tool: "tabs_list", origin: "*" } });
    const view = new View(await panelot.openPanel());
    await view.button("new-chat").first().click();
    await view.send("Which tabs are open?");
    await view.sees("I saw them.");
    const asked = (await known("asked")).find(({ prompt }) => prompt[0].content.startsWith("Result of tabs_list:"));
    assert.match(asked.prompt[0].content, /open tabs/);
    assert.deepEqual(JSON.parse(asked.history.at(-1).content), { tool: "tabs_list", arguments: {} });
  });

  test("a reply that is neither words nor a call of an offered tool runs nothing and says why", async () => {
    await model("replies", [['{"tool": "format_disk", "arguments": {}}']]);
    const view = new View(await panelot.openPanel());
    await view.button("new-chat").first().click();
    await view.send("Do something");
    await expect(view.page.getByText(say("error-format")).first()).toBeVisible();
  });

  test("stop ends the answer in the model, too", async () => {
    await model("replies", [['{"answer": "Well, ', null]]);
    const view = new View(await panelot.openPanel());
    await view.button("new-chat").first().click();
    await view.send("Never end");
    await view.sees("Well,");
    await view.button("stop").first().click();
    await eventually(() => known("stopped"), (it) => it === true, "the model was told");
    await eventually(documents, (count) => count === 0, "and its page is gone");
  });
});
