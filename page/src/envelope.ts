// Checks a message before anything of it is believed: size, then the request's JSON Schema.

import { BUDGET, REQUEST_SCHEMA } from "./generated";

interface Schema {
  readonly [key: string]: any;
}

/** Whether a value stays inside the budget of a message. */
export function fits(root: unknown): boolean {
  const open: Array<[unknown, number]> = [[root, 0]];
  let [values, units] = [0, 0];
  for (let next = open.pop(); next; next = open.pop()) {
    const [value, depth] = next;
    if (depth > BUDGET.depth || ++values + open.length > BUDGET.values) return false;
    if (typeof value === "string") units += value.length;
    if (typeof value === "object" && value !== null) {
      const entries = Object.entries(value);
      if (entries.length > (Array.isArray(value) ? BUDGET.arrayLen : BUDGET.keys)) return false;
      for (const [key, item] of entries) {
        if (!Array.isArray(value)) units += key.length;
        open.push([item, depth + 1]);
      }
    }
    if (units > BUDGET.stringUnits) return false;
  }
  return true;
}

export const isRequest = (value: unknown): boolean => matches(REQUEST_SCHEMA, REQUEST_SCHEMA, value);

/** Whether a value is valid under `schema`, a part of `root`; knows what the generated schemas use. */
export function matches(root: Schema, schema: Schema, value: any): boolean {
  if (schema.$ref) return matches(root, root.$defs[schema.$ref.split("/").pop()], value);
  if (schema.oneOf && schema.oneOf.filter((one: Schema) => matches(root, one, value)).length !== 1) return false;
  if (schema.anyOf && !schema.anyOf.some((one: Schema) => matches(root, one, value))) return false;
  if ("const" in schema && value !== schema.const) return false;
  if (schema.enum && !schema.enum.includes(value)) return false;
  const types: string[] = schema.type === undefined ? [] : [].concat(schema.type);
  if (types.length && !types.some((type) => isOfType(type, value))) return false;
  if (typeof value === "string") {
    if (value.length > (schema.maxLength ?? Infinity) || value.length < (schema.minLength ?? 0)) return false;
    if (schema.pattern && !new RegExp(schema.pattern).test(value)) return false;
  }
  if (typeof value === "number" && (value < (schema.minimum ?? -Infinity) || value > (schema.maximum ?? Infinity))) return false;
  if (Array.isArray(value)) {
    if (value.length > (schema.maxItems ?? Infinity)) return false;
    if (schema.items && !value.every((item) => matches(root, schema.items, item))) return false;
  }
  if (isOfType("object", value)) {
    const properties: Schema = schema.properties ?? {};
    if ((schema.required ?? []).some((name: string) => !Object.hasOwn(value, name))) return false;
    for (const [name, item] of Object.entries(value)) {
      if (Object.hasOwn(properties, name)) {
        if (!matches(root, properties[name], item)) return false;
      } else if (schema.additionalProperties === false) return false;
    }
  }
  return true;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "null": return value === null;
    case "array": return Array.isArray(value);
    case "object": return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer": return Number.isSafeInteger(value);
    default: return typeof value === type;
  }
}
