// ARIA roles, explicit or implied by the tag (HTML-AAM), and which of them a person operates.

import { attribute, flatAncestors, isElement } from "./dom";

const words = (text: string): Set<string> => new Set(text.split(" "));

/** Roles of things that are operated. */
export const WIDGETS = words(
  "button link checkbox menuitem menuitemcheckbox menuitemradio tab option switch combobox slider radio searchbox textbox spinbutton treeitem scrollbar",
);
const KNOWN = words(
  "alert alertdialog application article banner blockquote caption cell code columnheader complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img insertion list listbox listitem log main marquee math menu menubar meter navigation none note paragraph presentation progressbar radiogroup region row rowgroup rowheader search separator status strong subscript superscript table tablist tabpanel term time timer toolbar tooltip tree treegrid",
);
/** Roles whose name comes from what they contain. */
export const NAME_FROM_CONTENT = words(
  "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab tooltip treeitem",
);

const INPUTS: Record<string, string> = {
  button: "button", submit: "button", reset: "button", image: "button", file: "button", color: "button",
  checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox",
};
const TAGS: Record<string, string> = {
  article: "article", aside: "complementary", blockquote: "blockquote", button: "button", caption: "caption",
  code: "code", dd: "definition", details: "group", dialog: "dialog", dt: "term", fieldset: "group",
  figure: "figure", form: "form", h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading",
  h6: "heading", hr: "separator", iframe: "iframe", li: "listitem", main: "main", math: "math", menu: "list",
  meter: "meter", nav: "navigation", ol: "list", optgroup: "group", option: "option", output: "status", p: "paragraph",
  progress: "progressbar", search: "search", summary: "button", table: "table", tbody: "rowgroup",
  textarea: "textbox", tfoot: "rowgroup", thead: "rowgroup", tr: "row", ul: "list",
};

/** Whether it can take the keyboard focus. */
export function isFocusable(element: Element): boolean {
  const tag = element.localName;
  if (element.hasAttribute("tabindex")) return !Number.isNaN(parseInt(attribute(element, "tabindex"), 10));
  if (tag === "a" || tag === "area") return element.hasAttribute("href");
  if (tag === "input") return attribute(element, "type").toLowerCase() !== "hidden";
  return tag === "button" || tag === "select" || tag === "textarea" || tag === "summary" || isEditingHost(element);
}

/** The element on which editing begins, not one that merely inherits it. */
export function isEditingHost(element: Element): boolean {
  const own = element.getAttribute("contenteditable");
  if (own === null || own.toLowerCase() === "false") return false;
  return (element as HTMLElement).isContentEditable && !(element.parentElement as HTMLElement | null)?.isContentEditable;
}

export const hasName = (element: Element): boolean =>
  !!(attribute(element, "aria-label") || attribute(element, "aria-labelledby") || attribute(element, "title"));

function implied(element: Element): string {
  const tag = element.localName;
  switch (tag) {
    case "a":
    case "area":
      return element.hasAttribute("href") ? "link" : "generic";
    case "img":
      return element.getAttribute("alt") === "" && !hasName(element) ? "none" : "img";
    case "svg":
      return hasName(element) || element.querySelector(":scope > title") ? "img" : "none";
    case "select":
      return (element as HTMLSelectElement).multiple || (element as HTMLSelectElement).size > 1 ? "listbox" : "combobox";
    case "section":
      return hasName(element) ? "region" : "generic";
    case "header":
    case "footer": {
      for (const above of flatAncestors(element)) {
        if (/^(article|aside|main|nav|section)$/.test(above.localName)) return "generic";
      }
      return tag === "header" ? "banner" : "contentinfo";
    }
    case "td":
    case "th": {
      const table = element.closest("table");
      const grid = /^(grid|treegrid)$/.test(table ? attribute(table, "role") : "");
      if (tag === "td") return grid ? "gridcell" : "cell";
      return attribute(element, "scope") === "row" ? "rowheader" : "columnheader";
    }
    case "input": {
      const type = (element as HTMLInputElement).type;
      if (type === "hidden") return "none";
      const list = element.hasAttribute("list") && /^(text|search|tel|url|email)$/.test(type);
      return list ? "combobox" : (INPUTS[type] ?? "textbox");
    }
    default:
      return TAGS[tag] ?? "generic";
  }
}

