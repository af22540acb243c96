// `cargo xtask run`: Panelot beside the sample order form with a task in the composer. Where there is a display it is
// the person's turn then; elsewhere the task is carried out here, with a transcript and a screenshot of each step.
import { mkdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ROOT, TEST_BUILD, copyWithHost } from "../lib/chromium.mjs";
import { expect } from "../lib/expect.mjs";
import { Panelot } from "../lib/panelot.mjs";
import { View } from "../lib/view.mjs";

const TASK = "Order three mugs for Ada Lovelace, ada@example.com.";
const OUT = join(ROOT, "target", "run");
/** A real model may take its time; a stuck one ends here. */
const TASK_DEADLINE_MS = 300_000;

const { values: options } = parseArgs({
  options: {
    display: { type: "boolean", default: false },
    provider: { type: "string" },
    model: { type: "string" },
    "key-env": { type: "string" },
  },
});

const say = (text) => console.log(text);

/** The extension to load: a test build, which may also reach the given provider. */
function extensionFor(provider) {
  if (!provider) return { folder: TEST_BUILD, remove: async () => {} };
  const { protocol, hostname } = new URL(provider);
  return copyWithHost(TEST_BUILD, `${protocol}//${hostname}/*`);
}

/** The model to use: the person's own, or the scripted one. */
function connection() {
  if (!options.provider) return { model: "scripted" };
  if (!options.model) throw new Error("--provider needs --model NAME as well");
  const variable = options["key-env"];
  const key = variable ? process.env[variable] : "";
  if (key === undefined) throw new Error(`the variable ${variable} is not set`);
  return { baseUrl: options.provider, model: options.model, key };
}

/** Takes numbered screenshots and remembers where they are. */
class Album {
  paths = [];

  async take(name, page) {
    const number = String(this.paths.length + 1).padStart(2, "0");
    const path = join(OUT, `${number}-${name}.png`);
    await page.screenshot({ path });
    this.paths.push(path);
  }
}

/** Lets the task run, allowing each step once, until its turn ends. */
async function carryOut(panelot, view, site, album) {
  await view.composer.press("Enter");
  const end = Date.now() + TASK_DEADLINE_MS;
  await expect(view.messages).toHaveCount(1);
  const thread = await panelot.newestThread();
  const asked = new Set();
  for (;;) {
    if (Date.now() > end) throw new Error("the task did not end in time");
    const { pendingApprovals, activeTurn, runs } = await panelot.snapshot(thread);
    const question = pendingApprovals.find(({ approvalId }) => !asked.has(approvalId));
    if (question) {
      asked.add(question.approvalId);
      say(`  Panelot asks: ${question.tool} ${JSON.stringify(question.params)} on ${question.targetOrigin}`);
      await expect(view.approval).toBeVisible();
      await album.take(`asks-${question.tool}`, view.page);
      await view.button("approval-once", view.approval).click();
      say("  Allowed once.");
    } else if (!activeTurn && runs.every(({ state }) => state !== "queued")) break;
    await sleep(200);
  }
  await album.take("answer", view.page);
  await album.take("site", site);
  return panelot.snapshot(thread);
}

/** The conversation in plain lines. */
function transcript({ items }) {
  return items.flatMap(({ body }) => {
    switch (body.kind) {
      case "user_message": return [`You: ${body.text}`];
      case "assistant_message": return [
        ...(body.text ? [`Panelot: ${body.text}`] : []),
        ...body.calls.map((call) => `  calls ${call.toolName} ${call.arguments}`),
      ];
      case "tool_result": return [`  ${body.outcome}: ${body.content.split("\n").slice(0, 4).join("\n      ")}`];
      case "system_notice": return [`  (${body.notice} ${JSON.stringify(body.details)})`];
      default: return [];
    }
  });
}

async function main() {
  const chosen = connection();
  const extension = await extensionFor(options.provider);
  await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  const panelot = await Panelot.start({ extension: extension.folder, headless: !options.display, connected: false });
  try {
    await panelot.connect(chosen);
    const site = await panelot.openSite("/order");
    const view = new View(await panelot.openPanel());
    await view.composer.fill(TASK);
    if (options.display) {
      await panelot.console.close();
      say("The panel stands beside the order form, with a task in it: press Enter there. Close the browser to end.");
      await new Promise((resolve) => panelot.context.once("close", resolve));
      return;
    }
    say("There is no display: the task is carried out headless.\n");
    const album = new Album();
    await album.take("ready", view.page);
    await album.take("site", site);
    const snapshot = await carryOut(panelot, view, site, album);
    say(`\n${transcript(snapshot).join("\n")}\n`);
    const orders = await panelot.testkit.orders();
    say(`The site received ${orders.length} order(s): ${JSON.stringify(orders.map(({ fields }) => fields))}\n`);
    say("Screenshots:");
    for (const path of album.paths) say(`  ${relative(ROOT, path)}`);
    if (!options.provider && orders.length !== 1) {
      await panelot.report({ passed: false, name: "run" });
      throw new Error("the site should have received one order; target/e2e/run holds the logs");
    }
  } catch (error) {
    await panelot.report({ passed: false, name: "run" });
    throw error;
  } finally {
    await panelot.close();
    await extension.remove();
  }
}

await main();
