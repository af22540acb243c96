// Starts the user interface's wasm. The theme and language of the last visit are put on first, so nothing flashes.
import init from "./ui/panelot_ui.js";
import { keepEngine } from "./keep-engine.js";

const root = document.documentElement;
const theme = localStorage.getItem("panelot.theme");
if (theme === "light" || theme === "dark") root.dataset.theme = theme;
root.lang = localStorage.getItem("panelot.lang") ?? chrome.i18n.getUILanguage();

requestIdleCallback(() => keepEngine().catch(console.warn), { timeout: 5_000 });

init({ module_or_path: new URL("./ui/panelot_ui_bg.wasm", import.meta.url) }).catch((error) => {
  console.error("Panelot: the page cannot start", error);
  const note = document.createElement("p");
  note.className = "boot-failed";
  note.setAttribute("role", "alert");
  note.textContent = chrome.i18n.getMessage("engineStopped");
  document.body.replaceChildren(note);
});
