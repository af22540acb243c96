//! How many tokens a text has, before a provider has counted it.
//!
//! No vocabulary is shipped (that of one maker is several megabytes, and every maker has another): words, numbers, signs
//! and characters are weighed. The weights were fitted to OpenAI's newer vocabulary (`o200k`) over this project's own
//! prose, code, JSON and Chinese texts, and are held to ten in a hundred by `tests/node/tokens.test.mjs`. What a maker
//! counts differently is made up for by what it reported last ([`corrected`]).

use crate::request::{Message, Part, Request};

/// Tokens of a picture of a screen, as the makers state them.
const PICTURE: usize = 1600;
/// Tokens around a message: its role and its ends.
const MESSAGE: usize = 4;
/// Tokens around the definition of a tool.
const TOOL: usize = 8;

/// Thousandths of a token.
mod weight {
    /// A word of up to 6 letters, of up to 10, of up to 14; a letter of a longer one, which is rarely a word.
    pub(super) const WORD: [usize; 3] = [996, 1369, 1502];
    pub(super) const LETTER: usize = 315;
    /// Up to three digits.
    pub(super) const DIGITS: usize = 1792;
    /// A sign, and each that follows it at once.
    pub(super) const SIGN: usize = 663;
    pub(super) const SIGN_MORE: usize = 178;
    /// Line ends in a row; more than one blank in a row.
    pub(super) const LINES: usize = 401;
    pub(super) const BLANKS: usize = 630;
    /// A Chinese, Japanese or Korean character.
    pub(super) const IDEOGRAPH: usize = 776;
    /// A letter of another alphabet.
    pub(super) const FOREIGN: usize = 500;
    /// Anything else: emoji, boxes, arrows.
    pub(super) const SYMBOL: usize = 2400;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Line,
    Blank,
    Sign,
    Ideograph,
    Foreign,
    Symbol,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' => Kind::Lower,
        'A'..='Z' => Kind::Upper,
        '0'..='9' => Kind::Digit,
        '\n' | '\r' => Kind::Line,
        ' ' | '\t' => Kind::Blank,
        '\0'..='\u{7f}' => Kind::Sign,
        '\u{3000}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' => Kind::Ideograph,
        '\u{a0}'..='\u{1fff}' => Kind::Foreign,
        _ => Kind::Symbol,
    }
}

/// Tokens of a text, estimated.
#[must_use]
pub fn count(text: &str) -> usize {
    let mut sum = 0usize;
    let mut run = (Kind::Sign, 0usize);
    for c in text.chars() {
        let next = kind(c);
        let (now, length) = run;
        run = match (now, next) {
            _ if length == 0 => (next, 1),
            // A capital begins a word, as in `ToolCall`; several in a row are one.
            (Kind::Upper, Kind::Lower) if length == 1 => (Kind::Lower, 2),
            _ if now == next => (now, length + 1),
            _ => {
                sum += weigh(now, length);
                (next, 1)
            }
        };
    }
    // Every token is at least one byte.
    (sum + weigh(run.0, run.1)).div_ceil(1000).min(text.len())
}

fn weigh(kind: Kind, length: usize) -> usize {
    match (kind, length) {
        (_, 0) | (Kind::Blank, 1) => 0,
        (Kind::Lower | Kind::Upper, 1..=6) => weight::WORD[0],
        (Kind::Lower | Kind::Upper, 7..=10) => weight::WORD[1],
        (Kind::Lower | Kind::Upper, 11..=14) => weight::WORD[2],
        (Kind::Lower | Kind::Upper, _) => weight::LETTER * length,
        (Kind::Digit, _) => weight::DIGITS * length.div_ceil(3),
        (Kind::Line, _) => weight::LINES,
        (Kind::Blank, _) => weight::BLANKS,
        (Kind::Sign, _) => weight::SIGN + weight::SIGN_MORE * (length - 1),
        (Kind::Ideograph, _) => weight::IDEOGRAPH * length,
        (Kind::Foreign, _) => weight::FOREIGN * length,
        (Kind::Symbol, _) => weight::SYMBOL * length,
    }
}

/// Tokens of parts.
#[must_use]
pub fn count_parts(parts: &[Part]) -> usize {
    let of = |part: &Part| match part {
        Part::Text { text } => count(text),
        Part::Image { .. } => PICTURE,
    };
    parts.iter().map(of).sum()
}

