// What a person does in a conversation besides asking: keys, waiting messages, several chats, deleting one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

/** The card takes no keys in its first moments: they may have been meant for what was there before. */
const KEYS_ARMED_MS = 1_000;
const rig = onePanelEach();

test("Shift+Enter makes a line, an input method's Enter chooses a candidate, and Enter sends", async () => {
  await rig.view.composer.fill("first");
  await rig.view.composer.press("Shift+Enter");
  await rig.view.composer.pressSequentially("second");
  await rig.view.composer.evaluate((field) => {
    for (const more of [{ isComposing: true }, { keyCode: 229 }]) {
      field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...more }));
    }
  });
  assert.equal(await rig.view.composer.inputValue(), "first\nsecond");
  assert.equal(await rig.view.messages.count(), 0);
  await rig.view.composer.press("Enter");
  await expect(rig.view.messages).toHaveCount(1);
  await expect(rig.view.composer).toHaveValue("");
  await rig.view.sees("Echo: ");
});

test("keys answer an approval only where nobody is typing", async () => {
  const { site } = rig.panelot.testkit;
  await rig.panelot.testkit.add(
    scenario(
      "Show me the article",
      [{ kind: "toolCall", name: "navigate", arguments: { url: `${site}/article` } }],
      [{ kind: "text", text: "There it is." }],
    ),
  );
  await rig.panelot.openSite("/");
  await rig.view.page.bringToFront();
  await rig.view.send("Show me the article");
  await expect(rig.view.approval).toBeVisible();
  await rig.view.composer.focus();
  await rig.view.composer.pressSequentially("yes, any nice story");
  assert.equal(await rig.view.approval.count(), 1, "typing answers nothing");
  await rig.view.composer.fill("");
  await rig.view.approval.focus();
  await sleep(KEYS_ARMED_MS);
  await rig.view.page.keyboard.press("y");
  await rig.view.sees("There it is.");
  await expect(rig.view.approval).toHaveCount(0);
});

test("a message that is sent while another is answered waits its turn and is answered next", async () => {
  await rig.panelot.testkit.add(
    scenario("Take a while", [
      { kind: "text", text: "One moment" }, { kind: "hold", name: "moment" }, { kind: "text", text: " is over." },
    ]),
  );
  await rig.view.send("Take a while");
  await rig.view.sees("One moment");
  await rig.view.send("And then this");
  const queue = rig.view.page.getByRole("region", { name: rig.view.say("queue-region") });
  await expect(queue).toContainText("And then this");
  await rig.panelot.testkit.release("moment");
  await rig.view.sees("is over.");
  await rig.view.sees("Echo: ");
  await expect(queue).toHaveCount(0);
  await expect(rig.view.messages).toHaveCount(2);
});

test("a deleted chat is gone from every view and stays gone", async () => {
  await rig.view.send("Throw this away");
  await rig.view.sees("Echo: ");
  const chat = new View(await rig.panelot.openChat(await rig.panelot.newestThread()));
  await chat.sees("Throw this away");
  const list = chat.page.getByRole("navigation", { name: chat.say("chats") });
  await list.getByRole("button", { name: chat.say("chat-menu", { title: "Throw this away" }) }).click();
  await chat.page.getByRole("menuitem", { name: chat.say("delete"), exact: true }).click();
  const question = chat.page.getByRole("dialog");
  await question.getByRole("button", { name: chat.say("delete"), exact: true }).click();
  await expect(list.getByText("Throw this away")).toHaveCount(0);
  await eventually(
    async () => (await rig.view.conversation.innerText()).includes("Throw this away"),
    (shown) => !shown, "the panel shows it no more",
  );
  await chat.page.reload();
  await expect(chat.composer).toBeVisible();
  await expect(chat.page.getByText("Throw this away")).toHaveCount(0);
  await chat.page.close();
});

test("an answer's Markdown is drawn, its markup is text, and its pictures are not loaded", async () => {
  const { site } = rig.panelot.testkit;
  const text = `**bold** <img src="${site}/html.png" onerror="alert(1)"> ![chart](${site}/chart.png) [bad](javascript:alert(1))`;
  await rig.panelot.testkit.add(scenario("Draw it", [{ kind: "text", text, chunkChars: 4 }]));
  const asked = [];
  rig.view.page.on("request", (request) => asked.push(request.url()));
  await rig.view.send("Draw it");
  const answer = rig.view.answers.last();
  await expect(answer).toContainText("bold");
  await expect(answer).toContainText("<img src=");
  assert.equal(await answer.locator("img").count(), 0);
  assert.equal(await answer.locator("a[href^='javascript']").count(), 0);
  assert.deepEqual(asked.filter((url) => url.startsWith(site)), []);
});
