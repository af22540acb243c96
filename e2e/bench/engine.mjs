// What the engine costs in the real worker, for threads of 200, 2,000 and 20,000 nodes (the last with a summary node):
// opening one, sending a message, an older page, a delta, memory; beside an empty Port round-trip and a page's read in
// the same run. The figures without a browser come from `engine-bench native`; `cargo xtask bench engine` runs both.
import { readFile } from "node:fs/promises";
import { stopWorkers } from "../lib/cdp.mjs";
import { scenario } from "../lib/testkit.mjs";
import * as wire from "../lib/wire.mjs";
import { bound, median, report, row } from "./report.mjs";
import { inBrowser } from "./rig.mjs";

const SIZES = [200, 2_000, 20_000];
const [SMALLEST, LARGEST] = [SIZES.at(0), SIZES.at(-1)];
const ROUNDS = 20;
/** Not measured: caches fill, and the browser compiles what is called often. */
const WARM_UP = 6;
/** Entries of a snapshot. */
const PAGE_NODES = 60;
const GROWTH_MAX = 1.5;
const CONTROLS_MAX = 10;
const DELTAS = 2_000;
/** Threads that are followed at once to see what one holds. */
const HELD = 60;
/** Rows that go into the page at once. */
const PLANTED_AT_ONCE = 2_000;
const [NATIVE, ROWS] = [process.env.PANELOT_ENGINE_NATIVE, process.env.PANELOT_ENGINE_ROWS];

const read = async (file) => JSON.parse(await readFile(file, "utf8"));

/** Runs in a page of the extension: writes rows as the store would. */
async function put(rows) {
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open("panelot");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const transaction = database.transaction([...new Set(rows.map(({ table }) => table))], "readwrite");
  for (const { table, key, row } of rows) transaction.objectStore(table).put(row, key);
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onerror = () => reject(transaction.error);
  });
  database.close();
}

/** Writes the rows, and has the worker find them. */
async function plant(page, rows) {
  for (let at = 0; at < rows.length; at += PLANTED_AT_ONCE) await page.evaluate(put, rows.slice(at, at + PLANTED_AT_ONCE));
  await page.evaluate(() => globalThis.wire?.port.disconnect());
  await stopWorkers(page);
}

/** The same thread under another id. */
function renamed(rows, from, to) {
  const rename = (text) => text.replaceAll(`"${from}"`, `"${to}"`);
  return rows.map(({ table, key, row }) => ({
    table, key: key.map((part) => (part === from ? to : part)), row: { ...row, j: rename(row.j) },
  }));
}

/** A new view in the place of the one before, so that no thread is followed. */
async function view(page, hash) {
  await wire.connect(page);
  const { type } = await wire.ask(page, {
    type: "initialize", submissionId: crypto.randomUUID(), protocol: "panelot/engine-v1", schemaHash: hash,
    clientId: crypto.randomUUID(),
  });
  if (type !== "initialized") throw new Error(`the engine answered ${type}`);
}

/** Milliseconds from an operation to its answer, in the page. */
function asked(page, operation) {
  return page.evaluate(async (operation) => {
    const { wire } = globalThis;
    wire.messages.length = 0;
    const submissionId = crypto.randomUUID();
    const started = performance.now();
    const answer = wire.next((it) => it.submissionId === submissionId).then((it) => ({ it, at: performance.now() }));
    wire.port.postMessage({ ...operation, submissionId });
    const { it, at } = await answer;
    if (it.type === "command.rejected" || it.type === "error") throw new Error(JSON.stringify(it));
    return at - started;
  }, operation);
}

/** Sends a message: ms until it is acknowledged, when it was sent (ms since 1970), and when its run was over. */
function submitted(page, threadId, text) {
  return page.evaluate(async ({ threadId, text }) => {
    const { wire } = globalThis;
    wire.messages.length = 0;
    const started = performance.now();
    const since = (type) => wire.next((it) => it.type === type, 60_000).then(() => performance.now() - started);
    const [acknowledged, delta, complete] = ["command.ack", "item.delta", "turn.complete"].map(since);
    wire.port.postMessage({ type: "turn.submit", submissionId: crypto.randomUUID(), threadId, input: { text } });
    return {
      sentAt: performance.timeOrigin + started, acknowledged: await acknowledged, delta: await delta, complete: await complete,
    };
  }, { threadId, text });
}

