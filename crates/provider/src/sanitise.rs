//! Foreign error text made fit to store and to show: bounded, without control characters, without credentials.

use panelot_base::Secret;

use crate::limits::UPSTREAM_CHARS_MAX;

const REDACTED: &str = "[REDACTED]";
/// What is looked at before redaction. Far more than is kept, so that no credential is cut in half at the kept end.
const LOOKED_AT_BYTES: usize = 64 * 1024;
/// Labels whose value is a credential; matched in any case.
const LABELS: [&str; 7] =
    ["authorization", "x-api-key", "x api key", "api_key", "api-key", "api key", "apikey"];
const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];

/// `text` without control characters (tab and line ends stay), without `key` and without anything that looks like a
/// credential, trimmed, at most [`UPSTREAM_CHARS_MAX`] characters. `None` when nothing is left.
pub(crate) fn upstream_text(text: &str, key: &Secret) -> Option<String> {
    let text = text.get(..text.floor_char_boundary(LOOKED_AT_BYTES)).unwrap_or_default();
    let mut clean: String =
        text.chars().filter(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r')).collect();
    let secret = key.expose().trim();
    if !secret.is_empty() {
        clean = clean.replace(secret, REDACTED);
    }
    let kept: String = redact(&clean).trim().chars().take(UPSTREAM_CHARS_MAX).collect();
    (!kept.is_empty()).then_some(kept)
}

fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut at_word_start = true;
    while let Some(first) = rest.chars().next() {
        if at_word_start && let Some((kept, after)) = credential(rest) {
            out.push_str(kept);
            out.push_str(REDACTED);
            rest = after;
            at_word_start = false;
            continue;
        }
        out.push(first);
        at_word_start = !first.is_ascii_alphanumeric();
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    out
}

/// When `text` starts with a credential or with a label and its credential: what to keep, and what comes after it.
fn credential(text: &str) -> Option<(&str, &str)> {
    if strip_word(text, "sk-").is_some() {
        let end = token_end(text);
        return (end >= 9).then(|| ("", text.get(end..).unwrap_or_default()));
    }
    if let Some(after) = strip_word(text, "bearer") {
        let value = after.trim_start();
        return (value.len() < after.len() && looks_secret(value)).then(|| cut(text, value));
    }
    let after = LABELS.iter().find_map(|label| strip_word(text, label))?;
    labelled(text, after)
}

/// The value behind a label: after `:` or `=` whatever it is, after mere white space only when it looks like a token.
fn labelled<'a>(text: &'a str, after: &'a str) -> Option<(&'a str, &'a str)> {
    let unquoted = after.trim_start_matches(['\\', '"', '\'']).trim_start();
    let (mut value, certain) = match unquoted.strip_prefix([':', '=']) {
        Some(value) => (value.trim_start(), true),
        None => (unquoted, false),
    };
    if !certain && (value.len() == after.len() || !looks_secret(value)) {
        return None;
    }
    let quotes = value.len() - value.trim_start_matches(['\\', '"', '\'']).len();
    let opening = value.get(..quotes).unwrap_or_default();
    value = value.get(quotes..).unwrap_or_default();
    for scheme in SCHEMES {
        if let Some(inner) = strip_word(value, scheme)
            && inner.starts_with(' ')
        {
            value = inner.trim_start();
        }
    }
    if value.is_empty() {
        return None;
    }
    let (kept, _) = cut(text, value);
    match opening.chars().last() {
        Some(quote) => Some((kept, value.get(quoted_end(value, quote)..).unwrap_or_default())),
        None => Some(cut(text, value)),
    }
}

/// Splits `text` before `value`, which is one of its tails, and after the token that `value` starts with.
fn cut<'a>(text: &'a str, value: &'a str) -> (&'a str, &'a str) {
    let kept = text.get(..text.len() - value.len()).unwrap_or_default();
    (kept, value.get(token_end(value)..).unwrap_or_default())
}

/// Where the quote that `value` is inside of ends; escaped quotes belong to the value.
fn quoted_end(value: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in value.char_indices() {
        if c == quote && !escaped {
            return at;
        }
        escaped = c == '\\' && !escaped;
    }
    value.len()
}

fn token_end(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '}' | ')' | '<'))
        .unwrap_or(text.len())
}

/// Long, or long enough with a digit in it: words of a sentence are neither.
fn looks_secret(value: &str) -> bool {
    let token = value.get(..token_end(value)).unwrap_or_default();
    token.len() >= 20 || (token.len() >= 8 && token.bytes().any(|byte| byte.is_ascii_digit()))
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| text.get(word.len()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;
    use proptest::prelude::*;

    use super::upstream_text;
    use crate::limits::UPSTREAM_CHARS_MAX;

    fn clean(text: &str) -> String {
        upstream_text(text, &Secret::new("the-key/9")).unwrap_or_default()
    }

    #[test]
    fn credentials_are_redacted_in_every_usual_spelling() {
        for (text, expected) in [
            ("key the-key/9!", "key [REDACTED]!"),
            ("Authorization: Bearer abc", "Authorization: Bearer [REDACTED]"),
            ("authorization=Basic abc, next", "authorization=Basic [REDACTED], next"),
            ("api_key=abc", "api_key=[REDACTED]"),
            ("api-key: abc; more", "api-key: [REDACTED]; more"),
            ("API key: abc", "API key: [REDACTED]"),
            (r#"{"api_key":"abc def","b":1}"#, r#"{"api_key":"[REDACTED]","b":1}"#),
            (r#""apiKey": "ab\"cd", x"#, r#""apiKey": "[REDACTED]", x"#),
            ("x-api-key: 'abc' x", "x-api-key: '[REDACTED]' x"),
            ("apiKey abcdefgh1", "apiKey [REDACTED]"),
            ("x-api-key abcdefghijklmnopqrstuvwx", "x-api-key [REDACTED]"),
            ("send Bearer abcdefghijk1 now", "send Bearer [REDACTED] now"),
            ("bad sk-Proj_abc123 used", "bad [REDACTED] used"),
            ("(SK-ABCDEFG)", "([REDACTED])"),
            ("Incorrect: sk-abc***********wxyz.", "Incorrect: [REDACTED]"),
        ] {
            assert_eq!(clean(text), expected, "{text}");
        }
    }

    #[test]
    fn ordinary_prose_about_credentials_stays() {
        for text in [
            "Incorrect API key provided. Find yours in the settings.",
            "The bearer of bad news: the API key is missing",
            "Missing authorization header",
            "task-force sk-1",
            "令牌无效，请检查 API key 是否正确",
        ] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn control_characters_go_and_line_ends_stay() {
        assert_eq!(clean(" a\u{0}b\tc\nd\r\u{1b}[0m\u{85} "), "ab\tc\nd\r[0m");
        assert_eq!(clean("the-\u{0}key/9"), "[REDACTED]");
        assert_eq!(upstream_text(" \u{0} ", &Secret::default()), None);
    }

    proptest! {
        #[test]
        fn the_key_never_survives_and_the_length_is_bounded(
            before in "[ -~点\n]{0,3000}", key in "[a-z0-9_-]{4,80}", after in "[ -~]{0,3000}",
        ) {
            let shown = upstream_text(&format!("{before}{key}{after}"), &Secret::new(key.clone()));
            let shown = shown.unwrap_or_default();
            prop_assert!(!shown.contains(&key), "{}", shown);
            prop_assert!(shown.chars().count() <= UPSTREAM_CHARS_MAX);
        }
    }
}
