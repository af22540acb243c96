// `cargo xtask screenshots --all`: every surface and state in both languages, light and dark, narrow and wide, to be
// looked at by a person. target/gallery/NAME-LANGUAGE-SCHEME-WIDTH.png; names after the script choose some states.
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../lib/chromium.mjs";
import { expect } from "../lib/expect.mjs";
import { Panelot } from "../lib/panelot.mjs";
import { scenario } from "../lib/testkit.mjs";
import { View } from "../lib/view.mjs";
import * as wire from "../lib/wire.mjs";

const OUT = join(ROOT, "target", "gallery");
const LANGUAGES = ["en", "zh-CN"];
const SCHEMES = ["light", "dark"];
const NARROW = { width: 360, height: 740 };
const WIDE = { width: 1280, height: 800 };
const TASK = "Order three mugs for Ada Lovelace, ada@example.com.";
const ANSWER = `# Two mugs, compared

Both are good everyday mugs. See the [shop's page](https://example.com/mugs) and \`glaze: clear\`.

## In numbers

| | Porcelain | Stoneware |
|---|--:|--:|
| Weight | 310 g | 420 g |
| Keeps tea warm | 20 min | 35 min |

1. **Take the stoneware** if you drink slowly.
2. Take the *porcelain* if you do not.
   - It stacks, too.

- [x] Food-safe
- [ ] Microwave

> Glazes are free of lead.

\`\`\`js
const total = mugs.reduce((sum, mug) => sum + mug.price, 0); // a line that is longer than a panel is wide
\`\`\`

![A mug](https://pictures.example/mug.png)`;

/** Calls of a tool, as a scenario has them. */
const call = (name, fields) => ({ kind: "toolCall", name, arguments: fields });
const text = (text) => ({ kind: "text", text });
const hold = (name) => ({ kind: "hold", name });
const choice = {
  id: "size", question: "Which size shall it be?",
  options: [
    { value: "small", label: "Small", description: "0.2 l, fits under every machine" },
    { value: "large", label: "Large", description: "0.4 l" },
  ],
};
const error = (status, message) => ({ error: { status, body: { error: { message } } } });

/** A view whose Port is answered by `replies` (type of what was sent, to messages) and by nobody else. */
const withPort = (replies) => `chrome.runtime.connect = () => {
  const heard = [];
  return {
    name: "panelot-engine", disconnect() {}, onDisconnect: { addListener() {}, removeListener() {} },
    onMessage: { addListener: (listener) => heard.push(listener), removeListener() {} },
    postMessage: (sent) => setTimeout(() => {
      for (const message of (${replies})(sent)) heard.forEach((listener) => listener(message));
    }, 20),
  };
};`;
const reload = `(sent) => sent.type === "initialize"
  ? [{ type: "fatal.reload_required", submissionId: sent.submissionId, message: "other version", protocol: "panelot/engine-v1", schemaHash: "x" }] : []`;
const mismatch = `(sent) => sent.type === "initialize" ? [{ type: "initialized", submissionId: sent.submissionId }] : []`;

class Gallery {
  constructor(panelot, only) {
    Object.assign(this, { panelot, only, failed: [] });
  }

  settings(...changes) {
    return this.panelot.settings(...changes);
  }

  /** Takes a page in every language, scheme and width; `show` brings it into the state once more. */
  async take(name, page, { widths = [NARROW, WIDE], show = async () => {}, full = false } = {}) {
    for (const language of LANGUAGES) {
      await this.settings({ type: "setLanguage", language });
      await page.waitForFunction((tag) => document.documentElement.lang === tag, language);
      for (const size of widths) {
        await page.setViewportSize(size);
        await page.bringToFront();
        await show(new View(page, language));
        await page.mouse.move(1, size.height / 2); // nothing is hovered
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          await page.waitForTimeout(250); // colours fade from one to the other
          await page.screenshot({ path: join(OUT, `${name}-${language}-${colorScheme}-${size.width}.png`), fullPage: full });
        }
      }
    }
    await this.settings({ type: "setLanguage", language: "en" });
    await page.waitForFunction(() => document.documentElement.lang === "en");
  }

  /** One state, unless it is not asked for; what fails is told at the end and stops nothing. */
  async state(name, make) {
    if (this.only.length > 0 && !this.only.includes(name)) return;
    try {
      await make(name);
      console.log(name);
    } catch (error) {
      this.failed.push(name);
      console.log(`${name}: ${error.stack}`);
      await this.panelot.report({ passed: false, name: `gallery ${name}` });
    }
    for (const page of this.panelot.context.pages()) if (page !== this.panelot.console) await page.close();
  }

  /** A conversation in the panel and in the chat tab, brought into a state by `drive`. */
  async conversation(name, drive, { show, ready = async () => {}, site = "/order" } = {}) {
    await this.state(name, async () => {
      await this.panelot.testkit.reset();
      if (site) await this.panelot.openSite(site);
      const panel = new View(await this.panelot.openPanel());
      await expect(panel.composer).toBeVisible();
      await panel.button("new-chat").first().click();
      await drive(panel);
      const chat = await this.panelot.openChat(await this.panelot.newestThread());
      await ready(new View(chat));
      await this.take(`${name}-panel`, panel.page, { widths: [NARROW], show });
      await this.take(`${name}-chat`, chat, { widths: [WIDE], show });
    });
  }
}

