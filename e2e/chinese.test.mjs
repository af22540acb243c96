// The interface in Simplified Chinese: chosen in the options, or by the browser's own language.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

const say = messages("zh-CN");
let panelot;

before(async () => {
  panelot = await Panelot.start({ language: "zh-CN" });
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

test("a Chinese browser shows a Chinese panel that chats", async () => {
  const view = new View(await panelot.openPanel(), "zh-CN");
  await expect(view.composer).toBeVisible();
  assert.equal(await view.page.evaluate(() => document.documentElement.lang), "zh-CN");
  await view.send("你好，世界");
  await view.sees("Echo: ");
  await view.sees("你好，世界");
});

test("the language chosen in the options holds in every view, at once and after a reload", async () => {
  const english = messages("en");
  const view = new View(await panelot.openPanel(), "en");
  const options = await panelot.openOptions();
  await options.getByLabel(say("language")).selectOption({ label: "English" });
  await expect(options.getByRole("heading", { name: english("general-title") }).first()).toBeVisible();
  await expect(view.composer).toBeVisible();
  await view.page.reload();
  await expect(view.composer).toBeVisible();
  await expect(view.page.getByText(english("empty-text")).or(view.conversation)).toBeVisible();
});
