// Accessible names and descriptions: "Accessible Name and Description Computation 1.2" with HTML-AAM's native sources.

import { attribute, collapse, flatChildren, isElement, referenced, styleOf } from "./dom";
import { NAME_FROM_CONTENT, isEditable, isSecret, labelsOf, roleOf } from "./role";

interface Walk {
  /** The element that is being named. */
  self: Element;
  visited: Set<Node>;
  /** Below an aria-labelledby: references are not followed again. */
  byReference: boolean;
  /** The node that a reference or a label named was itself hidden, so its hidden content counts. */
  hiddenCounts: boolean;
  /** Not the element that is being named, but something that contributes to its name. */
  inner: boolean;
}

export const accessibleName = (element: Element): string =>
  collapse(textOf(element, { self: element, visited: new Set(), byReference: false, hiddenCounts: false, inner: false }));

export function accessibleDescription(element: Element, name: string): string {
  const described = referenced(element, "aria-describedby");
  const text = described.length
    ? described.map((at) => collapse(textOf(at, referenceWalk(at, element)))).join(" ")
    : attribute(element, "aria-description") || attribute(element, "title");
  return collapse(text) === name ? "" : collapse(text);
}

const referenceWalk = (at: Element, self: Element): Walk => ({
  self, visited: new Set(), byReference: true, hiddenCounts: isHidden(at), inner: true,
});

function isHidden(element: Element): boolean {
  if (attribute(element, "aria-hidden") === "true") return true;
  if (!element.isConnected) return false;
  const style = styleOf(element);
  return style.display === "none" || style.visibility === "hidden" || style.visibility === "collapse";
}

function textOf(node: Node, walk: Walk): string {
  if (node.nodeType === 3) return node.nodeValue ?? "";
  if (!isElement(node) || walk.visited.has(node)) return "";
  const element = node;
  walk.visited.add(element);
  if (walk.inner && !walk.hiddenCounts && isHidden(element)) return "";
  const role = roleOf(element);

  if (!walk.byReference) {
    const references = referenced(element, "aria-labelledby");
    if (references.length) {
      const text = references.map((at) => collapse(textOf(at, referenceWalk(at, walk.self)))).join(" ");
      if (text.trim()) return text;
    }
  }

  // An element may name itself as one of its labels; then it is not a control inside a label.
  if (walk.inner && element !== walk.self) {
    const value = embeddedValue(element, role);
    if (value !== null) return value;
  }

  const label = attribute(element, "aria-label");
  if (label) return label;

  if (role !== "none" || !walk.inner) {
    const native = nativeText(element, walk);
    if (native !== null && native.trim()) return native;
  }

  // A menu inside a label is something to operate, not something to read.
  if (NAME_FROM_CONTENT.has(role) || (walk.inner && role !== "menu" && role !== "menubar")) {
    const content = contentText(element, walk);
    if (content.trim()) return content;
  }
  if (walk.inner && role === "none") return "";
  return attribute(element, "title") || attribute(element, "placeholder") || attribute(element, "aria-placeholder");
}

/** What a control inside a label contributes: its value. */
function embeddedValue(element: Element, role: string): string | null {
  const input = element as HTMLInputElement;
  if (isSecret(element)) return "";
  if (role === "textbox" || role === "searchbox") {
    return element.localName === "input" || element.localName === "textarea" ? input.value : collapse(element.textContent ?? "");
  }
  if (element.localName === "select" && /^(combobox|listbox)$/.test(role)) {
    return [...(element as HTMLSelectElement).selectedOptions].map((option) => collapse(option.label || option.text)).join(" ");
  }
  if (role === "combobox" || role === "listbox") {
    if (isEditable(element) && "value" in element) return input.value;
    const scopes = [element, ...referenced(element, "aria-owns")];
    const chosen = scopes.flatMap((scope) => [...scope.querySelectorAll('[role~="option"][aria-selected="true"]')]);
    if (chosen.length) return chosen.map((option) => accessibleName(option)).join(" ");
    const inner = element.querySelector("input");
    if (inner) return inner.value;
    return role === "combobox" ? collapse(element.textContent ?? "") : "";
  }
  if (role === "slider" || role === "spinbutton" || role === "scrollbar" || role === "progressbar" || role === "meter") {
    return attribute(element, "aria-valuetext") || attribute(element, "aria-valuenow") || ("value" in element ? String(input.value) : "");
  }
  return null;
}

/** The text alternative that HTML itself gives an element; null when it gives none. */
function nativeText(element: Element, walk: Walk): string | null {
  const tag = element.localName;
  const input = element as HTMLInputElement;
  const labels = walk.inner ? [] : labelsOf(element);
  if (labels.length) {
    const text = labels.map((at) => collapse(textOf(at, { ...walk, hiddenCounts: isHidden(at), inner: true }))).join(" ");
    if (text.trim()) return text;
  }
  const child = (name: string): string | null => {
    const found = [...element.children].find((at) => at.localName === name);
    return found ? textOf(found, { ...walk, inner: true }) : null;
  };
  switch (tag) {
    case "input":
      if (/^(button|submit|reset)$/.test(input.type)) {
        return input.value || (input.type === "submit" ? "Submit" : input.type === "reset" ? "Reset" : "");
      }
      if (input.type === "image") return attribute(element, "alt") || attribute(element, "title") || attribute(element, "value") || "Submit";
      return null;
    case "img":
    case "area":
      return element.getAttribute("alt");
    case "fieldset":
      return child("legend");
    case "table":
      return child("caption");
    case "figure":
      return child("figcaption");
    case "optgroup":
      return attribute(element, "label");
    case "option":
      return attribute(element, "label") || null;
    case "svg":
      return child("title");
    default:
      return null;
  }
}

const pseudoText = (element: Element, pseudo: string): string => {
  const style = styleOf(element, pseudo);
  const content = style.content;
  if (!content || content === "none" || content === "normal" || style.display === "none") return "";
  // `content: url(x) / "alternative"`: what follows the slash stands for the whole.
  const slash = /(?:^|[^\\])\/\s*(".*)$/.exec(content.replace(/"(?:[^"\\]|\\.)*"(?=[^"]*\/)/g, ""));
  const text = [...(slash?.[1] ?? content).matchAll(/"((?:[^"\\]|\\.)*)"/g)]
    .map((match) => (match[1] ?? "").replace(/\\(.)/g, "$1")).join("");
  return text && style.display !== "inline" ? ` ${text} ` : text;
};

function contentText(element: Element, walk: Walk): string {
  const live = element.isConnected;
  let text = live ? pseudoText(element, "::before") : "";
  const owned = referenced(element, "aria-owns");
  for (const child of [...flatChildren(element), ...owned]) {
    if (isElement(child)) {
      if (/^(script|style|template|noscript)$/.test(child.localName)) continue;
      const part = textOf(child, { ...walk, inner: true });
      const display = child.isConnected ? styleOf(child).display : "inline";
      const apart = child.localName === "br" || !/^(inline|contents|none)$/.test(display);
      text += apart ? ` ${part} ` : part;
    } else {
      text += textOf(child, walk);
    }
  }
  return text + (live ? pseudoText(element, "::after") : "");
}
