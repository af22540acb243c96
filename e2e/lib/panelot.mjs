// Panelot in a browser with a new profile, beside a testkit: what a test file opens once and drives by roles and names.
import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT, TEST_BUILD, extensionId, flags, isBranded, program } from "./chromium.mjs";
import { stopWorkers } from "./cdp.mjs";
import { Testkit } from "./testkit.mjs";
import * as wire from "./wire.mjs";

const PANEL = { width: 400, height: 800 };
/** Of the window beside the panel, where people look at both. */
const SITE_WIDTH = 960;
/** A worker hears of a new failpoint at once; one that sleeps reads it when it starts. */
const FAILPOINT_ARMED_MS = 2_000;
const CONNECTION = "testkit";

/** Starts a browser on a profile. */
async function launch(profile, { extension, headless }) {
  const browser = program();
  // Branded Chrome ignores --load-extension and takes an extension over the DevTools pipe only.
  const branded = isBranded(browser) || process.env.PANELOT_LOAD === "cdp";
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: browser,
    headless,
    viewport: null,
    args: [
      ...flags({ headless, extensions: branded ? [] : [extension] }), "--window-size=1280,800",
      ...(branded ? ["--enable-unsafe-extension-debugging"] : []),
    ],
    ignoreDefaultArgs: ["--disable-extensions", "--enable-automation"],
  });
  if (!branded) return { context, id: extensionId(extension) };
  const session = await context.browser().newBrowserCDPSession();
  return { context, id: (await session.send("Extensions.loadUnpacked", { path: extension })).id };
}

/** A browser with Panelot and a testkit. */
export class Panelot {
  /** Starts both, with the extension of this folder. */
  static async start({ connected = true, extension = TEST_BUILD, headless = true } = {}) {
    const testkit = await Testkit.start();
    const profile = await mkdtemp(join(tmpdir(), "panelot-profile-"));
    const { context, id } = await launch(profile, { extension, headless });
    const panelot = new Panelot(testkit, context, profile, id);
    Object.assign(panelot, { headless, extension });
    await panelot.#open();
    if (connected) await panelot.connect();
    return panelot;
  }

  constructor(testkit, context, profile, id) {
    Object.assign(this, { testkit, profile, id, log: [] });
    this.#watch(context);
  }

