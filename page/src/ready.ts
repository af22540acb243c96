// Whether an element can be operated now, and at which point: seen, at rest, enabled, and under no other element.

import { collapse, contentDocumentOf, flatParent, frameOf, frameOffset, isAttached, isInside, isShown, shadowRootOf, viewOf } from "./dom";
import { subjectOf } from "./facts";
import { Failure } from "./failure";
import { READY_WAIT_MS_MAX } from "./generated";
import { isDisabled, labelsOf } from "./role";

/** A running request: whether it may go on, and whether anything was done yet. */
export interface Run {
  /** Throws when the request was cancelled, timed out, or the document is not the expected one. */
  check(): void;
  /** Marks the moment from which the page may have reacted. */
  dispatching(): void;
  pause(ms: number): Promise<void>;
}

/** Where to act: the point in the element's own viewport and the innermost element there. */
export interface Spot {
  x: number;
  y: number;
  hit: Element;
}

const sleepFrame = (run: Run): Promise<void> =>
  // Frames do not come in a tab that is not in front.
  Promise.race([new Promise<void>((done) => requestAnimationFrame(() => done())), run.pause(60)]);

/** The element that a person would aim at: the control itself, or the label that stands for it. */
function aimAt(element: Element): Element {
  const visible = (at: Element): boolean => {
    const box = at.getBoundingClientRect();
    return isShown(at) && box.width >= 2 && box.height >= 2;
  };
  if (visible(element)) return element;
  return labelsOf(element).find(visible) ?? element;
}

function checkState(element: Element): void {
  if (!isAttached(element)) throw new Failure("detached", "the element was taken out of the page");
  if (isDisabled(element)) throw new Failure("disabled", "disabled or inert");
  const aim = aimAt(element);
  const box = aim.getBoundingClientRect();
  if (!isShown(aim)) throw new Failure("not_visible", "not displayed");
  if (box.width === 0 || box.height === 0) throw new Failure("not_visible", "has no size");
}

export async function whenReady(element: Element, run: Run): Promise<Spot> {
  const start = performance.now();
  for (;;) {
    run.check();
    try {
      return await attempt(element, run);
    } catch (error) {
      const lasting = !(error instanceof Failure) || !/^(not_visible|not_stable|covered|disabled)$/.test(error.code);
      if (lasting || performance.now() - start >= READY_WAIT_MS_MAX) throw error;
    }
    await run.pause(80);
  }
}

async function attempt(element: Element, run: Run): Promise<Spot> {
  checkState(element);
  const aim = aimAt(element);
  bringIntoView(aim);
  const before = aim.getBoundingClientRect();
  await sleepFrame(run);
  await sleepFrame(run);
  run.check();
  checkState(element);
  const after = aim.getBoundingClientRect();
  const moved = (["left", "top", "width", "height"] as const).some((side) => Math.abs(before[side] - after[side]) > 1);
  if (moved || !aim.isConnected) throw new Failure("not_stable", "it moves or changes its size");
  return findSpot(element, aim);
}

function bringIntoView(aim: Element): void {
  const box = aim.getBoundingClientRect();
  const view = viewOf(aim);
  const inside = box.top >= 0 && box.left >= 0 && box.bottom <= view.innerHeight && box.right <= view.innerWidth;
  const framed = aim.ownerDocument !== document;
  if (!inside || framed || !hitAt(aim, box.left + box.width / 2, box.top + box.height / 2)) {
    aim.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  }
}

/** The first of several points in the element at which it is on top. */
function findSpot(element: Element, aim: Element): Spot {
  const view = viewOf(aim);
  let blocker: Element | null = null;
  let outside = true;
  for (const box of aim.getClientRects()) {
    const [left, right] = [Math.max(0, box.left), Math.min(view.innerWidth, box.right)];
    const [top, bottom] = [Math.max(0, box.top), Math.min(view.innerHeight, box.bottom)];
    if (right - left < 1 || bottom - top < 1) continue;
    for (const [across, down] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.2], [0.5, 0.8], [0.1, 0.1], [0.9, 0.9]] as const) {
      const [x, y] = [left + (right - left) * across, top + (bottom - top) * down];
      const found = hitAt(aim, x, y);
      if (!found) continue;
      outside = false;
      if (belongsTo(found, element) || belongsTo(found, aim)) return { x, y, hit: found };
      blocker ??= found;
    }
  }
  if (outside || !blocker) throw new Failure("not_visible", "outside of what can be scrolled to");
  throw new Failure("covered", describe(blocker), { coveredBy: subjectOf(namedAbove(blocker)) });
}

const belongsTo = (hit: Element, element: Element): boolean => {
  if (isInside(hit, element)) return true;
  const label = hit.closest("label") as HTMLLabelElement | null;
  return label?.control === element;
};

/** The nearest surrounding thing that has a name to call it by, a dialog before all. */
function namedAbove(element: Element): Element {
  const dialog = element.closest('dialog,[role="dialog"],[role="alertdialog"],[aria-modal="true"]');
  if (dialog) return dialog;
  for (let at: Element | null = element; at && at.localName !== "body"; at = flatParent(at)) {
    if (subjectOf(at).name) return at;
  }
  return element;
}

function describe(element: Element): string {
  const id = element.id ? `#${element.id}` : "";
  const name = typeof element.className === "string" && element.className ? `.${collapse(element.className).split(" ")[0]}` : "";
  return `covered by <${element.localName}${id}${name}>`.slice(0, 160);
}

/** The innermost element at a point of the viewport of `near`'s document, if nothing above its frame covers it. */
function hitAt(near: Element, x: number, y: number): Element | null {
  const owner = near.ownerDocument;
  const found = innermost(owner, x, y);
  if (!found || owner === document) return found;
  const offset = frameOffset(owner);
  if (!offset) throw new Failure("unsupported_frame", "the frame is scaled, turned or gone");
  const frame = frameOf(owner);
  let at: Document = document;
  let [dx, dy] = [offset.x + x, offset.y + y];
  for (;;) {
    const top = innermost(at, dx, dy);
    if (top === frame) return found;
    const inner = top && contentDocumentOf(top);
    // Something else lies over the frame, or the point is scrolled out of it.
    if (!top || !inner || top.localName !== "iframe") return top;
    const start = frameOffset(inner);
    if (!start) throw new Failure("unsupported_frame", "the frame is scaled, turned or gone");
    [dx, dy, at] = [offset.x + x - start.x, offset.y + y - start.y, inner];
  }
}

function innermost(root: Document, x: number, y: number): Element | null {
  let found = root.elementFromPoint(x, y);
  while (found) {
    const shadow = shadowRootOf(found);
    const inner = shadow?.elementFromPoint(x, y);
    if (!inner || inner === found || !shadow?.contains(inner)) break;
    found = inner;
  }
  return found;
}
