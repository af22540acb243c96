//! Names and ids in the characters that wires allow, and back.

use std::borrow::Cow;

use panelot_base::SortedSet;

use crate::request::{Message, Request};

/// Longest name of a tool that every wire takes.
const NAME_CHARS_MAX: usize = 64;

/// The names of a conversation that wires do not take as they are, with what is sent instead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// (own, on the wire).
    changed: Vec<(String, String)>,
}

impl Names {
    /// Of the offered tools, and of what the model called in the conversation. The same name is always changed in the
    /// same way, unless the result is taken by another tool.
    pub(crate) fn of(request: &Request) -> Self {
        let offered = request.tools.iter().map(|tool| tool.name.as_str());
        let called = request.messages.iter().flat_map(|message| match message {
            Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
            Message::User { .. } | Message::ToolResult { .. } => &[],
        });
        let all: Vec<&str> = offered.chain(called.map(|call| call.name.as_str())).collect();
        let mut taken: SortedSet<String> =
            all.iter().filter(|name| is_legal(name)).map(|name| (*name).to_owned()).collect();
        let mut names = Self::default();
        for own in all {
            if !is_legal(own) && !names.changed.iter().any(|(known, _)| known == own) {
                let wire = (0u64..).map(|salt| legal(own, salt)).find(|wire| !taken.contains(wire));
                let wire = wire.unwrap_or_default();
                taken.insert(wire.clone());
                names.changed.push((own.to_owned(), wire));
            }
        }
        names
    }

    /// What is sent for a name.
    pub(crate) fn wire<'a>(&'a self, own: &'a str) -> Cow<'a, str> {
        match self.changed.iter().find(|(known, _)| known == own) {
            Some((_, wire)) => Cow::Borrowed(wire),
            None if is_legal(own) => Cow::Borrowed(own),
            None => Cow::Owned(legal(own, 0)),
        }
    }

    /// What was sent as `wire`, when it was changed.
    pub(crate) fn own(&self, wire: &str) -> Option<&str> {
        self.changed.iter().find(|(_, known)| known == wire).map(|(own, _)| own.as_str())
    }
}

/// The strictest common rule: OpenAI and Anthropic allow 64 letters, digits, `_` and `-`; Gemini wants a letter or `_`
/// first.
fn is_legal(name: &str) -> bool {
    name.len() <= NAME_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(is_word)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// A readable beginning, and a digest so that two names stay two.
fn legal(name: &str, salt: u64) -> String {
    let word = |c: char| if c.is_ascii() && is_word(c as u8) { c } else { '_' };
    let mut out = String::new();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.push_str("t_");
    }
    out.extend(name.chars().take(NAME_CHARS_MAX - 12).map(word));
    out.push('_');
    push_digits(&mut out, digest(name, salt), 16, 8);
    out
}

/// FNV-1a. Names and ids are not secrets, and whoever makes two of them meet only confuses their own model.
fn digest(text: &str, salt: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ salt, step);
    // Its upper bits are the better mixed ones.
    hash ^ (hash >> 32)
}

fn push_digits(out: &mut String, mut number: u64, base: u64, count: usize) {
    for _ in 0..count {
        let digit = u32::try_from(number % base).unwrap_or_default();
        out.extend(char::from_digit(digit, 36));
        number /= base;
    }
}

/// What a wire allows as the id of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// OpenAI: 40 characters (64 on the newer wire).
    Graphic,
    /// Anthropic: letters, digits, `_` and `-`.
    Word,
    /// Mistral: nine letters or digits.
    Nine,
}

impl IdRule {
    /// The id as the wire takes it; the same for the call and for its result.
    pub(crate) fn id(self, id: &str) -> Cow<'_, str> {
        let is_legal = match self {
            Self::Graphic => id.len() <= 40 && id.bytes().all(|byte| byte.is_ascii_graphic()),
            Self::Word => id.len() <= 64 && id.bytes().all(is_word),
            Self::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        };
        if is_legal && !id.is_empty() {
            return Cow::Borrowed(id);
        }
        let mut out = String::new();
        if self == Self::Nine {
            push_digits(&mut out, digest(id, 0), 36, 9);
        } else {
            out.push_str("call_");
            push_digits(&mut out, digest(id, 0), 16, 16);
        }
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use panelot_base::SortedSet;
    use proptest::prelude::*;
    use serde_json::json;

    use super::{IdRule, Names, is_legal};
    use crate::request::{Message, Parameters, Part, Request, ToolSchema};

    fn names(offered: &[String]) -> Names {
        let tool = |name: &String| ToolSchema {
            name: name.clone(),
            description: String::new(),
            parameters: json!({}),
        };
        Names::of(&Request {
            model: "m".into(),
            system: String::new(),
            messages: vec![Message::User { parts: vec![Part::text("x")] }],
            tools: offered.iter().map(tool).collect(),
            parameters: Parameters::default(),
        })
    }

    #[test]
    fn legal_names_stay_and_others_keep_a_readable_beginning() {
        let names = names(&["read_page".into(), "mcp.a/b".into(), "读".into(), "x".repeat(65)]);
        assert_eq!(names.wire("read_page"), "read_page");
        assert!(names.wire("mcp.a/b").starts_with("mcp_a_b_"));
        assert!(names.wire("读").starts_with("t___"), "{}", names.wire("读"));
        assert!(is_legal(&names.wire("never offered!")));
    }

    #[test]
    fn ids_fit_every_wire_and_stay_the_same_for_call_and_result() {
        let uuid = "018f3c1e-9d4a-7c3b-8f2e-1234567890ab";
        assert_eq!(IdRule::Graphic.id(uuid), uuid);
        assert_eq!(IdRule::Word.id(uuid), uuid);
        assert_eq!(IdRule::Graphic.id("functions.read:0"), "functions.read:0");
        assert!(IdRule::Word.id("functions.read:0").bytes().all(super::is_word));
        let nine = IdRule::Nine.id(uuid);
        assert!(nine.len() == 9 && nine.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nine}");
        assert_eq!(nine, IdRule::Nine.id(uuid));
        assert!(!IdRule::Graphic.id("").is_empty() && IdRule::Graphic.id(&"点".repeat(50)).len() < 40);
    }

    proptest! {
        #[test]
        fn every_name_is_legal_on_the_wire_and_comes_back(
            offered in prop::collection::btree_set("[a-c./ 点_-]{0,4}|[a-z]{60,70}", 0..12),
        ) {
            let offered: Vec<String> = offered.into_iter().collect();
            let names = names(&offered);
            let mut seen = SortedSet::new();
            for own in &offered {
                let wire = names.wire(own).into_owned();
                prop_assert!(is_legal(&wire), "{}", wire);
                prop_assert_eq!(names.own(&wire).unwrap_or(&wire), own.as_str());
                prop_assert!(seen.insert(wire));
            }
        }
    }
}