/** An empty round-trip, in a page of the control. */
function emptyRound(control) {
  return control.evaluate(async () => {
    globalThis.port ??= chrome.runtime.connect();
    const answer = new Promise((resolve) => globalThis.port.onMessage.addListener(resolve));
    const started = performance.now();
    globalThis.port.postMessage({});
    await answer;
    return performance.now() - started;
  });
}

/** One read of the newest entries of a thread, in a page of the extension. */
function pageRead(page, threadId) {
  return page.evaluate(async ({ threadId, limit }) => {
    globalThis.database ??= await new Promise((resolve, reject) => {
      const request = indexedDB.open("panelot");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const newest = globalThis.newest ??= {};
    const nodes = () => globalThis.database.transaction("nodes").objectStore("nodes");
    newest[threadId] ??= await new Promise((resolve) => {
      const range = IDBKeyRange.bound([threadId], [threadId, []]);
      nodes().openKeyCursor(range, "prev").onsuccess = ({ target }) => resolve(target.result.key[1]);
    });
    const range = IDBKeyRange.bound([threadId, newest[threadId] - limit + 1], [threadId, newest[threadId]]);
    const started = performance.now();
    const rows = await new Promise((resolve) => {
      nodes().getAll(range).onsuccess = ({ target }) => resolve(target.result);
    });
    const took = performance.now() - started;
    if (rows.length !== limit) throw new Error(`${rows.length} rows`);
    return took;
  }, { threadId, limit: PAGE_NODES });
}

/** One round for one size. */
async function measure(page, control, testkit, hash, size, into) {
  const threadId = `bench-${size}`;
  await view(page, hash);
  const figures = {
    port: await emptyRound(control),
    read: await pageRead(page, threadId),
    opened: await asked(page, { type: "thread.subscribe", threadId }),
    again: await asked(page, { type: "thread.subscribe", threadId }),
    older: await asked(page, { type: "thread.history", threadId, before: size - PAGE_NODES }),
  };
  const sent = await submitted(page, threadId, "Answer at once");
  const request = (await testkit.requests()).at(-1);
  figures.acknowledged = sent.acknowledged;
  figures.requested = request.at - sent.sentAt;
  if (request.violations.length > 0) throw new Error(`${request.violations}`);
  await testkit.reset();
  if (!into) return;
  for (const [name, value] of Object.entries(figures)) (into[name] ??= []).push(value);
}

/** Microseconds for a piece of a long answer that the server sends at once. */
async function deltaCosts(page, hash) {
  const costs = [];
  for (let round = 0; round < 5; round += 1) {
    await view(page, hash);
    await asked(page, { type: "thread.subscribe", threadId: `bench-${SMALLEST}` });
    const { delta, complete } = await submitted(page, `bench-${SMALLEST}`, "Write at length");
    costs.push(((complete - delta) * 1_000) / DELTAS);
  }
  return costs;
}

/** Kilobytes that the worker holds for a thread that is followed: its module's memory and its scripts'. */
async function memoryOfThread(browser, page, hash, base) {
  const worker = (await browser.targets()).find(({ type, url }) => type === "service_worker" && url.startsWith(base));
  const session = await browser.attach(worker.targetId);
  const used = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const { result: { objectId: prototypeObjectId } } = await session.send("Runtime.evaluate", {
      expression: "WebAssembly.Memory.prototype",
    });
    const { objects } = await session.send("Runtime.queryObjects", { prototypeObjectId });
    const { result } = await session.send("Runtime.callFunctionOn", {
      objectId: objects.objectId, returnByValue: true,
      functionDeclaration: "function () { return this.reduce((sum, it) => sum + it.buffer.byteLength, 0); }",
    });
    return usedSize + result.value;
  };
  await page.evaluate(async ({ hash, ids }) => {
    globalThis.followed = ids.map((threadId) => {
      const port = chrome.runtime.connect({ name: "panelot-engine" });
      const snapshot = new Promise((resolve, reject) => port.onMessage.addListener((message) => {
        if (message.type === "thread.snapshot") resolve();
        if (message.type === "error") reject(new Error(JSON.stringify(message)));
      }));
      const start = () => {
        port.postMessage({
          type: "initialize", submissionId: crypto.randomUUID(), protocol: "panelot/engine-v1", schemaHash: hash,
          clientId: crypto.randomUUID(),
        });
        port.postMessage({ type: "thread.subscribe", submissionId: crypto.randomUUID(), threadId });
        return snapshot;
      };
      return { port, start };
    });
  }, { hash, ids: Array.from({ length: HELD }, (_, index) => `held-${index}`) });
  const follow = (from, to) => page.evaluate(async ({ from, to }) => {
    for (const { start } of globalThis.followed.slice(from, to)) await start();
  }, { from, to });
  // What the first ones leave behind is used by those that follow.
  const first = HELD / 4;
  await follow(0, first);
  const before = await used();
  await follow(first, HELD);
  const after = await used();
  await session.detach();
  await page.evaluate(() => globalThis.followed.forEach(({ port }) => port.disconnect()));
  return (after - before) / (HELD - first) / 1_000;
}

async function figures(browser, page, control, testkit, base) {
  await testkit.add(scenario("Answer at once", { repeat: true, reply: [{ kind: "text", text: "Here." }] }));
  const long = { kind: "text", text: "seven words of an answer go here ".repeat(DELTAS), chunkChars: 33 };
  await testkit.add(scenario("Write at length", { repeat: true, reply: [long] }));
  const hash = await wire.schemaHash(page);
  await wire.greet(page);
  await wire.command(page, "settings.update", {
    changes: [
      { type: "putConnection", id: "t", name: "t", baseUrl: testkit.baseUrl, models: ["echo"], key: "sk-test" },
      { type: "setDefaultModel", model: { connectionId: "t", modelId: "echo" } },
    ],
  });
  const rows = await read(ROWS);
  const small = rows.filter(({ key }) => key[0] === `bench-${SMALLEST}`);
  const held = Array.from({ length: HELD }, (_, index) => renamed(small, `bench-${SMALLEST}`, `held-${index}`)).flat();
  await plant(page, [...rows, ...held]);
  // First: what a worker frees it keeps, so that later nothing would grow.
  await view(page, hash);
  const memory = await memoryOfThread(browser, page, hash, base);
  const of = Object.fromEntries(SIZES.map((size) => [size, {}]));
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    // By turns, so that what else the machine does meets all of them.
    for (const size of SIZES) await measure(page, control, testkit, hash, size, round < WARM_UP ? undefined : of[size]);
  }
  return { of, memory, deltas: await deltaCosts(page, hash) };
}

