// The estimate of tokens against the vocabularies of `gpt-tokenizer`, on this project's own texts in both languages.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { read } from "./reader.mjs";

const FOLDERS = ["docs", "docs/decisions", "crates/engine/src", "crates/provider/src", "crates/ui/locales", "e2e/scenarios", "page/src"];
/** Enough for the law of large numbers, and about what one message or one page is. */
const CHARACTERS = { least: 1500, most: 20000 };

function texts() {
    const found = [];
    for (const folder of FOLDERS) {
        for (const entry of readdirSync(folder, { withFileTypes: true })) {
            if (entry.isFile() && /\.(md|rs|ftl|json|ts)$/.test(entry.name)) {
                const file = path.join(folder, entry.name);
                const text = readFileSync(file, "utf8").slice(0, CHARACTERS.most);
                if (text.length >= CHARACTERS.least) {
                    found.push({ file, text });
                }
            }
        }
    }
    return found;
}

test("texts are counted to ten in a hundred", () => {
    const all = texts();
    assert.ok(all.length > 50, "there are texts");
    const got = read("tokens", all.map(({ text }) => JSON.stringify(text)));
    const off = all.map(({ file, text }, place) => ({ file, ratio: got[place] / countTokens(text) }));
    const worst = off.filter(({ ratio }) => Math.abs(ratio - 1) > 0.1);
    // One in fifty may be of a sort of its own, as long as it is not far off.
    assert.ok(worst.length * 50 <= off.length, JSON.stringify(worst));
    assert.ok(worst.every(({ ratio }) => Math.abs(ratio - 1) < 0.2), JSON.stringify(worst));
    const mean = off.reduce((sum, { ratio }) => sum + ratio, 0) / off.length;
    assert.ok(Math.abs(mean - 1) < 0.03, `on average ${mean}`);
});
