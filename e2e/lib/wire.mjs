// A bare client of the engine's Port, to set things up quickly and to say what no view would say.
// It runs in an extension page; every function here takes a Playwright page.

/** Opens a Port in the page, in the place of the one before, and keeps it under `globalThis.wire`. */
export async function connect(page) {
  await page.evaluate(() => {
    globalThis.wire?.port.disconnect();
    const port = chrome.runtime.connect({ name: "panelot-engine" });
    const wire = { port, messages: [], waiting: [], closed: false };
    port.onMessage.addListener((message) => {
      wire.messages.push(message);
      wire.waiting = wire.waiting.filter((look) => !look());
    });
    port.onDisconnect.addListener(() => {
      wire.closed = true;
      wire.waiting.forEach((look) => look());
    });
    wire.next = (fits, ms = 15_000) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          const seen = wire.messages.map(({ type }) => type).join(", ");
          reject(new Error(`no such message in ${ms} ms; there were: ${seen}`));
        }, ms);
        const look = () => {
          const found = wire.messages.find(fits);
          if (!found && !wire.closed) return false;
          clearTimeout(late);
          if (found) resolve(found);
          else reject(new Error("the Port was closed"));
          return true;
        };
        if (!look()) wire.waiting.push(look);
      });
    globalThis.wire = wire;
  });
}

/** Sends a message as it is and returns the first answer that carries its submissionId. */
export function ask(page, message) {
  return page.evaluate((message) => {
    const { wire } = globalThis;
    wire.port.postMessage(message);
    return wire.next((it) => it.submissionId === message.submissionId);
  }, message);
}

/** The hash that the engine speaks by: it names it when it is greeted with a wrong one. */
export async function schemaHash(page) {
  await connect(page);
  const answer = await ask(page, {
    type: "initialize", submissionId: crypto.randomUUID(), protocol: "panelot/engine-v1", schemaHash: "wrong",
    clientId: crypto.randomUUID(),
  });
  if (answer.type !== "fatal.reload_required") throw new Error(`unexpected answer ${JSON.stringify(answer)}`);
  return answer.schemaHash;
}

/** Opens a Port and greets the engine properly, as this client; returns `initialized`. */
export async function greet(page, clientId = crypto.randomUUID()) {
  const hash = await schemaHash(page);
  await connect(page);
  const answer = await ask(page, {
    type: "initialize", submissionId: crypto.randomUUID(), protocol: "panelot/engine-v1", schemaHash: hash,
    clientId, surface: "options",
  });
  if (answer.type !== "initialized") throw new Error(`unexpected answer ${JSON.stringify(answer)}`);
  return answer;
}

/** Sends a command with a new id and returns its acknowledgement. */
export async function command(page, type, fields) {
  const answer = await ask(page, { type, submissionId: crypto.randomUUID(), ...fields });
  if (answer.type !== "command.ack") throw new Error(`${type}: ${JSON.stringify(answer)}`);
  return answer;
}
