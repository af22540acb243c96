// A passphrase protects the keys: locked when the browser closes, unlocked in the options, and nothing lies in the clear.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

const say = messages();
const KEY = "sk-only-for-this-test-0123456789";
const PASSPHRASE = "correct horse battery staple";
/** A derivation takes a second on a quiet machine. */
const DERIVED = { timeout: 30_000 };
let panelot;

before(async () => {
  panelot = await Panelot.start({ connected: false });
  await panelot.connect({ key: KEY });
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

/** Everything in the extension's database and storages, as text. */
function stored() {
  return panelot.console.evaluate(async () => {
    const open = indexedDB.open("panelot");
    const database = await new Promise((resolve, reject) => { open.onsuccess = () => resolve(open.result); open.onerror = reject; });
    const names = [...database.objectStoreNames];
    const transaction = database.transaction(names, "readonly");
    const rows = await Promise.all(names.map((name) => new Promise((resolve) => {
      const request = transaction.objectStore(name).getAll();
      request.onsuccess = () => resolve([name, request.result.map((row) => row instanceof CryptoKey ? "(CryptoKey)" : row)]);
    })));
    database.close();
    return JSON.stringify([rows, await chrome.storage.local.get(), { ...localStorage }]);
  });
}

const field = (options, name) => options.getByLabel(say(name), { exact: true });
const state = (options) => options.locator("#passphrase-state");
const press = (options, name) => options.locator("#passphrase").getByRole("button", { name: say(name), exact: true }).last().click();

async function unlock(options, passphrase) {
  await field(options, "passphrase-current").fill(passphrase);
  await press(options, "unlock");
}

test("a passphrase is asked twice, measured, and set", async () => {
  assert.ok((await stored()).includes("(CryptoKey)"), "before, the browser keeps the sealing key");
  const options = await panelot.openOptions();
  await expect(state(options)).toContainText(say("passphrase-none"));
  await press(options, "passphrase-set");
  await field(options, "passphrase-new").fill("short");
  await expect(options.locator("#passphrase-strength")).toContainText(say("passphrase-short", { min: 8 }));
  await field(options, "passphrase-new").fill(PASSPHRASE);
  await expect(options.locator("#passphrase-strength")).toContainText(say("passphrase-strong"));
  await field(options, "passphrase-again").fill("something else");
  await press(options, "passphrase-set");
  await expect(options.getByRole("alert")).toContainText(say("passphrase-differ"));
  await expect(field(options, "passphrase-new")).toHaveValue("");
  await field(options, "passphrase-new").fill(PASSPHRASE);
  await field(options, "passphrase-again").fill(PASSPHRASE);
  await press(options, "passphrase-set");
  await expect(state(options)).toContainText(say("passphrase-unlocked"), DERIVED);
  assert.ok(!(await stored()).includes("(CryptoKey)"), "the browser keeps it no longer");
  const view = new View(await panelot.openPanel());
  await view.send("Are you there?");
  await view.sees("Echo: ");
  await view.page.close();
  await options.close();
});

test("what was unlocked outlives the worker", async () => {
  await panelot.killWorker();
  const view = new View(await panelot.openPanel());
  await view.send("And now?");
  await view.sees("Echo: And now?");
  await view.page.close();
});

test("after a restart of the browser a message waits, and is answered once the keys are unlocked", async () => {
  await panelot.restart();
  const view = new View(await panelot.openPanel());
  await view.send("Wait for me");
  await expect(view.page.getByRole("heading", { name: say("locked-title") })).toBeVisible();
  await panelot.killWorker();
  await expect(view.page.getByRole("heading", { name: say("locked-title") })).toBeVisible({ timeout: 30_000 });
  const options = await panelot.openOptions();
  await expect(state(options)).toContainText(say("passphrase-locked"));
  await unlock(options, "not this one");
  await expect(options.getByRole("alert")).toContainText(say("wrong-passphrase"), DERIVED);
  await unlock(options, PASSPHRASE);
  await expect(state(options)).toContainText(say("passphrase-unlocked"), DERIVED);
  await view.sees("Echo: Wait for me", DERIVED);
  const sent = await panelot.testkit.requests();
  assert.ok(sent.every(({ headers }) => headers.authorization === `Bearer ${KEY}`));

  for (const page of [options, view.page]) {
    const shown = await page.content();
    assert.ok(!shown.includes(KEY) && !shown.includes(PASSPHRASE));
  }
  const kept = await stored();
  assert.ok(!kept.includes(KEY) && !kept.includes(PASSPHRASE));
  const outbox = await panelot.console.evaluate(async () => JSON.stringify(await chrome.storage.session.get()));
  assert.ok(!outbox.includes(KEY) && !outbox.includes(PASSPHRASE));
  assert.ok(!panelot.log.some((line) => line.includes(KEY) || line.includes(PASSPHRASE)));
  await view.page.close();
  await options.close();
});

test("whoever forgot it gives the keys up and nothing else", async () => {
  const options = await panelot.openOptions();
  await press(options, "passphrase-lock");
  await expect(state(options)).toContainText(say("passphrase-locked"));
  await press(options, "passphrase-forgotten");
  await options.getByRole("dialog").getByRole("button", { name: say("passphrase-forget"), exact: true }).click();
  await expect(state(options)).toContainText(say("passphrase-none"));
  await expect(options.locator("#connections")).toContainText(say("connection-no-key"));
  const kept = await panelot.snapshot(await panelot.newestThread());
  assert.ok(JSON.stringify(kept.items).includes("Echo: Wait for me"), "the conversation is still there");
});
