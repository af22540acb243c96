// The worker is killed at named points that cover the whole course of a conversation's machine, each proven reached:
// nothing the person said is lost, nothing is done twice on the site, the conversation goes on, and the panel shows what
// is so within three seconds. `cargo xtask test kill --repeat N` makes N rounds of each; a run of all tests makes one.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";
import { greet } from "./lib/wire.mjs";

const ROUNDS = Number(process.env.PANELOT_REPEAT ?? 1);
/** From the end of the killed worker until the panel shows what is so. */
const CORRECT_MS = 3_000;
const STILL = "Are you still there?";
const CONFIRMED = "The site confirmed it.";
const text = (text) => ({ kind: "text", text });
const hold = (name) => ({ kind: "hold", name });
const call = (name, args = {}) => ({ kind: "toolCall", name, arguments: args });
const TOO_LONG = {
  status: 400,
  body: { error: { code: "context_length_exceeded", type: "invalid_request_error", message: "too many tokens" } },
};

/** What the model says, by what the person says. Whatever else they say is echoed. */
const SCRIPTS = [
  scenario(
    "Order one more",
    { when: { toolResults: 0 }, repeat: true, reply: [call("read_page")] },
    {
      when: { toolResults: 1 }, repeat: true,
      capture: [{ name: "again", pattern: "\\[([a-z0-9]+-\\d+)\\] button[^\\n\"]* \"Order again\"", from: "anyTool" }],
      reply: [call("click", { ref: "{{again}}" })],
    },
    { when: { toolResults: 2 }, repeat: true, reply: [text(CONFIRMED)] },
  ),
  scenario(
    "Read the page",
    { when: { toolResults: 0 }, repeat: true, reply: [call("read_page")] },
    { when: { toolResults: 1 }, repeat: true, reply: [text("I have read it.")] },
  ),
  scenario(
    "Sign me in",
    { when: { toolResults: 0 }, repeat: true, reply: [call("request_user_action", { instruction: "Type your password" })] },
    { when: { toolResults: 1 }, repeat: true, reply: [text("You are in.")] },
  ),
  scenario("Take your time", [text("One moment"), hold("time"), text(" is over.")]),
  scenario("Tell me a story", [text("Once upon a time "), hold("more"), text("there was "), hold("never")]),
  scenario("Your previous answer was cut off", { repeat: true, reply: [text("and they lived happily.")] }),
  scenario("Chapter one", { repeat: true, reply: [text("A mug was made of clay.")] }),
  scenario(
    "Chapter two", { error: TOO_LONG }, { error: TOO_LONG }, { repeat: true, reply: [text("The mug was sold.")] },
  ),
];

let panelot;
let view;
let site;
const times = new Map();

const card = () => view.page.getByRole("region", { name: view.say("interaction-region") });
const queue = () => view.page.getByRole("region", { name: view.say("queue-region") });
const offline = () => view.page.getByText(view.say("state-reconnecting"));
const interrupted = async () => (await view.recovery.innerText()).includes(view.say("interrupted-title"));
const uncertain = async () => (await view.recovery.innerText()).includes(view.say("uncertain-title"));
const holds = async (words) => (await view.conversation.innerText()).includes(words);
/** Whether the newest answer says this: an echo repeats what the model was given, the page in front among it. */
const answers = async (words) => (await view.answers.count()) > 0 && (await view.answers.last().innerText()).includes(words);
const untilAnswers = (words) => expect(view.answers.last()).toContainText(words);
const count = async (locator, wanted) => (await locator.count()) === wanted;
const orders = async (wanted) => (await panelot.testkit.orders()).length === wanted;

async function resume() {
  await view.button("resume", view.recovery).click();
  await expect(view.recovery).toHaveCount(0);
}

/** Brings the order to its question. */
async function asked(words) {
  await view.send(words);
  await expect(view.approval).toBeVisible({ timeout: 60_000 });
}

async function approve() {
  await eventually(() => view.button("approval-once", view.approval).isEnabled(), Boolean, "the card can be answered");
  await view.button("approval-once", view.approval).click();
}

/** The titles in the engine's list. */
async function titles() {
  const { directory } = await greet(panelot.console);
  await panelot.console.evaluate(() => globalThis.wire.port.disconnect());
  return directory.threads.map(({ title }) => title);
}

/** How many rows of a thread the database holds. */
function rowsOf(threadId) {
  return panelot.console.evaluate(async (threadId) => {
    const wait = (request) =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const database = await wait(indexedDB.open("panelot"));
    const range = IDBKeyRange.bound([threadId], [threadId, []]);
    const tables = ["threads", "nodes", "runs", "approvals", "grants"];
    const reads = tables.map((table) => wait(database.transaction(table).objectStore(table).count(range)));
    const rows = await Promise.all(reads);
    database.close();
    return rows.reduce((sum, it) => sum + it, 0);
  }, threadId);
}