function tell({ of, deltas, memory }, native) {
  const all = (name) => SIZES.flatMap((size) => of[size][name]);
  const per = (name, text) => SIZES.map((size) => row(`${text}, ${size} nodes`, "ms", of[size][name]));
  const growth = (name) => median(of[LARGEST][name]) / median(of[SMALLEST][name]);
  const controls = median(all("port")) + median(all("read"));
  const opened = Math.max(...SIZES.map((size) => median(of[size].opened))) / controls;
  const [subscribe, submit] = [growth("opened"), growth("requested")];
  report(
    "engine",
    [
      ...native.figures.map(({ name, unit, values }) => row(name, unit, values)),
      ...per("opened", "subscribe to snapshot, asleep"), ...per("again", "subscribe to snapshot, awake"),
      ...per("older", "an older page"), ...per("acknowledged", "submit to acknowledged"),
      ...per("requested", "submit to provider request"),
      row(`one of ${DELTAS} deltas, sent at once`, "µs", deltas),
      row("memory of a thread that is followed", "kB", [memory]),
      row("control: empty Port round-trip", "ms", all("port")),
      row(`control: one read of ${PAGE_NODES} rows`, "ms", all("read")),
    ],
    [
      bound(`subscribe to snapshot grows by at most ${GROWTH_MAX} from ${SMALLEST} to ${LARGEST}`, subscribe, subscribe <= GROWTH_MAX),
      bound(`submit to provider request grows by at most ${GROWTH_MAX} from ${SMALLEST} to ${LARGEST}`, submit, submit <= GROWTH_MAX),
      bound(`subscribe to snapshot at most ${CONTROLS_MAX} times both controls`, opened, opened <= CONTROLS_MAX),
    ],
  );
}

await inBrowser(async ({ testkit, browser, base, page, control }) => {
  tell(await figures(browser, page, control, testkit, base), await read(NATIVE));
});
