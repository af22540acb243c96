// The way in: add a connection, try it with a real request, choose its model, and chat.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

const say = messages();
let panelot;

before(async () => {
  panelot = await Panelot.start({ connected: false });
  // These tests are about the settings themselves; welcome.test.mjs has the way to the first chat.
  const options = await panelot.openOptions();
  await options.getByRole("button", { name: say("welcome-later") }).click();
  await options.close();
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

/** Opens the dialog and fills in everything but the models. */
async function fillIn(options, key) {
  await options.getByRole("button", { name: say("connection-add") }).first().click();
  const dialog = options.getByRole("dialog");
  await dialog.getByLabel(say("connection-name"), { exact: true }).fill("My server");
  await dialog.getByLabel(say("connection-url"), { exact: true }).fill(panelot.testkit.baseUrl);
  await dialog.getByLabel(say("connection-key"), { exact: true }).fill(key);
  return dialog;
}

test("without a connection the panel says so and leads to the options", async () => {
  const view = new View(await panelot.openPanel());
  await expect(view.page.getByText(say("setup-title"))).toBeVisible();
  const opened = panelot.context.waitForEvent("page");
  await view.button("setup-button").click();
  await (await opened).waitForURL(/options\.html/);
});

test("a connection is added, tested, chosen and used, and its key is never shown again", async () => {
  const options = await panelot.openOptions();
  const dialog = await fillIn(options, "sk-wrong");
  await dialog.getByLabel(say("connection-models"), { exact: true }).fill("echo");
  await dialog.getByRole("button", { name: say("connection-test") }).click();
  await expect(dialog).toContainText(say("error-auth"));

  await dialog.getByLabel(say("connection-key"), { exact: true }).fill("sk-right");
  await dialog.getByRole("button", { name: say("connection-test") }).click();
  await expect(dialog).toContainText(say("connection-works", { model: "echo" }));
  await expect(dialog).toContainText(say("connection-offers"));
  await dialog.getByRole("button", { name: say("save"), exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect(options.getByText("My server").first()).toBeVisible();

  const sent = await panelot.testkit.requests();
  assert.ok(sent.some(({ headers }) => headers.authorization === "Bearer sk-right"));
  const stored = await options.evaluate(async () => JSON.stringify(await chrome.storage.local.get()));
  assert.ok(!stored.includes("sk-right"), "the key is not in storage.local as it is");
  assert.ok(!(await options.content()).includes("sk-right"));

  const view = new View(await panelot.openPanel());
  await view.send("Are you there?");
  await view.sees("Echo: ");
});

test("a known provider fills in where it is and how it speaks", async () => {
  const options = await panelot.openOptions();
  await options.getByRole("button", { name: say("connection-add") }).first().click();
  const dialog = options.getByRole("dialog");
  const field = (name) => dialog.getByLabel(say(name), { exact: true });
  await field("connection-template").selectOption({ label: "Anthropic" });
  await expect(field("connection-name")).toHaveValue("Anthropic");
  await expect(field("connection-url")).toHaveValue("https://api.anthropic.com");
  await expect(field("connection-wire")).toHaveValue("anthropic");
  await field("connection-template").selectOption({ label: "Ollama" });
  await expect(field("connection-url")).toHaveValue("http://localhost:11434/v1");
  await expect(field("connection-wire")).toHaveValue("openai");
});

test("a stored key goes to no other address before the person agreed", async () => {
  const options = await panelot.openOptions();
  // Kept by a test in the very dialog, and opened anew.
  const fresh = await fillIn(options, "sk-elsewhere");
  await fresh.getByLabel(say("connection-models"), { exact: true }).fill("echo");
  await fresh.getByRole("button", { name: say("connection-test") }).click();
  await expect(fresh).toContainText(say("connection-works", { model: "echo" }));
  const asks = async (dialog) => {
    await dialog.getByLabel(say("connection-url"), { exact: true }).fill("http://localhost:9/v1");
    await dialog.getByRole("button", { name: say("connection-test") }).click();
    await expect(dialog).toContainText(say("connection-key-elsewhere", { origin: "http://localhost:9" }));
  };
  await asks(fresh);
  await options.reload();
  await options.getByRole("button", { name: `${say("connection-edit")}: My server` }).last().click();
  const dialog = options.getByRole("dialog");
  await expect(dialog.getByLabel(say("connection-url"), { exact: true })).toHaveValue(panelot.testkit.baseUrl);
  await asks(dialog);
});

test("the policy that is chosen stays chosen", async () => {
  const options = await panelot.openOptions();
  await options.getByRole("radio", { name: say("policy-always") }).check();
  await options.reload();
  const chosen = options.getByRole("radio", { name: say("policy-always") });
  await expect(chosen).toBeVisible();
  assert.equal(await chosen.isChecked(), true);
});
