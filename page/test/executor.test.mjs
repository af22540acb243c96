// The executor in real Chromium: what it reads, what it does, what it refuses.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { bundle, constants as loadConstants, inject, launch, serve } from "./harness.mjs";

let browser, code, constants, server, page;
let html = "";
const received = [];

before(async () => {
  [code, constants] = [await bundle(), await loadConstants()];
  server = await serve(async (path, request, body) => {
    if (path === "/favicon.ico") return null;
    if (path === "/order") {
      received.push(`${request.method} ${body || new URL(request.url, "http://x").search}`);
      return "<title>Thanks</title>Thanks";
    }
    if (path === "/slow") {
      await new Promise((done) => setTimeout(done, 1200));
      return "<title>Slow</title>Slow";
    }
    return html;
  });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

async function open(content, options = {}) {
  html = `<!doctype html><meta charset="utf-8"><title>Test &amp; page</title>${content}`;
  await page?.context().close();
  const context = await browser.newContext({ viewport: { width: 800, height: 600 }, ...options });
  page = await context.newPage();
  await page.goto(`${server.origin}/`);
  return inject(page, code, constants);
}

const failure = (body) => {
  assert.equal(body.kind, "failed", JSON.stringify(body));
  return body.failure;
};
const result = (body) => {
  assert.equal(body.kind, "done", JSON.stringify(body));
  return body.result;
};
const log = () => page.evaluate(() => globalThis.log);

describe("reading", () => {
  test("controls, structure and text come in reading order with names, values and states", async () => {
    const executor = await open(`
      <h1>Order form</h1><p>Please <b>fill</b> in.</p>
      <form aria-label="Order"><label>Name <input name="n" value="Zoë" required></label>
        <select aria-label="Size"><option value="s">Small</option><option selected>Large</option></select>
        <input type="checkbox" id="c" checked><label for="c">Gift wrap</label>
        <button disabled>Send</button></form>
      <a href="/cart">Cart</a>`);
    const facts = await executor.read();
    assert.equal(facts.title, "Test & page");
    const plain = facts.nodes.map((node) => [node.type, node.depth, node.role ?? node.text, node.name ?? "", (node.states ?? []).join()]);
    assert.deepEqual(plain, [
      ["element", 0, "heading", "Order form", ""],
      ["text", 0, "Please fill in.", "", ""],
      ["element", 0, "form", "Order", ""],
      ["element", 1, "textbox", "Name", "required"],
      ["element", 1, "combobox", "Size", ""],
      ["element", 1, "checkbox", "Gift wrap", "checked"],
      ["element", 1, "button", "Send", "disabled"],
      ["element", 0, "link", "Cart", ""],
    ]);
    assert.deepEqual(facts.nodes[3].value, { type: "text", text: "Zoë" });
    assert.deepEqual(facts.nodes[4].options, [{ label: "Small", value: "s" }, { label: "Large", selected: true }]);
    assert.equal(facts.nodes[7].href, `${server.origin}/cart`);
    assert.ok(facts.nodes.every((node) => node.inViewport));
  });

  test("the value of a secret field never leaves the page", async () => {
    const executor = await open(`
      <input type="password" aria-label="Password" value="hunter2-secret">
      <input aria-label="Code" autocomplete="one-time-code" value="hunter2-secret">
      <input aria-label="Card" autocomplete="section-a billing cc-number" value="hunter2-secret">
      <input aria-label="CVC" name="cardCvc" id="x" value=""><input aria-label="Masked" style="-webkit-text-security:disc" value="hunter2-secret">
      <label>Empty <input type="password"></label><label>Plain <input value="visible"></label>
      <label for="p2">Inside <input type="password" value="hunter2-secret"></label><input id="p2">`);
    const text = JSON.stringify(await executor.read());
    assert.ok(!text.includes("hunter2"), text);
    assert.ok(text.includes("visible"));
    const secret = (await executor.find("textbox", "Password")).value;
    assert.deepEqual(secret, { type: "secret", filled: true });
    assert.deepEqual((await executor.find("textbox", "Empty")).value, { type: "secret", filled: false });
    for (const name of ["Password", "Code", "Card", "CVC", "Masked"]) {
      const refused = failure(await executor.type("textbox", name, "x"));
      assert.deepEqual([refused.code, refused.reach], ["secret_field", "notStarted"], name);
    }
    await page.evaluate(() => { document.querySelector("[aria-label=Password]").type = "text"; });
    assert.ok(!JSON.stringify(await executor.read()).includes("hunter2"), "a password that is being shown stays secret");
  });

  test("shadow roots and frames of the same origin are read, frames of others are named", async () => {
    const executor = await open(`
      <my-card><span slot="s">Slotted text</span></my-card>
      <iframe title="Inner" srcdoc="<button>In frame</button><p>Frame text</p>"></iframe>
      <iframe title="Foreign" src="data:text/html,<button>Foreign button</button>"></iframe>
      <script>
        const root = document.querySelector("my-card").attachShadow({mode: "open"});
        root.innerHTML = "Shadow text <button>In shadow</button><slot name=s></slot>";
      </script>`);
    await page.frameLocator("[title=Inner]").locator("button").waitFor();
    const text = JSON.stringify((await executor.read()).nodes.map((node) => [node.role ?? node.text, node.name ?? "", node.frame ?? ""]));
    assert.equal(text, JSON.stringify([
      ["Shadow text", "", ""], ["button", "In shadow", ""], ["Slotted text", "", ""],
      ["iframe", "Inner", "read"], ["button", "In frame", ""], ["Frame text", "", ""], ["iframe", "Foreign", "otherOrigin"],
    ]));
  });

  test("what nobody sees is not reported, and what only looks hidden is", async () => {
    const executor = await open(`
      <p style="display:none">Gone</p><button style="visibility:hidden">Unseen</button>
      <div style="visibility:hidden"><button style="visibility:visible">Seen again</button></div>
      <label><input type="radio" style="display:none"> Styled choice</label>
      <div onclick="0">Clickable div</div><div style="cursor:pointer"><div>Pointer <b>inner</b></div></div>
      <div style="height:3000px"></div><a href="#x">Far below</a>`);
    const facts = await executor.read();
    const controls = facts.nodes.filter((node) => node.ref).map((node) => [node.role, node.name, !!node.inViewport]);
    assert.deepEqual(controls, [
      ["button", "Seen again", true], ["radio", "Styled choice", false], ["clickable", "Clickable div", true],
      ["clickable", "Pointer inner", true], ["link", "Far below", false],
    ]);
    assert.ok(!JSON.stringify(facts).includes("Gone"));
  });

  test("a huge page stays inside the limits and keeps its controls", async () => {
    const executor = await open(`<div id="d"></div><script>
      const many = []; for (let i = 0; i < 6000; i++) many.push("<p>Text " + i + "</p>" + (i % 3 ? "" : "<button>B" + i + "</button>"));
      d.innerHTML = many.join("");</script>`);
    const facts = await executor.read();
    assert.ok(facts.nodes.length <= constants.NODES_MAX);
    assert.equal(facts.nodes.filter((node) => node.ref).length, 2000);
    assert.equal(facts.leftOut, 6000 - constants.TEXT_NODES_MAX);
  });
});

describe("references", () => {
  test("a reference stays the same while its element lives and is never given to another", async () => {
    const executor = await open(`<button>One</button><button>Two</button>`);
    const first = await executor.find("button", "One");
    await page.evaluate(() => {
      document.body.prepend(document.createElement("hr"), Object.assign(document.createElement("button"), { textContent: "Zero" }));
      document.querySelectorAll("button")[2].remove();
    });
    assert.equal((await executor.find("button", "One")).ref, first.ref);
    const zero = await executor.find("button", "Zero");
    assert.equal(Number(zero.ref.split("-")[1]), 3);
    const gone = failure(await executor.act({ type: "click", target: first.ref.replace(/-\d+$/, "-2") }));
    assert.deepEqual([gone.code, gone.reach], ["detached", "notStarted"]);
    const never = failure(await executor.act({ type: "click", target: first.ref.replace(/-\d+$/, "-99") }));
    assert.equal(never.code, "stale_ref");
  });

  test("a reference of an earlier document is refused", async () => {
    const before = await open(`<button onclick="globalThis.log = 1">One</button>`);
    const { ref } = await before.find("button", "One");
    await page.reload();
    const executor = await inject(page, code, constants);
    await executor.read();
    assert.equal(failure(await executor.act({ type: "click", target: ref })).code, "stale_ref");
    assert.equal(await log(), undefined);
  });

  test("a second injection of the same version keeps the references", async () => {
    const executor = await open(`<button>One</button>`);
    const { ref } = await executor.find("button", "One");
    await executor.evaluate(code);
    assert.equal(await executor.evaluate("__listeners.size"), 1);
    assert.equal((await executor.find("button", "One")).ref, ref);
    await executor.evaluate(code.replaceAll(constants.SCHEMA_HASH, "f".repeat(64)));
    assert.equal(await executor.evaluate("__listeners.size"), 1, "another version takes the place of the first");
    const answer = await executor.send(executor.envelope({ kind: "ping" }));
    assert.equal(answer.body.failure.code, "protocol_mismatch");
    assert.equal(answer.schemaHash, "f".repeat(64));
  });
});

describe("messages", () => {
  test("only the extension's own well-formed messages of this version, origin and document are served", async () => {
    const executor = await open(`<button onclick="globalThis.log = 1">One</button>`);
    const { ref } = await executor.find("button", "One");
    const act = { kind: "execute", action: { type: "click", target: ref } };
    const good = executor.envelope(act, { documentId: "D1" });
    assert.equal(await executor.send(good, { id: "someoneelse" }), null);
    assert.equal(await executor.send({ ...good, protocol: "other" }), null);
    const refused = async (message, want) => {
      const answer = await executor.send(message);
      assert.equal(answer.requestId, message.requestId);
      assert.deepEqual([answer.body.kind, answer.body.failure.code, answer.body.failure.reach], ["failed", want, "notStarted"]);
    };
    await refused({ ...good, schemaHash: "0".repeat(64) }, "protocol_mismatch");
    await refused({ ...good, extra: 1 }, "protocol_mismatch");
    await refused({ ...good, body: { kind: "execute", action: { type: "click", target: ref, force: true } } }, "protocol_mismatch");
    await refused({ ...good, body: { kind: "execute", action: { type: "click", target: "button" } } }, "protocol_mismatch");
    await refused({ ...good, body: { kind: "fly" } }, "protocol_mismatch");
    await refused({ ...good, body: { kind: "execute", action: { type: "type", target: ref, text: "x".repeat(100_001), clear: true, submit: false } } }, "protocol_mismatch");
    await refused({ ...good, expectedOrigin: "https://other.test" }, "origin_changed");
    await refused({ ...good, deadlineAt: Date.now() - 1 }, "timeout");
    assert.equal(await log(), undefined);
    assert.deepEqual((await executor.send(executor.envelope({ kind: "ping" }, { documentId: "D1" }))).body, { kind: "pong", origin: server.origin });
    await refused({ ...good, documentId: "D2" }, "protocol_mismatch");
    result((await executor.send({ ...good, deadlineAt: Date.now() + 5000 })).body);
    assert.equal(await log(), 1);
  });

  test("a request ends at its cancellation and at its deadline, and says whether anything was done", async () => {
    const executor = await open(`<button onclick="setInterval(() => document.body.append('x'), 20)">Busy</button>
      <button id="m">Moving</button><script>let x = 0; setInterval(() => { m.style.marginLeft = (x = (x + 40) % 400) + "px"; }, 10)</script>`);
    const moving = await executor.find("button", "Moving");
    const wait = executor.send(executor.envelope({ kind: "execute", action: { type: "click", target: moving.ref } }, { requestId: "long" }));
    await new Promise((done) => setTimeout(done, 150));
    const cancelled = await executor.send(executor.envelope({ kind: "cancel", cancelRequestId: "long" }));
    assert.deepEqual(cancelled.body, { kind: "cancelled", found: true });
    const given = failure((await wait).body);
    assert.deepEqual([given.code, given.reach], ["cancelled", "notStarted"]);
    const busy = await executor.find("button", "Busy");
    const late = failure(await executor.act({ type: "click", target: busy.ref }, { deadlineAt: Date.now() + 700 }));
    assert.deepEqual([late.code, late.reach], ["timeout", "mayHaveHappened"]);
  });
});

describe("clicking", () => {
  test("a click is the sequence of events of a mouse, at real coordinates, and moves the focus", async () => {
    const executor = await open(`<button id="b" style="position:absolute;left:100px;top:50px;width:80px;height:40px">Go</button><script>
      globalThis.log = []; for (const type of ["pointerdown", "mousedown", "focus", "pointerup", "mouseup", "click"])
        b.addEventListener(type, (e) => log.push([type, e.clientX ?? null, e.clientY ?? null, e.button ?? null, e.detail, e.pointerType ?? ""]));</script>`);
    const { observed } = result(await executor.click("button", "Go"));
    assert.deepEqual(await log(), [
      ["pointerdown", 140, 70, 0, 0, "mouse"], ["mousedown", 140, 70, 0, 1, ""], ["focus", null, null, null, 0, ""],
      ["pointerup", 140, 70, 0, 0, "mouse"], ["mouseup", 140, 70, 0, 1, ""], ["click", 140, 70, 0, 1, "mouse"],
    ]);
    assert.deepEqual(observed.subject, { role: "button", name: "Go" });
    assert.deepEqual(observed.effects, undefined, "a click that changed nothing says so");
  });

  test("what the click led to is reported", async () => {
    const executor = await open(`
      <input type="checkbox" aria-label="Box"><button onclick="document.body.append('new text')">Add</button>
      <button onclick="history.pushState(0, '', '/step2')">Step</button>
      <button aria-expanded="false" onclick="this.setAttribute('aria-expanded', 'true')">Menu</button>
      <button onclick="this.remove()">Vanish</button><div role="status"></div>
      <button onclick="document.querySelector('[role=status]').textContent = 'Saved at noon'">Save</button>`);
    const effects = async (role, name) => result(await executor.click(role, name)).observed;
    const box = await effects("checkbox", "Box");
    assert.deepEqual([box.states, box.effects], [["checked"], ["stateChanged"]]);
    assert.ok((await effects("button", "Add")).effects.includes("contentChanged"));
    const step = await effects("button", "Step");
    assert.ok(step.effects.includes("addressChanged") && step.url.endsWith("/step2"));
    assert.deepEqual((await effects("button", "Menu")).states, ["expanded"]);
    assert.ok((await effects("button", "Vanish")).effects.includes("subjectRemoved"));
    assert.deepEqual((await effects("button", "Save")).announcements, ["Saved at noon"]);
  });

  test("the answer comes before the page is left", async () => {
    for (const content of [`<a href="/slow">Leave</a>`, `<form action="/slow"><button role="link">Leave</button></form>`]) {
      const executor = await open(content);
      const { observed } = result(await executor.click("link", "Leave"));
      assert.ok(observed.effects.includes("navigationStarted"), JSON.stringify(observed));
      await page.waitForURL("**/slow*");
    }
  });

  test("a covered element is not clicked, and what covers it is named", async () => {
    const executor = await open(`<button onclick="globalThis.log = 1">Under</button>
      <div role="dialog" aria-label="Cookies" style="position:fixed;inset:0;background:#fff8"><p>We use cookies</p></div>`);
    const refused = failure(await executor.click("button", "Under"));
    assert.deepEqual([refused.code, refused.reach, refused.subject], ["covered", "notStarted", { role: "button", name: "Under" }]);
    assert.deepEqual(refused.coveredBy, { role: "dialog", name: "Cookies" });
    assert.equal(await log(), undefined);
  });

  test("a passing cover and a late element are waited for", async () => {
    const executor = await open(`<button onclick="globalThis.log = 1">Under</button><div id="c" style="position:fixed;inset:0"></div>
      <script>setTimeout(() => c.remove(), 900)</script>`);
    result(await executor.click("button", "Under"));
    assert.equal(await log(), 1);
  });

  test("elements in shadow roots, frames and styled labels are clicked", async () => {
    const executor = await open(`<div style="height:900px"></div><my-card></my-card>
      <iframe title="Inner" style="margin:30px;border:7px solid" srcdoc="<div style='height:400px'></div><button onclick='parent.log.push(1)'>In frame</button>"></iframe>
      <label style="position:relative;display:inline-block"><input type="checkbox" style="opacity:0;position:absolute"><span style="position:absolute;inset:0;background:red">x</span>Fancy</label>
      <label><input type="radio" style="display:none" onchange="log.push(3)">Hidden</label>
      <script>globalThis.log = [];
        const root = document.querySelector("my-card").attachShadow({mode: "open"});
        root.innerHTML = "<button>In shadow</button>"; root.firstChild.onclick = () => log.push(2);</script>`);
    await page.frameLocator("[title=Inner]").locator("button").waitFor();
    result(await executor.click("button", "In frame"));
    result(await executor.click("button", "In shadow"));
    assert.deepEqual(result(await executor.click("checkbox", "x Fancy")).observed.states, ["checked"]);
    assert.deepEqual(result(await executor.click("radio", "Hidden")).observed.states, ["checked"]);
    assert.deepEqual(await log(), [1, 2, 3]);
    await page.evaluate(() => {
      const cover = Object.assign(document.createElement("div"), { id: "cover", style: "position:fixed;inset:0;z-index:9" });
      document.body.append(cover);
    });
    assert.equal(failure(await executor.click("button", "In frame")).code, "covered");
  });

  test("what is disabled, inert, without size or moving is refused", async () => {
    const executor = await open(`<fieldset disabled><button>Fieldset</button></fieldset><div inert><button>Inert</button></div>
      <div aria-disabled="true"><button>Aria</button></div><button id="m">Moving</button>
      <script>let x = 0; const run = () => { m.style.marginLeft = (x = (x + 30) % 400) + "px"; requestAnimationFrame(run); }; run();</script>`);
    for (const [name, code] of [["Fieldset", "disabled"], ["Inert", "disabled"], ["Aria", "disabled"], ["Moving", "not_stable"]]) {
      assert.equal(failure(await executor.click("button", name)).code, code, name);
    }
  });

  test("a form whose own checks refuse it is reported with the reason", async () => {
    const executor = await open(`<form action="/order"><label>E-mail <input type="email" required></label><button>Send</button></form>`);
    const { observed } = result(await executor.click("button", "Send"));
    assert.ok(observed.effects.includes("formRefused"), JSON.stringify(observed));
    assert.match(observed.announcements[0], /^E-mail: ./);
  });
});

describe("typing", () => {
  test("text goes into inputs, text areas and editors, and what they hold is reported", async () => {
    const executor = await open(`<input aria-label="Plain" value="old"><textarea aria-label="Area">one</textarea>
      <div contenteditable aria-label="Editor"><p>old <b>text</b></p></div><input type="number" aria-label="Count">
      <input type="date" aria-label="Day"><input aria-label="Short" maxlength="3"><input type="email" aria-label="Mail" value="a@">`);
    const typed = async (role, name, text, more) => {
      const { value, exact } = result(await executor.type(role, name, text, more));
      return [value.text, exact];
    };
    assert.deepEqual(await typed("textbox", "Plain", "Zoë 中文"), ["Zoë 中文", true]);
    assert.deepEqual(await typed("textbox", "Plain", "!", { clear: false }), ["Zoë 中文!", true]);
    assert.deepEqual(await typed("textbox", "Area", "\ntwo", { clear: false }), ["one\ntwo", true]);
    assert.deepEqual(await typed("textbox", "Editor", "new"), ["new", true]);
    assert.deepEqual(await typed("spinbutton", "Count", "12"), ["12", true]);
    assert.deepEqual(await typed("textbox", "Day", "2026-11-30"), ["2026-11-30", true]);
    assert.deepEqual(await typed("textbox", "Short", "abcdef"), ["abc", false]);
    assert.deepEqual(await typed("textbox", "Mail", "b.test", { clear: false }), ["a@b.test", true]);
    assert.deepEqual(await typed("textbox", "Plain", ""), ["", true]);
    const refused = failure(await executor.type("textbox", "Day", "tomorrow"));
    assert.deepEqual([refused.code, refused.reach, refused.value.text], ["not_effective", "notStarted", "2026-11-30"]);
    assert.match(refused.message, /2026-11-30/);
    assert.equal(await page.evaluate(() => document.querySelector("[type=date]").value), "2026-11-30");
  });

  test("a field that a framework controls keeps the text", async () => {
    // React's way: the instance's value setter tells the framework what it wrote itself; input events that bring
    // no other value are ignored, and the framework writes its own state back.
    const executor = await open(`<input id="f" aria-label="Name"><output id="o"></output><script>
      const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
      let tracked = "", state = "";
      Object.defineProperty(f, "value", { get() { return own.get.call(f); }, set(v) { tracked = String(v); own.set.call(f, v); } });
      f.addEventListener("input", () => { const now = own.get.call(f); if (now === tracked) return; tracked = now; state = now;
        queueMicrotask(() => { if (own.get.call(f) !== state) own.set.call(f, state); o.textContent = state; }); });</script>`);
    assert.equal(result(await executor.type("textbox", "Name", "Zoë")).exact, true);
    assert.equal(await page.evaluate(() => document.querySelector("#o").textContent), "Zoë");
    const rejecting = await open(`<input id="f" aria-label="Name" value="fixed"><script>
      f.addEventListener("input", () => { f.value = "fixed"; });</script>`);
    const refused = failure(await rejecting.type("textbox", "Name", "other"));
    assert.deepEqual([refused.code, refused.reach, refused.value], ["not_effective", "mayHaveHappened", { type: "text", text: "fixed" }]);
  });

  test("Enter submits a form exactly once", async () => {
    const cases = [
      [`<form action="/order"><input name="q" aria-label="F"><button>Go</button></form>`, "submitted", ["GET ?q=x"]],
      [`<form action="/order"><input name="q" aria-label="F"></form>`, "submitted", ["GET ?q=x"]],
      [`<form action="/order" onkeydown="if (event.key === 'Enter') { event.preventDefault(); this.requestSubmit(); }"><input name="q" aria-label="F"><button>Go</button></form>`, "submitted", ["GET ?q=x"]],
      [`<form action="/order" onkeydown="event.preventDefault()"><input name="q" aria-label="F"><button>Go</button></form>`, "takenByPage", []],
      [`<form action="/order"><input name="q" aria-label="F"><input name="r" required><button>Go</button></form>`, "refused", []],
      [`<input aria-label="F">`, "noForm", []],
    ];
    for (const [content, submission, requests] of cases) {
      received.length = 0;
      const executor = await open(content);
      const typed = result(await executor.type("textbox", "F", "x", { submit: true }));
      assert.equal(typed.submission, submission, content);
      if (requests.length) await page.waitForURL("**/order*");
      assert.deepEqual(received, requests, content);
    }
  });

  test("text never lands in another field, even when the page moves the focus on", async () => {
    const executor = await open(`<input aria-label="Meant" onfocus="other.focus()"><input id="other" aria-label="Other">
      <div contenteditable aria-label="Editor" onfocus="other.focus()">old</div>`);
    assert.equal(result(await executor.type("textbox", "Meant", "x")).value.text, "x");
    assert.equal(failure(await executor.type("textbox", "Editor", "x")).code, "not_effective");
    assert.equal(await page.evaluate(() => document.querySelector("#other").value), "");
  });

  test("what takes no text is refused", async () => {
    const executor = await open(`<button>B</button><input aria-label="Fixed" readonly><input aria-label="Off" disabled>`);
    assert.equal(failure(await executor.type("button", "B", "x")).code, "not_editable");
    assert.equal(failure(await executor.type("textbox", "Fixed", "x")).code, "read_only");
    assert.equal(failure(await executor.type("textbox", "Off", "x")).code, "disabled");
  });

  test("an editor in a shadow root is cleared and filled", async () => {
    const executor = await open(`<my-editor></my-editor><script>
      document.querySelector("my-editor").attachShadow({mode: "open"}).innerHTML = "<div contenteditable aria-label=Editor><p>old</p></div>";</script>`);
    assert.equal(result(await executor.type("textbox", "Editor", "new")).value.text, "new");
    assert.equal(result(await executor.type("textbox", "Editor", " more", { clear: false })).value.text, "new more");
  });

  test("an editor that enters text by itself is left to do so", async () => {
    const executor = await open(`<div id="e" contenteditable aria-label="Editor">old</div><script>
      e.addEventListener("beforeinput", (event) => { event.preventDefault(); e.textContent = "[" + event.data + "]"; });</script>`);
    const typed = result(await executor.type("textbox", "Editor", "new"));
    assert.deepEqual([typed.value.text, typed.exact], ["[new]", false]);
  });
});

describe("choosing", () => {
  test("an option is chosen by label or value, and the page is told", async () => {
    const executor = await open(`<select aria-label="Size" onchange="(globalThis.log ??= []).push(this.value)">
      <option value="s">Small</option><option value="m"> Medium
      size </option><option value="l" disabled>Large</option><optgroup label="G" disabled><option value="g">Grouped</option></optgroup>
      <option value="d1">Twice</option><option value="d2">Twice</option></select><button>B</button>`);
    const choose = (choice) => executor.select("combobox", "Size", choice);
    assert.deepEqual(result(await choose({ by: "label", label: "Medium size" })).option, { label: "Medium size", value: "m", selected: true });
    assert.deepEqual(result(await choose({ by: "value", value: "d2" })).option.value, "d2");
    result(await choose({ by: "value", value: "d2" }));
    assert.deepEqual(await log(), ["m", "d2"], "choosing what is chosen does nothing");
    const none = failure(await choose({ by: "label", label: "Huge" }));
    assert.deepEqual([none.code, none.options.length, none.options[0].label], ["no_such_option", 6, "Small"]);
    assert.equal(failure(await choose({ by: "value", value: "l" })).code, "option_disabled");
    assert.equal(failure(await choose({ by: "value", value: "g" })).code, "option_disabled");
    await choose({ by: "value", value: "s" });
    assert.equal(failure(await choose({ by: "label", label: "Twice" })).code, "ambiguous_option");
    assert.equal(await page.evaluate(() => document.querySelector("select").value), "s", "a refused choice changes nothing");
    const button = await executor.find("button", "B");
    assert.equal(failure(await executor.act({ type: "selectOption", target: button.ref, choice: { by: "value", value: "x" } })).code, "not_a_select");
  });
});
