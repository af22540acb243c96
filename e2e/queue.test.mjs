// What a person says while a task is under way: it waits its turn, can be changed and taken back, or goes into the task.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";
import { greet } from "./lib/wire.mjs";

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

test("waiting messages are changed and taken back, and the next one is what was kept", async () => {
  await panelot.testkit.add(
    scenario("Take your time", [
      { kind: "text", text: "One moment" }, { kind: "hold", name: "time" }, { kind: "text", text: " is over." },
    ]),
  );
  await view.send("Take your time");
  await view.sees("One moment");
  const queue = view.page.getByRole("region", { name: view.say("queue-region") });
  await view.send("Second");
  await expect(queue.getByRole("listitem")).toHaveCount(1);
  await view.send("Third");
  await expect(queue.getByRole("listitem")).toHaveCount(2);
  await view.button("queue-remove", queue.getByRole("listitem").first()).click();
  await expect(queue.getByRole("listitem")).toHaveCount(1);
  await view.button("queue-edit", queue).click();
  const field = queue.getByRole("textbox");
  await expect(field).toHaveValue("Third");
  await field.fill("Third, improved");
  await field.press("Enter");
  await expect(queue.getByRole("listitem")).toContainText("Third, improved");
  await panelot.testkit.release("time");
  await view.sees("is over.");
  await view.sees("Echo: Third, improved");
  await expect(queue).toHaveCount(0);
  await expect(view.messages).toHaveCount(2);
  const { items } = await panelot.snapshot(await panelot.newestThread());
  const said = items.filter(({ body }) => body.kind === "user_message").map(({ body }) => body.text);
  assert.deepEqual(said, ["Take your time", "Third, improved"]);
});

test("Ctrl+Enter adds to the task under way, and the model reads it with its next request", async () => {
  await panelot.testkit.add(
    scenario(
      "List my tabs",
      [{ kind: "text", text: "I look." }, { kind: "hold", name: "look" }, { kind: "toolCall", name: "tabs_list", arguments: {} }],
    ),
  );
  await view.send("List my tabs");
  await view.sees("I look.");
  await view.composer.fill("Only those with mugs");
  await view.composer.press("Control+Enter");
  const added = view.page.getByRole("region", { name: view.say("steer-region") });
  await expect(added).toContainText("Only those with mugs");
  await panelot.testkit.release("look");
  await view.sees("Echo: Only those with mugs"); // what the model was given last
  await expect(added).toHaveCount(0);
  await expect(view.messages.last()).toContainText(view.say("steered"));
  const requests = await panelot.testkit.requests();
  assert.ok(JSON.stringify(requests.at(-1).body).includes("Only those with mugs"));
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
});

test("a choice of model or policy beside the composer is for these messages and leaves the settings", async () => {
  const policy = view.page.getByRole("combobox", { name: view.say("policy-label") });
  await policy.selectOption("always");
  await panelot.testkit.add(
    scenario("Look around", [{ kind: "toolCall", name: "tabs_list", arguments: {} }], [{ kind: "text", text: "Seen." }]),
  );
  await view.send("Look around");
  await expect(view.approval).toBeVisible();
  await view.button("approval-decline", view.approval).click().catch(() => {});
  const options = await panelot.openOptions();
  const untrusted = options.getByRole("radio", { name: new RegExp(view.say("policy-untrusted")) });
  await eventually(() => untrusted.isChecked(), (it) => it, "the setting stays");
  await options.close();
});

test("what is being written is there again in another page and after a reload", async () => {
  const kept = async () => (await greet(panelot.console)).directory.draft;
  await view.composer.fill("Half a thought");
  await eventually(kept, (draft) => draft === "Half a thought", "the engine keeps it");
  await view.page.reload();
  await expect(view.composer).toHaveValue("Half a thought");
  await view.composer.fill("");
  await eventually(kept, (draft) => draft === "", "nothing is kept of it");
});
