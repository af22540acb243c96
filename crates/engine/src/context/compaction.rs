//! When a conversation outgrows its model: where to cut it, and what is asked for instead of what lies before.
//!
//! Invariant: nothing leaves the record. A summary is an entry of its own; the person's own words go on with it, word
//! for word and outside of every fence, because a summary is a model's text and may repeat what a page said.

use panelot_base::limits::{SUMMARY_REQUEST_BYTES, SUMMARY_REQUESTS_BYTES};
use panelot_prompts::{Nonce, fence, wording};
use panelot_provider::{Message, Parameters, Part, Request};
use panelot_records::{Body, Environment, Node, NoticeKind};
use serde_json::Value;

use super::seed_bytes;
use crate::step::{Cut, Room};

/// Bytes of one entry that a summary is made from: the first of these with which all of it fits.
const ENTRY_BYTES: [usize; 3] = [4000, 1000, 250];

/// A summary that stands for the beginning of a path.
pub(super) struct Summary<'a> {
    pub(super) seq: u64,
    pub(super) text: &'a str,
    pub(super) requests: &'a str,
}

/// The last entry that a node stands for, when it is a summary.
fn up_to(node: &Node) -> Option<u64> {
    match &node.body {
        Body::Notice { kind: NoticeKind::Summarized, details } => details.get("upTo").and_then(Value::as_u64),
        _ => None,
    }
}

/// Where the newest summary among these nodes ends; what is not newer need not be read.
#[must_use]
pub fn summarized_up_to(nodes: &[Node]) -> Option<u64> {
    nodes.iter().rev().find_map(up_to)
}

/// The newest summary of a path, and the nodes that it does not stand for.
pub(super) fn tail(path: &[Node]) -> (Option<Summary<'_>>, &[Node]) {
    let Some((node, end)) = path.iter().rev().find_map(|node| Some((node, up_to(node)?))) else {
        return (None, path);
    };
    let Body::Notice { details, .. } = &node.body else { return (None, path) };
    let text = |name| details.get(name).and_then(Value::as_str).unwrap_or_default();
    let first = path.iter().position(|node| node.seq > end).unwrap_or(path.len());
    let summary = Summary { seq: node.seq, text: text("text"), requests: text("requests") };
    (Some(summary), path.get(first..).unwrap_or_default())
}

/// What a model is told in place of what a summary stands for.
pub(super) fn summary_parts(seed: &[u8; 16], summary: &Summary<'_>) -> Vec<Part> {
    let nonce = Nonce::derive(seed, summary.seq, 0);
    vec![
        Part::text(wording::summarized(summary.requests)),
        Part::text(fence(&nonce, "summary", "summary", summary.text)),
    ]
}

/// Tokens of a text, estimated: no provider counts before it is asked. Latin letters come about 3.5 to a token, others
/// about one.
fn tokens(text: &str) -> usize {
    let plain = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    plain * 2 / 7 + others
}

fn parts_tokens(parts: &[Part]) -> usize {
    let of = |part: &Part| match part {
        Part::Text { text } => tokens(text),
        // What the makers state for a screenshot.
        Part::Image { .. } => 1600,
    };
    parts.iter().map(of).sum()
}

fn request_tokens(request: &Request) -> usize {
    let tool = |tool: &panelot_provider::ToolSchema| {
        tokens(&tool.description) + tokens(&tool.parameters.to_string())
    };
    let message = |message: &Message| match message {
        Message::User { parts } | Message::ToolResult { parts, .. } => parts_tokens(parts),
        Message::Assistant { text, reasoning, tool_calls, vendor: _ } => {
            let calls = tool_calls.iter().map(|call| tokens(&call.arguments) + tokens(&call.name));
            tokens(text) + tokens(reasoning) + calls.sum::<usize>()
        }
    };
    tokens(&request.system)
        + request.tools.iter().map(tool).sum::<usize>()
        + request.messages.iter().map(message).sum::<usize>()
}

fn node_tokens(node: &Node) -> usize {
    match &node.body {
        Body::User { text, .. } => tokens(text),
        Body::Assistant { text, reasoning, calls, .. } => {
            tokens(text) + tokens(reasoning) + calls.iter().map(|call| tokens(&call.arguments)).sum::<usize>()
        }
        Body::ToolResult { content, .. } => tokens(content),
        Body::Decision { .. } | Body::Notice { .. } | Body::Removed => 0,
    }
}