async function deleteChat(title) {
  await view.button("chats-open").click();
  const list = view.page.getByRole("navigation", { name: view.say("chats") });
  await list.getByRole("button", { name: view.say("chat-menu", { title }) }).click();
  await view.page.getByRole("menuitem", { name: view.say("delete"), exact: true }).click();
  await view.page.getByRole("dialog").getByRole("button", { name: view.say("delete"), exact: true }).click();
}

/**
 * Each point: what comes before it is armed (`prepare`), what reaches it (`act`), when the panel is right after the kill
 * (`correct`), what the person does then (`finish`), how often the site is written to in all (`orders`), and what the
 * person is on record with (`said`; `words` alone unless given).
 */
const POINTS = [
  {
    point: "submit.before_commit", what: "a first message before it is on record", topic: "Hello",
    act: (words) => view.send(words),
    correct: async (words) => (await count(view.messages, 1)) && answers(words),
  },
  {
    point: "submit.after_commit", what: "a message on record whose sender does not know", topic: "And now",
    async prepare() {
      await view.send("Before");
      await untilAnswers("Before");
    },
    act: (words) => view.send(words),
    correct: async () => (await count(view.messages, 2)) && interrupted(),
    finish: resume, said: (words) => ["Before", words],
  },
  {
    point: "queue.after_commit", what: "a run ended and the next one begun", topic: "Then this",
    async prepare(words) {
      await view.send("Take your time");
      await view.sees("One moment");
      await view.send(words);
      await expect(queue().getByRole("listitem")).toHaveCount(1);
    },
    act: () => panelot.testkit.release("time"),
    correct: async () => (await count(view.messages, 2)) && (await count(queue(), 0)) && (await holds("is over.")) && interrupted(),
    async finish(words) {
      await resume();
      await untilAnswers(words);
    },
    said: (words) => ["Take your time", words],
  },
  {
    point: "checkpoint.after_commit", what: "a part of an answer kept", topic: "Tell me a story",
    async prepare(words) {
      await view.send(words);
      await view.sees("Once upon a time");
    },
    act: () => panelot.testkit.release("more"),
    correct: async () => (await holds("Once upon a time")) && interrupted(),
    async finish() {
      await resume();
      await view.sees("and they lived happily.");
    },
  },
  {
    point: "answer.before_commit", what: "a final answer before it is on record", topic: "Say it",
    act: (words) => view.send(words),
    correct: async () => (await count(view.messages, 1)) && interrupted(),
    finish: resume,
  },
  {
    point: "ask.after_commit", what: "a question on record that nobody has seen", topic: "Order one more", orders: 1,
    act: (words) => view.send(words),
    correct: async () => (await count(view.approval, 1)) && orders(0),
    async finish() {
      await approve();
      await view.sees(CONFIRMED);
    },
  },
  {
    point: "approve.after_commit", what: "a yes on record whose sender does not know", topic: "Order one more", orders: 1,
    prepare: asked, act: approve,
    correct: async () => (await count(view.approval, 0)) && (await holds(CONFIRMED)) && orders(1),
  },
  {
    point: "dispatch.after_commit", what: "a write on record as begun that was not begun", topic: "Order one more", orders: 1,
    prepare: asked, act: approve,
    correct: async () => (await uncertain()) && (await orders(0)),
    async finish() {
      await view.button("uncertain-retry", view.recovery).click();
      await eventually(
        async () => (await view.approval.count()) > 0 || (await holds(CONFIRMED)), Boolean, "it goes on or asks again",
      );
      if (await view.approval.count()) await approve();
      await view.sees(CONFIRMED);
    },
  },
  {
    point: "tool.after_dispatch", what: "a write that was made and not heard of", topic: "Order one more", orders: 1,
    prepare: asked, act: approve,
    correct: async () => (await uncertain()) && !(await holds(CONFIRMED)) && orders(1),
    async finish() {
      await view.button("uncertain-done", view.recovery).click();
      await view.sees(CONFIRMED);
    },
  },
  {
    point: "result.before_commit", what: "what was read before it is on record", topic: "Read the page",
    act: (words) => view.send(words),
    correct: () => holds("I have read it."),
  },
  {
    point: "wait.after_commit", what: "a step by hand on record that nobody has seen", topic: "Sign me in",
    act: (words) => view.send(words),
    correct: async () => (await count(card(), 1)) && (await card().innerText()).includes("Type your password"),
    async finish() {
      await view.button("takeover-done", card()).click();
      await view.sees("You are in.");
    },
  },
  {
    point: "respond.before_commit", what: "the end of a step by hand before it is on record", topic: "Sign me in",
    async prepare(words) {
      await view.send(words);
      await expect(card()).toBeVisible();
    },
    act: () => view.button("takeover-done", card()).click(),
    correct: async () => (await count(card(), 0)) && holds("You are in."),
  },
  {
    point: "summary.before_commit", what: "a summary of a long chat before it is on record", topic: "Chapter two",
    async prepare() {
      await view.send("Chapter one");
      await view.sees("A mug was made of clay.");
    },
    act: (words) => view.send(words),
    correct: async () => (await count(view.messages, 2)) && interrupted(),
    async finish() {
      await resume();
      await view.sees("The mug was sold.");
      const { items } = await panelot.snapshot(await panelot.newestThread());
      const summaries = items.filter(({ body }) => body.kind === "system_notice" && body.notice === "summarized");
      assert.equal(summaries.length, 1, "it is summarised once");
    },
    said: (words) => ["Chapter one", words],
  },
  {
    point: "fork.before_commit", what: "a copy of a chat before it is on record", topic: "Copy me",
    async prepare(words) {
      await view.send(words);
      await untilAnswers(words);
    },
    act: () => view.button("copy-chat", view.answers.last()).click(),
    async correct(words) {
      const all = (await titles()).filter((title) => title.includes(words));
      return all.length === 2 && (await count(view.messages, 1)) && answers(words);
    },
  },
  {
    point: "delete.after_commit", what: "a chat that is deleted and not yet removed", topic: "Forget me",
    async prepare(words, round) {
      await view.send(words);
      await untilAnswers(words);
      round.thread = await panelot.newestThread();
    },
    act: deleteChat,
    async correct(words, round) {
      return !(await holds(words)) && !(await titles()).includes(words) && (await rowsOf(round.thread)) === 0;
    },
    said: () => [],
  },
];

