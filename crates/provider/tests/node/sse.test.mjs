// The reader of event streams against `eventsource-parser`, on random streams in random chunks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createParser } from "eventsource-parser";
import { random, read } from "./reader.mjs";

const STREAMS = 5000;
const PIECES = [
    "data", "data:", "data: ", "data:  x", "event:", "event: error", "event: a", "id: 7", "retry: 5", "retry: x", ":",
    ": note", "foo: bar", "foo", "{\"a\":1}", "[DONE]", "点", "😀", "é", "\u2028", "a", ":", " ", "\ufeff",
];
const ENDS = ["\n", "\n", "\n\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\r\r", ""];

function stream(source) {
    let text = source.below(8) === 0 ? "\ufeff" : "";
    for (let count = source.below(24); count > 0; count -= 1) {
        text += source.pick(PIECES) + source.pick(ENDS);
    }
    // Both wait for what may follow a carriage return; a last line of text ends the question.
    return text + ":end\n";
}

function chunks(bytes, source) {
    const parts = [];
    for (let from = 0; from < bytes.length; ) {
        const size = 1 + source.below(source.pick([1, 3, 16, 200]));
        parts.push(bytes.subarray(from, from + size));
        from += size;
    }
    return parts;
}

/** What the package reads. It takes text, so the bytes are decoded as a browser does it. */
function expected(parts) {
    const events = [];
    const parser = createParser({ onEvent: (event) => events.push({ name: event.event ?? "", data: event.data }) });
    const decoder = new TextDecoder();
    for (const part of parts) {
        parser.feed(decoder.decode(part, { stream: true }));
    }
    return events;
}

test("random streams in random chunks are read as eventsource-parser reads them", () => {
    const source = random(20261130);
    const cases = [];
    for (let count = 0; count < STREAMS; count += 1) {
        const text = stream(source);
        cases.push({ text, parts: chunks(Buffer.from(text), source) });
    }
    const lines = cases.map(({ parts }) => parts.map((part) => part.toString("hex")).join(","));
    const got = read("sse", lines);
    let events = 0;
    cases.forEach(({ text, parts }, place) => {
        const told = expected(parts);
        events += told.length;
        assert.deepEqual(got[place], told, `stream ${place}: ${JSON.stringify(text)}`);
    });
    assert.ok(events > STREAMS, "the streams hold events");
});
