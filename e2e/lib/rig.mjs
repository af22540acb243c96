// What most test files open: one browser with Panelot for the file, and for each test a new panel with a new chat.
import { after, afterEach, before, beforeEach } from "node:test";
import { Panelot } from "./panelot.mjs";
import { View } from "./view.mjs";

/**
 * One Panelot for all tests of a file, as `rig.panelot`; started with `options`. `ready` prepares it, once.
 * What a failed test leaves is kept, and everything is closed at the end.
 */
export function onePanelot(options = {}, ready = async () => {}) {
  const rig = {};
  before(async () => {
    rig.panelot = await Panelot.start(options);
    await ready(rig.panelot);
  });
  afterEach((test) => rig.panelot?.report(test));
  after(() => rig.panelot?.close());
  return rig;
}

/** The same, and for each test a panel with a new chat, as `rig.view`. `fresh` runs before each panel is opened. */
export function onePanelEach(options = {}, { ready, fresh = async () => {} } = {}) {
  const rig = onePanelot(options, ready);
  beforeEach(async () => {
    await fresh(rig.panelot);
    rig.view = new View(await rig.panelot.openPanel());
    await rig.view.button("new-chat").first().click();
  });
  afterEach(() => rig.view?.page.close());
  return rig;
}
