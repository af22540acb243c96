// A provider that fails: whose fault it is, and what to do next, in the view; and nothing of it repeated silently.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { Panelot } from "./lib/panelot.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

let panelot;
let view;

before(async () => {
  panelot = await Panelot.start();
});
beforeEach(async () => {
  view = new View(await panelot.openPanel());
  await view.button("new-chat").first().click();
});
afterEach(async (test) => {
  await panelot.report(test);
  await view.page.close();
});
after(() => panelot?.close());

const error = (status, message, headers = {}) => ({ error: { status, headers, body: { error: { message } } } });

test("a refused key is the key's fault, and the settings are one click away", async () => {
  await panelot.testkit.add(scenario("Say something", error(401, "Incorrect API key provided: sk-test.")));
  await view.send("Say something");
  await expect(view.page.getByText(view.say("error-auth")).first()).toBeVisible();
  await expect(view.page.getByText(view.say("error-auth-next")).first()).toBeVisible();
  assert.ok(!(await view.page.content()).includes("sk-test"), "the key is not shown");
  const opened = panelot.context.waitForEvent("page");
  await view.page.getByRole("button", { name: view.say("open-settings") }).first().click();
  await (await opened).waitForURL(/options\.html/);
});

test("an unknown model is told apart from an unreachable server", async () => {
  await panelot.testkit.add(scenario("Use a new model", error(404, "The model `x` does not exist")));
  await view.send("Use a new model");
  await expect(view.page.getByText(view.say("error-not-found")).first()).toBeVisible();
});

test("a rate limit that asks for a short wait is waited out once", async () => {
  await panelot.testkit.add(
    scenario("Be quick", error(429, "slow down", { "Retry-After": "1" }), [{ kind: "text", text: "Here I am." }]),
  );
  await view.send("Be quick");
  await view.sees("Here I am.");
  const [first, second] = (await panelot.testkit.requests()).filter((it) => it.scenario === "Be quick");
  assert.ok(second.at - first.endedAt >= 900, "it waited as long as it was told");
});

test("a stream that breaks off inside a character keeps its text and can be tried again", async () => {
  await panelot.testkit.add(
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
  await view.send("Tell me of cafés");
  await expect(view.page.getByText(view.say("error-broken-stream")).first()).toBeVisible({ timeout: 30_000 });
  await view.sees("Cafés are");
  assert.ok(!(await view.conversation.innerText()).includes("\u{fffd}"), "half a character is not shown");
  await view.button("retry").first().click();
  await view.sees("Cafés are places to sit.");
});

test("stop ends a stalled answer, and the provider's connection with it", async () => {
  await panelot.testkit.add(scenario("Never end", [{ kind: "text", text: "Well, " }, { kind: "hold", name: "never" }]));
  await view.send("Never end");
  await view.sees("Well,");
  await view.button("stop").first().click();
  await panelot.testkit.untilState("left");
  await view.send("Hello again");
  await view.sees("Echo: ");
});
