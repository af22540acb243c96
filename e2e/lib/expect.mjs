// Assertions that wait: what a person would wait for is polled until it holds or the time is over.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const DEADLINE_MS = 15_000;

/** Polls `read` until `holds(value)`; fails with `message(value)`. */
export async function eventually(read, holds, message, { timeout = DEADLINE_MS } = {}) {
  const end = Date.now() + timeout;
  let value;
  let error;
  do {
    try {
      value = await read();
      error = undefined;
      if (holds(value)) return value;
    } catch (thrown) {
      error = thrown;
    }
    await sleep(50);
  } while (Date.now() < end);
  if (error) throw error;
  assert.fail(typeof message === "function" ? message(value) : `${message}: ${JSON.stringify(value)}`);
}

/** Expectations of a Playwright locator. */
export function expect(locator) {
  const shown = (what) => (value) => `${locator} ${what}; it is ${JSON.stringify(value)?.slice(0, 2_000)}`;
  return {
    toBeVisible: (options = {}) => locator.waitFor({ state: "visible", timeout: DEADLINE_MS, ...options }),
    toBeHidden: (options = {}) => locator.waitFor({ state: "hidden", timeout: DEADLINE_MS, ...options }),
    toContainText: (text, options) =>
      eventually(
        async () => (await locator.allInnerTexts()).join("\n"), (found) => found.includes(text),
        shown(`should contain ${JSON.stringify(text)}`), options,
      ),
    toHaveCount: (count, options) =>
      eventually(() => locator.count(), (found) => found === count, shown(`should be there ${count} times`), options),
    toBeFocused: (options) =>
      eventually(
        () => locator.evaluate((element) => element === document.activeElement), (found) => found,
        shown("should have the focus"), options,
      ),
    toBeChecked: (options) =>
      eventually(() => locator.isChecked(), (found) => found, shown("should be checked"), options),
    toHaveValue: (value, options) =>
      eventually(() => locator.inputValue(), (found) => found === value, shown(`should hold ${value}`), options),
  };
}