  /** Notes what the browser's pages and workers say. */
  #watch(context) {
    this.context = context;
    const note = (where) => (message) => {
      // Chrome's own viewer, in which the console stands, trips over the extension's policy.
      if (!message.text().includes("inline style")) this.log.push(`${where}: ${message.type()}: ${message.text()}`);
    };
    const watch = (page) => {
      page.on("console", note("page"));
      page.on("pageerror", (error) => this.log.push(`page: ${error}`));
    };
    context.on("page", watch);
    context.pages().forEach(watch);
    const watchWorker = (worker) => worker.on("console", note("worker"));
    context.on("serviceworker", watchWorker);
    context.serviceWorkers().forEach(watchWorker);
  }

  /** Closes the browser and opens it again with the same profile. */
  async restart() {
    await this.context.close();
    const { context, id } = await launch(this.profile, this);
    this.id = id;
    this.#watch(context);
    await this.#open();
  }

  /** A page of the extension that is no view: the tests' way to chrome.* and to the Port. */
  async #open() {
    this.console = await this.context.newPage();
    await this.console.goto(this.url("icons/icon-32.png"));
    this.cdp = await this.context.newCDPSession(this.console);
  }

  url(path) {
    return `chrome-extension://${this.id}/${path}`;
  }

  /** Connects a model, the scripted one unless `baseUrl` names another, and makes these choices. */
  async connect({ model = "echo", policy = "untrusted", rules = [], key = "sk-test", name = "Testkit", baseUrl } = {}) {
    await wire.greet(this.console);
    const changes = [
      {
        type: "putConnection", id: CONNECTION, name, baseUrl: baseUrl ?? this.testkit.baseUrl,
        models: [model], key,
      },
      { type: "setDefaultModel", model: { connectionId: CONNECTION, modelId: model } },
      { type: "setPolicy", policy },
    ];
    await wire.command(this.console, "settings.update", { changes });
    for (const [index, rule] of rules.entries()) {
      await wire.command(this.console, "rule.put", { rule: { id: `rule-${index}`, ...rule } });
    }
    await this.console.evaluate(() => globalThis.wire.port.disconnect());
  }

  /** Sends the engine one command, as a client of its own, and returns its acknowledgement. */
  async command(type, fields) {
    await wire.greet(this.console);
    const answer = await wire.command(this.console, type, fields);
    await this.console.evaluate(() => globalThis.wire.port.disconnect());
    return answer;
  }

  /** Changes settings. */
  settings(...changes) {
    return this.command("settings.update", { changes });
  }

  /** Opens a page of the sample site. */
  async openSite(path = "/order") {
    const page = await this.context.newPage();
    await page.goto(`${this.testkit.site}${path}`);
    return page;
  }

  /** Opens the side panel's page in a window of its own. */
  async openPanel() {
    const opened = this.context.waitForEvent("page");
    await this.console.evaluate(
      ({ url, width, height }) => chrome.windows.create({ url, type: "popup", width, height }),
      { url: this.url("sidepanel.html"), ...PANEL },
    );
    const page = await opened;
    if (this.headless) await page.setViewportSize(PANEL);
    else await this.#standBeside(page);
    return page;
  }

  /** Puts the panel's window at the right of the other one, on a screen that people see. */
  async #standBeside(panel) {
    const { id } = await panel.evaluate(() => chrome.windows.getCurrent());
    await this.console.evaluate(
      async ({ id, width, site }) => {
        const [left, top] = [screen.availLeft, screen.availTop];
        const height = Math.min(screen.availHeight, 900);
        const beside = Math.min(site, screen.availWidth - width);
        const { id: other } = await chrome.windows.getCurrent();
        await chrome.windows.update(other, { left, top, width: beside, height });
        await chrome.windows.update(id, { left: left + beside, top, width, height, focused: true });
      },
      { id, width: PANEL.width, site: SITE_WIDTH },
    );
  }

  /** Opens the full-page chat, on a thread if one is named. */
  async openChat(threadId) {
    const page = await this.context.newPage();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(this.url(threadId ? `chat.html#thread=${threadId}` : "chat.html"));
    return page;
  }

  async openOptions() {
    const page = await this.context.newPage();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(this.url("options.html"));
    return page;
  }

  /** The newest thread's id, from the engine itself. */
  async newestThread() {
    const { directory } = await wire.greet(this.console);
    await this.console.evaluate(() => globalThis.wire.port.disconnect());
    const newest = directory.threads.sort((a, b) => b.updatedAt - a.updatedAt)[0];
    assert.ok(newest, "there is a thread");
    return newest.id;
  }

  /** A thread as the engine has it now. */
  async snapshot(threadId) {
    await wire.greet(this.console);
    const { snapshot } = await wire.ask(this.console, {
      type: "thread.subscribe", submissionId: crypto.randomUUID(), threadId,
    });
    await this.console.evaluate(() => globalThis.wire.port.disconnect());
    return snapshot;
  }

  /** Parks the worker at a named point, once; resolves when it knows. */
  async failpoint(name, fields = { mode: "park" }) {
    await this.console.evaluate(
      async ({ value, within }) => {
        await chrome.storage.local.remove(["panelot_failpoint_reached", "panelot_failpoint_armed"]);
        await chrome.storage.local.set({ panelot_failpoint: value });
        for (const end = Date.now() + within; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10))) {
          const { panelot_failpoint_armed: armed } = await chrome.storage.local.get("panelot_failpoint_armed");
          if (armed === value.name) return;
        }
      },
      { value: { name, ...fields }, within: FAILPOINT_ARMED_MS },
    );
  }

  /** Waits until the named point is reached: the proof that what follows tests what it says. */
  async reached(name, { timeout = 30_000 } = {}) {
    const end = Date.now() + timeout;
    for (;;) {
      const { panelot_failpoint_reached: seen } = await this.console.evaluate(() =>
        chrome.storage.local.get("panelot_failpoint_reached"),
      );
      if (seen?.name === name) return seen;
      if (Date.now() > end) throw new Error(`the failpoint ${name} was not reached`);
      await sleep(50);
    }
  }

  clearFailpoint() {
    return this.console.evaluate(() => chrome.storage.local.remove(["panelot_failpoint", "panelot_failpoint_reached"]));
  }

  /** Kills the service worker, as Chrome does, and resolves when it is gone. */
  killWorker() {
    return stopWorkers(this.cdp);
  }

  /** Leaves screenshots, the log and the model's requests in target/e2e when a test failed. */
  async report(test) {
    if (test.passed !== false) return;
    const folder = join(ROOT, "target", "e2e", test.name.replace(/[^a-z0-9]+/gi, "-").slice(0, 80));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "log.txt"), this.log.join("\n"));
    await writeFile(join(folder, "requests.json"), JSON.stringify(await this.testkit.allRequests(), null, 1));
    for (const [index, page] of this.context.pages().entries()) {
      await page.screenshot({ path: join(folder, `page-${index}.png`), timeout: 5_000 }).catch(() => {});
      await writeFile(join(folder, `page-${index}.html`), await page.content().catch((error) => `${error}`));
    }
  }

  async close() {
    await this.context.close();
    await this.testkit.stop();
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