const interaction = (view) => view.page.getByRole("region", { name: view.say("interaction-region") });
const visible = (find) => async (view) => { await expect(find(view).first()).toBeVisible(); };

async function before(gallery) {
  const { panelot } = gallery;
  await gallery.state("setup", async (name) => {
    await gallery.take(`${name}-panel`, await panelot.openPanel(), { widths: [NARROW] });
    await gallery.take(`${name}-chat`, await panelot.openChat(), { widths: [WIDE] });
    await gallery.take(`${name}-options`, await panelot.openOptions(), { full: true });
  });
  // The page draws anew in another language and begins where the person was.
  const field = (view, key) => view.page.getByLabel(view.say(key), { exact: true });
  await gallery.state("welcome-hosted", async (name) => {
    await gallery.take(name, await panelot.openOptions(), { full: true, show: async (view) => {
      if (!(await field(view, "connection-key").isVisible())) {
        await view.page.getByRole("button", { name: "Anthropic" }).click();
      }
      await expect(field(view, "connection-key")).toBeVisible();
    } });
  });
  await gallery.state("welcome-local", async (name) => {
    const page = await panelot.openOptions();
    await new View(page).button("welcome-back").click();
    await page.getByRole("button", { name: "Ollama" }).click();
    await gallery.take(name, page, { full: true });
    await new View(page).button("welcome-back").click();
  });
  await gallery.state("welcome-model", async (name) => {
    const page = await panelot.openOptions();
    const view = new View(page);
    await view.page.getByRole("button", { name: view.say("welcome-other") }).click();
    await field(view, "connection-url").fill(panelot.testkit.baseUrl);
    await field(view, "connection-key").fill("sk-wrong");
    await view.button("welcome-connect").click();
    await expect(page.getByRole("alert")).toContainText(view.say("error-auth"));
    await page.screenshot({ path: join(OUT, `${name}-fails.png`) });
    await field(view, "connection-key").fill("sk-right");
    await view.button("welcome-connect").click();
    await expect(page.getByRole("radio", { name: "echo", exact: true })).toBeVisible();
    await gallery.take(name, page, { full: true });
    await page.evaluate(() => localStorage.setItem("panelot.setup", "done"));
    await page.close();
  });
}

