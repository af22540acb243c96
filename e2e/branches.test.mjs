// Another version of a message, another answer, and the ways between them; a chat is renamed, pinned, found and put away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

const rig = onePanelEach({}, {
  ready: async ({ testkit }) => {
    await testkit.add(scenario("Name a colour", [{ kind: "text", text: "Blue." }], [{ kind: "text", text: "Green." }]));
    await testkit.add(scenario("Name an animal", [{ kind: "text", text: "Otter." }]));
  },
  fresh: ({ testkit }) => testkit.reset(), // each script may be played again
});

const versions = () => rig.view.conversation.getByRole("group", { name: rig.view.say("versions") });
const at = (at, count) => rig.view.say("version-of", { at, count });

test("a message is edited, answered anew, and both branches stay, over a reload and by keyboard", async () => {
  await rig.view.send("Name a colour");
  await rig.view.sees("Blue.");
  await rig.view.button("regenerate", rig.view.answers.last()).click();
  await rig.view.sees("Green.");
  assert.ok(!(await rig.view.conversation.innerText()).includes("Blue."), "the other branch is not shown");
  await expect(versions()).toContainText(at(2, 2));
  await rig.view.button("version-before", versions()).focus();
  await rig.view.page.keyboard.press("Enter");
  await rig.view.sees("Blue.");
  await expect(versions()).toContainText(at(1, 2));

  await rig.view.button("edit-message", rig.view.messages.first()).click();
  const field = rig.view.conversation.getByRole("textbox", { name: rig.view.say("edit-message") });
  assert.ok(await field.evaluate((it) => it === document.activeElement), "one can write at once");
  await field.fill("Name an animal");
  await field.press("Enter");
  await rig.view.sees("Otter.");
  await expect(versions()).toContainText(at(3, 3));
  await expect(rig.view.messages).toHaveCount(1);

  await rig.view.page.reload();
  await rig.view.sees("Otter.");
  await expect(versions()).toContainText(at(3, 3));
  const requests = await rig.panelot.testkit.requests();
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
});

test("a chat goes on in a copy, and the first one stays as it was", async () => {
  await rig.view.send("Name an animal");
  await rig.view.sees("Otter.");
  const first = await rig.panelot.newestThread();
  await rig.view.button("copy-chat", rig.view.answers.last()).click();
  await eventually(() => rig.panelot.newestThread(), (id) => id !== first, "a copy is made");
  await rig.view.send("And then?");
  await rig.view.sees("Echo: ");
  await expect(rig.view.messages).toHaveCount(2);
  const { items } = await rig.panelot.snapshot(first);
  assert.equal(items.filter(({ body }) => body.kind === "user_message").length, 1);
});

test("a deleted message is gone for the model, too", async () => {
  await rig.view.send("Name an animal");
  await rig.view.sees("Otter.");
  const press = rig.view.button("delete-message", rig.view.messages.first());
  await press.click();
  await rig.view.button("delete-message-sure", rig.view.messages.first()).click();
  await expect(rig.view.messages).toHaveCount(0);
  await rig.view.send("What was that?");
  await rig.view.sees("Echo: ");
  const last = (await rig.panelot.testkit.requests()).at(-1);
  assert.ok(!JSON.stringify(last.body).includes("Name an animal"));
  assert.deepEqual(last.violations, []);
});

test("a chat is renamed, pinned, found by its name and put away, in every view", async () => {
  await rig.view.send("Think of a trip");
  await rig.view.sees("Echo: ");
  const chat = new View(await rig.panelot.openChat(await rig.panelot.newestThread()));
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
  await expect(rig.view.page.getByRole("heading", { level: 1 })).toContainText("Zoo visit");

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

test("a chat is put into a folder and labelled, and the list narrows to either", async () => {
  await rig.view.send("Think of a trip");
  await rig.view.sees("Echo: ");
  await rig.view.button("new-chat").first().click();
  await rig.view.send("Think of a cake");
  await rig.view.sees("Echo: ");
  const chat = new View(await rig.panelot.openChat(await rig.panelot.newestThread()));
  const list = chat.page.getByRole("navigation", { name: chat.say("chats") });
  const entry = (title) => list.getByRole("button", { name: new RegExp(`^${title}`) });
  await list.getByRole("button", { name: chat.say("chat-menu", { title: "Think of a cake" }) }).click();
  await chat.page.getByRole("menuitem", { name: chat.say("file-chat"), exact: true }).click();
  const dialog = chat.page.getByRole("dialog");
  await dialog.getByLabel(chat.say("folder"), { exact: true }).fill("Kitchen");
  await dialog.getByLabel(chat.say("labels"), { exact: true }).fill("sweet, weekend");
  await chat.button("save", dialog).click();
  await expect(entry("Think of a cake")).toContainText("Kitchen · sweet · weekend");

  const filters = list.getByRole("group", { name: chat.say("chats-filter") });
  for (const name of ["Kitchen", "weekend"]) {
    const filter = filters.getByRole("button", { name, exact: true });
    await filter.click();
    assert.equal(await filter.getAttribute("aria-pressed"), "true");
    await expect(entry("Think of a trip")).toHaveCount(0);
    await expect(entry("Think of a cake")).toHaveCount(1);
    await filter.click();
  }
  await rig.view.page.reload(); // and in the other view, from the engine
  await rig.view.button("chats-open").click();
  await expect(rig.view.page.getByRole("group", { name: rig.view.say("chats-filter") })).toContainText("Kitchen");

  await chat.page.bringToFront();
  await list.getByRole("button", { name: chat.say("chat-menu", { title: "Think of a cake" }) }).click();
  await chat.page.getByRole("menuitem", { name: chat.say("file-chat"), exact: true }).click();
  await dialog.getByLabel(chat.say("folder"), { exact: true }).fill("");
  await dialog.getByLabel(chat.say("labels"), { exact: true }).fill("");
  await chat.button("save", dialog).click();
  await expect(filters).toHaveCount(0);
  await chat.page.close();
});
