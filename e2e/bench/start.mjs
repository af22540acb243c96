// How long until Panelot answers: a cold worker, and a message to its first delta, each beside an empty extension in
// the same browser, turn by turn.
import { stopWorkers } from "../lib/cdp.mjs";
import { scenario } from "../lib/testkit.mjs";
import * as wire from "../lib/wire.mjs";
import { bound, median, report, row } from "./report.mjs";
import { inBrowser } from "./rig.mjs";

const ROUNDS = 10;
/** Not measured: the first starts fill caches. */
const WARM_UP = 4;
const COLD_RATIO_MAX = 3;
const DELTA_RATIO_MAX = 3;

/** From connecting to a stopped worker to `initialized`, in ms. */
function coldStart(page, hash) {
  return page.evaluate(async (hash) => {
    const started = performance.now();
    const port = chrome.runtime.connect({ name: "panelot-engine" });
    const answer = new Promise((resolve) => port.onMessage.addListener(resolve));
    port.postMessage({
      type: "initialize", submissionId: crypto.randomUUID(), protocol: "panelot/engine-v1", schemaHash: hash,
      clientId: crypto.randomUUID(),
    });
    const { type } = await answer;
    const took = performance.now() - started;
    port.disconnect();
    if (type !== "initialized") throw new Error(`the engine answered ${type}`);
    return took;
  }, hash);
}

/** From connecting to the answer of the control's worker, in ms. `work` makes it commit and fetch before. */
function controlRound(page, work) {
  return page.evaluate(async (work) => {
    const started = performance.now();
    globalThis.port ??= chrome.runtime.connect();
    const { port } = globalThis;
    const answer = new Promise((resolve) => port.onMessage.addListener(resolve));
    port.postMessage(work);
    await answer;
    const took = performance.now() - started;
    if (!work.keep) {
      port.disconnect();
      delete globalThis.port;
    }
    return took;
  }, work);
}

/** From `turn.submit` to the first `item.delta`, in ms. */
async function submitToDelta(page, threadId) {
  return page.evaluate(async (threadId) => {
    const { wire } = globalThis;
    wire.messages.length = 0;
    const started = performance.now();
    const delta = wire.next(({ type }) => type === "item.delta").then(() => performance.now() - started);
    wire.port.postMessage({
      type: "turn.submit", submissionId: crypto.randomUUID(), threadId, input: { text: "Answer at once" },
    });
    const took = await delta;
    await wire.next(({ type }) => type === "turn.complete");
    return took;
  }, threadId);
}

/** `bare`: nothing of the extension is open but a picture. `view`: the page keeps what every open view keeps. */
async function coldStarts(panelot, control) {
  const hash = await wire.schemaHash(panelot);
  await panelot.evaluate(() => globalThis.wire.port.disconnect());
  // Each series has its own control: a browser that has just started is slower for both.
  const times = { bare: { own: [], empty: [] }, view: { own: [], empty: [] } };
  const round = async ({ own, empty }, measured) => {
    await stopWorkers(panelot);
    const panelotMs = await coldStart(panelot, hash);
    await stopWorkers(control);
    const emptyMs = await controlRound(control, {});
    if (measured) own.push(panelotMs) && empty.push(emptyMs);
  };
  for (let count = 0; count < ROUNDS + WARM_UP; count += 1) await round(times.bare, count >= WARM_UP);
  await panelot.evaluate(async () => (await import("/keep-engine.js")).keepEngine());
  for (let count = 0; count < ROUNDS + WARM_UP; count += 1) await round(times.view, count >= WARM_UP);
  return times;
}

async function firstDeltas(panelot, control, testkit) {
  await testkit.add(scenario("Answer at once", { repeat: true, reply: [{ kind: "text", text: "Here." }] }));
  await wire.greet(panelot);
  await wire.command(panelot, "settings.update", {
    changes: [
      { type: "putConnection", id: "t", name: "t", baseUrl: testkit.baseUrl, models: ["echo"], key: "sk-test" },
      { type: "setDefaultModel", model: { connectionId: "t", modelId: "echo" } },
    ],
  });
  const work = {
    keep: true,
    url: `${testkit.baseUrl}/chat/completions`,
    body: JSON.stringify({ model: "echo", stream: true, messages: [{ role: "user", content: "Answer at once" }] }),
  };
  const times = { panelot: [], empty: [] };
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    const { threadId } = await wire.command(panelot, "thread.create", {});
    await wire.ask(panelot, { type: "thread.subscribe", submissionId: crypto.randomUUID(), threadId });
    const own = await submitToDelta(panelot, threadId);
    const empty = await controlRound(control, work);
    if (round < WARM_UP) continue;
    times.panelot.push(own);
    times.empty.push(empty);
  }
  return times;
}

await inBrowser(async ({ testkit, page: panelot, control }) => {
  const cold = await coldStarts(panelot, control);
  const delta = await firstDeltas(panelot, control, testkit);
  const ratio = ({ own, empty }) => median(own) / median(empty);
  const [coldRatio, bareRatio] = [ratio(cold.view), ratio(cold.bare)];
  const deltaRatio = median(delta.panelot) / median(delta.empty);
  report(
    "start",
    [
      row("worker cold start to initialized, a view open", "ms", cold.view.own),
      row("control: cold start of an empty extension", "ms", cold.view.empty),
      row("worker cold start, no view open", "ms", cold.bare.own),
      row("control: cold start of an empty extension", "ms", cold.bare.empty),
      row("submit to first delta", "ms", delta.panelot),
      row("control: Port, three strict commits, fetch", "ms", delta.empty),
      row("cold start with a view open beside the control", "ratio", cold.view.own.map((it) => it / median(cold.view.empty))),
      row("cold start with no view open beside the control", "ratio", cold.bare.own.map((it) => it / median(cold.bare.empty))),
      row("first delta beside the control", "ratio", delta.panelot.map((it, index) => it / delta.empty[index])),
    ],
    [
      bound(`cold start with a view open at most ${COLD_RATIO_MAX} times the control`, coldRatio, coldRatio <= COLD_RATIO_MAX),
      bound(`the same, no view open, at most ${COLD_RATIO_MAX} times the control`, bareRatio, bareRatio <= COLD_RATIO_MAX),
      bound(`first delta at most ${DELTA_RATIO_MAX} times the control`, deltaRatio, deltaRatio <= DELTA_RATIO_MAX),
    ],
  );
});
