// The page executor: answers the engine's requests about the one document that it was injected into.
// It decides nothing: it reads, acts once, and reports what it saw.

import { click, selectOption, subjectIfAny, type } from "./actions";
import { cut, wellFormed } from "./dom";
import { fits, isRequest } from "./envelope";
import { readPage } from "./facts";
import { Failure } from "./failure";
import { MESSAGE_UNITS_MAX, PROTOCOL_ID, SCHEMA_HASH } from "./generated";
import type { Action, ActionFailure, ActionResult, Answer, Request, Response } from "./generated";
import type { Run } from "./ready";
import { Refs } from "./refs";

declare const chrome: any;

interface Installed {
  hash: string;
  /** Whether the extension that installed it is still there. */
  alive(): boolean;
  dispose(): void;
}

const SLOT = "__panelotExecutor";

class Executor implements Installed {
  readonly hash = SCHEMA_HASH;
  readonly #runtime = chrome.runtime;
  readonly #ownId: string = chrome.runtime.id;
  readonly #refs = new Refs();
  readonly #open = new Map<string, (failure: Failure) => void>();
  #documentId: string | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  readonly #listener = (message: any, sender: any, respond: (response: Response) => void): boolean => {
    if (sender?.id !== this.#ownId || message?.protocol !== PROTOCOL_ID || typeof message.requestId !== "string") return false;
    const answer = (body: Answer): void => {
      respond({ protocol: PROTOCOL_ID, schemaHash: SCHEMA_HASH, requestId: message.requestId.slice(0, 128), body });
    };
    const problem = this.#problem(message);
    if (problem) {
      answer({ kind: "failed", failure: { code: problem.code, message: problem.message, reach: "notStarted" } });
      return false;
    }
    return this.#handle(message, answer);
  };

  install(): void {
    this.#runtime.onMessage.addListener(this.#listener);
  }

  alive(): boolean {
    try {
      // After an update of the extension the old world's runtime has no id.
      return this.#runtime.id === this.#ownId;
    } catch {
      return false;
    }
  }

  dispose(): void {
    for (const giveUp of this.#open.values()) giveUp(new Failure("cancelled", "replaced by another version"));
    try {
      this.#runtime.onMessage.removeListener(this.#listener);
    } catch {
      // The old world's runtime is gone, and its listener with it.
    }
  }

  #problem(message: any): Failure | null {
    if (message.schemaHash !== SCHEMA_HASH) return new Failure("protocol_mismatch", "another version");
    if (!fits(message) || !isRequest(message)) return new Failure("protocol_mismatch", "not a request");
    const id = message.documentId ?? null;
    if (id !== null && this.#documentId !== null && id !== this.#documentId) {
      return new Failure("protocol_mismatch", "meant for another document");
    }
    if (message.expectedOrigin !== location.origin) return new Failure("origin_changed", location.origin);
    this.#documentId ??= id;
    return null;
  }

  #handle(request: Request, answer: (body: Answer) => void): boolean {
    const body = request.body;
    switch (body.kind) {
      case "ping":
        answer({ kind: "pong", origin: location.origin });
        return false;
      case "cancel": {
        const giveUp = this.#open.get(body.cancelRequestId);
        giveUp?.(new Failure("cancelled", "cancelled"));
        answer({ kind: "cancelled", found: !!giveUp });
        return false;
      }
      case "execute":
        if (this.#open.has(request.requestId)) {
          answer({ kind: "failed", failure: { code: "protocol_mismatch", message: "request id in use", reach: "notStarted" } });
          return false;
        }
        void this.#execute(request, body.action).then(answer);
        return true;
    }
  }

  /** Runs one request at a time; each ends at its deadline or its cancellation, whichever is first. */
  async #execute(request: Request, action: Action): Promise<Answer> {
    let stop: Failure | null = null;
    let dispatched = false;
    let element: Element | null = null;
    let finish: (failure: Failure) => void = () => {};
    const stopped = new Promise<never>((_, reject) => { finish = reject; });
    stopped.catch(() => {});
    const giveUp = (failure: Failure): void => {
      stop ??= failure;
      finish(stop);
    };
    this.#open.set(request.requestId, giveUp);
    const timer = setTimeout(() => giveUp(new Failure("timeout", "the deadline passed")), Math.max(0, request.deadlineAt - Date.now()));
    const run: Run = {
      check: () => {
        if (stop) throw stop;
        if (Date.now() >= request.deadlineAt) throw new Failure("timeout", "the deadline passed");
        if (location.origin !== request.expectedOrigin) throw new Failure("origin_changed", location.origin);
      },
      dispatching: () => { dispatched = true; },
      pause: (ms) => Promise.race([new Promise<void>((done) => setTimeout(done, ms)), stopped]),
    };
    const before = this.#turn;
    const work = (async (): Promise<ActionResult> => {
      await Promise.race([before, stopped]);
      run.check();
      if (action.type === "readPage") return { type: "page", page: readPage(this.#refs) };
      element = this.#refs.resolve(action.target);
      return this.#act(element, action, run);
    })();
    // The next request waits for the work itself, not for this request's early end.
    this.#turn = Promise.allSettled([before, work]);
    try {
      return { kind: "done", result: await Promise.race([work, stopped]) };
    } catch (error) {
      return { kind: "failed", failure: describe(error, dispatched, element) };
    } finally {
      clearTimeout(timer);
      this.#open.delete(request.requestId);
    }
  }

  #act(element: Element, action: Exclude<Action, { type: "readPage" }>, run: Run): Promise<ActionResult> {
    switch (action.type) {
      case "click": return click(element, run);
      case "type": return type(element, action.text, action.clear, action.submit, run);
      case "selectOption": return selectOption(element, action.choice, run);
    }
  }
}

function describe(error: unknown, dispatched: boolean, element: Element | null): ActionFailure {
  const known = error instanceof Failure ? error : new Failure("internal", error instanceof Error ? error.message : String(error));
  let subject = {};
  try {
    subject = subjectIfAny(element);
  } catch {
    // Naming the element is a courtesy; the failure itself matters.
  }
  return {
    code: known.code,
    message: wellFormed(cut(known.message, MESSAGE_UNITS_MAX)),
    reach: dispatched ? "mayHaveHappened" : "notStarted",
    ...subject,
    ...known.more,
  };
}

const slots = globalThis as unknown as Record<string, Installed | undefined>;
const present = slots[SLOT];
if (!(present?.hash === SCHEMA_HASH && present.alive())) {
  present?.dispose();
  const executor = new Executor();
  executor.install();
  slots[SLOT] = executor;
}
