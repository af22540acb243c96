// Criterion 4: a panel and a chat tab on one thread are two windows on the same thing.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

const OPENING = "# A list\n\nSome *emphasis*, `code` and a\n\n- first entry\n- second ent";
const ENDING = "ry with naïve café ☕\n\n```rust\nfn main() {}\n```\n\nThe end.";
let panelot;

before(async () => {
  panelot = await Panelot.start();
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

/** The newest answer as it is drawn: every element and text, in order. */
function drawn(view) {
  return view.answers.last().evaluate((entry) => {
    const walk = (node) =>
      node.nodeType === Node.TEXT_NODE ? node.data : `<${node.localName}>${[...node.childNodes].map(walk).join("")}`;
    entry.normalize();
    return walk(entry);
  });
}

test("a view opened in the middle of a stream ends equal to the one that was there from the start", async () => {
  await panelot.testkit.add(
    scenario("Write a list", [
      { kind: "text", text: OPENING, chunkChars: 5, delayMs: 5 },
      { kind: "hold", name: "list" },
      { kind: "text", text: ENDING, chunkChars: 3, delayMs: 5, packetBytes: 7 },
    ]),
  );
  const panel = new View(await panelot.openPanel());
  await panel.send("Write a list");
  await panelot.testkit.untilState("held:list");
  await panel.sees("second ent");

  const chat = new View(await panelot.openChat(await panelot.newestThread()));
  await chat.sees("second ent");
  await expect(chat.messages).toHaveCount(1);
  await panelot.testkit.release("list");
  for (const view of [panel, chat]) {
    await view.sees("The end.");
    await expect(view.messages.first()).toContainText("Write a list");
  }
  await eventually(
    async () => [await drawn(panel), await drawn(chat)], ([a, b]) => a === b, "both should end equal",
  );
  assert.match(await drawn(chat), /<li><p>second entry with naïve café ☕/);
  await panel.page.close();
  await chat.page.close();
});

test("a message sent in one view appears in the other, and one approval answers both", async () => {
  await panelot.testkit.add(
    scenario(
      "Open the article",
      [{ kind: "toolCall", name: "navigate", arguments: { url: `${panelot.testkit.site}/article` } }],
      [{ kind: "text", text: "The article is open." }],
    ),
  );
  const site = await panelot.openSite("/");
  const panel = new View(await panelot.openPanel());
  await panel.button("new-chat").first().click();
  await panel.send("Hello there");
  await panel.sees("Echo: ");
  const chat = new View(await panelot.openChat(await panelot.newestThread()));
  await chat.sees("Hello there");

  await site.bringToFront(); // the page in front of its window is what the person means
  await panel.send("Open the article");
  for (const view of [panel, chat]) {
    await expect(view.approval).toBeVisible();
    await expect(view.messages).toHaveCount(2);
  }
  await chat.button("approval-once", chat.approval).click();
  for (const view of [panel, chat]) {
    await expect(view.approval).toHaveCount(0);
    await view.sees("The article is open.");
  }
  assert.equal((await panelot.testkit.requests()).filter(({ scenario }) => scenario === "Open the article").length, 2);
});
