// The worker's way to the browser's built-in model, which answers in an offscreen document, since no worker has it. To the
// module that calls models it looks like any provider: a request to an address that no network knows, and a stream.
const ADDRESS = "panelot:built-in-model", PAGE = "offscreen.html";
const overNetwork = globalThis.fetch;
globalThis.fetch = (request, init) => (request?.url === ADDRESS ? ask(request) : overNetwork(request, init));

let questions = 0, last = Promise.resolve();
/** One after the other: Chrome has one such document at most. */
const inTurn = (work) => (last = last.then(work, work));

async function isOpen() {
  return (await chrome.runtime.getContexts({ contextTypes: ["OFFSCREEN_DOCUMENT"] })).length > 0;
}

function enter() {
  questions += 1;
  return inTurn(async () => {
    if (await isOpen()) return;
    await chrome.offscreen.createDocument({
      url: PAGE, reasons: ["WORKERS"], justification: "Chrome's built-in model answers in windows only.",
    });
  });
}

/** Without questions the document goes: it would keep an update from being installed. */
function leave() {
  questions -= 1;
  inTurn(async () => { if (questions === 0 && await isOpen()) await chrome.offscreen.closeDocument(); }).catch(console.error);
}

async function ask(request) {
  if (request.method === "GET") return Response.json({ data: [{ id: "gemini-nano" }] });
  const { signal } = request, question = await request.json();
  await enter();
  const coder = new TextEncoder();
  let over = false, port;
  const end = (then = () => {}) => {
    if (over) return;
    over = true;
    port.disconnect();
    leave();
    then();
  };
  return new Response(new ReadableStream({
    start(controller) {
      port = chrome.runtime.connect({ name: "panelot-built-in" });
      port.onMessage.addListener((event) => {
        if (over) return;
        controller.enqueue(coder.encode(`data: ${JSON.stringify(event)}\n\n`));
        if (event.done || event.error) end(() => controller.close());
      });
      port.onDisconnect.addListener(() => end(() => controller.error(new TypeError("the model's page is gone"))));
      const abort = () => end(() => controller.error(signal.reason));
      if (signal.aborted) abort(); else signal.addEventListener("abort", abort);
      if (!over) port.postMessage(question);
    },
    cancel() { end(); },
  }));
}
