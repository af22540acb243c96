// Starts the page's wasm: settings have a module of their own, panel and chat tab share one. The theme and language of the last visit are put on first, so nothing flashes.
import { keepEngine } from "./keep-engine.js";

const root = document.documentElement;
const theme = localStorage.getItem("panelot.theme");
if (theme === "light" || theme === "dark") root.dataset.theme = theme;
root.lang = localStorage.getItem("panelot.lang") ?? chrome.i18n.getUILanguage();

requestIdleCallback(() => keepEngine().catch(console.warn), { timeout: 5_000 });

async function start() {
  const name = document.body.dataset.page === "options" ? "options" : "chat";
  const { default: init } = await import(`./${name}/panelot_${name}.js`);
  await init({ module_or_path: new URL(`./${name}/panelot_${name}_bg.wasm`, import.meta.url) });
}

start().catch((error) => {
  console.error("Panelot: the page cannot start", error);
  const note = document.createElement("p");
  note.className = "boot-failed";
  note.setAttribute("role", "alert");
  note.textContent = chrome.i18n.getMessage("engineStopped");
  document.body.replaceChildren(note);
});
