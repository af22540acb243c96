// Reads a page into plain facts: controls with references, structure and text, in the order in which they are read.

import { accessibleDescription, accessibleName } from "./accname";
import {
  attribute, collapse, contentDocumentOf, cut, flatAncestors, flatChildren, flatParent, focusedElement, frameOffset, isElement,
  isShown, styleOf, viewOf, wellFormed,
} from "./dom";
import {
  DEPTH_MAX, FRAME_DEPTH_MAX, NAME_UNITS_MAX, NODES_MAX, OPTIONS_MAX, OPTIONS_TOTAL_MAX, OPTION_UNITS_MAX, TEXT_NODES_MAX,
  TEXT_UNITS_MAX, URL_UNITS_MAX, VALUE_UNITS_MAX,
} from "./generated";
import type { FieldValue, Node as NodeFacts, OptionFacts, PageFacts, Rect, State, Subject } from "./generated";
import type { Refs } from "./refs";
import { WIDGETS, hasName, isDisabled, isEditable, isEditingHost, isFocusable, isSecret, isSelectBox, labelsOf, roleOf, withLabels } from "./role";

type ElementFacts = Extract<NodeFacts, { type: "element" }>;

const SKIPPED = /^(script|style|noscript|template|meta|link|head|title|svg|path|base|param|source|track|datalist)$/;
/** Roles that say where something is. */
const STRUCTURE =
  /^(alert|alertdialog|article|banner|cell|complementary|contentinfo|dialog|feed|figure|form|grid|gridcell|group|list|listbox|listitem|log|main|menu|menubar|navigation|radiogroup|region|row|search|status|table|tablist|tabpanel|toolbar|tree|treegrid)$/;
/** Roles that say something by themselves, in one line. */
const CONTENT = /^(heading|img|progressbar|meter|columnheader|rowheader|math)$/;
/** Controls whose content is their name. */
const LEAF = /^(button|link|checkbox|radio|switch|tab|option|menuitem|menuitemcheckbox|menuitemradio|slider|spinbutton|scrollbar)$/;
const CONTROL_SELECTOR =
  'a[href],button,input,select,textarea,summary,[tabindex],[contenteditable],[role="button"],[role="link"],[role="checkbox"],[role="tab"],[role="menuitem"],[role="option"]';

/** How a control came to count as one. */
type Control = "native" | "widget" | "focusable" | "pointer" | null;

const hasOwnPointer = (element: Element): boolean => {
  if (element.hasAttribute("onclick")) return true;
  if (styleOf(element).cursor !== "pointer") return false;
  const parent = flatParent(element);
  return !parent || styleOf(parent).cursor !== "pointer";
};

function controlKind(element: Element, role: string): Control {
  const tag = element.localName;
  if (tag === "input") return (element as HTMLInputElement).type === "hidden" ? null : "native";
  if (/^(button|select|textarea)$/.test(tag) || ((tag === "a" || tag === "area") && element.hasAttribute("href"))) return "native";
  if (tag === "summary") return element.parentElement?.localName === "details" ? "native" : null;
  if (tag === "option" || tag === "optgroup") return null;
  if (isEditingHost(element)) return "widget";
  if (WIDGETS.has(role)) return "widget";
  if (tag === "label") return null;
  if (isFocusable(element) && parseInt(attribute(element, "tabindex"), 10) >= 0) {
    return element.querySelector(CONTROL_SELECTOR) || STRUCTURE.test(role) ? null : "focusable";
  }
  if (hasOwnPointer(element) && !element.querySelector(CONTROL_SELECTOR)) {
    for (const above of flatAncestors(element)) if (above.localName === "label" || above.matches(CONTROL_SELECTOR)) return null;
    return "pointer";
  }
  return null;
}

export function fieldValue(element: Element): FieldValue | null {
  const input = element as HTMLInputElement;
  if (isSecret(element)) return { type: "secret", filled: input.value !== "" };
  const text = plainValue(element);
  return text === null ? null : { type: "text", text: wellFormed(cut(text, VALUE_UNITS_MAX)) };
}

