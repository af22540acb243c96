// Criterion 5, the wire: what a wrong or careless client gets, over a raw Port of an extension page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Panelot } from "./lib/panelot.mjs";
import * as wire from "./lib/wire.mjs";

const OP_BYTES_MAX = 1024 * 1024;
let panelot;
let page;

before(async () => {
  panelot = await Panelot.start({ connected: false });
  page = panelot.console;
});
after(() => panelot?.close());

test("a page of another version is told to reload, in the shape that never changes", async () => {
  await wire.connect(page);
  const submissionId = "greeting-1";
  const answer = await wire.ask(page, {
    type: "initialize", submissionId, protocol: "panelot/engine-v1", schemaHash: "0".repeat(64), clientId: "c",
  });
  assert.deepEqual(Object.keys(answer).sort(), ["message", "protocol", "schemaHash", "submissionId", "type"]);
  assert.equal(answer.type, "fatal.reload_required");
  assert.equal(answer.submissionId, submissionId);
  assert.match(answer.schemaHash, /^[0-9a-f]{64}$/);
  assert.ok(answer.message.length > 0);
});

test("an oversized operation is refused before its fields are looked at, and the Port lives on", async () => {
  await wire.greet(page);
  const answer = await wire.ask(page, {
    type: "thread.create", submissionId: "big", input: { text: "x".repeat(OP_BYTES_MAX + 1) },
  });
  assert.equal(answer.type, "command.rejected");
  assert.equal(answer.code, "invalid_command");
  assert.equal(answer.retryable, false);
  assert.match(answer.message, /too large/);
  const pong = await wire.ask(page, { type: "ping", submissionId: "still-there" });
  assert.equal(pong.type, "pong");
});

test("an operation that does not exist, or lacks a field, is refused by name", async () => {
  await wire.greet(page);
  const unknown = await wire.ask(page, { type: "thread.levitate", submissionId: "u" });
  assert.deepEqual([unknown.type, unknown.code], ["command.rejected", "invalid_command"]);
  assert.match(unknown.message, /thread\.levitate/);
  const malformed = await wire.ask(page, { type: "thread.subscribe", submissionId: "m" });
  assert.deepEqual([malformed.type, malformed.code], ["command.rejected", "invalid_command"]);
  assert.match(malformed.message, /threadId/);
});

test("a repeated command gets its first answer, and a changed one under the same id is refused", async () => {
  const client = crypto.randomUUID(); // one document that connects again and again
  await wire.greet(page, client);
  const create = { type: "thread.create", submissionId: crypto.randomUUID() };
  const first = await wire.ask(page, create);
  assert.equal(first.type, "command.ack");
  await wire.greet(page, client); // another Port: the receipt is stored, not remembered by the connection
  const again = await wire.ask(page, create);
  assert.deepEqual([again.type, again.threadId], ["command.ack", first.threadId]);
  await wire.greet(page, client);
  const changed = await wire.ask(page, { ...create, folderId: "elsewhere" });
  assert.deepEqual([changed.type, changed.code], ["command.rejected", "invalid_command"]);
  const { directory } = await wire.greet(page);
  assert.equal(directory.threads.filter(({ id }) => id === first.threadId).length, 1);
});

test("nothing is answered before the greeting but a refusal", async () => {
  await wire.connect(page);
  const answer = await wire.ask(page, { type: "settings.get", submissionId: "early" });
  assert.notEqual(answer.type, "settings.updated");
});
