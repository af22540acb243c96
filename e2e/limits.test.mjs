// What a task may do and spend: a permission for the session and its end, and a budget of tokens.
import { test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";
import { scenario } from "./lib/testkit.mjs";

const rig = onePanelEach();

test("what is allowed for the session is listed, holds, and is taken back in the settings", async () => {
  const go = { kind: "toolCall", name: "navigate", arguments: { url: `${rig.panelot.testkit.site}/article` } };
  await rig.panelot.testkit.add(scenario("Go there twice", [go], [go], [{ kind: "text", text: "I was there twice." }]));
  await rig.panelot.testkit.add(scenario("Once more", [go], [{ kind: "text", text: "And again." }]));
  const site = await rig.panelot.openSite("/order");
  const { view } = rig;
  await view.send("Go there twice");
  await view.button("approval-session", view.approval).click();
  await view.sees("I was there twice."); // the second time nobody was asked
  const options = await rig.panelot.openOptions();
  const grants = options.getByRole("list", { name: view.say("grants-title") });
  await expect(grants).toContainText(rig.panelot.testkit.site);
  await grants.getByRole("button").click();
  await expect(grants).toHaveCount(0);
  await options.close();
  await site.bringToFront();
  await view.send("Once more");
  await expect(view.approval).toBeVisible();
  await view.button("approval-once", view.approval).click();
  await view.sees("And again.");
  await site.close();
});

test("a task that has used up its tokens stands still until the person lets it go on", async () => {
  const options = await rig.panelot.openOptions();
  const budget = options.getByLabel(rig.view.say("turn-budget"), { exact: true });
  await budget.fill("100");
  await budget.press("Tab");
  await expect(options.getByText(rig.view.say("saved"), { exact: true })).toBeVisible();
  await rig.panelot.testkit.add(
    scenario(
      "Spend a lot",
      [{ kind: "usage", promptTokens: 90, completionTokens: 20 }, { kind: "toolCall", name: "tabs_list", arguments: {} }],
      [{ kind: "text", text: "That was all." }],
    ),
  );
  const { view } = rig;
  await view.send("Spend a lot");
  await expect(view.recovery).toContainText(view.say("budget-title"));
  await view.button("resume", view.recovery).click();
  await view.sees("That was all.");
  await expect(view.recovery).toHaveCount(0);
  await budget.fill("");
  await budget.press("Tab");
  await options.close();
});
