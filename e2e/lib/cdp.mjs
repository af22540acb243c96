// A browser driven over the DevTools pipe and nothing else: no target is attached that a test does not name, so a
// service worker starts, idles and ends as it does for a person.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { flags, isBranded, program } from "./chromium.mjs";

const CALL_DEADLINE_MS = 60_000;

/** One attached target, or the browser itself. */
class Session {
  constructor(browser, id) {
    this.browser = browser;
    this.id = id;
    this.listeners = new Map();
  }

  /** Calls a method and returns its result. */
  send(method, params = {}) {
    return this.browser.call(method, params, this.id);
  }

  /** Calls `listener` with the parameters of each event of that name. */
  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  off(event, listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((it) => it !== listener));
  }

  emit(event, params) {
    for (const listener of this.listeners.get(event) ?? []) listener(params);
  }

  /** Evaluates a function (with JSON arguments) or an expression in the target and returns its JSON value. */
  async evaluate(code, ...args) {
    const expression = typeof code === "function" ? `(${code})(${args.map((it) => JSON.stringify(it)).join(",")})` : code;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression, awaitPromise: true, returnByValue: true, userGesture: true,
    });
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  /** Evaluates until the value is truthy and returns it. */
  async until(code, { timeout = 20_000, interval = 50, args = [] } = {}) {
    const end = Date.now() + timeout;
    for (;;) {
      const value = await this.evaluate(code, ...args).catch((error) => {
        if (Date.now() > end) throw error; // a page that is just navigating
      });
      if (value) return value;
      if (Date.now() > end) throw new Error(`still not true after ${timeout} ms: ${code}`);
      await sleep(interval);
    }
  }

  /** Ends the connection with the target, which lives on. */
  detach() {
    return this.browser.root.send("Target.detachFromTarget", { sessionId: this.id });
  }
}

/** A page with its session. */
class Page extends Session {
  constructor(browser, id, targetId) {
    super(browser, id);
    this.targetId = targetId;
  }

  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }

  close() {
    return this.browser.root.send("Target.closeTarget", { targetId: this.targetId });
  }
}

/** A browser with a new profile. */
export class Browser {
  /** Starts it with these unpacked extensions. */
  static async launch({ extensions = [], headless = true, args = [] } = {}) {
    const file = program();
    const profile = await mkdtemp(join(tmpdir(), "panelot-profile-"));
    const branded = extensions.length > 0 && (isBranded(file) || process.env.PANELOT_LOAD === "cdp");
    const child = spawn(
      file,
      [
        ...flags({ headless, extensions: branded ? [] : extensions }),
        ...(branded ? ["--enable-unsafe-extension-debugging"] : []),
        `--user-data-dir=${profile}`, "--remote-debugging-pipe", ...args, "about:blank",
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    const browser = new Browser(child, profile);
    await browser.root.send("Target.setDiscoverTargets", { discover: true });
    if (branded) {
      for (const path of extensions) await browser.root.send("Extensions.loadUnpacked", { path });
    }
    return browser;
  }

  constructor(child, profile) {
    this.child = child;
    this.profile = profile;
    this.pending = new Map();
    this.sessions = new Map();
    this.nextId = 1;
    this.root = new Session(this, undefined);
    let rest = Buffer.alloc(0);
    child.stdio[4].on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        this.receive(JSON.parse(rest.subarray(0, end).toString("utf8")));
        rest = rest.subarray(end + 1);
      }
    });
    child.stdio[3].on("error", () => {}); // the browser left; calls fail by their deadline or by "exit"
    child.on("exit", () => {
      for (const { reject } of this.pending.values()) reject(new Error("the browser ended"));
      this.pending.clear();
    });
  }

  receive({ id, result, error, method, params, sessionId }) {
    if (id === undefined) {
      (sessionId ? this.sessions.get(sessionId) : this.root)?.emit(method, params);
      return;
    }
    const call = this.pending.get(id);
    this.pending.delete(id);
    if (error) call?.reject(new Error(`${call.method}: ${error.message}`));
    else call?.resolve(result);
  }

  call(method, params, sessionId) {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        this.pending.delete(id);
        reject(new Error(`${method}: no answer in ${CALL_DEADLINE_MS} ms`));
      }, params.timeoutMs ?? CALL_DEADLINE_MS);
      const settle = (done) => (value) => {
        clearTimeout(deadline);
        done(value);
      };
      this.pending.set(id, { method, resolve: settle(resolve), reject: settle(reject) });
      this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** What there is to attach to. */
  async targets() {
    return (await this.root.send("Target.getTargets")).targetInfos;
  }

  /** Attaches to one target. */
  async attach(targetId) {
    const { sessionId } = await this.root.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.sessions.set(sessionId, page);
    return page;
  }

  /** Opens a page, in a window of its own when `window` gives a size. */
  async open(url, { window } = {}) {
    const size = window ? { newWindow: true, width: window.width, height: window.height } : {};
    const { targetId } = await this.root.send("Target.createTarget", { url, ...size });
    const page = await this.attach(targetId);
    if (window) {
      await page.send("Emulation.setDeviceMetricsOverride", { ...window, deviceScaleFactor: 1, mobile: false });
    }
    // A new target is an empty page first; and an extension that is still being loaded gives an error page.
    await page.until(
      (wanted) => {
        if (document.readyState !== "complete" || location.href === "about:blank") return wanted === "about:blank";
        if (location.protocol !== "chrome-error:") return true;
        location.replace(wanted);
        return false;
      },
      { args: [url], interval: 200 },
    );
    return page;
  }

  /** Ends the browser and removes its profile. */
  async close() {
    if (this.child.exitCode === null) {
      const exit = once(this.child, "exit");
      await this.root.send("Browser.close").catch(() => this.child.kill());
      await Promise.race([exit, sleep(5_000, undefined, { ref: false }).then(() => this.child.kill("SIGKILL"))]);
    }
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Stops the service workers of a page's origin, and resolves when none runs. Takes any session of the page. */
export async function stopWorkers(session) {
  const running = new Map();
  let stopped;
  const all = new Promise((resolve) => { stopped = resolve; });
  const look = ({ versions }) => {
    for (const { versionId, runningStatus } of versions) running.set(versionId, runningStatus);
    if (running.size > 0 && [...running.values()].every((status) => status === "stopped")) stopped();
  };
  session.on("ServiceWorker.workerVersionUpdated", look);
  const late = setTimeout(() => stopped(new Error(`workers: ${[...running.values()]}`)), 15_000);
  await session.send("ServiceWorker.enable");
  await session.send("ServiceWorker.stopAllWorkers");
  const error = await all;
  clearTimeout(late);
  session.off("ServiceWorker.workerVersionUpdated", look);
  await session.send("ServiceWorker.disable");
  if (error) throw error;
}
