// Another version of a message, another answer, and the ways between them; a chat is renamed, pinned, found and put away.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

let panelot;
let view;

before(async () => {
  panelot = await Panelot.start();
  await panelot.testkit.add(scenario("Name a colour", [{ kind: "text", text: "Blue." }], [{ kind: "text", text: "Green." }]));
  await panelot.testkit.add(scenario("Name an animal", [{ kind: "text", text: "Otter." }]));
});
beforeEach(async () => {
  await panelot.testkit.reset(); // each script may be played again
  view = new View(await panelot.openPanel());
  await view.button("new-chat").first().click();
});
afterEach(async (test) => {
  await panelot.report(test);
  await view.page.close();
});
after(() => panelot?.close());

const versions = () => view.conversation.getByRole("group", { name: view.say("versions") });
const at = (at, count) => view.say("version-of", { at, count });

test("a message is edited, answered anew, and both branches stay, over a reload and by keyboard", async () => {
  await view.send("Name a colour");
  await view.sees("Blue.");
  await view.button("regenerate", view.answers.last()).click();
  await view.sees("Green.");
  assert.ok(!(await view.conversation.innerText()).includes("Blue."), "the other branch is not shown");
  await expect(versions()).toContainText(at(2, 2));
  await view.button("version-before", versions()).focus();
  await view.page.keyboard.press("Enter");
  await view.sees("Blue.");
  await expect(versions()).toContainText(at(1, 2));

  await view.button("edit-message", view.messages.first()).click();
  const field = view.conversation.getByRole("textbox", { name: view.say("edit-message") });
  assert.ok(await field.evaluate((it) => it === document.activeElement), "one can write at once");
  await field.fill("Name an animal");
  await field.press("Enter");
  await view.sees("Otter.");
  await expect(versions()).toContainText(at(3, 3));
  await expect(view.messages).toHaveCount(1);

  await view.page.reload();
  await view.sees("Otter.");
  await expect(versions()).toContainText(at(3, 3));
  const requests = await panelot.testkit.requests();
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
});

test("a chat goes on in a copy, and the first one stays as it was", async () => {
  await view.send("Name an animal");
  await view.sees("Otter.");
  const first = await panelot.newestThread();
  await view.button("copy-chat", view.answers.last()).click();
  await eventually(() => panelot.newestThread(), (id) => id !== first, "a copy is made");
  await view.send("And then?");
  await view.sees("Echo: ");
  await expect(view.messages).toHaveCount(2);
  const { items } = await panelot.snapshot(first);
  assert.equal(items.filter(({ body }) => body.kind === "user_message").length, 1);
});

test("a deleted message is gone for the model, too", async () => {
  await view.send("Name an animal");
  await view.sees("Otter.");
  const press = view.button("delete-message", view.messages.first());
  await press.click();
  await view.button("delete-message-sure", view.messages.first()).click();
  await expect(view.messages).toHaveCount(0);
  await view.send("What was that?");
  await view.sees("Echo: ");
  const last = (await panelot.testkit.requests()).at(-1);
  assert.ok(!JSON.stringify(last.body).includes("Name an animal"));
  assert.deepEqual(last.violations, []);
});

test("a chat is renamed, pinned, found by its name and put away, in every view", async () => {
  await view.send("Think of a trip");
  await view.sees("Echo: ");
  const chat = new View(await panelot.openChat(await panelot.newestThread()));
  const list = chat.page.getByRole("navigation", { name: chat.say("chats") });
  const menu = async (title, item) => {
    await list.getByRole("button", { name: chat.say("chat-menu", { title }) }).click();
    await chat.page.getByRole("menuitem", { name: chat.say(item), exact: true }).click();
  };
  await menu("Think of a trip", "rename");
  const dialog = chat.page.getByRole("dialog");
  await dialog.getByRole("textbox").fill("Zoo visit");
  await dialog.getByRole("textbox").press("Enter");
  await expect(chat.page.getByRole("heading", { level: 1 })).toContainText("Zoo visit");
  await expect(view.page.getByRole("heading", { level: 1 })).toContainText("Zoo visit");

  await menu("Zoo visit", "pin");
  await expect(list.getByText(chat.say("group-pinned"))).toBeVisible();

  const search = list.getByRole("searchbox");
  await search.fill("zoo");
  await expect(list.getByRole("button", { name: /^Zoo visit/ })).toHaveCount(1);
  await search.fill("nothing like it");
  await expect(list.getByText(chat.say("chats-none-found"))).toBeVisible();
  await search.fill("");

  await menu("Zoo visit", "archive");
  await expect(list.getByText(chat.say("group-archived", { count: 1 }))).toBeVisible();
  await expect(list.getByRole("button", { name: /^Zoo visit/ })).toHaveCount(0);
  await chat.page.close();
});
