// A new version of the extension: it waits while a view is open, says so, and is installed when the person wants it.
import { test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";
import { View } from "./lib/view.mjs";

const rig = onePanelEach();

test("a waiting update is told in an open view and installed when the person says so", async () => {
  const { view, panelot } = rig;
  // Chrome tells this when it has downloaded one, which it does for no unpacked extension.
  const [worker] = panelot.context.serviceWorkers();
  await worker.evaluate(() => chrome.runtime.onUpdateAvailable.dispatch({ version: "9.9.9" }));
  await expect(view.page.getByText(view.say("update-waits", { version: "9.9.9" }))).toBeVisible();
  await view.button("update-now").click();
  const gone = () => view.page.isClosed() || !view.page.url().startsWith("chrome-extension:");
  await eventually(async () => gone(), Boolean, "every page of the old version ends");
  // It was started anew, and its pages work again.
  await eventually(async () => {
    const page = await panelot.context.newPage();
    await page.goto(panelot.url("chat.html"));
    rig.view = new View(page);
    return rig.view.composer.isVisible();
  }, Boolean, "the extension is back", { timeout: 30_000 });
});
