// What a task waits for other than a yes: questions with choices, a step by hand. Durable, and answered once.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

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

const card = () => view.page.getByRole("region", { name: view.say("interaction-region") });

test("a question with choices outlives the worker and is answered in own words", async () => {
  await panelot.testkit.add(
    scenario(
      "Buy a mug",
      [{
        kind: "toolCall", name: "ask_user", arguments: {
          questions: [{
            id: "size", question: "Which size shall it be?",
            options: [{ value: "small", label: "Small", description: "0.2 l" }, { value: "large", label: "Large" }],
          }],
        },
      }],
      [{ kind: "text", text: "As you wish." }],
    ),
  );
  await view.send("Buy a mug");
  await expect(card()).toContainText("Which size shall it be?");
  assert.ok(await view.button("ask-send", card()).isDisabled(), "nothing is chosen yet");
  await panelot.killWorker();
  await expect(card()).toContainText("Which size shall it be?", { timeout: 30_000 });
  await card().getByRole("radio", { name: view.say("ask-other") }).check();
  await card().getByRole("textbox", { name: view.say("ask-other") }).fill("enormous");
  await card().getByRole("textbox").press("Enter");
  await view.sees("As you wish.", { timeout: 30_000 });
  await expect(card()).toHaveCount(0);
  const requests = await panelot.testkit.requests();
  assert.ok(JSON.stringify(requests.at(-1).body).includes("enormous"));
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
});

test("a step by hand is reported done, or refused with a reason", async () => {
  const call = (instruction) => ({ kind: "toolCall", name: "request_user_action", arguments: { instruction } });
  await panelot.testkit.add(
    scenario("Sign me in", [call("Type your password")], [call("Solve the captcha")], [{ kind: "text", text: "I see." }]),
  );
  await view.send("Sign me in");
  await expect(card()).toContainText("Type your password");
  await view.button("takeover-done", card()).click();
  await expect(card()).toContainText("Solve the captcha");
  await view.button("takeover-cannot", card()).click();
  await card().getByRole("textbox").fill("There is none");
  await view.button("takeover-refuse", card()).click();
  await view.sees("I see.");
  const requests = await panelot.testkit.requests();
  assert.ok(JSON.stringify(requests.at(-1).body).includes("There is none"));
});