async function conversations(gallery) {
  const { panelot } = gallery;
  const { testkit } = panelot;
  const add = (...parts) => testkit.add(scenario(...parts));
  await gallery.state("empty", async (name) => {
    await panelot.openSite("/order");
    await gallery.take(`${name}-panel`, await panelot.openPanel(), { widths: [NARROW] });
    await gallery.take(`${name}-chat`, await panelot.openChat());
  });
  await gallery.conversation("answer", async (view) => {
    await add("Compare the mugs", [{ kind: "reasoning", text: "The page lists two kinds." }, text("I look at your tabs."), call("tabs_list", {})],
      [text(ANSWER), { kind: "usage", promptTokens: 12_400, completionTokens: 310 }]);
    await view.send("Compare the mugs on this page and tell me which one I should buy for the office.");
    await view.sees("free of lead");
  });
  await gallery.conversation("working", async (view) => {
    await add("Think long", [{ kind: "reasoning", text: "Let me see. ".repeat(20) }, hold("think")]);
    await view.send("Think long");
    await expect(view.button("stop")).toBeVisible();
    await view.composer.fill("One more thing: only mugs that can go into the dishwasher");
  });
  await gallery.conversation("steps", async (view) => {
    await view.send(TASK);
    await expect(view.approval).toBeVisible({ timeout: 60_000 });
    for (let left = 3; left > 0; left -= 1) {
      await view.button("approval-once", view.approval).click();
      await view.page.waitForTimeout(1_000);
      await expect(view.approval).toBeVisible({ timeout: 60_000 });
    }
    await view.conversation.getByText(view.say("tool-read-page")).first().click();
  });
  await gallery.conversation("approval", async (view) => {
    await view.send(TASK);
    await expect(view.approval).toBeVisible({ timeout: 60_000 });
  });
  await gallery.conversation("approval-flags", async (view) => {
    await add("Go there", [call("navigate", { url: "https://bank.example/transfer?to=someone-whom-nobody-knows&amount=1000" })]);
    await view.send("Go there");
    await expect(view.approval).toBeVisible();
  }, { show: async (view) => {
    const note = view.button("approval-decline-open", view.approval);
    if (await note.count()) await note.click();
  } });
  await gallery.conversation("ask", async (view) => {
    await add("Buy a mug", [text("There are two sizes."), call("ask_user", { questions: [choice] })]);
    await view.send("Buy a mug");
    await visible(interaction)(view);
  }, { ready: visible(interaction), show: async (view) => {
    await interaction(view).getByRole("radio").first().check();
  } });
  await gallery.conversation("ask-several", async (view) => {
    await add("Plan a trip", [call("ask_user", { questions: [choice, { id: "why", question: "What is it for?" }, { id: "n", question: "How many people come along, children included?" }] })]);
    await view.send("Plan a trip");
    await visible(interaction)(view);
  }, { ready: visible(interaction), show: async (view) => {
    const other = interaction(view).getByRole("radio", { name: view.say("ask-other") });
    if (await other.count()) await other.check();
  } });
  await gallery.conversation("takeover", async (view) => {
    await add("Sign me in", [call("request_user_action", { instruction: "Sign in with your password and solve the captcha, then open the page with your orders." })]);
    await view.send("Sign me in");
    await visible(interaction)(view);
  }, { ready: visible(interaction) });
  await gallery.conversation("takeover-note", async (view) => {
    await add("Sign me in", [call("request_user_action", { instruction: "Sign in with your password." })]);
    await view.send("Sign me in");
    await visible(interaction)(view);
  }, { ready: visible(interaction), show: async (view) => {
    const cannot = view.button("takeover-cannot", interaction(view));
    if (await cannot.count()) await cannot.click();
  } });
  await gallery.conversation("page-wait", async (view) => {
    await add("Tell me when", [call("watch_page", { condition: "text", value: "Your order was sent", timeoutSeconds: 5_400 })]);
    await view.send("Tell me when the order was sent");
    await visible(interaction)(view);
  }, { ready: visible(interaction) });
  await gallery.conversation("timer", async (view) => {
    await add("Look again", [call("schedule_resume", { delaySeconds: 1_200, reason: "The shop updates its prices every half hour." })]);
    await view.send("Look again later");
    await visible(interaction)(view);
  }, { ready: visible(interaction) });
  await gallery.conversation("queue", async (view) => {
    await add("Take your time", [text("One moment"), hold("never"), call("tabs_list", {})]);
    await view.send("Take your time");
    await view.sees("One moment");
    await view.send("Then compare it with the stoneware one, and say what the difference in price is");
    await view.send("Third");
    await view.composer.fill("Only mugs without a handle");
    await view.composer.press("Control+Enter");
    await expect(view.page.getByRole("region", { name: view.say("steer-region") })).toBeVisible();
    await view.composer.fill("And another thought");
  }, { show: async (view) => {
    const edit = view.button("queue-edit", view.page.getByRole("region", { name: view.say("queue-region") }));
    await edit.last().click();
  } });
  await gallery.conversation("versions", async (view) => {
    await view.send("Say a word");
    await view.sees("Echo: ");
    await view.button("regenerate", view.answers.last()).click();
    await expect(view.conversation.getByRole("group", { name: view.say("versions") })).toBeVisible();
  }, { show: async (view) => {
    await view.button("delete-message", view.answers.last()).click();
    const edit = view.button("edit-message", view.messages.last());
    if (await edit.count()) await edit.click();
  } });
}

