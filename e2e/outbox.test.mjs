// A message whose page went away before the engine had it: it is safe in the outbox, and the next page brings it to
// its end, once.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

let panelot;

before(async () => {
  panelot = await Panelot.start();
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

test("a message that a closed panel left unanswered is sent by the next one, exactly once", async () => {
  const view = new View(await panelot.openPanel());
  await view.send("First words");
  await view.sees("Echo: ");
  const thread = await panelot.newestThread();
  await panelot.failpoint("engine.enter");
  await view.send("Precious second words");
  await panelot.reached("engine.enter");
  // The panel goes, then the worker with the message in its hands: nothing but the outbox has it now.
  await view.page.close();
  await panelot.killWorker();
  await panelot.clearFailpoint();
  const next = new View(await panelot.openChat(thread));
  await next.sees("Precious second words", { timeout: 20_000 });
  await expect(next.answers).toHaveCount(2, { timeout: 20_000 });
  const { items } = await panelot.snapshot(await panelot.newestThread());
  const said = items.filter(({ body }) => body.kind === "user_message").map(({ body }) => body.text);
  assert.deepEqual(said, ["First words", "Precious second words"]);
  const kept = await panelot.console.evaluate(async () => Object.keys(await chrome.storage.session.get(null)));
  assert.deepEqual(kept.filter((key) => key.startsWith("outbox:")), [], "what is answered leaves nothing behind");
  await next.page.close();
});
