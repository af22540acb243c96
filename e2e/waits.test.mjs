// What a task waits for other than a yes: questions with choices, a step by hand, a page, a time. Durable, and answered once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";
import { scenario } from "./lib/testkit.mjs";

const rig = onePanelEach();

const card = () => rig.view.page.getByRole("region", { name: rig.view.say("interaction-region") });

test("a question with choices outlives the worker and is answered in own words", async () => {
  await rig.panelot.testkit.add(
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
  await rig.view.send("Buy a mug");
  await expect(card()).toContainText("Which size shall it be?");
  assert.ok(await rig.view.button("ask-send", card()).isDisabled(), "nothing is chosen yet");
  await rig.panelot.killWorker();
  await expect(card()).toContainText("Which size shall it be?", { timeout: 30_000 });
  await card().getByRole("radio", { name: rig.view.say("ask-other") }).check();
  await card().getByRole("textbox", { name: rig.view.say("ask-other") }).fill("enormous");
  await card().getByRole("textbox").press("Enter");
  await rig.view.sees("As you wish.", { timeout: 30_000 });
  await expect(card()).toHaveCount(0);
  const requests = await rig.panelot.testkit.requests();
  assert.ok(JSON.stringify(requests.at(-1).body).includes("enormous"));
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
});

test("a step by hand is reported done, or refused with a reason", async () => {
  const call = (instruction) => ({ kind: "toolCall", name: "request_user_action", arguments: { instruction } });
  await rig.panelot.testkit.add(
    scenario("Sign me in", [call("Type your password")], [call("Solve the captcha")], [{ kind: "text", text: "I see." }]),
  );
  await rig.view.send("Sign me in");
  await expect(card()).toContainText("Type your password");
  await rig.view.button("takeover-done", card()).click();
  await expect(card()).toContainText("Solve the captcha");
  await rig.view.button("takeover-cannot", card()).click();
  await card().getByRole("textbox").fill("There is none");
  await rig.view.button("takeover-refuse", card()).click();
  await rig.view.sees("I see.");
  const requests = await rig.panelot.testkit.requests();
  assert.ok(JSON.stringify(requests.at(-1).body).includes("There is none"));
});

test("a page is waited for across the death of the worker, and what it shows then lets the task go on", async () => {
  const watch = { kind: "toolCall", name: "watch_page", arguments: { condition: "text", value: "Your order was sent" } };
  await rig.panelot.testkit.add(scenario("Tell me when", [watch], [{ kind: "text", text: "It is on its way." }]));
  const site = await rig.panelot.openSite("/order");
  await rig.view.send("Tell me when it was sent");
  await expect(card()).toContainText(rig.view.say("watch-for-text", { value: "Your order was sent" }));
  await expect(card()).toContainText("Order mugs"); // which page
  await rig.panelot.killWorker();
  await expect(card()).toContainText(rig.view.say("watch-title"), { timeout: 30_000 });
  await site.evaluate(() => document.body.append("Your order was sent."));
  await rig.view.sees("It is on its way.", { timeout: 60_000 });
  await expect(card()).toHaveCount(0);
  await site.close();
});

test("a page that is waited for can be given up, and the model is told", async () => {
  const watch = { kind: "toolCall", name: "watch_page", arguments: { condition: "text", value: "never" } };
  await rig.panelot.testkit.add(scenario("Wait in vain", [watch], [{ kind: "text", text: "Then not." }]));
  const site = await rig.panelot.openSite("/order");
  await rig.view.send("Wait in vain");
  await rig.view.button("wait-stop", card()).click();
  await rig.view.sees("Then not.");
  const last = (await rig.panelot.testkit.requests()).at(-1);
  assert.ok(JSON.stringify(last.body).includes("cancelled"));
  await site.close();
});

test("a time is waited out across the death of the worker, or cut short by the person", async () => {
  const pause = (seconds) => ({
    kind: "toolCall", name: "schedule_resume", arguments: { delaySeconds: seconds, reason: "The price changes at noon" },
  });
  await rig.panelot.testkit.add(
    scenario("Look again", [pause(10)], [pause(3_600)], [{ kind: "text", text: "It is cheaper now." }]),
  );
  await rig.view.send("Look again later");
  await expect(card()).toContainText("The price changes at noon");
  await expect(card()).toContainText("0:0"); // the seconds that are left
  await rig.panelot.killWorker();
  await expect(card()).toContainText("60:00", { timeout: 60_000 }); // the first is over by itself, the second begins
  await rig.view.button("wait-now", card()).click();
  await rig.view.sees("It is cheaper now.");
  await expect(card()).toHaveCount(0);
});
