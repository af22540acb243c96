// What a person does in a conversation besides asking: keys, waiting messages, several chats, deleting one.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

/** The card takes no keys in its first moments: they may have been meant for what was there before. */
const KEYS_ARMED_MS = 1_000;
let panelot;
let view;

before(async () => {
  panelot = await Panelot.start();
});
beforeEach(async () => {
  view = new View(await panelot.openPanel());
  await view.button("new-chat").first().click();
});
afterEach(async (test) => {
  await panelot.report(test);
  await view.page.close();
});
after(() => panelot?.close());

test("Shift+Enter makes a line, an input method's Enter chooses a candidate, and Enter sends", async () => {
  await view.composer.fill("first");
  await view.composer.press("Shift+Enter");
  await view.composer.pressSequentially("second");
  await view.composer.evaluate((field) => {
    for (const more of [{ isComposing: true }, { keyCode: 229 }]) {
      field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...more }));
    }
  });
  assert.equal(await view.composer.inputValue(), "first\nsecond");
  assert.equal(await view.messages.count(), 0);
  await view.composer.press("Enter");
  await expect(view.messages).toHaveCount(1);
  await expect(view.composer).toHaveValue("");
  await view.sees("Echo: ");
});

test("keys answer an approval only where nobody is typing", async () => {
  const { site } = panelot.testkit;
  await panelot.testkit.add(
    scenario(
      "Show me the article",
      [{ kind: "toolCall", name: "navigate", arguments: { url: `${site}/article` } }],
      [{ kind: "text", text: "There it is." }],
    ),
  );
  await panelot.openSite("/");
  await view.page.bringToFront();
  await view.send("Show me the article");
  await expect(view.approval).toBeVisible();
  await view.composer.focus();
  await view.composer.pressSequentially("yes, any nice story");
  assert.equal(await view.approval.count(), 1, "typing answers nothing");
  await view.composer.fill("");
  await view.approval.focus();
  await sleep(KEYS_ARMED_MS);
  await view.page.keyboard.press("y");
  await view.sees("There it is.");
  await expect(view.approval).toHaveCount(0);
});

test("a message that is sent while another is answered waits its turn and is answered next", async () => {
  await panelot.testkit.add(
    scenario("Take a while", [
      { kind: "text", text: "One moment" }, { kind: "hold", name: "moment" }, { kind: "text", text: " is over." },
    ]),
  );
  await view.send("Take a while");
  await view.sees("One moment");
  await view.send("And then this");
  const queue = view.page.getByRole("region", { name: view.say("queue-region") });
  await expect(queue).toContainText("And then this");
  await panelot.testkit.release("moment");
  await view.sees("is over.");
  await view.sees("Echo: ");
  await expect(queue).toHaveCount(0);
  await expect(view.messages).toHaveCount(2);
});

test("a deleted chat is gone from every view and stays gone", async () => {
  await view.send("Throw this away");
  await view.sees("Echo: ");
  const chat = new View(await panelot.openChat(await panelot.newestThread()));
  await chat.sees("Throw this away");
  const list = chat.page.getByRole("navigation", { name: chat.say("chats") });
  await list.getByRole("button", { name: chat.say("chat-menu", { title: "Throw this away" }) }).click();
  await chat.page.getByRole("menuitem", { name: chat.say("delete"), exact: true }).click();
  const question = chat.page.getByRole("dialog");
  await question.getByRole("button", { name: chat.say("delete"), exact: true }).click();
  await expect(list.getByText("Throw this away")).toHaveCount(0);
  await eventually(
    async () => (await view.conversation.innerText()).includes("Throw this away"),
    (shown) => !shown, "the panel shows it no more",
  );
  await chat.page.reload();
  await expect(chat.composer).toBeVisible();
  await expect(chat.page.getByText("Throw this away")).toHaveCount(0);
  await chat.page.close();
});

test("an answer's Markdown is drawn, its markup is text, and its pictures are not loaded", async () => {
  const { site } = panelot.testkit;
  const text = `**bold** <img src="${site}/html.png" onerror="alert(1)"> ![chart](${site}/chart.png) [bad](javascript:alert(1))`;
  await panelot.testkit.add(scenario("Draw it", [{ kind: "text", text, chunkChars: 4 }]));
  const asked = [];
  view.page.on("request", (request) => asked.push(request.url()));
  await view.send("Draw it");
  const answer = view.answers.last();
  await expect(answer).toContainText("bold");
  await expect(answer).toContainText("<img src=");
  assert.equal(await answer.locator("img").count(), 0);
  assert.equal(await answer.locator("a[href^='javascript']").count(), 0);
  assert.deepEqual(asked.filter((url) => url.startsWith(site)), []);
});
