// Criterion 6: axe finds no serious violation on any surface, light and dark, empty and full.
import axe from "axe-core";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { expect } from "./lib/expect.mjs";
import { messages } from "./lib/messages.mjs";
import { onePanelot } from "./lib/rig.mjs";
import { scenario } from "./lib/testkit.mjs";
import { View } from "./lib/view.mjs";

const say = messages();
const rig = onePanelot();

/** Fails with each serious violation and where it is, in both schemes. */
async function isAccessible(page, what) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(axe.source);
    const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
    assert.ok(passes.length > 5, "axe looked at something");
    const serious = violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html}\n${failureSummary}`).join("\n")}`);
    assert.deepEqual(serious, [], `${what}, ${colorScheme}`);
  }
}

describe("axe finds nothing serious", () => {
  test("in an empty panel and an empty chat tab", async () => {
    const panel = new View(await rig.panelot.openPanel());
    await expect(panel.composer).toBeVisible();
    await isAccessible(panel.page, "panel");
    const chat = new View(await rig.panelot.openChat());
    await expect(chat.composer).toBeVisible();
    await isAccessible(chat.page, "chat");
    await panel.page.close();
    await chat.page.close();
  });

  test("in a conversation with reasoning, Markdown, a tool card and an open approval", async () => {
    await rig.panelot.testkit.add(
      scenario(
        "Show everything",
        [
          { kind: "reasoning", text: "I think about it." },
          { kind: "text", text: "# Title\n\nA [link](https://example.com), `code`:\n\n```js\nlet x;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" },
          { kind: "toolCall", name: "tabs_list", arguments: {} },
        ],
        [{ kind: "toolCall", name: "navigate", arguments: { url: `${rig.panelot.testkit.site}/article` } }],
      ),
    );
    await rig.panelot.openSite("/order");
    const panel = new View(await rig.panelot.openPanel());
    await panel.send("Show everything");
    await expect(panel.approval).toBeVisible();
    await isAccessible(panel.page, "panel with approval");
    const chat = new View(await rig.panelot.openChat(await rig.panelot.newestThread()));
    await expect(chat.approval).toBeVisible();
    await isAccessible(chat.page, "chat with approval");
    await panel.button("approval-decline-open", panel.approval).click();
    await isAccessible(panel.page, "panel with a note to write");
    await panel.page.close();
    await chat.page.close();
  });

  test("in questions with choices, waiting messages, versions and the menu of a chat", async () => {
    const options = [{ value: "s", label: "Small", description: "0.2 l" }, { value: "l", label: "Large" }];
    await rig.panelot.testkit.add(
      scenario("Ask me", [{
        kind: "toolCall", name: "ask_user",
        arguments: { questions: [{ id: "q", question: "Which size?", options }, { id: "w", question: "Why?" }] },
      }]),
    );
    const panel = new View(await rig.panelot.openPanel());
    await panel.button("new-chat").first().click();
    await panel.send("Say a word");
    await panel.sees("Echo: ");
    await panel.button("regenerate", panel.answers.last()).click();
    await expect(panel.conversation.getByRole("group", { name: say("versions") })).toBeVisible();
    await panel.button("edit-message", panel.messages.last()).click();
    await isAccessible(panel.page, "panel with versions and a message being edited");
    await panel.button("cancel", panel.conversation).click();
    await panel.send("Ask me");
    await expect(panel.page.getByRole("region", { name: say("interaction-region") })).toBeVisible();
    await panel.send("This waits");
    await expect(panel.page.getByRole("region", { name: say("queue-region") })).toBeVisible();
    await isAccessible(panel.page, "panel with questions and a waiting message");
    const chat = new View(await rig.panelot.openChat(await rig.panelot.newestThread()));
    await chat.page.getByRole("button", { name: say("chat-menu", { title: "Say a word" }) }).click();
    await expect(chat.page.getByRole("menu")).toBeVisible();
    await isAccessible(chat.page, "chat with a menu");
    await panel.page.close();
    await chat.page.close();
  });

  test("in what a task waits for: a step by hand, a page, a time", async () => {
    await rig.panelot.openSite("/order");
    const waits = [
      ["Sign me in", { kind: "toolCall", name: "request_user_action", arguments: { instruction: "Sign in" } }],
      ["Watch it", { kind: "toolCall", name: "watch_page", arguments: { condition: "text", value: "Sold out" } }],
      ["Wait an hour", { kind: "toolCall", name: "schedule_resume", arguments: { delaySeconds: 3_600, reason: "Lunch" } }],
    ];
    const panel = new View(await rig.panelot.openPanel());
    for (const [marker, call] of waits) {
      await rig.panelot.testkit.add(scenario(marker, [call]));
      await panel.button("new-chat").first().click();
      await panel.send(marker);
      await expect(panel.page.getByRole("region", { name: say("interaction-region") })).toBeVisible();
      await isAccessible(panel.page, `panel: ${marker}`);
    }
    await panel.page.close();
  });

  test("in a used-up budget, in the list of a panel with folders and labels, and in its dialogs", async () => {
    await rig.panelot.testkit.add(
      scenario("Spend a lot", [{ kind: "usage", promptTokens: 90, completionTokens: 20 }, { kind: "toolCall", name: "tabs_list", arguments: {} }]),
    );
    const set = (tokens) => rig.panelot.settings({ type: "setTurnTokenBudget", tokens });
    await set(100);
    const panel = new View(await rig.panelot.openPanel());
    await panel.button("new-chat").first().click();
    await panel.send("Spend a lot");
    await expect(panel.recovery).toBeVisible();
    await set(null);
    await isAccessible(panel.page, "panel with a used-up budget");
    const threadId = await rig.panelot.newestThread();
    await rig.panelot.command("thread.update", { threadId, folderId: "Work", tags: ["urgent"] });
    await panel.button("chats-open").click();
    await expect(panel.page.getByRole("group", { name: say("chats-filter") })).toBeVisible();
    await isAccessible(panel.page, "panel with its list");
    for (const item of ["file-chat", "delete"]) {
      await panel.page.getByRole("button", { name: say("chat-menu", { title: "Spend a lot" }) }).click();
      await panel.page.getByRole("menuitem", { name: say(item), exact: true }).click();
      await expect(panel.page.getByRole("dialog")).toBeVisible();
      await isAccessible(panel.page, `panel with the dialog ${item}`);
      await panel.button("cancel", panel.page.getByRole("dialog")).click();
    }
    await panel.page.close();
    const chat = await rig.panelot.openChat(threadId);
    await chat.setViewportSize({ width: 360, height: 740 });
    await isAccessible(chat, "narrow chat");
    await chat.close();
  });

  test("in an error", async () => {
    await rig.panelot.testkit.add(scenario("Fail", { error: { status: 401, body: { error: { message: "no" } } } }));
    const panel = new View(await rig.panelot.openPanel());
    await panel.button("new-chat").first().click();
    await panel.send("Fail");
    await expect(panel.page.getByText(say("error-auth")).first()).toBeVisible();
    await isAccessible(panel.page, "panel with an error");
    await panel.page.close();
  });

  test("on the way to the first chat, wide and narrow", async () => {
    const page = await rig.panelot.openOptions();
    await page.evaluate(() => localStorage.setItem("panelot.setup", "access 1 a-connection"));
    await page.reload();
    await expect(page.getByLabel(say("connection-key"), { exact: true })).toBeVisible();
    await isAccessible(page, "access");
    await page.setViewportSize({ width: 360, height: 740 });
    await isAccessible(page, "narrow access");
    await page.getByRole("button", { name: say("welcome-back"), exact: true }).click();
    await expect(page.getByRole("heading", { name: say("welcome-provider-title") })).toBeVisible();
    await isAccessible(page, "narrow providers");
    await page.evaluate(() => localStorage.setItem("panelot.setup", "model 13 testkit"));
    await page.reload();
    await expect(page.getByRole("radio", { name: "echo", exact: true })).toBeVisible();
    await isAccessible(page, "narrow models");
    await page.evaluate(() => localStorage.setItem("panelot.setup", "done"));
    await page.close();
  });

  test("in the options, their sections, lists and dialog, wide and narrow", async () => {
    const rule = { id: "a-rule", verdict: "deny", tool: "*", origin: "https://bank.example" };
    await rig.panelot.command("rule.put", { rule });
    const options = await rig.panelot.openOptions();
    for (const section of ["connections-title", "permissions-title", "general-title", "about-title"]) {
      await expect(options.getByRole("heading", { name: say(section) }).first()).toBeVisible();
    }
    await isAccessible(options, "options");
    await options.setViewportSize({ width: 360, height: 740 });
    await isAccessible(options, "narrow options");
    await options.getByRole("button", { name: say("connection-add") }).first().click();
    await expect(options.getByRole("dialog")).toBeVisible();
    await isAccessible(options, "options with a dialog");
  });
});
