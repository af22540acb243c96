// The tree as a person sees it: shadow roots opened, slots filled, same-origin frames entered.
// Nothing here uses `instanceof`: elements of a frame belong to another realm.

declare const chrome: any;

export const isElement = (node: Node | null | undefined): node is HTMLElement => node?.nodeType === 1;

export function shadowRootOf(element: Element): ShadowRoot | null {
  if (element.shadowRoot) return element.shadowRoot;
  try {
    // Content scripts may look into closed roots; a person sees what is in them, too.
    return element.localName.includes("-") ? (chrome?.dom?.openOrClosedShadowRoot?.(element) ?? null) : null;
  } catch {
    return null;
  }
}

/** Children in the flat tree. */
export function flatChildren(element: Element): Node[] {
  const root = shadowRootOf(element);
  if (root) return [...root.childNodes];
  if (element.localName === "slot") {
    const assigned = (element as HTMLSlotElement).assignedNodes();
    if (assigned.length) return assigned;
  }
  return [...element.childNodes];
}

/** Parent in the flat tree; the host above a shadow root; null above the document. */
export function flatParent(node: Node): Element | null {
  const slot = (node as Element).assignedSlot;
  if (slot) return slot;
  const parent = node.parentNode;
  return (isElement(parent) ? parent : (parent as ShadowRoot | null)?.host) ?? null;
}

export function* flatAncestors(node: Node): Generator<Element> {
  for (let at = flatParent(node); at; at = flatParent(at)) yield at;
}

export const isInside = (node: Node, ancestor: Node): boolean => {
  for (let at: Node | null = node; at; at = flatParent(at)) if (at === ancestor) return true;
  return false;
};

export const viewOf = (node: Node): Window & typeof globalThis =>
  (node.ownerDocument ?? (node as Document)).defaultView ?? (window as Window & typeof globalThis);

export const styleOf = (element: Element, pseudo?: string): CSSStyleDeclaration =>
  viewOf(element).getComputedStyle(element, pseudo);

export const collapse = (text: string): string => text.replace(/\s+/g, " ").trim();

/** Cut to a number of UTF-16 units without splitting a surrogate pair. */
export function cut(text: string, units: number): string {
  if (text.length <= units) return text;
  const end = units - 1;
  const code = text.charCodeAt(end - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? end - 1 : end) + "…";
}

/** A lone surrogate cannot become JSON that every reader accepts. */
export const wellFormed = (text: string): string => (text as any).toWellFormed?.() ?? text;

/** Whether the element makes boxes that can be seen, whatever their size. */
export const isShown = (element: Element): boolean =>
  (element as any).checkVisibility?.({ visibilityProperty: true, contentVisibilityAuto: false }) ?? true;

export const attribute = (element: Element, name: string): string => element.getAttribute(name)?.trim() ?? "";

/** Elements that an id list names, looked up beside the element. */
export function referenced(element: Element, name: string): Element[] {
  const ids = attribute(element, name);
  const root = element.getRootNode() as Document | ShadowRoot;
  if (!ids || !root.getElementById) return [];
  return ids.split(/\s+/).flatMap((id) => root.getElementById(id) ?? []);
}

export function contentDocumentOf(frame: Element): Document | null {
  try {
    const inner = (frame as HTMLIFrameElement).contentDocument;
    return inner?.documentElement ? inner : null;
  } catch {
    return null;
  }
}

/** The frame element that holds a document, when it is reachable. */
export function frameOf(document: Document): HTMLElement | null {
  try {
    return (document.defaultView?.frameElement as HTMLElement | null) ?? null;
  } catch {
    return null;
  }
}

/** Where a document's viewport starts in the top document's. Null when a frame is scaled, turned or gone. */
export function frameOffset(inner: Document): { x: number; y: number } | null {
  let [x, y] = [0, 0];
  for (let at = inner; at !== document; ) {
    const frame = frameOf(at);
    if (!frame?.isConnected || contentDocumentOf(frame) !== at) return null;
    const box = frame.getBoundingClientRect();
    if (Math.abs(box.width - frame.offsetWidth) > 1 || Math.abs(box.height - frame.offsetHeight) > 1) return null;
    const style = styleOf(frame);
    x += box.left + frame.clientLeft + parseFloat(style.paddingLeft || "0");
    y += box.top + frame.clientTop + parseFloat(style.paddingTop || "0");
    at = frame.ownerDocument;
  }
  return { x, y };
}

/** Whether the element is in the document tree that the tab shows. */
export function isAttached(element: Element): boolean {
  for (let at: Element = element; ; ) {
    if (!at.isConnected) return false;
    const owner = at.ownerDocument;
    if (owner === document) return true;
    const frame = frameOf(owner);
    if (!frame || contentDocumentOf(frame) !== owner) return false;
    at = frame;
  }
}

/** The element with the keyboard focus, inside shadow roots and frames. */
export function focusedElement(): Element | null {
  let active: Element | null = document.activeElement;
  while (active) {
    const root = shadowRootOf(active);
    const inner: Element | null = root?.activeElement ?? (active.localName === "iframe" ? contentDocumentOf(active)?.activeElement : null) ?? null;
    if (!inner) break;
    active = inner;
  }
  return active && active.localName !== "body" ? active : null;
}
