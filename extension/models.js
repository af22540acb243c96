// The worker's second wasm module, which calls models: loaded with the first call, so that no start waits for it.
// The engine's module calls it as `panelotModels`. A trap in it is one of the worker's: background.js resets both.
import "./built-in.js";
import init, * as module from "./models/panelot_models.js";

let loading, loaded = false;
let engines = 0; // how many were lost

/** Loads the module unless it is there; a load that failed is tried again by the next call. */
export function loadModels() {
  loading ??= init({ module_or_path: fetch(chrome.runtime.getURL("models/panelot_models_bg.wasm")) })
    .then(() => { loaded = true; }, (error) => { loading = undefined; throw error; });
  return loading;
}

/** Ends every call: the engine that made them is lost. Their requests end in the jobs that follow. */
export function cancelModels() {
  engines += 1;
  if (!loaded) return;
  try { module.cancel_all(); } catch { /* it is this module that trapped */ }
}

/** Gives the module fresh memory, in a later task than `cancelModels`: what is left of the old one is not heard any more. */
export function resetModels() {
  if (loaded) module.__wbg_reset_state();
}

/** Whether the person lets the extension reach an address. Chrome grants access to a host, whatever the port. */
globalThis.panelotMayReach = (url) => {
  const { protocol, hostname } = new URL(url);
  return chrome.permissions.contains({ origins: [`${protocol}//${hostname}/*`] });
};

const cancelled = new Set(); // before the module was there
globalThis.panelotModels = {
  answer: (...args) => call("answer", args),
  verify: (...args) => call("verify", args),
  cancel: (number) => { if (loaded) module.cancel(number); else if (loading) cancelled.add(number); },
};

async function call(what, args) {
  const engine = engines;
  let unwanted;
  // Numbers begin anew with each engine: one that was cancelled must not stay on the list, whatever becomes of the load.
  try { await loadModels(); } finally { unwanted = cancelled.delete(args[0]) || engine !== engines; }
  if (unwanted) throw new Error("cancelled");
  return module[what](...args);
}
