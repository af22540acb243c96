// The interface in Simplified Chinese, chosen in the options.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

const english = messages("en");
const chinese = messages("zh-CN");
let panelot;

before(async () => {
  panelot = await Panelot.start();
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

test("the language chosen in the options holds in every view, at once and after a reload", async () => {
  const panel = await panelot.openPanel();
  await expect(new View(panel, "en").composer).toBeVisible();
  const options = await panelot.openOptions();
  await options.getByLabel(english("language"), { exact: true }).selectOption("zh-CN");
  await expect(options.getByRole("heading", { name: chinese("general-title") }).first()).toBeVisible();

  const view = new View(panel, "zh-CN");
  await expect(view.composer).toBeVisible();
  await view.send("你好，世界");
  await view.sees("Echo: ");
  await panel.reload();
  await view.sees("你好，世界");
  assert.equal(await panel.evaluate(() => document.documentElement.lang), "zh-CN");

  const missing = await panel.evaluate(() => /[a-z]+-[a-z]+-[a-z]+/.exec(document.body.innerText)?.[0]);
  assert.equal(missing, undefined, "no key is shown instead of its text");
});
