// How smoothly a long answer is drawn: 2,000 Markdown deltas 4 ms apart in the chat tab, beside a plain page that
// appends the same text from the same server.
import { setTimeout as sleep } from "node:timers/promises";
import { scenario } from "../lib/testkit.mjs";
import * as wire from "../lib/wire.mjs";
import { bound, median, report, row } from "./report.mjs";
import { inBrowser } from "./rig.mjs";

const DELTAS = 2_000;
const DELAY_MS = 4;
const CHARS = 24;
const ROUNDS = 3;
const FRAME_SHARE_MIN = 0.92;
const LONGER_TASK_MS_MAX = 30;
const LATE_MS_MAX = 150;
const WINDOW = { width: 1280, height: 800 };
const END = "The-very-end.";
const TASK = "Write at length";

/** A text of every kind of Markdown, of exactly one delta's length times the number of deltas. */
function markdown() {
  const length = DELTAS * CHARS;
  let text = "";
  for (let part = 1; text.length < length; part += 1) {
    text += `## Part ${part}\n\nSome *emphasis*, **weight**, \`code\` and a [link](https://example.com/${part}) in a sentence `
      + `that goes on for a while, as sentences of models do, and then another one beside it.\n\n`
      + `- first entry of list ${part}\n- second entry with \`code\`\n  - a nested one\n\n`
      + `| key | value |\n|---|---|\n| part | ${part} |\n| kind | table |\n\n`
      + "```rust\nfn part() -> u32 {\n    " + `${part}\n}\n` + "```\n\n> A quotation that says little.\n\n";
  }
  // The fence of a code block must not be open where the text is cut.
  return `${text.slice(0, text.lastIndexOf("\n\n## Part", length - END.length - 2))}\n\n`
    .padEnd(length - END.length, "word ") + END;
}

/** Runs in the measured page: counts frames until the end of the text is shown. */
function watch(end, quietMs) {
  const seen = { frames: 0, first: 0, last: 0, doneAt: 0 };
  globalThis.seen = seen;
  performance.mark("panelot-bench");
  const started = performance.now();
  const look = (now) => {
    if (seen.doneAt) return;
    seen.frames += 1;
    seen.first ||= now;
    seen.last = now;
    // Looking costs time, too: the end cannot come before the server has sent it.
    if (performance.now() - started > quietMs && document.body.textContent.includes(end)) seen.doneAt = Date.now();
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Runs in the plain page: what a page does that draws text as it comes. */
function append(url, body) {
  document.body.replaceChildren(document.createElement("pre"));
  const pre = document.querySelector("pre");
  pre.style.whiteSpace = "pre-wrap";
  const read = async () => {
    const response = await fetch(url, { method: "POST", body });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("data: {")) continue;
        const text = JSON.parse(line.slice(6)).choices[0]?.delta?.content;
        if (text) pre.append(text);
      }
      document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
    }
  };
  void read();
}

/** What keeps the main thread: a task, and the microtasks after it, which Chrome traces beside it. */
const TASKS = ["ThreadControllerImpl::RunTask", "BlinkScheduler_PerformMicrotaskCheckpoint"];

/** The longest task of the page's main thread in a trace, in ms. */
function longestTask(events) {
  const mark = events.find(({ name }) => name === "panelot-bench");
  if (!mark) throw new Error("the trace does not hold the page's mark");
  const tasks = events.filter((it) =>
    it.pid === mark.pid && it.tid === mark.tid && it.ph === "X" && TASKS.includes(it.name) && it.ts >= mark.ts);
  if (tasks.length < 100) throw new Error(`the trace holds only ${tasks.length} tasks of the page`);
  return Math.max(...tasks.map(({ dur }) => dur ?? 0)) / 1000;
}

