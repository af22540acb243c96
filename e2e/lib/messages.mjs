// The interface's texts, read from where the interface has them, so that a test names what it looks for by its key.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./chromium.mjs";

/** A function from a key (and arguments) to the text in that language: `en` or `zh-CN`. */
export function messages(language = "en") {
  const texts = new Map();
  for (const line of readFileSync(join(ROOT, "crates", "ui", "locales", `${language}.ftl`), "utf8").split("\n")) {
    const match = /^([a-z0-9.-]+) = (.*)$/.exec(line);
    if (match) texts.set(match[1], match[2]);
  }
  return (key, values = {}) => {
    const text = texts.get(key);
    if (text === undefined) throw new Error(`there is no text ${key} in ${language}`);
    return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  };
}
