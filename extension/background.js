// Panelot's service worker: registers every listener in the first turn (Chrome delivers the waking event
// to no other), starts the engine's wasm once, hands it the events in order, and replaces a trapped instance.
// The module exports start(bootJson, prefetched), a promise, with {quarantined: [threadId], epoch, session, language, unlocked?} and
// what prefetch.js read, and deliver(kind, args). Kinds are the names in EVENTS, "runtime.onConnect" [port],
// "port.onMessage" [port, message] and "port.onDisconnect" [port]. The module adds no listener of its own, for Chrome
// swallows what one throws.
import init, * as engine from "./background/panelot_background.js";
import { cancelModels, loadModels, resetModels } from "./models.js";
import { enlist, prefetch } from "./prefetch.js";
import { isTrap } from "./trap.js";

// Under way while the listeners are registered; for the first instance only.
const TRAPS_KEY = "panelot_traps"; // in storage.session: thread id -> traps in this browser session
const load = () => fetch(chrome.runtime.getURL("background/panelot_background_bg.wasm"));
let wasm = load(), enlisted = enlist(TRAPS_KEY), prefetched = prefetch();
const EVENTS = [ // only what the module uses: each of them wakes the worker, and costs at every start
  "runtime.onInstalled", "runtime.onStartup", "alarms.onAlarm", "tabs.onRemoved", "tabs.onUpdated", "tabs.onReplaced",
  "webNavigation.onCommitted", "webNavigation.onDOMContentLoaded", "webNavigation.onErrorOccurred",
];
const TRAPS_TO_QUARANTINE = 2, FAILURES_TO_STOP = 3, FAILURE_WINDOW_MS = 60_000; // failures: boots, traps of no thread
const LATER_MS = 500, RETRY_STEP_MS = 500; // a database that another version holds may be free a moment later
const FATAL = { type: "fatal.reload_required", submissionId: "boot", protocol: "panelot/engine-v1", schemaHash: "0" };

let state = "booting"; // then "live"; after a trap "recovering" and "booting" again; in the end "stopped"
let queue = []; // [kind, args] that arrived while no instance was live
const ports = new Set();
let enteredThread = null;
let traps = null, failures = [], boots = 0, loaded = false; // as under TRAPS_KEY; when, in ms; how many; the module

// The module says which thread it enters, and null when it left it: this script outlives a trap.
globalThis.panelotEntering = (threadId) => { enteredThread = threadId ?? null; };

for (const kind of EVENTS) {
  const [space, event] = kind.split(".");
  chrome[space][event].addListener((...args) => forward(kind, args));
}
chrome.runtime.onConnect.addListener((port) => {
  if (port.sender?.origin !== location.origin) return port.disconnect(); // a page's content script is no view
  ports.add(port);
  port.onMessage.addListener((message) => forward("port.onMessage", [port, message]));
  port.onDisconnect.addListener(() => {
    void chrome.runtime.lastError; // reading it tells Chrome that we know
    if (ports.delete(port)) forward("port.onDisconnect", [port]);
  });
  forward("runtime.onConnect", [port]);
});
// The module's timers, promises and streams trap outside of deliver.
self.addEventListener("error", ({ error }) => isTrap(error) && recover(error));
self.addEventListener("unhandledrejection", ({ reason }) => isTrap(reason) && recover(reason));
boot();

function forward(kind, args) {
  if (state === "live") deliver(kind, args);
  else if (state !== "stopped") queue.push([kind, args]);
  else if (kind === "runtime.onConnect") refuse(args[0]);
}

function refuse(port) {
  const text = chrome.i18n.getMessage("engineStopped");
  port.postMessage({ ...FATAL, message: text || "Panelot's engine cannot start. Reload the extension." });
}

function deliver(kind, args) {
  try { engine.deliver(kind, args); } catch (error) {
    if (isTrap(error)) recover(error);
    else console.error(`Panelot: ${kind} failed`, error);
  }
}

async function facts() {
  const { counted, epoch, session, unlocked } = await (enlisted ?? enlist(TRAPS_KEY));
  enlisted = null;
  traps ??= counted;
  const quarantined = Object.keys(traps).filter((id) => traps[id] >= TRAPS_TO_QUARANTINE);
  return JSON.stringify({ quarantined, epoch, session, language: chrome.i18n.getUILanguage(), unlocked });
}

async function boot() {
  const number = ++boots; state = "booting";
  try {
    const reading = facts(); // while the wasm compiles
    if (loaded) { engine.__wbg_reset_state(); resetModels(); prefetched = undefined; }
    else { const module_or_path = wasm ?? load(); wasm = null; await init({ module_or_path }); loaded = true; }
    await engine.start(await reading, await prefetched);
    if (number !== boots || state !== "booting") return;
    state = "live";
    // Not in the first turn: it need not wake a worker, for Chrome updates one that sleeps by itself.
    if (number === 1) chrome.runtime.onUpdateAvailable.addListener((...args) => forward("runtime.onUpdateAvailable", args));
    while (queue.length > 0 && state === "live") deliver(...queue.shift());
    setTimeout(() => { // not in the way of the first answers
      chrome.sidePanel.setPanelBehavior({ openPanelOnActionClick: true }).catch(console.error);
      if (ports.size > 0) loadModels().catch(console.error); // whoever opens a view is likely to ask a model
    }, LATER_MS);
  } catch (error) {
    if (number === boots) recover(error);
  }
}

function recover(error) {
  if (state === "recovering" || state === "stopped") return; // another sign of the same incident
  console.error("Panelot: the engine stopped and is started anew", error);
  const thread = enteredThread; enteredThread = null;
  if (state === "live") { // the instance is lost that knew these ports: the views connect again
    for (const port of ports) port.disconnect();
    ports.clear();
    queue = queue.filter(([kind]) => !/^port\.|onConnect$/.test(kind));
  }
  state = "recovering"; cancelModels();
  // A task later: what the old instance's last jobs still throw belongs to this incident.
  setTimeout(async () => {
    if (thread !== null && traps && !(traps[thread] >= TRAPS_TO_QUARANTINE)) {
      traps[thread] = (traps[thread] ?? 0) + 1;
      await chrome.storage.session.set({ [TRAPS_KEY]: traps }).catch(console.error);
    } else failures = [...failures.filter((at) => at > Date.now() - FAILURE_WINDOW_MS), Date.now()];
    if (failures.length < FAILURES_TO_STOP) return void setTimeout(boot, failures.length * RETRY_STEP_MS);
    state = "stopped";
    ports.forEach(refuse);
    queue = [];
  }, 0);
}
