// Accessible names and descriptions against the manual tests of the web platform tests (accname), where they are at hand.
// PANELOT_WPT_ACCNAME names their folder; without it the same rules are checked by a table of our own.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { launch, serve } from "./harness.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.PANELOT_WPT_ACCNAME;

/** Tests whose expectation we do not follow, each with its reason. */
const EXPECTED_TO_DIFFER = new Set(JSON.parse(await readFile(join(here, "accname-differs.json"), "utf8")).tests);

let browser, code, server, page;
const pages = new Map();

before(async () => {
  const built = await build({
    stdin: { contents: `export { accessibleName, accessibleDescription } from "./accname";`, resolveDir: join(here, "../src"), loader: "ts" },
    bundle: true, format: "iife", globalName: "accname", write: false,
  });
  code = built.outputFiles[0].text;
  server = await serve((path) => {
    if (path.endsWith("ATTAcomm.js")) return { type: "text/javascript", body: "globalThis.ATTAcomm = class { constructor(spec) { globalThis.spec = spec; } }; globalThis.setup = () => {};" };
    if (path.endsWith("testharness.js")) return { type: "text/javascript", body: "globalThis.setup = () => {};" };
    if (path.endsWith(".js") || path.endsWith(".css")) return { type: path.endsWith(".js") ? "text/javascript" : "text/css", body: "" };
    return pages.get(path);
  });
  browser = await launch();
  page = await browser.newPage();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

async function compute(name, html, id) {
  pages.set(`/${name}`, html);
  await page.goto(`${server.origin}/${name}`);
  await page.evaluate(code + "; globalThis.accname = accname;");
  return page.evaluate((id) => {
    const element = document.getElementById(id);
    if (!element) return null;
    const name = accname.accessibleName(element);
    return { name, description: accname.accessibleDescription(element, name), spec: globalThis.spec };
  }, id);
}

test("the platform's own cases give the expected names and descriptions", { skip: !folder && "PANELOT_WPT_ACCNAME is not set" }, async () => {
  const files = (await readdir(folder)).filter((file) => file.endsWith("-manual.html")).sort();
  assert.ok(files.length > 100);
  const wrong = [];
  let checked = 0;
  for (const file of files) {
    const html = await readFile(join(folder, file), "utf8");
    const got = await compute(file, html, "test");
    if (!got) continue;
    const facts = got.spec?.steps?.flatMap((step) => step.test?.ATK ?? []) ?? [];
    for (const [kind, property, relation, want] of facts) {
      if (kind !== "property" || relation !== "is" || !/^(name|description)$/.test(property)) continue;
      checked += 1;
      if (got[property] !== want.trim()) wrong.push({ file, property, want, got: got[property] });
    }
  }
  const names = wrong.map((one) => one.file);
  const unexpected = wrong.filter((one) => !EXPECTED_TO_DIFFER.has(one.file));
  assert.deepEqual(unexpected, [], `${checked - wrong.length} of ${checked} as expected`);
  assert.deepEqual([...EXPECTED_TO_DIFFER].filter((file) => !names.includes(file)), [], "these agree by now: take them off the list");
  assert.ok(checked > 100, `only ${checked} facts were found`);
});

test("names come from the sources in their order", async () => {
  const cases = [
    [`<span id=a>One</span><span id=b hidden>Two</span><input id=test aria-labelledby="a b" aria-label=No>`, "One Two"],
    [`<button id=test aria-label="Close">×</button>`, "Close"],
    [`<label>Flash <input value=3 aria-label=times> times <input type=checkbox id=test></label>`, "Flash 3 times"],
    [`<label>A<div>B</div>C <input id=test></label>`, "A B C"],
    [`<a id=test href=x><img alt="Home"> page</a>`, "Home page"],
    [`<a id=test href=x><svg><title>Cart</title></svg></a>`, "Cart"],
    [`<input id=test placeholder=Find title=Search>`, "Search"],
    [`<input id=test placeholder=Find>`, "Find"],
    [`<input type=submit id=test>`, "Submit"],
    [`<fieldset id=test><legend>Size</legend><input></fieldset>`, "Size"],
    [`<table id=test><caption>Prices</caption><tr><td>1</table>`, "Prices"],
    [`<style>#test::before{content:"New: "}</style><button id=test>Mail</button>`, "New: Mail"],
    [`<button id=test>Save<span hidden> secretly</span><span aria-hidden=true>*</span></button>`, "Save"],
    [`<div id=test>Text is no name</div>`, ""],
    [`<label for=test>Code <input type=password value=hunter2></label><input id=test>`, "Code"],
  ];
  for (const [html, want] of cases) {
    const got = await compute("own.html", `<!doctype html><body>${html}`, "test");
    assert.equal(got.name, want, html);
  }
});