async function troubles(gallery) {
  const { panelot } = gallery;
  const { testkit } = panelot;
  const add = (...parts) => testkit.add(scenario(...parts));
  await gallery.conversation("interrupted", async (view) => {
    await add("Tell me a story", [text("Once upon a time "), hold("more"), text("there was "), hold("never")]);
    await view.send("Tell me a story");
    await view.sees("Once upon a time");
    await panelot.failpoint("model.streaming");
    await testkit.release("more");
    await panelot.reached("model.streaming");
    await panelot.killWorker();
    await panelot.clearFailpoint();
    await expect(view.recovery).toBeVisible({ timeout: 30_000 });
  }, { ready: visible((view) => view.recovery) });
  await gallery.conversation("uncertain", async (view) => {
    await add("Go to the article", [call("navigate", { url: `${testkit.site}/article` })]);
    await view.send("Go to the article");
    await expect(view.approval).toBeVisible();
    await panelot.failpoint("tool.after_dispatch");
    await view.button("approval-once", view.approval).click();
    await panelot.reached("tool.after_dispatch");
    await panelot.killWorker();
    await panelot.clearFailpoint();
    await expect(view.recovery).toBeVisible({ timeout: 30_000 });
  }, { ready: visible((view) => view.recovery) });
  await gallery.conversation("budget", async (view) => {
    await gallery.settings({ type: "setTurnTokenBudget", tokens: 100 });
    await add("Spend a lot", [text("I look."), { kind: "usage", promptTokens: 90, completionTokens: 20 }, call("tabs_list", {})]);
    await view.send("Spend a lot");
    await expect(view.recovery).toBeVisible();
    await gallery.settings({ type: "setTurnTokenBudget", tokens: null });
  }, { ready: visible((view) => view.recovery) });
  await gallery.conversation("wrong-key", async (view) => {
    await add("Say something", error(401, "Incorrect API key provided: sk-****test. You can find your API key in your account."));
    await view.send("Say something");
    await view.sees(view.say("error-auth"));
  });
  await gallery.conversation("cut", async (view) => {
    await add("Write on", [text("This is the beginning of a long answer that goes"), { kind: "finish", reason: "length" }]);
    await view.send("Write on");
    await view.sees("beginning of a long answer");
  });
  await gallery.conversation("refused", async (view) => {
    await add("Take your time", [text("One moment"), hold("never")]);
    await view.send("Take your time");
    await view.sees("One moment");
    for (let count = 0; count < 9; count += 1) await view.send(`Message ${count}`);
    await expect(view.page.getByText(view.say("error-queue-full"))).toBeVisible();
  }, { show: async () => {} });
  for (const [name, replies] of [["reload", reload], ["mismatch", mismatch], ["connecting", "() => []"]]) {
    await gallery.state(name, async () => {
      for (const language of LANGUAGES) {
        await gallery.settings({ type: "setLanguage", language });
        for (const [path, size] of [["sidepanel.html", NARROW], ["chat.html", WIDE], ["options.html", NARROW]]) {
          const page = await panelot.context.newPage();
          await page.addInitScript(withPort(replies));
          await page.setViewportSize(size);
          await page.goto(panelot.url(path));
          await page.evaluate((tag) => localStorage.setItem("panelot.lang", tag), language);
          await page.reload();
          await page.waitForTimeout(2_500);
          for (const colorScheme of SCHEMES) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
            await page.screenshot({ path: join(OUT, `${name}-${path.split(".")[0]}-${language}-${colorScheme}-${size.width}.png`) });
          }
          await page.close();
        }
      }
      await gallery.settings({ type: "setLanguage", language: "en" });
    });
  }
}

async function list(gallery) {
  const { panelot } = gallery;
  await gallery.state("list", async (name) => {
    await panelot.testkit.add(scenario("Take your time", [text("One moment"), hold("never")]));
    const panel = new View(await panelot.openPanel());
    const titles = ["Summarise the article about glazing", "Find the cheapest train to Lyon on a weekday in the morning", "Translate this contract clause", "Take your time"];
    for (const title of titles) {
      await panel.button("new-chat").first().click();
      await panel.send(title);
      await panel.sees(title === "Take your time" ? "One moment" : "Echo: ");
    }
    const { directory } = await wire.greet(panelot.console);
    const find = (title) => directory.threads.find((it) => it.title.startsWith(title)).id;
    const update = (title, fields) => panelot.command("thread.update", { threadId: find(title), ...fields });
    await update("Summarise", { pinned: true, folderId: "Pottery", tags: ["reading", "glaze"] });
    await update("Find", { folderId: "Travel", tags: ["urgent"] });
    await update("Translate", { archived: true });
    const open = async (view) => {
      if (!(await view.page.getByRole("navigation", { name: view.say("chats") }).isVisible())) await view.button("chats-open").click();
    };
    const menu = async (view) => {
      await open(view);
      if (await view.page.getByRole("menu").isVisible()) return;
      await view.page.getByRole("button", { name: view.say("chat-menu", { title: "Summarise the article about glazing" }) }).click();
    };
    const dialog = (item) => async (view) => {
      if (await view.page.getByRole("dialog").isVisible()) return;
      await menu(view);
      await view.page.getByRole("menuitem", { name: view.say(item), exact: true }).click();
    };
    const chat = await panelot.openChat();
    for (const [what, show] of [["rows", open], ["menu", menu], ["rename", dialog("rename")], ["file", dialog("file-chat")], ["delete", dialog("delete")]]) {
      for (const page of [panel.page, chat]) {
        await gallery.take(`${name}-${what}-${page === chat ? "chat" : "panel"}`, page, { widths: page === chat ? [WIDE] : [NARROW], show });
        await page.reload();
      }
    }
  });
}

