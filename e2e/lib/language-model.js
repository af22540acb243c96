// A stand-in for the browser's built-in model (the Prompt API), put into a copy of the extension by built-in.test.mjs and
// shipped nowhere. What it does is told in localStorage, which all pages of the extension share: `model.state`,
// `model.replies` (lists of chunks, one for each question; null stands for silence until it is stopped), and what it was
// asked is kept in `model.asked`.
{
  const read = (name, otherwise) => JSON.parse(localStorage.getItem(`model.${name}`) ?? "null") ?? otherwise;
  const write = (name, value) => localStorage.setItem(`model.${name}`, JSON.stringify(value));

  globalThis.LanguageModel = class {
    static async availability() { return read("state", "available"); }

    static async create({ initialPrompts = [], monitor, signal } = {}) {
      if (read("state", "available") !== "available") {
        const listeners = [];
        monitor?.({ addEventListener: (_, listener) => listeners.push(listener) });
        for (const loaded of [0, 0.5, 1]) {
          listeners.forEach((listener) => listener({ loaded }));
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
        write("state", "available");
      }
      signal?.throwIfAborted();
      return Object.assign(new LanguageModel(), { initialPrompts });
    }

    promptStreaming(prompt, { responseConstraint, signal } = {}) {
      let chunks = ["A title"]; // which is asked for without tools, at a time of its own
      if (responseConstraint) {
        const [next = ["nothing more"], ...later] = read("replies", []);
        chunks = next;
        write("replies", later);
        write("asked", [...read("asked", []), { history: this.initialPrompts, prompt, responseConstraint }]);
      }
      return new ReadableStream({
        async start(controller) {
          signal?.addEventListener("abort", () => { write("stopped", true); controller.error(signal.reason); });
          for (const chunk of chunks) {
            if (chunk === null) return;
            if (signal?.aborted) return;
            controller.enqueue(chunk);
            await new Promise((resolve) => setTimeout(resolve, 100));
          }
          controller.close();
        },
      });
    }

    destroy() { write("destroyed", read("destroyed", 0) + 1); }
  };
}
