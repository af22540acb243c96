// A new version of the extension: it waits while a view is open, says so, and is installed when the person wants it.
import { test } from "node:test";
import { eventually, expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";

const rig = onePanelEach();

test("a waiting update is told in an open view and installed when the person says so", async () => {
  const { view, panelot } = rig;
  // Chrome tells this when it has downloaded one, which it does for no unpacked extension.
  const [worker] = panelot.context.serviceWorkers();
  await worker.evaluate(() => chrome.runtime.onUpdateAvailable.dispatch({ version: "9.9.9" }));
  await expect(view.page.getByText(view.say("update-waits", { version: "9.9.9" }))).toBeVisible();
  await view.button("update-now").click();
  const gone = () => view.page.isClosed() || !view.page.url().startsWith("chrome-extension:");
  // Whether a browser that was told by a flag what to load loads it once more is its own affair.
  await eventually(async () => gone(), Boolean, "every page of the old version ends");
});
