// Watches what an action leads to, and waits until the page is at rest.

import { collapse, cut, focusedElement, frameOf, isAttached, wellFormed } from "./dom";
import { announcements, plainValue, statesOf, subjectOf } from "./facts";
import { accessibleName } from "./accname";
import { NAME_UNITS_MAX, QUIET_MS, SETTLE_MS_MAX, URL_UNITS_MAX } from "./generated";
import type { EffectSeen, Observed } from "./generated";
import type { Run } from "./ready";
import { isSecret } from "./role";

export class Watch {
  submitted = false;
  refused = false;
  leaving = false;
  #changes = 0;
  #lastChange = performance.now();
  #stopped = false;
  readonly #start = performance.now();
  readonly #url = location.href;
  readonly #focus = focusedElement();
  readonly #state: string;
  readonly #subject;
  readonly #said = announcements();
  readonly #notes: string[] = [];
  readonly #observer: MutationObserver;
  readonly #abort = new AbortController();
  #wake: (() => void) | null = null;

  constructor(readonly element: Element) {
    this.#state = stateText(element);
    this.#subject = subjectOf(element);
    this.#observer = new MutationObserver((records) => {
      // Animations write styles all the time; they are no sign of a page at work.
      if (records.every((record) => record.type === "attributes" && record.attributeName === "style")) return;
      this.#changes += records.length;
      this.#lastChange = performance.now();
    });
    const options = { subtree: true, childList: true, attributes: true, characterData: true };
    for (const root of rootsOf(element)) this.#observer.observe(root, options);
    const signal = this.#abort.signal;
    for (const view of viewsOf(element)) {
      view.addEventListener("submit", () => { this.submitted = true; }, { capture: true, signal });
      view.addEventListener("invalid", (event) => this.#refuse(event.target as HTMLInputElement), { capture: true, signal });
      const leave = (): void => {
        this.leaving ||= view === window;
        this.#wake?.();
      };
      view.addEventListener("beforeunload", leave, { signal });
      view.addEventListener("pagehide", leave, { signal });
    }
  }

  #refuse(field: HTMLInputElement): void {
    this.refused = true;
    const text = `${accessibleName(field) || field.name || "field"}: ${field.validationMessage ?? ""}`;
    if (this.#notes.length < 4) this.#notes.push(text);
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#observer.disconnect();
    this.#abort.abort();
  }

  /** Waits for rest, then says what was seen. */
  async settle(run: Run): Promise<Observed> {
    const acted = performance.now();
    let settled = false;
    // The answer must leave before the document does, so a page that is being left is not waited for.
    while (!this.leaving) {
      const now = performance.now();
      settled = now - Math.max(this.#lastChange, acted) >= QUIET_MS;
      if (settled || now - acted >= SETTLE_MS_MAX) break;
      await Promise.race([run.pause(50), new Promise<void>((wake) => { this.#wake = wake; })]);
      run.check();
    }
    const observed = this.#observe(settled);
    this.stop();
    return observed;
  }

  #observe(settled: boolean): Observed {
    const effects: EffectSeen[] = [];
    const attached = isAttached(this.element);
    if (this.leaving) effects.push("navigationStarted");
    if (location.href !== this.#url) effects.push("addressChanged");
    if (this.submitted) effects.push("formSubmitted");
    if (this.refused && !this.submitted) effects.push("formRefused");
    if (attached && stateText(this.element) !== this.#state) effects.push("stateChanged");
    if (this.#changes > 0) effects.push("contentChanged");
    const focus = focusedElement();
    if (focus !== this.#focus && focus !== this.element) effects.push("focusMoved");
    if (!attached) effects.push("subjectRemoved");
    const said = [...this.#notes];
    for (const [element, text] of announcements()) if (text && this.#said.get(element) !== text) said.push(text);
    const unique = [...new Set(said.map((text) => wellFormed(cut(collapse(text), NAME_UNITS_MAX))))].slice(0, 8);
    const states = attached ? statesOf(this.element).filter((state) => state !== "focused") : [];
    return {
      subject: this.#subject,
      ...(states.length ? { states: states.slice(0, 16) } : {}),
      ...(effects.length ? { effects } : {}),
      url: wellFormed(cut(location.href, URL_UNITS_MAX)),
      settled: settled || this.leaving,
      ...(unique.length ? { announcements: unique } : {}),
    };
  }

  get elapsed(): number {
    return performance.now() - this.#start;
  }
}

function stateText(element: Element): string {
  const value = isSecret(element) ? "" : plainValue(element);
  const chosen = element.localName === "select" ? (element as HTMLSelectElement).value : "";
  const states = statesOf(element).filter((state) => state !== "focused");
  return JSON.stringify([states, value, chosen, attributeText(element)]);
}

const attributeText = (element: Element): string => `${element.getAttribute("hidden")} ${(element as HTMLDetailsElement).open ?? ""}`;

/** The documents and shadow roots that a change would show in. */
function rootsOf(element: Element): Set<Node> {
  const roots = new Set<Node>([document]);
  for (let at: Node | null = element; at; ) {
    const root: Node = at.getRootNode();
    roots.add(root);
    at = (root as ShadowRoot).host ?? frameOf(root as Document);
  }
  return roots;
}

function viewsOf(element: Element): Set<Window> {
  const views = new Set<Window>([window]);
  const own = element.ownerDocument.defaultView;
  if (own) views.add(own);
  return views;
}
