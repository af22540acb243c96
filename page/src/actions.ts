// The actions: click, type, choose an option. Each acts once, then reports what it sees.

import { collapse, flatAncestors, focusedElement, isElement, shadowRootOf, viewOf } from "./dom";
import { fieldValue, isOptionDisabled, optionFacts, optionLabel, plainValue, subjectOf } from "./facts";
import { Failure } from "./failure";
import { OPTIONS_MAX } from "./generated";
import type { ActionResult, OptionChoice, Submission } from "./generated";
import { whenReady } from "./ready";
import type { Run, Spot } from "./ready";
import { isEditable, isEditingHost, isFocusable, isSecret, isSelectBox } from "./role";
import { Watch } from "./watch";

export async function click(element: Element, run: Run): Promise<ActionResult> {
  const spot = await whenReady(element, run);
  const watch = new Watch(element);
  try {
    run.check();
    run.dispatching();
    pressAndRelease(spot, element);
    return { type: "clicked", observed: await watch.settle(run) };
  } finally {
    watch.stop();
  }
}

function pressAndRelease(spot: Spot, element: Element): void {
  const view = viewOf(spot.hit);
  const send = (target: Element, type: string, buttons: number, bubbles = true): boolean => {
    const pointer = type.startsWith("pointer") || type === "click";
    const init = {
      bubbles, cancelable: bubbles, composed: true, view, clientX: spot.x, clientY: spot.y, buttons,
      screenX: spot.x + view.screenX, screenY: spot.y + view.screenY,
      button: pointer && /move|over|enter/.test(type) ? -1 : 0, detail: /^mouse(down|up)$|^click$/.test(type) ? 1 : 0,
      ...(pointer ? { pointerId: 1, pointerType: "mouse", isPrimary: true, pressure: buttons ? 0.5 : 0, width: 1, height: 1 } : {}),
    };
    return target.dispatchEvent(pointer ? new PointerEvent(type, init) : new MouseEvent(type, init));
  };
  for (const kind of ["pointer", "mouse"]) {
    send(spot.hit, `${kind}over`, 0);
    send(spot.hit, `${kind}enter`, 0, false);
    send(spot.hit, `${kind}move`, 0);
  }
  // A handler that swallows pointerdown takes the compatibility mouse events with it.
  const compatible = send(spot.hit, "pointerdown", 1);
  if (!compatible || send(spot.hit, "mousedown", 1)) focusFrom(spot.hit);
  const target = spot.hit.isConnected ? spot.hit : element;
  if (!target.isConnected) return;
  send(target, "pointerup", 0);
  if (compatible) send(target, "mouseup", 0);
  send(target.isConnected ? target : element, "click", 0);
}

/** Moves the focus as a press would: to the nearest element that takes it, else away. */
function focusFrom(hit: Element): void {
  for (let at: Element | undefined = hit, rest = flatAncestors(hit); at; at = rest.next().value as Element | undefined) {
    if (isFocusable(at) && !at.matches(":disabled")) return moveFocus(at as HTMLElement);
    const label = at.localName === "label" ? (at as HTMLLabelElement).control : null;
    if (label) return;
  }
  const active = focusedElement() as HTMLElement | null;
  if (active) announceFocus(active, null, () => active.blur());
}

function moveFocus(element: HTMLElement): void {
  const active = focusedElement() as HTMLElement | null;
  if (active === element) return;
  announceFocus(active, element, () => element.focus({ preventScroll: true }));
}

/** While the side panel has the window's focus, Chrome moves the focus in the page without telling the page. */
function announceFocus(from: HTMLElement | null, to: HTMLElement | null, move: () => void): void {
  let told = false;
  const hear = (): void => { told = true; };
  const witness = to ?? from;
  const kind = to ? "focus" : "blur";
  witness?.addEventListener(kind, hear, { once: true });
  move();
  witness?.removeEventListener(kind, hear);
  if (told || witness?.ownerDocument.hasFocus()) return;
  const send = (target: HTMLElement | null, type: string, related: HTMLElement | null): void => {
    target?.dispatchEvent(new FocusEvent(type, { bubbles: type.length > 5, composed: true, relatedTarget: related, view: window }));
  };
  send(from, "blur", to);
  send(from, "focusout", to);
  send(to, "focus", from);
  send(to, "focusin", from);
}

/** The field that is meant: the element, or the only field in it. */
function fieldIn(element: Element): HTMLElement {
  if (isEditable(element)) return element as HTMLElement;
  const host = element.closest("[contenteditable]");
  if (host && (element as HTMLElement).isContentEditable) {
    for (const above of [element, ...flatAncestors(element)]) if (isEditingHost(above)) return above as HTMLElement;
  }
  const control = element.localName === "label" ? (element as HTMLLabelElement).control : null;
  if (control && isEditable(control)) return control;
  const scope: ParentNode = shadowRootOf(element) ?? element;
  const inner = [...scope.querySelectorAll("input,textarea,[contenteditable]")].filter(isEditable);
  if (inner.length === 1) return inner[0] as HTMLElement;
  throw new Failure("not_editable", `<${element.localName}> is no text field`);
}

