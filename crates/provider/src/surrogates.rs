//! Halves of characters. JSON may escape half of a surrogate pair (`\ud83d`), and servers that cut text by UTF-16 units do
//! so at the end of one frame and begin the next with the other half; no Rust text can hold a half.

use std::borrow::Cow;

use serde_json::Value;

/// Where halves live between their frame and their neighbour: the private characters U+10D800 to U+10DFFF.
const SHIFT: u32 = 0x0010_0000;
/// What stands for a half that stays alone.
const LOST: char = '\u{fffd}';

/// Reads JSON; says whether it held halves, which are shifted as [`Halves`] expects them.
pub(crate) fn parse(text: &str) -> (Option<Value>, bool) {
    match serde_json::from_str(text) {
        Ok(value) => (Some(value), false),
        Err(_) => match shifted(text) {
            Some(mended) => (serde_json::from_str(&mended).ok(), true),
            None => (None, false),
        },
    }
}

/// `text` with every escaped half as its private character; `None` when there is none.
fn shifted(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let taken = match escaped_unit(escape) {
            Some(high @ 0xd800..=0xdbff) => {
                let low =
                    escape.get(6..).and_then(escaped_unit).filter(|low| (0xdc00..=0xdfff).contains(low));
                if low.is_none() {
                    out.extend(char::from_u32(SHIFT + high));
                    found = true;
                }
                (if low.is_some() { 12 } else { 6 }, low.is_none())
            }
            Some(low @ 0xdc00..=0xdfff) => {
                out.extend(char::from_u32(SHIFT + low));
                found = true;
                (6, true)
            }
            // The character after a backslash is part of the escape, a second backslash above all.
            _ => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), false),
        };
        let (length, replaced) = taken;
        let (escape, after) = escape.split_at(length.min(escape.len()));
        if !replaced {
            out.push_str(escape);
        }
        rest = after;
    }
    out.push_str(rest);
    found.then_some(out)
}

/// The unit of an escape `\uXXXX` at the start of `text`.
fn escaped_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// One text that arrives in pieces, of which halves are put together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halves {
    /// A first half that waits for its second.
    held: Option<char>,
}

impl Halves {
    /// The piece with whole characters; a half at its end waits for the next piece.
    pub(crate) fn join<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        let half = |c: char| matches!(u32::from(c), 0x0010_d800..=0x0010_dfff);
        if self.held.is_none() && !piece.contains(half) {
            return Cow::Borrowed(piece);
        }
        let mut out = String::with_capacity(piece.len() + 4);
        for c in piece.chars() {
            let unit = u32::from(c).wrapping_sub(SHIFT);
            if let Some(high) = self.held.take() {
                if (0xdc00..=0xdfff).contains(&unit) {
                    let high = u32::from(high) - SHIFT - 0xd800;
                    out.push(char::from_u32(0x1_0000 + (high << 10) + (unit - 0xdc00)).unwrap_or(LOST));
                    continue;
                }
                out.push(LOST);
            }
            match unit {
                0xd800..=0xdbff => self.held = Some(c),
                0xdc00..=0xdfff => out.push(LOST),
                _ => out.push(c),
            }
        }
        Cow::Owned(out)
    }

    /// What is left when nothing more comes.
    pub(crate) fn flush(&mut self) -> &'static str {
        if self.held.take().is_some() { "\u{fffd}" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Halves, parse};

    fn joined(pieces: &[&str]) -> String {
        let mut halves = Halves::default();
        let mut out = String::new();
        for piece in pieces {
            let (value, _) = parse(piece);
            out.push_str(&halves.join(value.unwrap().as_str().unwrap()));
        }
        out + halves.flush()
    }

    #[test]
    fn halves_meet_over_pieces_and_lone_ones_are_replaced() {
        for (pieces, expected) in [
            (&[r#""a\ud83d""#, r#""\ude00b""#][..], "a😀b"),
            (&[r#""\ud83d""#, r#""""#, r#""\ude00""#], "😀"),
            (&[r#""\ud83dx""#], "\u{fffd}x"),
            (&[r#""\ude00x""#], "\u{fffd}x"),
            (&[r#""\ud83d""#], "\u{fffd}"),
            (&[r#""\ud83d\ud83d\ude00""#], "\u{fffd}😀"),
            (&[r#""\\ud83d \ud83d""#], "\\ud83d \u{fffd}"),
            (&[r#""\ud83d\ude00 \uDE00""#], "😀 \u{fffd}"),
        ] {
            assert_eq!(joined(pieces), expected, "{pieces:?}");
        }
        assert_eq!(parse("{\"a\":").0, None);
        assert_eq!(parse("\"\\").0, None);
        assert!(!parse("\"plain\"").1);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(\\\\|\\\\u|d83d|de00|\"|点|a){0,12}") {
            let _ = parse(&text);
        }

        #[test]
        fn text_cut_into_utf_16_units_is_whole_again(text in "[a点😀🎉]{0,8}") {
            let units: Vec<String> =
                text.encode_utf16().map(|unit| format!("\"\\u{unit:04x}\"")).collect();
            let units: Vec<&str> = units.iter().map(String::as_str).collect();
            prop_assert_eq!(joined(&units), text);
        }
    }
}