/// Whether a request must not be sent as it is, and if so, where its path can be cut.
#[must_use]
pub fn overflow(request: &Request, path: &[Node], room: Room, window: u32) -> Option<Option<Cut>> {
    let window = window as usize;
    let used = request_tokens(request);
    let (keep, room_tokens) = match room {
        Room::Any => return None,
        // A fifth stays free for the answer and for what the estimate may be wrong by.
        Room::Window if used <= window / 5 * 4 => return None,
        Room::Window => (window / 4, window / 10 * 7),
        Room::Less => (used / 3, used / 2),
    };
    Some(cut(path, keep, room_tokens))
}

/// The cut that keeps as much of the end as `keep` tokens allow, and the newest message in any case.
fn cut(path: &[Node], keep: usize, room_tokens: usize) -> Option<Cut> {
    let (summary, tail) = tail(path);
    let (mut kept, mut at) = (0, None);
    for (index, node) in tail.iter().enumerate().skip(1).rev() {
        kept += node_tokens(node);
        // Before a message: there every call before it has its result.
        let begins = matches!(node.body, Body::User { .. } | Body::Assistant { .. });
        if begins && (at.is_none() || kept <= keep) {
            at = Some(index);
        }
    }
    let covered = tail.get(..at?).unwrap_or_default();
    let newest = covered.last()?;
    covered.iter().any(|node| node_tokens(node) > 0).then(|| Cut {
        up_to: newest.seq,
        requests: requests(summary.as_ref(), covered),
        room_tokens,
    })
}

/// A text's end, with a mark where its beginning was left out.
fn end_of(text: &str, bytes: usize) -> String {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let mark = if from > 0 { "[…] " } else { "" };
    [mark, text.get(from..).unwrap_or_default()].concat()
}

/// A text's beginning, with a mark where its end was left out.
fn begin_of(text: &str, bytes: usize) -> String {
    let mut to = bytes.min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    let mark = if to < text.len() { " […]" } else { "" };
    [text.get(..to).unwrap_or_default(), mark].concat()
}

/// What the person wrote in what is covered, an earlier summary's included.
fn requests(summary: Option<&Summary<'_>>, covered: &[Node]) -> String {
    let mut all = summary.map(|summary| summary.requests.to_owned()).unwrap_or_default();
    for node in covered {
        if let Body::User { text, .. } = &node.body {
            all.push_str("\n- ");
            all.push_str(&begin_of(text, SUMMARY_REQUEST_BYTES));
        }
    }
    end_of(all.trim_start(), SUMMARY_REQUESTS_BYTES)
}

/// Builds the request for a summary of a path up to a cut.
#[must_use]
pub fn summary_request(environment: &Environment, path: &[Node], fence_seed: &str, cut: &Cut) -> Request {
    let (summary, tail) = tail(path);
    let end = tail.iter().position(|node| node.seq > cut.up_to).unwrap_or(tail.len());
    let covered = tail.get(..end).unwrap_or_default();
    let mut text = String::new();
    for bytes in ENTRY_BYTES {
        text = transcript(summary.as_ref(), covered, bytes);
        if tokens(&text) <= cut.room_tokens {
            break;
        }
    }
    if tokens(&text) > cut.room_tokens {
        // No text has fewer bytes than tokens.
        text = end_of(&text, cut.room_tokens);
    }
    let nonce = Nonce::derive(&seed_bytes(fence_seed), cut.up_to, 1);
    Request {
        model: environment.model.model.clone(),
        system: wording::summarize(),
        messages: vec![Message::User {
            parts: vec![Part::text(fence(&nonce, "conversation", "summary", &text))],
        }],
        tools: Vec::new(),
        parameters: Parameters::default(),
    }
}

/// What is summarised, in plain lines; nothing of it is said without a mark where it was shortened.
fn transcript(summary: Option<&Summary<'_>>, covered: &[Node], bytes: usize) -> String {
    let mut lines = String::new();
    let mut say = |who: &str, text: &str, bytes: usize| {
        if !text.trim().is_empty() {
            lines.push_str(who);
            lines.push_str(&begin_of(text, bytes));
            lines.push('\n');
        }
    };
    if let Some(summary) = summary {
        say("Summary of what came before: ", summary.text, usize::MAX);
    }
    for node in covered {
        match &node.body {
            Body::User { text, .. } => say("Person: ", text, bytes),
            Body::Assistant { text, calls, .. } => {
                say("Assistant: ", text, bytes);
                for call in calls {
                    say("Assistant called: ", &[call.name.as_str(), " ", &call.arguments].concat(), bytes);
                }
            }
            Body::ToolResult { content, .. } => say("Result: ", content, bytes),
            Body::Decision { .. } | Body::Notice { .. } | Body::Removed => {}
        }
    }
    lines
}
