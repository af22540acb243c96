// Criterion 3: the worker is killed at four named points. Nothing is lost, nothing is done twice, nothing is claimed.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

const TASK = "Order three mugs for Ada Lovelace, ada@example.com.";
const REPORT = "The site confirmed it.";
/** Reconnecting may take the longest back-off (8 s) and a start. */
const RECONNECTED = { timeout: 30_000 };
let panelot;
let view;
let site;

before(async () => {
  panelot = await Panelot.start({ connected: false });
  const origin = panelot.testkit.site;
  const rules = ["type", "select_option"].map((tool) => ({ verdict: "allow", tool, origin }));
  await panelot.connect({ rules });
});
beforeEach(async () => {
  await panelot.testkit.reset();
  await panelot.clearFailpoint();
  site = await panelot.openSite("/order");
  view = new View(await panelot.openPanel());
  await view.button("new-chat").first().click();
});
afterEach(async (test) => {
  await panelot.report(test);
  await panelot.clearFailpoint();
  await view.page.close();
  await site.close();
});
after(() => panelot?.close());

/** Kills the worker at a point that is proven reached, and lets the next one run through. */
async function killAt(name) {
  await panelot.reached(name);
  await panelot.killWorker();
  await panelot.clearFailpoint();
}

async function untilOrders(count) {
  await eventually(() => panelot.testkit.orders(), (orders) => orders.length === count, `${count} orders expected`);
}

async function noViolations() {
  const requests = await panelot.testkit.requests();
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
}

test("(a) killed while the model streams: interrupted, the partial text kept, resumed on request", async () => {
  await panelot.testkit.add(
    scenario("Tell me a story", [
      { kind: "text", text: "Once upon a time " }, { kind: "hold", name: "more" },
      { kind: "text", text: "there was " }, { kind: "hold", name: "never" },
    ]),
  );
  // The model is asked to go on, not to begin anew.
  await panelot.testkit.add(scenario("Your previous answer was cut off", [{ kind: "text", text: "and they lived happily." }]));
  await view.send("Tell me a story");
  await view.sees("Once upon a time");
  await panelot.failpoint("model.streaming"); // now, so that there is text to keep
  await panelot.testkit.release("more");
  await killAt("model.streaming");
  await expect(view.recovery).toBeVisible(RECONNECTED);
  await expect(view.recovery).toContainText(view.say("interrupted-title"));
  await view.sees("Once upon a time");
  assert.equal((await panelot.testkit.requests()).length, 1, "it is not resumed by itself");
  await view.button("resume", view.recovery).click();
  await view.sees("and they lived happily.");
  await expect(view.recovery).toHaveCount(0);
  await noViolations();
});

test("(b) killed while an approval is pending: the card is back and one order is placed", async () => {
  await panelot.failpoint("approval.pending");
  await view.send(TASK);
  await killAt("approval.pending");
  await expect(view.approval).toBeVisible(RECONNECTED);
  assert.deepEqual(await panelot.testkit.orders(), []);
  await eventually(() => view.button("approval-once", view.approval).isEnabled(), Boolean, "the card can be answered");
  await view.button("approval-once", view.approval).click();
  await view.sees(REPORT);
  await untilOrders(1);
  await noViolations();
});

test("(c) killed after the approval and before the dispatch: never two orders, and the task can be ended", async () => {
  await view.send(TASK);
  await expect(view.approval).toBeVisible({ timeout: 60_000 });
  await panelot.failpoint("tool.before_dispatch"); // now, so that it parks the click and no call before it
  await view.button("approval-once", view.approval).click();
  await killAt("tool.before_dispatch");
  // The approval is durable: the click is made now, or the person resumes the task; it is not made twice.
  await eventually(
    async () => (await view.recovery.count()) + (await view.approval.count()) + (await panelot.testkit.orders()).length,
    (found) => found > 0, "it goes on or asks", RECONNECTED,
  );
  if (await view.recovery.count()) await view.button("resume", view.recovery).click();
  await eventually(
    async () => (await view.approval.count()) + (await panelot.testkit.orders()).length,
    (found) => found > 0, "it goes on or asks", RECONNECTED,
  );
  if (await view.approval.count()) await view.button("approval-once", view.approval).click();
  await view.sees(REPORT);
  await untilOrders(1);
  await noViolations();
});

test("(d) killed after the dispatch and before the result: the person is asked, and nothing is repeated", async () => {
  await view.send(TASK);
  await expect(view.approval).toBeVisible({ timeout: 60_000 });
  await panelot.failpoint("tool.after_dispatch"); // now, so that it parks the click and no call before it
  await view.button("approval-once", view.approval).click();
  await panelot.reached("tool.after_dispatch");
  await untilOrders(1);
  await killAt("tool.after_dispatch");
  await expect(view.recovery).toBeVisible(RECONNECTED);
  await expect(view.recovery).toContainText(view.say("uncertain-title"));
  assert.ok(!(await view.conversation.innerText()).includes(REPORT), "success is not claimed");
  assert.equal((await panelot.testkit.requests()).length, 5, "the model is not asked on before the person answered");
  await view.button("uncertain-done", view.recovery).click();
  await view.sees(REPORT);
  await untilOrders(1);
  await noViolations();
});