export function roleOf(element: Element): string {
  for (const token of attribute(element, "role").toLowerCase().split(/\s+/)) {
    if (token === "none" || token === "presentation") {
      // A presentational role is void on what can be focused.
      if (isFocusable(element)) break;
      return "none";
    }
    if (token === "image") return "img";
    if (WIDGETS.has(token) || KNOWN.has(token)) return token;
  }
  const role = implied(element);
  return role === "generic" && isEditingHost(element) ? "textbox" : role;
}

/** Whether it holds text that a person can edit: an input, a text area, an editor. */
export function isEditable(element: Element): boolean {
  if (element.localName === "textarea" || isEditingHost(element)) return true;
  return element.localName === "input" && !/^(hidden|button|submit|reset|image|file|checkbox|radio)$/.test((element as HTMLInputElement).type);
}

type Labels = Map<Element, HTMLLabelElement[]>;
let labelsByRoot: Map<Node, Labels> | null = null;

/** Runs `read`, during which the page does not change, with the labels of each root looked up only once. */
export function withLabels<T>(read: () => T): T {
  // Chrome walks the whole document for the `labels` of each single control.
  labelsByRoot = new Map();
  try {
    return read();
  } finally {
    labelsByRoot = null;
  }
}

/** The labels of a control, in document order. */
export function labelsOf(element: Element): HTMLLabelElement[] {
  if (!labelsByRoot) return [...((element as HTMLInputElement).labels ?? [])];
  const root = element.getRootNode();
  let labels = labelsByRoot.get(root);
  if (!labels) {
    labels = new Map();
    for (const label of (root as ParentNode).querySelectorAll?.("label") ?? []) {
      const control = label.control;
      if (control) labels.set(control, [...(labels.get(control) ?? []), label]);
    }
    labelsByRoot.set(root, labels);
  }
  return labels.get(element) ?? [];
}

const SECRET_TOKENS = /^(current-password|new-password|one-time-code|cc-.+)$/;
const SECRET_NAMES =
  /(^|[-_.])(password|passwd|pwd|passcode|otp|totp|pin-?code|cvv2?|cvc2?|csc|security-?code|card-?(number|num|no)|cc-?(number|num|no|csc|cvc|exp))$/;
const seenAsPassword = new WeakSet<Element>();

/** A field for a password, a one-time code or payment data: its value is never read, and nothing is typed into it. */
export function isSecret(element: Element): boolean {
  if (element.localName !== "input" && element.localName !== "textarea") return false;
  if ((element as HTMLInputElement).type === "password") seenAsPassword.add(element);
  // "Show password" turns the field into a plain one; it stays secret.
  if (seenAsPassword.has(element)) return true;
  if (attribute(element, "autocomplete").toLowerCase().split(/\s+/).some((token) => SECRET_TOKENS.test(token))) return true;
  const masked = element.ownerDocument.defaultView?.getComputedStyle(element).getPropertyValue("-webkit-text-security");
  if (masked && masked !== "none") return true;
  return ["name", "id"].some((key) =>
    SECRET_NAMES.test(attribute(element, key).replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase()),
  );
}

export const isDisabled = (element: Element): boolean => {
  if (element.matches(":disabled")) return true;
  for (let at: Element | undefined = element, rest = flatAncestors(element); at; at = rest.next().value as Element | undefined) {
    if (at.hasAttribute("inert") || attribute(at, "aria-disabled") === "true") return true;
  }
  return false;
};

export const isSelectBox = (node: Node | null): node is HTMLSelectElement => isElement(node) && node.localName === "select";
