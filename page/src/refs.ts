// References to elements: a random tag for the document, a number that counts up, and the element itself as proof.

import { isAttached } from "./dom";
import { Failure } from "./failure";
import { REF_PATTERN } from "./generated";

const pattern = new RegExp(REF_PATTERN);

export class Refs {
  readonly tag: string;
  #last = 0;
  readonly #numbers = new WeakMap<Element, number>();
  readonly #elements = new Map<number, WeakRef<Element>>();

  constructor() {
    // getRandomValues also exists on plain-http pages, where randomUUID does not.
    const bytes = crypto.getRandomValues(new Uint8Array(4));
    this.tag = [...bytes].map((byte) => (byte % 36).toString(36)).join("");
  }

  /** The reference of an element; the same one for as long as it lives. */
  of(element: Element): string {
    let number = this.#numbers.get(element);
    if (number === undefined) {
      number = ++this.#last;
      this.#numbers.set(element, number);
      this.#elements.set(number, new WeakRef(element));
    }
    return `${this.tag}-${number}`;
  }

  /** The element of a reference, or the reason why there is none. */
  resolve(reference: string): Element {
    const [tag, number] = reference.split("-");
    if (!pattern.test(reference) || tag !== this.tag) throw new Failure("stale_ref", "reference of another document");
    const held = this.#elements.get(Number(number));
    if (!held) throw new Failure("stale_ref", "this document never gave that reference");
    const element = held.deref();
    if (!element) {
      this.#elements.delete(Number(number));
      throw new Failure("detached", "the element is gone");
    }
    if (!isAttached(element)) throw new Failure("detached", "the element was taken out of the page");
    return element;
  }
}
