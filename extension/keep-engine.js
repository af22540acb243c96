// Keeps the engine compiled while a view is open. A worker that starts anew in the same process then finds its module
// compiled, which is a quarter of its start; while the worker runs both share the memory.
export async function keepEngine() {
  globalThis.panelotEngine = await WebAssembly.compileStreaming(fetch("/background/panelot_background_bg.wasm"));
}
