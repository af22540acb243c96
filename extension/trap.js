/** Whether an error tells of a wasm instance that cannot be used any more. */
export function isTrap(error) {
  // A stack overflow leaves a module's memory as torn as a trap does.
  return error instanceof WebAssembly.RuntimeError || (error instanceof RangeError && /call stack/.test(error.message));
}
