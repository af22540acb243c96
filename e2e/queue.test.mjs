// What a person says while a task is under way: it waits its turn, can be changed and taken back, or goes into the task.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";
import { scenario } from "./lib/testkit.mjs";
import { greet } from "./lib/wire.mjs";

const rig = onePanelEach();

test("waiting messages are changed and taken back, and the next one is what was kept", async () => {
  await rig.panelot.testkit.add(
    scenario("Take your time", [
      { kind: "text", text: "One moment" }, { kind: "hold", name: "time" }, { kind: "text", text: " is over." },
    ]),
  );
  await rig.view.send("Take your time");
  await rig.view.sees("One moment");
  const queue = rig.view.page.getByRole("region", { name: rig.view.say("queue-region") });
  await rig.view.send("Second");
  await expect(queue.getByRole("listitem")).toHaveCount(1);
  await rig.view.send("Third");
  await expect(queue.getByRole("listitem")).toHaveCount(2);
  await rig.view.button("queue-remove", queue.getByRole("listitem").first()).click();
  await expect(queue.getByRole("listitem")).toHaveCount(1);
  await rig.view.button("queue-edit", queue).click();
  const field = queue.getByRole("textbox");
  await expect(field).toHaveValue("Third");
  await field.fill("Third, improved");
  await field.press("Enter");
  await expect(queue.getByRole("listitem")).toContainText("Third, improved");
  await rig.panelot.testkit.release("time");
  await rig.view.sees("is over.");
  await rig.view.sees("Echo: Third, improved");
  await expect(queue).toHaveCount(0);
  await expect(rig.view.messages).toHaveCount(2);
  const { items } = await rig.panelot.snapshot(await rig.panelot.newestThread());
  const said = items.filter(({ body }) => body.kind === "user_message").map(({ body }) => body.text);
  assert.deepEqual(said, ["Take your time", "Third, improved"]);
});

test("Ctrl+Enter adds to the task under way, and the model reads it with its next request", async () => {
  await rig.panelot.testkit.add(
    scenario(
      "List my tabs",
      [{ kind: "text", text: "I look." }, { kind: "hold", name: "look" }, { kind: "toolCall", name: "tabs_list", arguments: {} }],
    ),
  );
  await rig.view.send("List my tabs");
  await rig.view.sees("I look.");
  await rig.view.composer.fill("Only those with mugs");
  await rig.view.composer.press("Control+Enter");
  const added = rig.view.page.getByRole("region", { name: rig.view.say("steer-region") });
  await expect(added).toContainText("Only those with mugs");
  await rig.panelot.testkit.release("look");
  await rig.view.sees("Echo: Only those with mugs"); // what the model was given last
  await expect(added).toHaveCount(0);
  await expect(rig.view.messages.last()).toContainText(rig.view.say("steered"));
  const requests = await rig.panelot.testkit.requests();
  assert.ok(JSON.stringify(requests.at(-1).body).includes("Only those with mugs"));
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
});

test("a message that waits is told to the task under way, and leaves the queue", async () => {
  await rig.panelot.testkit.add(
    scenario(
      "Compare two shops",
      [{ kind: "text", text: "I compare." }, { kind: "hold", name: "compare" }, { kind: "toolCall", name: "tabs_list", arguments: {} }],
    ),
  );
  await rig.view.send("Compare two shops");
  await rig.view.sees("I compare.");
  await rig.view.send("Only those that deliver today");
  await rig.view.send("And after that: order");
  const queue = rig.view.page.getByRole("region", { name: rig.view.say("queue-region") });
  await expect(queue.getByRole("listitem")).toHaveCount(2);
  await rig.view.button("send-now", queue.getByRole("listitem").first()).click();
  const added = rig.view.page.getByRole("region", { name: rig.view.say("steer-region") });
  await expect(added).toContainText("Only those that deliver today");
  await expect(queue.getByRole("listitem")).toHaveCount(1);
  await rig.panelot.testkit.release("compare");
  await rig.view.sees("Echo: And after that: order");
  const { items } = await rig.panelot.snapshot(await rig.panelot.newestThread());
  const said = items.filter(({ body }) => body.kind === "user_message").map(({ body }) => [body.text, body.steered]);
  assert.deepEqual(said, [
    ["Compare two shops", false], ["Only those that deliver today", true], ["And after that: order", false],
  ]);
});

test("a choice of model or policy beside the composer is for these messages and leaves the settings", async () => {
  const policy = rig.view.page.getByRole("combobox", { name: rig.view.say("policy-label") });
  await policy.selectOption("always");
  await rig.panelot.testkit.add(
    scenario("Look around", [{ kind: "toolCall", name: "tabs_list", arguments: {} }], [{ kind: "text", text: "Seen." }]),
  );
  await rig.view.send("Look around");
  await expect(rig.view.approval).toBeVisible();
  await rig.view.button("approval-decline", rig.view.approval).click().catch(() => {});
  const options = await rig.panelot.openOptions();
  const untrusted = options.getByRole("radio", { name: new RegExp(rig.view.say("policy-untrusted")) });
  await eventually(() => untrusted.isChecked(), (it) => it, "the setting stays");
  await options.close();
});

test("what is being written is there again in another page and after a reload", async () => {
  const kept = async () => (await greet(rig.panelot.console)).directory.draft;
  await rig.view.composer.fill("Half a thought");
  await eventually(kept, (draft) => draft === "Half a thought", "the engine keeps it");
  await rig.view.page.reload();
  await expect(rig.view.composer).toHaveValue("Half a thought");
  await rig.view.composer.fill("");
  await eventually(kept, (draft) => draft === "", "nothing is kept of it");
});
