// Runs the crate's `reader` example over many lines at once.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const name = process.platform === "win32" ? "reader.exe" : "reader";

/** What the crate answers to each line. */
export function read(mode, lines) {
    const program = path.join(process.env.PANELOT_PROGRAMS ?? "target/debug", "examples", name);
    if (!existsSync(program)) {
        throw new Error("build it first: cargo build --package panelot-provider --examples");
    }
    const input = lines.join("\n") + "\n";
    const run = spawnSync(program, [mode], { input, maxBuffer: 1 << 30, encoding: "utf8" });
    if (run.status !== 0) {
        throw new Error(`the reader failed: ${run.stderr}`);
    }
    const answers = run.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    if (answers.length !== lines.length) {
        throw new Error("the reader answered another number of lines");
    }
    return answers;
}

/** A seeded source of random numbers (mulberry32), so that a failure can be seen again. */
export function random(seed) {
    let state = seed >>> 0;
    const next = () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    return { below: (bound) => Math.floor(next() * bound), pick: (list) => list[Math.floor(next() * list.length)] };
}
