// `cargo xtask screenshots`: the pictures of the README, taken from the real thing. docs/img/*.png.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../lib/chromium.mjs";
import { expect } from "../lib/expect.mjs";
import { Panelot } from "../lib/panelot.mjs";
import { scenario } from "../lib/testkit.mjs";
import { View } from "../lib/view.mjs";

const OUT = join(ROOT, "docs", "img");
const SCHEMES = ["light", "dark"];
const COMPARISON = `Both are good everyday mugs. The short version:

| | Porcelain | Stoneware |
|---|---|---|
| Weight | light | solid |
| Keeps tea warm | 20 min | 35 min |
| Dishwasher | yes | yes |

**Take the stoneware** if you drink slowly. The page also says:

> Glazes are food-safe and free of lead.

\`\`\`text
3 mugs × 14.00 = 42.00
\`\`\``;

const OTHER_CHATS = [
  "Summarise the article about glazing", "Find the cheapest train to Lyon", "Translate this contract clause",
  "What changed in this pull request?",
];

async function take(page, name) {
  await page.bringToFront();
  await page.mouse.move(1, page.viewportSize().height / 2); // nothing is hovered
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(async () => {
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      const fading = document.getAnimations().filter((it) => it instanceof CSSTransition);
      await Promise.allSettled(fading.map((it) => it.finished)); // from the other scheme's colours
    });
    await page.screenshot({ path: join(OUT, `${name}-${colorScheme}.png`) });
    console.log(`docs/img/${name}-${colorScheme}.png`);
  }
}

async function main() {
  await mkdir(OUT, { recursive: true });
  const panelot = await Panelot.start({ connected: false });
  const { testkit } = panelot;
  try {
    const rules = ["type", "select_option"].map((tool) => ({ verdict: "allow", tool, origin: testkit.site }));
    await panelot.connect({ rules, model: "large-model", name: "My provider" });
    const site = await panelot.openSite("/order");
    const panel = new View(await panelot.openPanel());
    for (const title of OTHER_CHATS) {
      await panel.send(title);
      await panel.sees("Echo: ");
      await panel.button("new-chat").first().click();
    }
    await testkit.add(
      scenario("Porcelain or stoneware", [
        { kind: "reasoning", text: "The page lists two kinds. I compare them by weight, warmth and care." },
        { kind: "text", text: COMPARISON },
      ]),
    );
    await panel.send("Porcelain or stoneware?");
    await panel.sees("42.00");
    const chat = new View(await panelot.openChat(await panelot.newestThread()));
    await chat.sees("42.00");
    await take(chat.page, "chat");

    await site.bringToFront();
    await panel.button("new-chat").first().click();
    await panel.send("Order three mugs for Ada Lovelace, ada@example.com.");
    await expect(panel.approval).toBeVisible({ timeout: 60_000 });
    await take(panel.page, "panel");

    const options = await panelot.openOptions();
    await expect(options.getByText("My provider").first()).toBeVisible();
    await take(options, "options");
  } catch (error) {
    await panelot.report({ passed: false, name: "screenshots" });
    throw error;
  } finally {
    await panelot.close();
  }
}

await main();
