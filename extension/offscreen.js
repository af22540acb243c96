// The page without a view in which the browser's built-in model answers: one Port for each question of the worker
// (built-in.js). Nothing is decided here; crates/provider/src/built_in.rs says what is asked and what an answer means.
import { OPTIONS, availability } from "./language-model.js";

const MISSING = ["missing", "unavailable"];

chrome.runtime.onConnect.addListener((port) => {
  if (port.name !== "panelot-built-in") return;
  const stop = new AbortController();
  port.onDisconnect.addListener(() => stop.abort());
  port.onMessage.addListener(async (question) => {
    try {
      const say = (event) => { if (!stop.signal.aborted) port.postMessage(event); };
      await answer(question, say, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return; // nobody listens any more
      const code = error.name === "QuotaExceededError" ? "context_length_exceeded" : "server_error";
      port.postMessage({ error: { code, message: `${error.name}: ${error.message}` } });
    }
  });
});

async function answer({ history, prompt, schema }, say, signal) {
  const state = await availability();
  if (MISSING.includes(state)) return say({ error: { code: "built_in_missing" } });
  if (state !== "available") return say({ error: { code: "built_in_not_downloaded" } });
  const session = await LanguageModel.create({ ...OPTIONS, initialPrompts: history, signal });
  try {
    const form = schema ? { responseConstraint: schema, omitResponseConstraintInput: true } : {};
    let half = ""; // of a character
    for await (const chunk of session.promptStreaming([prompt], { ...form, signal })) {
      const text = half + chunk;
      half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? "";
      say({ text: text.slice(0, text.length - half.length) });
    }
    say({ done: {} });
  } finally {
    session.destroy();
  }
}
