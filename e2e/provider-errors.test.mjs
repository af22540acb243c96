// A provider that fails: whose fault it is, and what to do next, in the view; and nothing of it repeated silently.
import assert from "node:assert/strict";
import { test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { onePanelEach } from "./lib/rig.mjs";
import { scenario } from "./lib/testkit.mjs";

const rig = onePanelEach();

const error = (status, message, headers = {}) => ({ error: { status, headers, body: { error: { message } } } });

test("a refused key is the key's fault, and the settings are one click away", async () => {
  await rig.panelot.testkit.add(scenario("Say something", error(401, "Incorrect API key provided: sk-test.")));
  await rig.view.send("Say something");
  await expect(rig.view.page.getByText(rig.view.say("error-auth")).first()).toBeVisible();
  await expect(rig.view.page.getByText(rig.view.say("error-auth-next")).first()).toBeVisible();
  assert.ok(!(await rig.view.page.content()).includes("sk-test"), "the key is not shown");
  const opened = rig.panelot.context.waitForEvent("page");
  await rig.view.page.getByRole("button", { name: rig.view.say("open-settings") }).first().click();
  await (await opened).waitForURL(/options\.html/);
});

test("an unknown model is called that, and not a wrong address", async () => {
  await rig.panelot.testkit.add(scenario("Use a new model", error(404, "The model `x` does not exist")));
  await rig.view.send("Use a new model");
  await expect(rig.view.page.getByText(rig.view.say("error-model-missing")).first()).toBeVisible();
  await expect(rig.view.page.getByText(rig.view.say("error-not-found"))).toHaveCount(0);
});

test("a rate limit that asks for a short wait is waited out once", async () => {
  await rig.panelot.testkit.add(
    scenario("Be quick", error(429, "slow down", { "Retry-After": "1" }), [{ kind: "text", text: "Here I am." }]),
  );
  await rig.view.send("Be quick");
  await rig.view.sees("Here I am.");
  const [first, second] = (await rig.panelot.testkit.requests()).filter((it) => it.scenario === "Be quick");
  assert.ok(second.at - first.endedAt >= 900, "it waited as long as it was told");
});

test("a stream that breaks off inside a character keeps its text and can be tried again", async () => {
  await rig.panelot.testkit.add(
    scenario(
      "Tell me of cafés",
      [
        { kind: "text", text: "Cafés are " },
        { kind: "stall", ms: 500 }, // what was not seen yet would be asked for again, silently
        { kind: "cut", at: "insideCharacter", text: "naïve" },
      ],
      [{ kind: "text", text: "Cafés are places to sit." }],
    ),
  );
  await rig.view.send("Tell me of cafés");
  await expect(rig.view.page.getByText(rig.view.say("error-broken-stream")).first()).toBeVisible({ timeout: 30_000 });
  await rig.view.sees("Cafés are");
  assert.ok(!(await rig.view.conversation.innerText()).includes("\u{fffd}"), "half a character is not shown");
  await rig.view.button("retry").first().click();
  await rig.view.sees("Cafés are places to sit.");
});

test("stop ends a stalled answer, and the provider's connection with it", async () => {
  await rig.panelot.testkit.add(scenario("Never end", [{ kind: "text", text: "Well, " }, { kind: "hold", name: "never" }]));
  await rig.view.send("Never end");
  await rig.view.sees("Well,");
  await rig.view.button("stop").first().click();
  await rig.panelot.testkit.untilState("left");
  await rig.view.send("Hello again");
  await rig.view.sees("Echo: ");
});
