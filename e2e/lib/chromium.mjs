// Which browser program the tests drive, with which flags, and how an unpacked extension is named there.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { accessSync, constants, realpathSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The build that the tests load; `cargo xtask build --test-build` makes it. */
export const TEST_BUILD = process.env.PANELOT_EXTENSION ?? join(ROOT, "dist", "extension-test");
/** What is shipped and measured; `cargo xtask build --release` makes it. */
export const RELEASE_BUILD = process.env.PANELOT_EXTENSION ?? join(ROOT, "dist", "extension");
/** Where the testkit listens, as a match pattern. */
export const LOOPBACK = "http://127.0.0.1/*";

const PROGRAMS = [
  "chromium", "chromium-browser", "chrome-for-testing", "google-chrome-for-testing", "google-chrome-stable",
  "google-chrome",
];

/** The browser's program: PANELOT_CHROMIUM, or the first known one on PATH. */
export function program() {
  const names = process.env.PANELOT_CHROMIUM ? [process.env.PANELOT_CHROMIUM] : PROGRAMS;
  for (const name of names) {
    for (const folder of name.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter)) {
      const file = folder ? join(folder, name) : name;
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch { /* not here */ }
    }
  }
  throw new Error("no Chromium found: run `cargo xtask setup`, or set PANELOT_CHROMIUM to its program");
}

/** True for Google's branded Chrome, which ignores --load-extension from version 137 on. */
export function isBranded(file) {
  const version = execFileSync(file, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return version.includes("Google Chrome") && !version.includes("for Testing");
}

/** Flags for a quiet browser with a new profile. */
export function flags({ headless = true, extensions = [] } = {}) {
  const loaded = extensions.map((folder) => realpathSync(folder)).join(",");
  return [
    ...(headless ? ["--headless=new", "--disable-gpu"] : []),
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    "--disable-quic", "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-search-engine-choice-screen",
    "--password-store=basic", "--use-mock-keychain",
    ...(loaded ? [`--disable-extensions-except=${loaded}`, `--load-extension=${loaded}`] : []),
  ];
}

/** The id of an unpacked extension without a `key`: Chrome derives it from the folder's path. */
export function extensionId(folder) {
  const path = realpathSync(folder);
  const bytes = process.platform === "win32" ? Buffer.from(path, "utf16le") : Buffer.from(path, "utf8");
  const digits = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
  return [...digits].map((digit) => String.fromCharCode(97 + parseInt(digit, 16))).join("");
}

/**
 * A copy of an extension that may also reach a host, since nobody can be asked for it headless. `remove` ends it.
 * `host` is a match pattern such as `https://api.example.com/*`.
 */
export async function copyWithHost(extension, host) {
  const folder = await mkdtemp(join(tmpdir(), "panelot-extension-"));
  await cp(extension, folder, { recursive: true });
  const file = join(folder, "manifest.json");
  const manifest = JSON.parse(await readFile(file, "utf8"));
  manifest.host_permissions = [...(manifest.host_permissions ?? []), host];
  await writeFile(file, JSON.stringify(manifest, null, 2));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