/** The last of all: the extension starts anew once no view is open. */
async function update(gallery) {
  const { panelot } = gallery;
  await gallery.state("update", async (name) => {
    const panel = new View(await panelot.openPanel());
    const chat = await panelot.openChat();
    const [worker] = panelot.context.serviceWorkers();
    await worker.evaluate(() => chrome.runtime.onUpdateAvailable.dispatch({ version: "9.9.9" }));
    await expect(panel.button("update-now")).toBeVisible();
    await gallery.take(`${name}-panel`, panel.page, { widths: [NARROW] });
    await gallery.take(`${name}-chat`, chat, { widths: [WIDE] });
  });
}

async function options(gallery) {
  const { panelot } = gallery;
  await gallery.state("options", async (name) => {
    for (const [index, [verdict, tool, origin]] of [["allow", "type", "https://shop.example"], ["deny", "*", "https://bank.example"], ["ask", "navigate", "*"]].entries()) {
      await panelot.command("rule.put", { rule: { id: `gallery-${index}`, verdict, tool, origin } });
    }
    const site = await panelot.openSite("/order");
    const panel = new View(await panelot.openPanel());
    await panel.button("new-chat").first().click();
    await panel.send(TASK);
    await expect(panel.approval).toBeVisible({ timeout: 60_000 });
    await panel.button("approval-session", panel.approval).click();
    await panel.page.waitForTimeout(2_000);
    await panel.page.close();
    await site.close();
    await gallery.take(name, await panelot.openOptions(), { full: true });
  });
  const dialog = (open) => ({ show: async (view) => {
    if (!(await view.page.getByRole("dialog").isVisible())) await open(view);
  } });
  await gallery.state("connection-new", async (name) => {
    await gallery.take(name, await panelot.openOptions(), dialog((view) => view.button("connection-add").first().click()));
  });
  await gallery.state("connection-test", async (name) => {
    await gallery.take(name, await panelot.openOptions(), dialog(async (view) => {
      await view.page.getByRole("button", { name: `${view.say("connection-edit")}: Testkit` }).click();
      await view.button("connection-test", view.page.getByRole("dialog")).click();
      await expect(view.page.getByRole("dialog")).toContainText(view.say("connection-offers"));
    }));
  });
  await gallery.state("connection-fails", async (name) => {
    await gallery.take(name, await panelot.openOptions(), dialog(async (view) => {
      await view.button("connection-add").first().click();
      const fields = view.page.getByRole("dialog");
      await fields.getByLabel(view.say("connection-url"), { exact: true }).fill(panelot.testkit.baseUrl);
      await fields.getByLabel(view.say("connection-key"), { exact: true }).fill("sk-wrong");
      await fields.getByLabel(view.say("connection-models"), { exact: true }).fill("echo");
      await view.button("connection-test", fields).click();
      await expect(fields).toContainText(view.say("error-auth"));
    }));
  });
  await gallery.state("connection-remove", async (name) => {
    await gallery.take(name, await panelot.openOptions(), dialog((view) =>
      view.page.getByRole("button", { name: `${view.say("remove")}: Testkit` }).click()));
  });
}

async function main() {
  const only = process.argv.slice(2);
  if (only.length === 0) await rm(OUT, { recursive: true, force: true });
  await mkdir(OUT, { recursive: true });
  const panelot = await Panelot.start({ connected: false });
  const gallery = new Gallery(panelot, only);
  try {
    await before(gallery);
    await panelot.connect({ model: "large-model" });
    for (const part of [conversations, troubles, list, options, update]) await part(gallery);
  } finally {
    await panelot.close();
  }
  if (gallery.failed.length > 0) throw new Error(`these states were not reached: ${gallery.failed.join(", ")}`);
}

await main();
