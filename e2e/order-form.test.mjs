// Criterion 2: the panel asks for an order, the agent fills in the form, asks once, submits, and reports.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

const TASK = "Order three mugs for Ada Lovelace, ada@example.com.";
const REPORT = "The site confirmed it.";
let panelot;

before(async () => {
  panelot = await Panelot.start({ connected: false });
  // Filling in is allowed on this site; what leaves it is not.
  const origin = panelot.testkit.site;
  const rules = ["type", "select_option"].map((tool) => ({ verdict: "allow", tool, origin }));
  await panelot.connect({ rules });
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

test("an order is placed exactly once after one approval, and the whole is there after a reload", async () => {
  const site = await panelot.openSite("/order");
  const view = new View(await panelot.openPanel());
  await view.send(TASK);

  await expect(view.approval).toBeVisible({ timeout: 60_000 });
  assert.equal((await panelot.testkit.orders()).length, 0, "nothing is sent before the approval");
  await expect(view.approval).toContainText(panelot.testkit.site);
  assert.equal(await site.getByLabel("Name").inputValue(), "Ada Lovelace");
  assert.equal(await site.getByLabel("E-mail").inputValue(), "ada@example.com");
  assert.equal(await site.getByLabel("Quantity").inputValue(), "3");
  await view.button("approval-once", view.approval).click();

  await view.sees(REPORT);
  await expect(view.approval).toHaveCount(0);
  const orders = await panelot.testkit.orders();
  assert.equal(orders.length, 1);
  assert.deepEqual(orders[0].fields, { name: "Ada Lovelace", email: "ada@example.com", quantity: "3" });
  await site.getByRole("status").getByText("Order number 1 is confirmed").waitFor();

  const requests = await panelot.testkit.requests();
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
  assert.equal(requests.length, 6, "each step took one model call");

  await view.page.reload();
  for (const text of [TASK, view.say("tool-read-page"), view.say("tool-click"), REPORT]) await view.sees(text);
  assert.equal((await panelot.testkit.orders()).length, 1);
});

test("a declined click sends nothing, and the model is told the person's note", async () => {
  await panelot.testkit.reset();
  const site = await panelot.openSite("/order");
  await site.bringToFront();
  const view = new View(await panelot.openPanel());
  await view.button("new-chat").first().click();
  await view.send(TASK);
  await expect(view.approval).toBeVisible({ timeout: 60_000 });
  await view.button("approval-decline-open", view.approval).click();
  await view.approval.getByRole("textbox", { name: view.say("approval-decline-note") }).fill("Two are enough");
  await view.button("approval-decline-send", view.approval).click();
  await expect(view.approval).toHaveCount(0);
  const told = await eventually(
    async () => (await panelot.testkit.requests()).at(-1).body.messages.at(-1),
    (message) => message.role === "tool" && JSON.stringify(message.content).includes("Two are enough"),
    "the newest tool result should carry the note",
  );
  assert.ok(told);
  assert.deepEqual(await panelot.testkit.orders(), []);
});
