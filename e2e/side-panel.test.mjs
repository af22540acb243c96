// The real side panel, opened as Chrome opens it: by a call with a user gesture.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser } from "./lib/cdp.mjs";
import { TEST_BUILD, extensionId } from "./lib/chromium.mjs";
import { eventually } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";

test("the side panel opens beside a page, connects and offers the composer", async () => {
  const browser = await Browser.launch({ extensions: [TEST_BUILD] });
  try {
    const base = `chrome-extension://${extensionId(TEST_BUILD)}`;
    const page = await browser.open(`${base}/icons/icon-32.png`);
    await page.evaluate(async () => {
      const { windowId } = await chrome.tabs.getCurrent();
      await chrome.sidePanel.open({ windowId });
    });
    const found = await eventually(
      async () => (await browser.targets()).find(({ url }) => url.startsWith(`${base}/sidepanel.html`)),
      Boolean, "the side panel is a target",
    );
    const panel = await browser.attach(found.targetId);
    const name = messages()("setup-title");
    await panel.until((text) => document.body?.innerText.includes(text), { args: [name] });
    const contexts = await page.evaluate(() => chrome.runtime.getContexts({ contextTypes: ["SIDE_PANEL"] }));
    assert.equal(contexts.length, 1, "Chrome itself calls it a side panel");
  } finally {
    await browser.close();
  }
});
