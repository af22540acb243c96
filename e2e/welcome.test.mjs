// From the first start to the first answer: provider, access, model, chat. By mouse, by keyboard alone, and after a reload.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { View } from "./lib/view.mjs";

const say = messages();
/** What a newcomer may need (criterion PV-1 of the experience targets). */
const WITHIN_MS = 60_000;
let panelot;

before(async () => {
  panelot = await Panelot.start({ connected: false });
});
afterEach((test) => panelot.report(test));
after(() => panelot?.close());

const button = (page, key) => page.getByRole("button", { name: say(key), exact: true });
const field = (page, key) => page.getByLabel(say(key), { exact: true });

/** Asserts that the text stands nowhere in the page, not even in a field. */
async function isNowhereIn(page, text) {
  assert.ok(!(await page.content()).includes(text));
  const values = await page.evaluate(() => [...document.querySelectorAll("input, textarea")].map(({ value }) => value));
  assert.ok(values.every((value) => !value.includes(text)));
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  assert.ok(!kept.includes(text));
}

describe("the way to the first chat", () => {
  test("a wrong key is explained, a closed page begins again there, and the right one ends in a working chat", async () => {
    const began = Date.now();
    const panel = new View(await panelot.openPanel());
    const opened = panelot.context.waitForEvent("page");
    await panel.button("setup-button").click();
    const page = await opened;
    await page.getByRole("button", { name: say("welcome-other") }).click();
    await field(page, "connection-url").fill(panelot.testkit.baseUrl);
    await field(page, "connection-key").fill("sk-wrong");
    await button(page, "welcome-connect").click();
    await expect(page.getByRole("alert")).toContainText(say("error-auth"));
    await expect(page.getByRole("alert")).toContainText(say("error-auth-next"));
    await isNowhereIn(page, "sk-wrong");

    await page.reload();
    await expect(field(page, "connection-url")).toHaveValue(panelot.testkit.baseUrl);
    await field(page, "connection-key").fill("sk-right-and-long");
    await button(page, "welcome-connect").click();
    await expect(page.getByRole("heading", { name: say("welcome-model-title") })).toBeVisible();
    await isNowhereIn(page, "sk-right-and-long");

    // The last step is there although a connection is known by now.
    await page.reload();
    await expect(page.getByRole("heading", { name: say("welcome-model-title") })).toBeVisible();
    await page.getByRole("radio", { name: "echo", exact: true }).check();
    await page.getByRole("radio", { name: say("policy-always") }).check();
    await button(page, "welcome-start").click(); // which asks that very model for a word
    await page.waitForURL(/chat\.html/);
    const chat = new View(page);
    await chat.send("Are you there?");
    await chat.sees("Echo: ");
    assert.ok(Date.now() - began < WITHIN_MS, "within a minute");

    const options = await panelot.openOptions();
    await expect(options.getByRole("radio", { name: say("policy-always") })).toBeChecked();
    await expect(options.getByRole("heading", { name: say("connections-title") })).toBeVisible();
    await options.close();
    await page.close();
  });

  test("the keyboard alone is enough", async () => {
    const options = await panelot.openOptions();
    const remove = options.getByRole("button", { name: new RegExp(`^${say("remove")}: `) }).first();
    await remove.click();
    await options.getByRole("dialog").getByRole("button", { name: say("remove"), exact: true }).click();
    await expect(options.getByText(say("connections-empty"), { exact: true })).toBeVisible();
    const press = async (key, within = 40) => {
      for (let steps = 0; steps < within; steps += 1) {
        const here = await options.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.id || "");
        if (here.startsWith(key)) return options.keyboard.press("Enter");
        await options.keyboard.press("Tab");
      }
      throw new Error(`${key} was not reached by Tab`);
    };
    await press(say("welcome-go"));
    await expect(options.getByRole("heading", { name: say("welcome-provider-title") })).toBeFocused();
    await press(say("welcome-other"));
    await expect(options.getByRole("heading", { name: say("welcome-access-other") })).toBeFocused();
    await options.keyboard.press("Tab");
    await options.keyboard.type(panelot.testkit.baseUrl);
    await options.keyboard.press("Tab");
    await options.keyboard.press("Tab");
    await options.keyboard.type("sk-by-keyboard");
    await options.keyboard.press("Enter");
    await expect(options.getByRole("heading", { name: say("welcome-model-title") })).toBeFocused();
    await press(say("welcome-start"));
    await options.waitForURL(/chat\.html/);
    await expect(new View(options).composer).toBeFocused();
    await options.close();
  });

  test("each known provider names where it is, and a server on this computer asks for no key", async () => {
    const options = await panelot.openOptions();
    await options.evaluate(() => localStorage.removeItem("panelot.setup"));
    const remove = options.getByRole("button", { name: new RegExp(`^${say("remove")}: `) }).first();
    await remove.click();
    await options.getByRole("dialog").getByRole("button", { name: say("remove"), exact: true }).click();
    await button(options, "welcome-go").click();
    for (const name of ["OpenAI", "Anthropic", "OpenRouter", "Google Gemini", "DeepSeek", "Moonshot", "智谱", "阿里百炼", "Groq", "Mistral", "Ollama", "LM Studio", "llama.cpp"]) {
      await expect(options.getByRole("button", { name })).toBeVisible();
    }
    await options.getByRole("button", { name: "Anthropic" }).click();
    await expect(field(options, "connection-key")).toBeVisible();
    await expect(options.getByRole("link", { name: say("welcome-get-key", { name: "Anthropic" }) })).toBeVisible();
    await button(options, "welcome-back").click();
    await options.getByRole("button", { name: "Ollama" }).click();
    await expect(options.getByText(say("welcome-local-text"))).toBeVisible();
    assert.equal(await field(options, "connection-key").count(), 0);
    await button(options, "welcome-later").click();
    await expect(options.getByRole("heading", { name: say("connections-title") })).toBeVisible();
    await options.reload();
    await expect(options.getByRole("heading", { name: say("connections-title") })).toBeVisible();
    await options.close();
  });
});
