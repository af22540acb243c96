// The model that is built into the browser (the Prompt API), for the pages that have a window: it is exposed to no worker.
export const OPTIONS = { expectedInputs: [{ type: "text" }], expectedOutputs: [{ type: "text" }] };

/** `missing` where the browser has none; else as the browser says: unavailable, downloadable, downloading, available. */
export async function availability() {
  return globalThis.LanguageModel ? LanguageModel.availability(OPTIONS) : "missing";
}

/** Downloads the model; only in the handler of a click. `progress` hears how much is there, from 0 to 1. */
export async function download(progress) {
  const monitor = (it) => it.addEventListener("downloadprogress", ({ loaded }) => progress(loaded));
  (await LanguageModel.create({ ...OPTIONS, monitor })).destroy();
}

globalThis.panelotLanguageModel = { availability, download };
