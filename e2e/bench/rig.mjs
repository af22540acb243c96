// What every benchmark runs in: the shipped build, a scripted model server, and a browser with both and the control.
import { fileURLToPath } from "node:url";
import { Browser } from "../lib/cdp.mjs";
import { LOOPBACK, RELEASE_BUILD, copyWithHost, extensionId } from "../lib/chromium.mjs";
import { Testkit } from "../lib/testkit.mjs";

const EMPTY = fileURLToPath(new URL("empty", import.meta.url));

/**
 * Calls `measure` with `{testkit, browser, base, page, control}`: `base` is the extension's origin, `page` a place of it that
 * is no view, `control` a page of the empty extension. Everything is stopped afterwards.
 */
export async function inBrowser(measure) {
  const testkit = await Testkit.start();
  const extension = await copyWithHost(RELEASE_BUILD, LOOPBACK);
  const base = `chrome-extension://${extensionId(extension.folder)}`;
  const browser = await Browser.launch({ extensions: [extension.folder, EMPTY] });
  try {
    const page = await browser.open(`${base}/icons/icon-32.png`);
    const control = await browser.open(`chrome-extension://${extensionId(EMPTY)}/page.html`);
    await measure({ testkit, browser, base, page, control });
  } finally {
    await browser.close();
    await testkit.stop();
    await extension.remove();
  }
}
