// Runs the bundled executor in an isolated world of a real page, with a stand-in for chrome.runtime.

import { createServer } from "node:http";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const FLAGS = [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const OWN_ID = "panelotpanelotpanelotpanelotpane";

export async function bundle() {
  const built = await build({
    entryPoints: [join(here, "../src/main.ts")], bundle: true, format: "iife", minify: true, target: "chrome125", write: false,
  });
  return built.outputFiles[0].text;
}

/** The first browser that is there; undefined for Playwright's own. */
export const browserPath = () => BROWSERS.find((path) => path && existsSync(path));

export async function launch() {
  return chromium.launch({ executablePath: browserPath(), args: FLAGS, headless: true });
}

/** Serves what `handle(path, request)` returns: a page's text, or `{type, body}`, or `{redirect}`. */
export async function serve(handle) {
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const found = await handle(new URL(request.url, "http://x").pathname, request, Buffer.concat(chunks).toString());
    const { type = "text/html; charset=utf-8", body = found } = typeof found === "object" && found ? found : {};
    response.writeHead(body === undefined || body === null ? 404 : 200, { "content-type": type });
    response.end(body ?? "");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}

const SHIM = `(() => {
  if (globalThis.__ask) return;
  const listeners = new Set();
  globalThis.chrome = { runtime: { id: ${JSON.stringify(OWN_ID)}, onMessage: {
    addListener: (f) => listeners.add(f), removeListener: (f) => listeners.delete(f) } } };
  globalThis.__listeners = listeners;
  globalThis.__ask = (message, sender) => new Promise((done) => {
    let kept = false;
    for (const listener of [...listeners]) kept = listener(message, sender, done) === true || kept;
    if (!kept) queueMicrotask(() => done(null));
  });
})();`;

/** Puts the executor into the page's top document; `ask` sends it a body and gives back the answer's. */
export async function inject(page, code, constants) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const world = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "executor" });
  const contextId = world.executionContextId;
  const evaluate = async (expression) => {
    const answer = await session.send("Runtime.evaluate", { contextId, expression, awaitPromise: true, returnByValue: true });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
    return answer.result.value;
  };
  await evaluate(SHIM);
  await evaluate(code);
  let count = 0;
  const origin = new URL(page.url()).origin;
  const send = async (message, sender = { id: OWN_ID }) => {
    const answer = await evaluate(`__ask(${JSON.stringify(message)}, ${JSON.stringify(sender)})`);
    if (answer && !constants.isResponse(answer)) throw new Error(`not a valid answer: ${JSON.stringify(answer).slice(0, 2000)}`);
    return answer;
  };
  const envelope = (body, more = {}) => ({
    protocol: constants.PROTOCOL_ID, schemaHash: constants.SCHEMA_HASH, requestId: `r${(count += 1)}`, expectedOrigin: origin,
    deadlineAt: Date.now() + 10_000, body, ...more,
  });
  const act = async (action, more) => (await send(envelope({ kind: "execute", action }, more))).body;
  const read = async () => {
    const body = await act({ type: "readPage" });
    if (body.kind !== "done") throw new Error(JSON.stringify(body));
    return body.result.page;
  };
  const find = async (role, name) => {
    const facts = await read();
    const node = facts.nodes.find((at) => at.ref && at.role === role && (name === undefined || (at.name ?? "") === name));
    if (!node) throw new Error(`no ${role} ${name} in ${JSON.stringify(facts.nodes.filter((at) => at.ref).map((at) => [at.role, at.name]))}`);
    return node;
  };
  return {
    evaluate, send, envelope, act, read, find,
    click: async (role, name) => act({ type: "click", target: (await find(role, name)).ref }),
    type: async (role, name, text, more = {}) =>
      act({ type: "type", target: (await find(role, name)).ref, text, clear: true, submit: false, ...more }),
    select: async (role, name, choice) => act({ type: "selectOption", target: (await find(role, name)).ref, choice }),
  };
}

/** The generated constants, and the check of an answer against its schema and budget. */
export async function constants() {
  const built = await build({
    stdin: {
      contents: `export * from "./generated"; import { RESPONSE_SCHEMA } from "./generated"; import { fits, matches } from "./envelope";
        export const isResponse = (value) => fits(value) && matches(RESPONSE_SCHEMA, RESPONSE_SCHEMA, value);`,
      resolveDir: join(here, "../src"), loader: "ts",
    },
    bundle: true, format: "esm", write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString("base64")}`);
}
