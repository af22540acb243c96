// Criterion 5, isolation: a trap of the wasm in one thread leaves the others working.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

let panelot;

before(async () => {
  panelot = await Panelot.start();
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

test("a thread that stops the engine twice is set aside with a notice, and another thread answers", async () => {
  const view = new View(await panelot.openPanel());
  await view.send("The poisoned chat");
  await view.sees("Echo: ");
  const poisoned = await panelot.newestThread();
  await view.button("new-chat").first().click();
  await view.send("The healthy chat");
  await view.sees("Echo: ");
  const healthy = await panelot.newestThread();

  await panelot.failpoint("engine.enter", { mode: "trap", threadId: poisoned, count: 2 });
  const other = new View(await panelot.openChat(poisoned));
  await expect(other.page.getByText(other.say("error-quarantined"))).toBeVisible({ timeout: 30_000 });
  const sound = new View(await panelot.openChat(healthy));
  await sound.sees("The healthy chat", { timeout: 30_000 });
  await sound.send("Are you still there?");
  await expect(sound.answers).toHaveCount(2, { timeout: 30_000 });
  await view.sees("Are you still there?", { timeout: 30_000 });
});

test("one trap costs a restart and nothing else", async () => {
  const view = new View(await panelot.openPanel());
  await view.button("new-chat").first().click();
  await view.send("Unlucky once");
  await view.sees("Echo: ");
  const thread = await panelot.newestThread();
  await panelot.failpoint("engine.enter", { mode: "trap", threadId: thread, count: 1 });
  await view.send("Once more");
  await expect(view.answers).toHaveCount(2, { timeout: 30_000 });
  await expect(view.messages).toHaveCount(2);
});

test("what the lost engine had asked of a model ends with it", async () => {
  const view = new View(await panelot.openPanel());
  await view.button("new-chat").first().click();
  await view.send("The chat that traps");
  await view.sees("Echo: ");
  const trapping = await panelot.newestThread();
  await panelot.testkit.add(scenario("Never end", [{ kind: "text", text: "Well, " }, { kind: "hold", name: "never" }]));
  await view.button("new-chat").first().click();
  await view.send("Never end");
  await view.sees("Well,");
  await panelot.failpoint("engine.enter", { mode: "trap", threadId: trapping, count: 1 });
  await panelot.openChat(trapping);
  const end = Date.now() + 10_000;
  for (let state = ""; !state.startsWith("left"); ) {
    assert.ok(Date.now() < end, `the request is ${state}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    state = (await panelot.testkit.requests()).find((it) => it.scenario === "Never end").state;
  }
});
