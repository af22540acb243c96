// The testkit's process: a scripted model server and sample sites, started for one test file.
import { spawn, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "./chromium.mjs";

/** The program: in the folder that `cargo xtask` names, else where cargo builds it. */
function program() {
  const name = process.platform === "win32" ? "testkit.exe" : "testkit";
  const programs = process.env.PANELOT_PROGRAMS;
  if (programs) return join(programs, name);
  const file = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "debug", name);
  if (!existsSync(file)) execFileSync("cargo", ["build", "-p", "panelot-testkit"], { cwd: ROOT, stdio: "inherit" });
  return file;
}

/** A running testkit. */
export class Testkit {
  /** Starts one; `scenarios` is a folder of scenario files. */
  static async start({ scenarios = join(ROOT, "e2e", "scenarios") } = {}) {
    const child = spawn(program(), ["serve", "--scenarios", scenarios], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const line = await new Promise((resolve, reject) => {
      lines.once("line", resolve);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`testkit ended with ${code}`)));
    });
    return new Testkit(child, JSON.parse(line));
  }

  constructor(child, { model, baseUrl, site }) {
    Object.assign(this, { child, model, baseUrl, site });
  }

  async #control(origin, path, options) {
    const response = await fetch(`${origin}/__control/${path}`, options);
    const value = await response.json();
    if (!response.ok) throw new Error(`testkit: ${path}: ${JSON.stringify(value)}`);
    return value;
  }

  /** What the model server was asked: completions only, in order. */
  async requests() {
    const all = await this.#control(this.model, "requests");
    return all.filter(({ path }) => path === "/v1/chat/completions");
  }

  /** Everything the model server was asked. */
  allRequests() {
    return this.#control(this.model, "requests");
  }

  /** Waits until the newest completion request is in a state that begins so, and returns it. */
  async untilState(state, { timeout = 20_000 } = {}) {
    const end = Date.now() + timeout;
    for (;;) {
      const newest = (await this.requests()).at(-1);
      if (newest?.state.startsWith(state)) return newest;
      if (Date.now() > end) throw new Error(`the newest request is ${newest?.state ?? "not there"}, not ${state}`);
      await sleep(25);
    }
  }

  /** Lets what is held under this name go on. */
  release(name) {
    return this.#control(this.model, `release/${name}`, { method: "POST" });
  }

  /** Adds a scenario, or replaces the one of its name. */
  add(scenario) {
    return this.#control(this.model, "scenarios", { method: "POST", body: JSON.stringify(scenario) });
  }

  /** The orders that the sample site received. */
  orders() {
    return this.#control(this.site, "orders");
  }

  /** Forgets requests and orders, and makes every step of every scenario new. */
  async reset() {
    await this.#control(this.model, "reset", { method: "POST" });
    await this.#control(this.site, "reset", { method: "POST" });
  }

  /** Ends the process. */
  async stop() {
    this.child.removeAllListeners("exit");
    const exit = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stdin.end();
    await Promise.race([exit, sleep(3_000, undefined, { ref: false }).then(() => this.child.kill("SIGKILL"))]);
  }
}

/** A scenario of one step per list of actions, found by a text in the person's message. */
export function scenario(marker, ...replies) {
  return { name: marker, match: { marker }, steps: replies.map((reply) => (Array.isArray(reply) ? { reply } : reply)) };
}