export async function type(
  element: Element, text: string, clear: boolean, submit: boolean, run: Run,
): Promise<ActionResult> {
  const field = fieldIn(element);
  if (isSecret(field)) throw new Failure("secret_field", "the person must fill this field");
  if ((field as HTMLInputElement).readOnly === true || field.getAttribute("aria-readonly") === "true") {
    throw new Failure("read_only", "the field is read-only");
  }
  await whenReady(field, run);
  const watch = new Watch(field);
  try {
    run.check();
    // Looked at again: a script may have turned the field into a secret one since.
    if (isSecret(field)) throw new Failure("secret_field", "the person must fill this field");
    const before = plainValue(field) ?? "";
    const wanted = clear ? text : before + text;
    if (!takes(field, wanted)) throw new Failure("not_effective", formatHint(field), { value: { type: "text", text: before } });
    run.dispatching();
    moveFocus(field);
    if (before !== wanted) await enter(field, text, wanted, clear, run);
    const submission = submit ? await pressEnter(field, watch, run) : "notAsked";
    const observed = await watch.settle(run);
    const value = plainValue(field) ?? "";
    const sent = watch.leaving || submission === "submitted" || submission === "takenByPage";
    if (!sent && value === before && !same(value, wanted)) {
      const shown = fieldValue(field);
      throw new Failure("not_effective", formatHint(field), shown ? { value: shown } : {});
    }
    const shown = fieldValue(field) ?? { type: "text" as const, text: "" };
    return { type: "typed", value: shown, exact: sent || same(value, wanted), submission, observed };
  } finally {
    watch.stop();
  }
}

const same = (a: string, b: string): boolean => a.replace(/\r\n?/g, "\n").trimEnd() === b.replace(/\r\n?/g, "\n").trimEnd();

const FORMATS: Record<string, string> = {
  date: "a date is written 2026-11-30", time: "a time is written 14:05", month: "a month is written 2026-11",
  week: "a week is written 2026-W48", "datetime-local": "a moment is written 2026-11-30T14:05", color: "a colour is written #00ff00",
  number: "only a number fits", range: "only a number within its range fits",
};
const formatHint = (field: Element): string => FORMATS[(field as HTMLInputElement).type] ?? "the field kept its old value";

/** Whether the field's type can hold the text at all, tried on a twin so that the field keeps what it has. */
function takes(field: Element, wanted: string): boolean {
  if (field.localName !== "input" || !wanted || !((field as HTMLInputElement).type in FORMATS)) return true;
  const twin = document.createElement("input");
  twin.type = (field as HTMLInputElement).type;
  twin.value = wanted;
  return twin.type === "color" ? twin.value === wanted.toLowerCase() : twin.value !== "";
}

async function enter(field: HTMLElement, text: string, wanted: string, clear: boolean, run: Run): Promise<void> {
  const input = field as HTMLInputElement;
  const picker = field.localName === "input" && /^(date|time|month|week|datetime-local|color|range)$/.test(input.type);
  if (picker) return setValue(input, wanted, text);
  if ((field.getRootNode() as Document | ShadowRoot).activeElement !== field) {
    // The page moved the focus on: inserting now would write into another field.
    if (isEditingHost(field)) throw new Failure("not_effective", "the editor does not take the keyboard focus");
    return setValue(input, wanted, text);
  }
  const insert = selectForEntry(field, clear) ? text : wanted;
  const inputType = insert ? "insertText" : "deleteContentBackward";
  const data = insert || null;
  const asked = new InputEvent("beforeinput", { bubbles: true, cancelable: true, composed: true, inputType, data });
  if (!field.dispatchEvent(asked)) {
    // The page enters it by itself, as rich editors do.
    await run.pause(30);
    return;
  }
  const owner = field.ownerDocument;
  const value = (): string => plainValue(field) ?? "";
  const start = value();
  const done = owner.execCommand(insert ? "insertText" : "delete", false, insert || undefined);
  if (isEditingHost(field)) {
    if (!done || (value() === start && start !== wanted)) await paste(field, text, run);
    return;
  }
  if (!done || (value() === start && start !== wanted)) setValue(input, wanted, text);
  else tellChange(input);
}

const told = new WeakMap<Element, AbortController>();

/**
 * Reports the change now, because the page may react to it. Chrome reports it once more when the field loses the focus;
 * that second event is kept from the page when it brings no other value, so that nothing is saved twice.
 */