before(async () => {
  panelot = await Panelot.start();
  for (const script of SCRIPTS) await panelot.testkit.add(script);
  site = await panelot.openSite("/again");
});
beforeEach(async () => {
  view = new View(await panelot.openPanel());
});
afterEach(async (test) => {
  await panelot.report(test);
  await panelot.clearFailpoint();
  await view.page.close();
});
after(async () => {
  await panelot?.close();
  for (const [point, ms] of times) {
    const sorted = ms.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)];
    console.log(`${point}: reached ${ms.length} of ${ROUNDS}, panel correct after ${median} ms (median), ${sorted.at(-1)} ms (longest)`);
  }
});

/** Waits until the panel is right, from now on, and notes how long it took. */
async function untilCorrect(point, correct) {
  const began = Date.now();
  const right = async () => (await count(offline(), 0)) && (await correct());
  // Longer than the bound, which is looked at in the end: a failure tells slow from wrong.
  await eventually(right, Boolean, `the panel is not right after ${point}`, { timeout: 20_000 });
  times.set(point, [...(times.get(point) ?? []), Date.now() - began]);
}

/** What the panel shows of the person is what they said, and it is what the engine has, once each. */
async function nothingLost(said) {
  const shown = await view.messages.allInnerTexts();
  assert.equal(shown.length, said.length, `shown: ${JSON.stringify(shown)}`);
  said.forEach((words, index) => assert.ok(shown[index].includes(words), `${shown[index]} is not ${words}`));
  const { items } = await panelot.snapshot(await panelot.newestThread());
  assert.deepEqual(items.filter(({ body }) => body.kind === "user_message").map(({ body }) => body.text), said);
}

async function playRound(spec, number) {
  const words = `${spec.topic}, round ${number}`;
  const round = {};
  await panelot.testkit.reset();
  await site.goto(`${panelot.testkit.site}/again`);
  await view.button("new-chat").first().click();
  await spec.prepare?.(words, round);
  await panelot.failpoint(spec.point);
  await spec.act(words);
  await panelot.reached(spec.point);
  // What is parked stays parked; the next worker runs through.
  await panelot.clearFailpoint();
  await panelot.killWorker();
  await untilCorrect(spec.point, () => spec.correct(words, round));
  await spec.finish?.(words);
  const said = spec.said?.(words) ?? [words];
  const answered = await view.answers.count();
  await view.send(STILL);
  await expect(view.answers).toHaveCount(answered + 1);
  await untilAnswers(STILL);
  await nothingLost([...said, STILL]);
  assert.equal((await panelot.testkit.orders()).length, spec.orders ?? 0, "orders on the site");
  const requests = await panelot.testkit.requests();
  assert.deepEqual(requests.flatMap(({ violations }) => violations), []);
}

for (const spec of POINTS) {
  test(`killed at ${spec.point}: ${spec.what}`, async () => {
    for (let number = 1; number <= ROUNDS; number += 1) await playRound(spec, number);
    const late = times.get(spec.point).filter((ms) => ms > CORRECT_MS);
    assert.deepEqual(late, [], `the panel was right later than ${CORRECT_MS} ms after the kill`);
  });
}
