// Criterion 5, patience: no view is open, no debugger is on the worker, and the model takes its time.
//
// Driven over the DevTools pipe without attaching to the worker: an attached debugger would keep it alive and prove
// nothing. The 330 s case lies beyond Chrome's 5-minute limit of one event; it runs where PANELOT_SLOW is set.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Browser } from "./lib/cdp.mjs";
import { TEST_BUILD, extensionId } from "./lib/chromium.mjs";
import { Testkit, scenario } from "./lib/testkit.mjs";
import * as wire from "./lib/wire.mjs";

const SECONDS = process.env.PANELOT_SLOW ? [45, 120, 330] : [45, 120];
/** Not a page of the interface: only a place to speak from. */
const PLACE = `chrome-extension://${extensionId(TEST_BUILD)}/icons/icon-32.png`;

async function waitsFor(seconds) {
  const testkit = await Testkit.start();
  const browser = await Browser.launch({ extensions: [TEST_BUILD] });
  try {
    await testkit.add(
      scenario("Take your time", { stallBeforeMs: seconds * 1000, reply: [{ kind: "text", text: "Worth the wait." }] }),
    );
    const page = await browser.open(PLACE);
    await wire.greet(page);
    await wire.command(page, "settings.update", {
      changes: [
        { type: "putConnection", id: "t", name: "t", baseUrl: testkit.baseUrl, models: ["echo"], key: "sk-test" },
        { type: "setDefaultModel", model: { connectionId: "t", modelId: "echo" } },
      ],
    });
    const { threadId } = await wire.command(page, "thread.create", { input: { text: "Take your time" } });
    await testkit.untilState("waiting");
    await page.close();
    await sleep(seconds * 1000);
    const attached = (await browser.targets()).filter((it) => it.type === "service_worker" && it.attached);
    assert.deepEqual(attached, [], "no debugger is on the worker");
    const request = await testkit.untilState("done", { timeout: 10_000 });
    assert.equal((await testkit.requests()).length, 1, "the first request was answered, not a second one");
    assert.ok(request.endedAt - request.at >= seconds * 1000);
    await sleep(1_000);

    const later = await browser.open(PLACE);
    await wire.greet(later);
    const { snapshot } = await wire.ask(later, { type: "thread.subscribe", submissionId: "s", threadId });
    const answer = snapshot.items.find(({ body }) => body.kind === "assistant_message")?.body;
    assert.equal(answer?.text, "Worth the wait.");
    assert.equal(answer.incomplete, false);
    assert.equal(snapshot.activeTurn, null);
  } finally {
    await browser.close();
    await testkit.stop();
  }
}

describe("with no view open and no debugger on the worker", { concurrency: true }, () => {
  for (const seconds of SECONDS) {
    test(`a first byte after ${seconds} s still completes its turn`, () => waitsFor(seconds));
  }
});