/** What a field holds, whole; null for what holds nothing. Callers have checked that it is no secret. */
export function plainValue(element: Element): string | null {
  const input = element as HTMLInputElement;
  const tag = element.localName;
  if (tag === "input" && input.type === "file") return [...(input.files ?? [])].map((file) => file.name).join(", ");
  if (tag === "textarea" || (tag === "input" && (isEditable(element) || input.type === "color"))) return input.value;
  if (isEditingHost(element)) return (element as HTMLElement).innerText.replace(/\n$/, "");
  if (tag === "progress" || tag === "meter") return String((element as HTMLProgressElement).value);
  return attribute(element, "aria-valuetext") || attribute(element, "aria-valuenow") || null;
}

export function statesOf(element: Element, role: string = roleOf(element)): State[] {
  const states: State[] = [];
  const input = element as HTMLInputElement;
  const aria = (name: string): string => attribute(element, `aria-${name}`).toLowerCase();
  if (/^(checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(role)) {
    const native = element.localName === "input" && /^(checkbox|radio)$/.test(input.type);
    const mixed = native ? input.indeterminate : aria("checked") === "mixed";
    states.push(mixed ? "mixed" : (native ? input.checked : aria("checked") === "true") ? "checked" : "unchecked");
  }
  if (aria("selected") === "true") states.push("selected");
  if (aria("pressed")) states.push(aria("pressed") === "true" ? "pressed" : aria("pressed") === "mixed" ? "mixed" : "notPressed");
  const details = element.localName === "summary" ? (element.parentElement as HTMLDetailsElement | null) : null;
  if (details?.localName === "details") states.push(details.open ? "expanded" : "collapsed");
  else if (/^(true|false)$/.test(aria("expanded"))) states.push(aria("expanded") === "true" ? "expanded" : "collapsed");
  if (isDisabled(element)) states.push("disabled");
  const editable = isEditable(element);
  if ((editable && input.readOnly === true) || aria("readonly") === "true") states.push("readOnly");
  if (input.required === true || aria("required") === "true") states.push("required");
  const refused = "validity" in element && !input.validity.valid && element.matches(":user-invalid");
  if (refused || /^(true|grammar|spelling)$/.test(aria("invalid"))) states.push("invalid");
  if (aria("current") && aria("current") !== "false") states.push("current");
  if (element.localName === "textarea" || aria("multiline") === "true") states.push("multiline");
  if (aria("modal") === "true" || (element.localName === "dialog" && element.matches(":modal"))) states.push("modal");
  if (focusedElement() === element) states.push("focused");
  return states;
}

/** An element by name, for a person. */
export function subjectOf(element: Element): Subject {
  const role = roleOf(element);
  const text = accessibleName(element) || collapse((element as HTMLElement).innerText ?? "");
  const shown = role === "generic" || role === "none" ? element.localName : role;
  return { role: shown.slice(0, 40), name: wellFormed(cut(text, 120)) };
}

export const optionLabel = (option: HTMLOptionElement): string => collapse(option.label || option.text);
export const isOptionDisabled = (option: HTMLOptionElement): boolean =>
  option.disabled || (option.parentElement?.localName === "optgroup" && (option.parentElement as HTMLOptGroupElement).disabled);

export function optionFacts(option: HTMLOptionElement): OptionFacts {
  const label = optionLabel(option);
  const facts: OptionFacts = { label: wellFormed(cut(label, NAME_UNITS_MAX)) };
  if (option.value !== label && option.value.length <= OPTION_UNITS_MAX) facts.value = wellFormed(option.value);
  if (option.selected) facts.selected = true;
  if (isOptionDisabled(option)) facts.disabled = true;
  return facts;
}

export function readPage(refs: Refs): PageFacts {
  const reader = new Reader(refs);
  const root = document.body ?? document.documentElement;
  if (root) withLabels(() => reader.children(root, { depth: 0, frames: 0, offset: { x: 0, y: 0 }, controlsOnly: false }));
  reader.flush();
  const scroller = document.scrollingElement ?? document.documentElement;
  const whole = (value: number): number => Math.max(0, Math.round(value) || 0);
  return {
    url: wellFormed(cut(location.href, URL_UNITS_MAX)),
    title: wellFormed(cut(collapse(document.title), NAME_UNITS_MAX)),
    loading: document.readyState === "loading",
    viewport: {
      width: whole(innerWidth), height: whole(innerHeight), scrollY: whole(scrollY), pageHeight: whole(scroller?.scrollHeight ?? 0),
    },
    nodes: reader.nodes,
    ...(reader.leftOut ? { leftOut: reader.leftOut } : {}),
    ...(reader.controlsLeftOut ? { controlsLeftOut: reader.controlsLeftOut } : {}),
  };
}

interface Place {
  depth: number;
  frames: number;
  offset: { x: number; y: number };
  controlsOnly: boolean;
}

class Reader {
  readonly nodes: NodeFacts[] = [];
  leftOut = 0;
  controlsLeftOut = 0;
  #plain = 0;
  #options = 0;
  #text = "";
  #textDepth = 0;
  #textSeen = false;

  constructor(readonly refs: Refs) {}

  children(element: Element, place: Place): void {
    for (const child of flatChildren(element)) {
      if (child.nodeType === 3) this.#addText(child as Text, element, place);
      else if (isElement(child)) this.element(child, place);
    }
  }

  element(element: HTMLElement, place: Place): void {
    const tag = element.localName;
    if (tag === "svg" ? roleOf(element) !== "img" : SKIPPED.test(tag)) return;
    const style = styleOf(element);
    if (style.display === "none" || style.contentVisibility === "hidden") {
      // A native box that its styled label stands for is still operated, through the label.
      if (!(tag === "input" && labelsOf(element).some(isShown) && style.contentVisibility !== "hidden")) return;
    }
    if (tag === "br" || !/^(inline|contents)/.test(style.display)) this.flush();
    const role = roleOf(element);
    const control = controlKind(element, role);
    if (control && this.#reachable(element, style)) {
      if (control === "pointer" && place.controlsOnly) return this.children(element, place);
      return this.#control(element, role, control, place);
    }
    if (tag === "iframe" || tag === "frame") return this.#frame(element, place);
    if (style.display !== "contents" && style.visibility !== "visible") return this.children(element, place);
    if (attribute(element, "aria-hidden") === "true" && !element.querySelector(CONTROL_SELECTOR)) {
      // Hidden from assistive tools but seen by a person: text is decoration, controls are not.
      return;
    }
    this.#structure(element, role, place);
    if (!/^(inline|contents)/.test(style.display)) this.flush();
  }

  #structure(element: HTMLElement, role: string, place: Place): void {
    if (CONTENT.test(role)) {
      const name = accessibleName(element);
      if (name && !place.controlsOnly) {
        const kind = role === "heading" ? headingLevel(element) : "";
        this.#add({ ...this.#base(element, role, place), name: wellFormed(cut(name, NAME_UNITS_MAX)), ...(kind ? { kind } : {}), ...valueOf(element, role) }, false);
      }
      return this.children(element, { ...place, controlsOnly: place.controlsOnly || name !== "" });
    }
    if (element.localName === "label") {
      const labelled = (element as HTMLLabelElement).control;
      return this.children(element, { ...place, controlsOnly: place.controlsOnly || (!!labelled && isShown(labelled)) });
    }
    if (element.localName === "legend" && element.parentElement?.localName === "fieldset") {
      return this.children(element, { ...place, controlsOnly: true });
    }
    if (STRUCTURE.test(role) && !place.controlsOnly) {
      const named = hasName(element) || /^(fieldset|table|figure)$/.test(element.localName);
      const name = named ? accessibleName(element) : "";
      const states = statesOf(element, role).filter((state) => state !== "required" && state !== "multiline");
      this.#add({
        ...this.#base(element, role, place),
        ...(name ? { name: wellFormed(cut(name, NAME_UNITS_MAX)) } : {}),
        ...(states.length ? { states } : {}),
      }, false);
      return this.children(element, { ...place, depth: place.depth + 1 });
    }
    this.children(element, place);
  }

  #control(element: HTMLElement, role: string, control: Control, place: Place): void {
    if (this.nodes.length >= NODES_MAX) {
      // Counted, not named: on a page this large the names are what takes the time.
      this.controlsLeftOut += 1;
      return;
    }
    const generic = role === "generic" || role === "none" || role === "paragraph";
    let name = accessibleName(element);
    const inner = generic || control === "pointer" ? collapse(element.innerText ?? "") : "";
    if (!name && generic) name = inner;
    const description = accessibleDescription(element, name);
    const states = statesOf(element, role);
    if (!isShown(element)) states.push("notVisible");
    const kind = inputKind(element);
    const facts: ElementFacts = {
      ...this.#base(element, generic ? "clickable" : role, place),
      ref: this.refs.of(element),
      ...(name ? { name: wellFormed(cut(name, NAME_UNITS_MAX)) } : {}),
      ...(description ? { description: wellFormed(cut(description, NAME_UNITS_MAX)) } : {}),
      ...(kind ? { kind } : {}),
      ...valueOf(element, role),
      ...(states.length ? { states: states.slice(0, 16) } : {}),
      ...this.#rect(element, place),
    };
    const href = role === "link" && "href" in element ? String((element as unknown as HTMLAnchorElement).href) : "";
    if (href && !href.startsWith("javascript:")) facts.href = wellFormed(cut(href, URL_UNITS_MAX));
    if (isSelectBox(element)) this.#addOptions(facts, element);
    this.#add(facts, true);
    if (/^(input|select|textarea)$/.test(element.localName)) return;
    if (isEditingHost(element)) return;
    const whole = LEAF.test(role) || (generic && name.length <= 160);
    this.children(element, { ...place, depth: place.depth + 1, controlsOnly: place.controlsOnly || (whole && name.length < NAME_UNITS_MAX) });
  }

  #addOptions(facts: ElementFacts, select: HTMLSelectElement): void {
    const all = [...select.options];
    const room = Math.min(OPTIONS_MAX, OPTIONS_TOTAL_MAX - this.#options);
    const listed = all.slice(0, Math.max(0, room));
    const chosen = all.find((option) => option.selected);
    // The chosen one is always told, even past the end of the list.
    if (chosen && !listed.includes(chosen)) listed.splice(Math.max(0, listed.length - 1), 1, chosen);
    this.#options += listed.length;
    if (listed.length) facts.options = listed.map(optionFacts);
    if (all.length > listed.length) facts.optionsLeftOut = all.length - listed.length;
  }

  #frame(element: HTMLElement, place: Place): void {
    if (!isShown(element)) return;
    const inner = contentDocumentOf(element);
    const name = accessibleName(element);
    const frame = !inner?.body ? "otherOrigin" : place.frames >= FRAME_DEPTH_MAX ? "tooDeep" : "read";
    if (place.controlsOnly && frame !== "read") return;
    this.#add({ ...this.#base(element, "iframe", place), ...(name ? { name: wellFormed(cut(name, NAME_UNITS_MAX)) } : {}), frame }, false);
    if (frame !== "read" || !inner?.body) return;
    const offset = frameOffset(inner) ?? place.offset;
    this.children(inner.body, { depth: place.depth + 1, frames: place.frames + 1, offset, controlsOnly: place.controlsOnly });
    this.flush();
  }

  /** Whether a control can be operated at all: seen itself, or through a label. */
  #reachable(element: HTMLElement, style: CSSStyleDeclaration): boolean {
    if (isShown(element)) {
      const box = element.getBoundingClientRect();
      if ((box.width > 0 && box.height > 0) || style.display === "contents") return true;
      return [...element.children].some((child) => child.getBoundingClientRect().width > 0) || labelsOf(element).some(isShown);
    }
    return labelsOf(element).some(isShown);
  }

  #base(element: Element, role: string, place: Place): ElementFacts {
    return {
      type: "element",
      depth: Math.min(place.depth, DEPTH_MAX),
      role: role.slice(0, 40),
      ...(onScreen(element.getBoundingClientRect(), place) ? { inViewport: true } : {}),
    };
  }

  #rect(element: Element, place: Place): { rect?: Rect } {
    const box = element.getBoundingClientRect();
    const whole = (value: number): number => Math.max(-2147483648, Math.min(2147483647, Math.round(value) || 0));
    return {
      rect: {
        x: whole(box.left + place.offset.x), y: whole(box.top + place.offset.y),
        width: Math.max(0, whole(box.width)), height: Math.max(0, whole(box.height)),
      },
    };
  }

  #add(node: NodeFacts, isControl: boolean): void {
    this.flush();
    if (isControl ? this.nodes.length >= NODES_MAX : this.#plain >= TEXT_NODES_MAX || this.nodes.length >= NODES_MAX) {
      if (isControl) this.controlsLeftOut += 1;
      else this.leftOut += 1;
      return;
    }
    if (!isControl) this.#plain += 1;
    this.nodes.push(node);
  }

  #addText(text: Text, parent: Element, place: Place): void {
    const data = text.data;
    if (place.controlsOnly || !data.trim()) {
      if (this.#text && /\s/.test(data)) this.#text += " ";
      return;
    }
    if (styleOf(parent).visibility !== "visible") return;
    if (this.#plain >= TEXT_NODES_MAX) {
      this.leftOut += 1;
      return;
    }
    if (this.#text && this.#textDepth !== place.depth) this.flush();
    if (!this.#textSeen) {
      const range = parent.ownerDocument.createRange();
      range.selectNodeContents(text);
      this.#textSeen = onScreen(range.getBoundingClientRect(), place);
    }
    this.#text += data;
    this.#textDepth = place.depth;
  }

  /** Ends the block of text that is being gathered. */
  flush(): void {
    let text = wellFormed(collapse(this.#text));
    const [depth, seen] = [Math.min(this.#textDepth, DEPTH_MAX), this.#textSeen];
    this.#text = "";
    this.#textSeen = false;
    while (text) {
      let end = Math.min(text.length, TEXT_UNITS_MAX);
      if (end < text.length) {
        const space = text.lastIndexOf(" ", end);
        if (space > end / 2) end = space;
        else if (text.charCodeAt(end - 1) >= 0xd800 && text.charCodeAt(end - 1) < 0xdc00) end -= 1;
      }
      this.#add({ type: "text", depth, text: text.slice(0, end), ...(seen ? { inViewport: true } : {}) }, false);
      text = text.slice(end).trimStart();
    }
  }
}

function onScreen(box: DOMRect, place: Place): boolean {
  const [left, top] = [box.left + place.offset.x, box.top + place.offset.y];
  return box.width > 0 && box.height > 0 && left < innerWidth && top < innerHeight && left + box.width > 0 && top + box.height > 0;
}

const headingLevel = (element: Element): string => attribute(element, "aria-level").slice(0, 2) || /^h([1-6])$/.exec(element.localName)?.[1] || "2";

function inputKind(element: Element): string {
  if (element.localName !== "input") return "";
  const type = (element as HTMLInputElement).type;
  return /^(text|checkbox|radio|button|submit|reset|search|range|number|image)$/.test(type) ? "" : type;
}

function valueOf(element: Element, role: string): { value?: FieldValue } {
  const holds = isEditable(element) || /^(slider|spinbutton|progressbar|meter|scrollbar)$/.test(role) || inputKind(element) === "file" || inputKind(element) === "color";
  const value = holds ? fieldValue(element) : null;
  return value ? { value } : {};
}

/** Text of what reports to the person: alerts, status lines, dialogs. */
export function announcements(): Map<Element, string> {
  const selector = '[role="alert"],[role="status"],[role="alertdialog"],[role="dialog"],[aria-live="assertive"],[aria-live="polite"],dialog[open],output';
  const found = new Map<Element, string>();
  for (const element of document.querySelectorAll<HTMLElement>(selector)) {
    if (isShown(element) && viewOf(element)) found.set(element, collapse(element.innerText ?? ""));
  }
  return found;
}
