// The executor as an extension uses it: injected by documentId, asked through tabs.sendMessage from a service worker.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { FLAGS, browserPath, bundle, constants as loadConstants, serve } from "./harness.mjs";

let context, worker, constants, server, folder;
let html = "";
const received = [];

before(async () => {
  constants = await loadConstants();
  folder = await mkdtemp(join(tmpdir(), "panelot-page-"));
  const manifest = {
    manifest_version: 3, name: "Executor test", version: "1", background: { service_worker: "worker.js" },
    permissions: ["scripting", "tabs", "webNavigation"], host_permissions: ["http://127.0.0.1/*"],
  };
  await writeFile(join(folder, "manifest.json"), JSON.stringify(manifest));
  await writeFile(join(folder, "worker.js"), "chrome.runtime.onInstalled.addListener(() => {});");
  await writeFile(join(folder, "page-executor.js"), await bundle());
  server = await serve((path, request, body) => {
    if (path === "/order") received.push(body);
    return path === "/favicon.ico" ? null : path === "/order" ? "<title>Thanks</title>Thanks" : html;
  });
  context = await chromium.launchPersistentContext("", {
    executablePath: browserPath(), headless: true, viewport: { width: 800, height: 600 },
    args: [...FLAGS, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
  });
  worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
});

after(async () => {
  await context?.close();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

async function open(content) {
  html = `<!doctype html><meta charset="utf-8"><title>Test</title>${content}`;
  const page = await context.newPage();
  await page.goto(`${server.origin}/`);
  const frame = await worker.evaluate(async (url) => {
    const tabs = await chrome.tabs.query({});
    const tab = tabs.filter((at) => at.url === url).at(-1);
    const { documentId } = await chrome.webNavigation.getFrame({ tabId: tab.id, frameId: 0 });
    await chrome.scripting.executeScript({ target: { tabId: tab.id, documentIds: [documentId] }, files: ["page-executor.js"] });
    return { tabId: tab.id, documentId };
  }, `${server.origin}/`);
  let count = 0;
  const act = async (action) => {
    const message = {
      protocol: constants.PROTOCOL_ID, schemaHash: constants.SCHEMA_HASH, requestId: `r${(count += 1)}`, documentId: frame.documentId,
      expectedOrigin: server.origin, deadlineAt: Date.now() + 10_000, body: { kind: "execute", action },
    };
    const answer = await worker.evaluate(
      ([frame, message]) => chrome.tabs.sendMessage(frame.tabId, message, { documentId: frame.documentId }), [frame, message],
    );
    assert.ok(constants.isResponse(answer), JSON.stringify(answer));
    assert.equal(answer.body.kind, "done", JSON.stringify(answer.body));
    return answer.body.result;
  };
  const ref = async (name) => (await act({ type: "readPage" })).page.nodes.find((node) => node.ref && node.name === name).ref;
  return { page, act, ref };
}

test("a form is filled and sent once, and the answer is there before the page is left", async () => {
  const { page, act, ref } = await open(`<form action="/order" method="post"><label>Name <input name="name"></label>
    <label>Size <select name="size"><option>S</option><option>L</option></select></label><button>Place order</button></form>`);
  await act({ type: "type", target: await ref("Name"), text: "Zoë", clear: true, submit: false });
  await act({ type: "selectOption", target: await ref("Size"), choice: { by: "label", label: "L" } });
  const { observed } = await act({ type: "click", target: await ref("Place order") });
  assert.ok(observed.effects.includes("formSubmitted") && observed.effects.includes("navigationStarted"), JSON.stringify(observed));
  await page.waitForURL("**/order");
  assert.deepEqual(received, ["name=Zo%C3%AB&size=L"]);
  await page.close();
});

test("a page with a strict policy is operated, and closed shadow roots are looked into", async () => {
  const { page, act, ref } = await open(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'">
    <x-closed></x-closed><script>const root = document.querySelector("x-closed").attachShadow({mode: "closed"});
    root.innerHTML = "<button>Inside</button>"; root.firstChild.onclick = () => { document.title = "Clicked"; };</script>`);
  await act({ type: "click", target: await ref("Inside") });
  assert.equal(await page.title(), "Clicked");
  await page.close();
});

test("a tab behind another one is operated, and hears its focus events", async () => {
  const { page, act, ref } = await open(`<input aria-label="First" onfocus="log.push('focus')" onblur="log.push('blur')" onchange="log.push('change')">
    <input aria-label="Second"><script>globalThis.log = []</script>`);
  const session = await context.newCDPSession(page);
  await session.send("Emulation.setFocusEmulationEnabled", { enabled: false });
  const front = await context.newPage();
  await front.bringToFront();
  assert.equal(await page.evaluate(() => document.hasFocus()), false);
  const typed = await act({ type: "type", target: await ref("First"), text: "one", clear: true, submit: false });
  assert.equal(typed.exact, true);
  await act({ type: "type", target: await ref("Second"), text: "two", clear: true, submit: false });
  assert.deepEqual(await page.evaluate(() => globalThis.log), ["focus", "change", "blur"]);
  await front.close();
  await page.close();
});