/// Tokens of a whole request, estimated.
#[must_use]
pub fn count_request(request: &Request) -> usize {
    let message = |message: &Message| match message {
        Message::User { parts } | Message::ToolResult { parts, .. } => MESSAGE + count_parts(parts),
        Message::Assistant { text, reasoning, tool_calls, .. } => {
            let calls = tool_calls.iter().map(|call| MESSAGE + count(&call.arguments) + count(&call.name));
            MESSAGE + count(text) + count(reasoning) + calls.sum::<usize>()
        }
    };
    let tools = request.tools.iter().map(|tool| {
        TOOL + count(&tool.name) + count(&tool.description) + count(&tool.parameters.to_string())
    });
    count(&request.system) + tools.sum::<usize>() + request.messages.iter().map(message).sum::<usize>()
}

/// An estimate corrected by an earlier one of the same conversation and what the provider reported for it: another maker's
/// vocabulary, and what it puts around messages and tools. A report beyond half or double of its estimate counts
/// something else and is not believed.
#[must_use]
pub fn corrected(estimate: usize, earlier: usize, reported: usize) -> usize {
    let is_sound = earlier > 0 && reported > earlier / 2 && reported < earlier.saturating_mul(2);
    if is_sound { estimate.saturating_mul(reported) / earlier } else { estimate }
}

#[cfg(test)]
mod tests {
    use super::{corrected, count};

    /// Texts with their tokens in `o200k`.
    const TEXTS: [(&str, usize); 5] = [
        (
            "The engine is a synchronous and pure state machine in the service worker. Everything else either tells it what happened or carries out what it decided. Chrome may kill the worker at any instant, and the engine then starts from its records, by the same code as at every start, and goes on.",
            59,
        ),
        (
            "浏览器扩展会在侧边栏中读取网页内容，并在你允许之后替你点击按钮、填写表单。每一次写操作都会先询问你；如果服务商拒绝了密钥，界面会说明原因以及下一步该怎么做。",
            58,
        ),
        (
            "pub fn count(text: &str) -> usize {\n    let mut sum = 0usize;\n    let mut run = (Kind::Sign, 0usize);\n    for c in text.chars() {\n        let next = kind(c);\n        let (now, length) = run;\n        run = match (now, next) {\n            _ if length == 0 => (next, 1),\n            // A capital begins a word, as in `ToolCall`; several in a row are one.\n            (Kind::Upper, Kind::Lower) if length == 1 => (Kind::Lower, 2),\n            _ if now == next => (now, length + 1),\n            _ => {\n                sum += weigh(now, length);\n                (next, 1)\n            }\n        };\n    }\n    (sum + weigh(run.0, run.1)).div_ceil(1000)\n}\n\n",
            190,
        ),
        (
            "{\"name\":\"click\",\"arguments\":{\"ref\":\"a-17\",\"button\":\"left\"},\"tabId\":1834,\"url\":\"https://shop.example.com/orders/2024?page=3\",\"items\":[{\"id\":1,\"price\":12.5},{\"id\":2,\"price\":99}]}",
            61,
        ),
        (
            "[a-1] link \"Sign in\"\n[a-2] textbox \"Email address\" value=\"\"\n[a-3] button \"Forgot your password?\" disabled\n[a-4] heading \"Your orders\" level=2\n[a-5] row \"Order 10482, 3 items, 42.90 EUR, delivered on 12 March\"\n[a-6] checkbox \"Remember me on this computer\" checked\n",
            86,
        ),
    ];

    #[test]
    fn texts_of_every_sort_are_counted_to_ten_in_a_hundred() {
        let mut sums = (0, 0);
        for (text, tokens) in TEXTS {
            let counted = count(text);
            // A line or two may be further off than a page.
            assert!(counted.abs_diff(tokens) * 100 <= tokens * 15, "{counted} for {tokens}: {text}");
            sums = (sums.0 + counted, sums.1 + tokens);
        }
        assert!(sums.0.abs_diff(sums.1) * 10 <= sums.1, "{sums:?}");
    }

    #[test]
    fn nothing_is_nothing_and_more_text_is_never_less() {
        assert_eq!(count(""), 0);
        let text = "The ToolCall is 1234 点 😀\n\n  x_y";
        let mut last = 0;
        for (end, _) in text.char_indices() {
            let counted = count(text.split_at(end).0);
            assert!(counted + 1 >= last, "{end}");
            last = counted;
        }
    }

    #[test]
    fn what_a_provider_reported_corrects_later_estimates() {
        assert_eq!(corrected(1000, 500, 600), 1200);
        assert_eq!(corrected(1000, 0, 600), 1000);
        assert_eq!(corrected(1000, 500, 5), 1000);
        assert_eq!(corrected(1000, 500, 5000), 1000);
    }
}
