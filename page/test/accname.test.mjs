// Accessible names and descriptions: the cases of the web platform tests (accname), and a table of our own.
// `wpt-accname/cases.json` holds their bodies and expectations (for ATK); LICENSE.md there is theirs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { launch } from "./harness.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** Cases whose expectation we do not follow, each with its reason. */
const DIFFERS = {
  // Both want a label's title between its generated texts, as if it were content. The specification's tooltip step
  // comes only where there is no other text.
  name_test_case_659: "name",
  name_test_case_660: "name",
};

let browser, code, page;

before(async () => {
  const built = await build({
    stdin: { contents: `export { accessibleName, accessibleDescription } from "./accname";`, resolveDir: join(here, "../src"), loader: "ts" },
    bundle: true, format: "iife", globalName: "accname", write: false,
  });
  code = built.outputFiles[0].text;
  browser = await launch();
  page = await browser.newPage();
});

after(async () => {
  await browser?.close();
});

async function compute(html) {
  await page.setContent(`<!doctype html><body>${html}`, { waitUntil: "commit" });
  await page.evaluate(code + "; globalThis.accname = accname;");
  return page.evaluate(() => {
    const element = document.getElementById("test");
    const name = accname.accessibleName(element);
    return { name, description: accname.accessibleDescription(element, name) };
  });
}

test("the platform's own cases give the expected names and descriptions", async () => {
  const cases = Object.entries(JSON.parse(await readFile(join(here, "wpt-accname/cases.json"), "utf8")));
  assert.ok(cases.length > 150);
  for (const [name, { html, expect }] of cases) {
    const got = await compute(html);
    for (const [property, want] of Object.entries(expect)) {
      if (DIFFERS[name] === property) assert.notEqual(got[property], want, `${name} agrees by now: take it off the list`);
      else assert.equal(got[property], want, `${name}: ${property}`);
    }
  }
});

test("names come from the sources in their order", async () => {
  const cases = [
    [`<span id=a>One</span><span id=b hidden>Two</span><input id=test aria-labelledby="a b" aria-label=No>`, "One Two"],
    [`<button id=test aria-label="Close">×</button>`, "Close"],
    [`<label for=test>Flash <input value=3 aria-label=times> times</label><input type=checkbox id=test>`, "Flash 3 times"],
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
    const got = await compute(html);
    assert.equal(got.name, want, html);
  }
});