function tellChange(input: HTMLInputElement): void {
  const value = input.value;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  told.get(input)?.abort();
  const once = new AbortController();
  told.set(input, once);
  viewOf(input).addEventListener("change", (event) => {
    if (!event.isTrusted || event.composedPath()[0] !== input) return;
    once.abort();
    if (input.value === value) event.stopImmediatePropagation();
  }, { capture: true, signal: once.signal });
}

/** Selects what is to be replaced. False when only the whole can be, although text was to be added. */
function selectForEntry(field: HTMLElement, clear: boolean): boolean {
  const input = field as HTMLInputElement;
  if (!isEditingHost(field)) {
    input.select();
    if (clear) return true;
    try {
      input.setSelectionRange(input.value.length, input.value.length);
      return true;
    } catch {
      // E-mail and number fields have no caret for scripts.
      return false;
    }
  }
  const owner = field.ownerDocument;
  const range = owner.createRange();
  range.selectNodeContents(field);
  if (!clear) range.collapse(false);
  // A document's selection does not reach into a shadow root; Chrome gives the root one of its own.
  const selection: Selection | null = (field.getRootNode() as any).getSelection?.() ?? owner.getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
  return true;
}

/** Scripts of the page see the value's own setter; this world's goes straight to the field, as typing does. */
function setValue(input: HTMLInputElement, value: string, text: string): void {
  input.value = input.maxLength > 0 ? value.slice(0, input.maxLength) : value;
  input.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true, inputType: "insertText", data: text }));
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Editors that ignore plain insertion mostly take a paste. */
async function paste(field: HTMLElement, text: string, run: Run): Promise<void> {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  field.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, composed: true, clipboardData }));
  await run.pause(30);
}

async function pressEnter(field: HTMLElement, watch: Watch, run: Run): Promise<Submission> {
  // Pages that debounce or re-render after input get a moment, as between two keys.
  await run.pause(30);
  run.check();
  const send = (type: string): boolean =>
    field.dispatchEvent(new KeyboardEvent(type, {
      key: "Enter", code: "Enter", keyCode: 13, which: 13, charCode: type === "keypress" ? 13 : 0,
      bubbles: true, cancelable: true, composed: true, view: viewOf(field),
    } as KeyboardEventInit));
  const free = send("keydown") && send("keypress");
  if (free && !watch.submitted && field.localName === "input") submitForm((field as HTMLInputElement).form);
  send("keyup");
  if (watch.submitted) return "submitted";
  if (watch.refused) return "refused";
  return free ? "noForm" : "takenByPage";
}

/** Implicit submission (HTML 4.10.21.2): the default button is pressed, or a form with one field is sent. */
function submitForm(form: HTMLFormElement | null): void {
  if (!form) return;
  const fields = [...form.elements];
  const button = fields.find((at) => /^(submit|image)$/.test((at as HTMLButtonElement).type)) as HTMLButtonElement | undefined;
  if (button) {
    if (!button.disabled) button.click();
    return;
  }
  const blocking = fields.filter((at) => at.localName === "input" && isEditable(at));
  if (blocking.length <= 1) form.requestSubmit();
}

function selectIn(element: Element): HTMLSelectElement {
  if (isSelectBox(element)) return element;
  const control = element.localName === "label" ? (element as HTMLLabelElement).control : null;
  if (isSelectBox(control)) return control;
  throw new Failure("not_a_select", `<${element.localName}> is no select box`);
}

export async function selectOption(element: Element, choice: OptionChoice, run: Run): Promise<ActionResult> {
  const select = selectIn(element);
  await whenReady(select, run);
  const options = [...select.options];
  const wanted = options.filter((option) =>
    choice.by === "value" ? option.value === choice.value : optionLabel(option) === collapse(choice.label),
  );
  const option = wanted.find((at) => at.selected) ?? wanted[0];
  if (!option) throw new Failure("no_such_option", "", { options: options.slice(0, OPTIONS_MAX).map(optionFacts) });
  if (wanted.length > 1 && new Set(wanted.map((at) => at.value)).size > 1) {
    throw new Failure("ambiguous_option", `${wanted.length} options match`);
  }
  if (isOptionDisabled(option)) throw new Failure("option_disabled", optionLabel(option));
  const watch = new Watch(select);
  try {
    run.check();
    if (!option.selected) {
      run.dispatching();
      moveFocus(select);
      option.selected = true;
      select.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
      select.dispatchEvent(new Event("change", { bubbles: true }));
    }
    const observed = await watch.settle(run);
    if (!option.selected && option.isConnected) throw new Failure("not_effective", "the page chose another option");
    return { type: "selected", option: optionFacts(option), observed };
  } finally {
    watch.stop();
  }
}

/** The subject of a failure, when the element is still there. */
export const subjectIfAny = (element: Element | null): { subject?: ReturnType<typeof subjectOf> } =>
  isElement(element) ? { subject: subjectOf(element) } : {};