/** Records a trace while `work` runs. */
async function traced(browser, work) {
  const events = [];
  const collect = ({ value }) => events.push(...value);
  browser.root.on("Tracing.dataCollected", collect);
  await browser.root.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "blink.user_timing"], excludedCategories: ["*"] },
  });
  const result = await work();
  const complete = new Promise((resolve) => browser.root.on("Tracing.tracingComplete", resolve));
  await browser.root.send("Tracing.end");
  await complete;
  browser.root.off("Tracing.dataCollected", collect);
  return { result, events };
}

/** Watches a page while a stream runs that `begin` starts. */
async function measure(browser, testkit, page, begin) {
  await testkit.reset();
  await page.send("Page.bringToFront");
  await sleep(500); // what the page did to open is not measured
  const { result, events } = await traced(browser, async () => {
    await page.evaluate(watch, END, DELTAS * DELAY_MS);
    await begin();
    await page.until("globalThis.seen.doneAt", { timeout: 120_000, interval: 250 });
    return page.evaluate("globalThis.seen");
  });
  const request = await testkit.untilState("done");
  const frames = (result.frames - 1) / ((result.last - result.first) / 1000);
  return { frames, task: longestTask(events), late: result.doneAt - request.endedAt };
}

async function plainPage(browser, testkit) {
  const page = await browser.open(`${testkit.model}/`, { window: WINDOW });
  const body = JSON.stringify({ model: "echo", stream: true, messages: [{ role: "user", content: TASK }] });
  const found = await measure(browser, testkit, page, () => page.evaluate(append, `${testkit.baseUrl}/chat/completions`, body));
  await page.close();
  return found;
}

async function chatTab(browser, testkit, console, base) {
  await wire.greet(console);
  const { threadId } = await wire.command(console, "thread.create", {});
  const page = await browser.open(`${base}/chat.html#thread=${threadId}`, { window: WINDOW });
  await page.until("document.querySelector('textarea:not([disabled])')");
  const found = await measure(browser, testkit, page, () =>
    wire.command(console, "turn.submit", { threadId, input: { text: TASK } }));
  await page.close();
  return found;
}

await inBrowser(async ({ testkit, browser, base, page: console }) => {
  await testkit.add(
    scenario(TASK, { repeat: true, reply: [{ kind: "text", text: markdown(), chunkChars: CHARS, delayMs: DELAY_MS }] }),
  );
  await wire.greet(console);
  await wire.command(console, "settings.update", {
    changes: [
      { type: "putConnection", id: "t", name: "t", baseUrl: testkit.baseUrl, models: ["echo"], key: "sk-test" },
      { type: "setDefaultModel", model: { connectionId: "t", modelId: "echo" } },
    ],
  });
  const plain = [];
  const chat = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    plain.push(await plainPage(browser, testkit));
    chat.push(await chatTab(browser, testkit, console, base));
  }
  const of = (runs, what) => runs.map((run) => run[what]);
  const share = median(of(chat, "frames")) / median(of(plain, "frames"));
  const longer = median(of(chat, "task")) - median(of(plain, "task"));
  const late = median(of(chat, "late"));
  report(
    "stream",
    [
      row("chat tab: frames", "1/s", of(chat, "frames")),
      row("control: frames of a plain page", "1/s", of(plain, "frames")),
      row("chat tab: longest task", "ms", of(chat, "task")),
      row("control: longest task of a plain page", "ms", of(plain, "task")),
      row("chat tab: shown after the server's last byte", "ms", of(chat, "late")),
      row("control: the same of a plain page", "ms", of(plain, "late")),
    ],
    [
      bound(`at least ${FRAME_SHARE_MIN} of the control's frames`, share, share >= FRAME_SHARE_MIN),
      bound(`longest task at most ${LONGER_TASK_MS_MAX} ms over the control's`, longer, longer <= LONGER_TASK_MS_MAX),
      bound(`shown within ${LATE_MS_MAX} ms of the server's last byte`, late, late <= LATE_MS_MAX),
    ],
  );
});
