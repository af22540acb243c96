// The servers of others that `cargo xtask interop` talks to: LiteLLM's proxy and llama.cpp, from a Python environment.
import { spawn } from "node:child_process";
import { mkdir, open, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";

const HERE = dirname(fileURLToPath(import.meta.url));
const START_MS = 240_000;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server's process; what it prints is kept in a file beside the environment. */
class Process {
  static async start(folder, name, program, args, { env = {}, stdout = "file" } = {}) {
    await mkdir(folder, { recursive: true });
    const log = await open(join(folder, `${name}.log`), "w");
    const out = stdout === "file" ? log.fd : "pipe";
    const child = spawn(program, args, { stdio: ["pipe", out, log.fd], env: { ...process.env, ...env } });
    const it = new Process();
    Object.assign(it, { child, log, name, ended: new Promise((resolve) => child.once("exit", resolve)) });
    child.once("exit", (code) => { it.code = code; });
    return it;
  }

  async stop() {
    this.child.stdin.end();
    this.child.kill("SIGTERM");
    await Promise.race([this.ended, sleep(5_000, undefined, { ref: false }).then(() => this.child.kill("SIGKILL"))]);
    await this.log.close();
  }
}

/**
 * LiteLLM's proxy with three models: `mock` answers `words` by itself; `scripted` is the testkit's scripted model behind
 * the proxy, so that an answer can be anything and what the proxy makes of a request can be looked at.
 */
export async function litellm(folder, environment, { words, baseUrl }) {
  const port = await freePort();
  const config = {
    model_list: [
      { model_name: "mock", litellm_params: { model: "openai/mock", api_key: "sk-none", mock_response: words } },
      { model_name: "scripted", litellm_params: { model: "openai/echo", api_base: baseUrl, api_key: "sk-upstream" } },
    ],
    // Else it asks an OpenAI-compatible upstream for Responses when it was itself asked for messages.
    litellm_settings: { use_chat_completions_url_for_anthropic_messages: true, telemetry: false, num_retries: 0 },
    general_settings: { master_key: "sk-proxy" },
  };
  await mkdir(folder, { recursive: true });
  const file = join(folder, "litellm.yaml");
  await writeFile(file, JSON.stringify(config, null, 1)); // JSON is YAML
  const server = await Process.start(folder, "litellm", join(environment, "bin", "litellm"), [
    "--config", file, "--host", "127.0.0.1", "--port", `${port}`,
  ], { env: { LITELLM_LOCAL_MODEL_COST_MAP: "True", NO_PROXY: "127.0.0.1,localhost" } });
  const origin = `http://127.0.0.1:${port}`;
  await answering(server, `${origin}/health/liveliness`);
  return { origin, key: "sk-proxy", stop: () => server.stop() };
}

/** llama.cpp's server with the model of a file. */
export async function llama(folder, environment, gguf) {
  const server = await Process.start(
    folder, "llama", join(environment, "bin", "python"), [join(HERE, "llama.py"), gguf], { stdout: "pipe" },
  );
  const lines = createInterface({ input: server.child.stdout });
  const origin = await Promise.race([
    new Promise((resolve) => lines.on("line", (line) => line.startsWith("http") && resolve(line.trim()))),
    server.ended.then((code) => Promise.reject(new Error(`llama.cpp ended with ${code}; see llama.log`))),
    sleep(START_MS, undefined, { ref: false }).then(() => Promise.reject(new Error("llama.cpp does not start"))),
  ]);
  return { origin, key: "", stop: () => server.stop() };
}

async function answering(server, url) {
  for (const end = Date.now() + START_MS; Date.now() < end; await sleep(500)) {
    if (server.code !== undefined) throw new Error(`${server.name} ended with ${server.code}; see ${server.name}.log`);
    const response = await fetch(url).catch(() => null);
    if (response?.ok) return;
  }
  throw new Error(`${server.name} does not answer at ${url}`);
}
