// A panel or a chat tab as a person sees it: by roles and names, never by the structure of the page.
import { expect } from "./expect.mjs";
import { messages } from "./messages.mjs";

/** Drives one view. */
export class View {
  constructor(page, language = "en") {
    this.page = page;
    this.say = messages(language);
  }

  get composer() {
    return this.page.getByRole("textbox", { name: this.say("composer-label"), exact: true });
  }

  get conversation() {
    return this.page.getByRole("region", { name: this.say("conversation"), exact: true });
  }

  get approval() {
    return this.page.getByRole("region", { name: this.say("approval-region") });
  }

  get recovery() {
    return this.page.getByRole("region", { name: this.say("recovery-region") });
  }

  /** The answers of the agent, in order. */
  get answers() {
    return this.#entriesOf("agent");
  }

  /** The person's messages, in order. */
  get messages() {
    return this.#entriesOf("you");
  }

  /** Entries say whose they are to those who cannot see it. */
  #entriesOf(who) {
    const name = this.page.getByText(this.say(who), { exact: true });
    return this.conversation.getByRole("listitem").filter({ has: name });
  }

  button(key, within = this.page) {
    return within.getByRole("button", { name: this.say(key), exact: true });
  }

  /** Writes a message and sends it with Enter. */
  async send(text) {
    await this.composer.fill(text);
    await this.composer.press("Enter");
  }

  /** Waits until the conversation holds a text. */
  async sees(text, options) {
    await expect(this.conversation).toContainText(text, options);
  }
}
