//! Foreign text made harmless: one line, visible characters, quotes that cannot be closed from inside.

/// What a character costs, in quarters of a token: ASCII four to a token, other alphabets two, ideographs and
/// symbols one. An estimate on the safe side of what common tokenizers need.
#[must_use]
pub const fn units(character: char) -> usize {
    match character as u32 {
        0..=0x7f => 1,
        0x80..=0x2e7f => 2,
        _ => 4,
    }
}

/// What a text costs, in quarters of a token.
#[must_use]
pub fn cost(text: &str) -> usize {
    text.chars().map(units).sum()
}

/// Writes `text` into `out` with white space collapsed and everything escaped that could change how the line reads,
/// up to `units_max`; a longer text ends in an ellipsis.
pub fn push_plain(out: &mut String, text: &str, units_max: usize) {
    const ELLIPSIS_UNITS: usize = 2;
    let (mut spent, mut pending_space, mut safe_end) = (0, false, out.len());
    let start = out.len();
    for character in text.chars() {
        if is_space(character) {
            pending_space = out.len() > start;
            continue;
        }
        let before = out.len();
        if pending_space {
            out.push(' ');
        }
        pending_space = false;
        push_character(out, character);
        spent += out.get(before..).map_or(0, cost);
        if spent > units_max {
            out.truncate(safe_end);
            out.push('…');
            return;
        }
        if spent + ELLIPSIS_UNITS <= units_max {
            safe_end = out.len();
        }
    }
}

/// [`push_plain`] between double quotes; the quotes are not counted.
pub fn push_quoted(out: &mut String, text: &str, units_max: usize) {
    out.push('"');
    push_plain(out, text, units_max);
    out.push('"');
}

/// `text` in quotes, as [`push_quoted`] writes it.
#[must_use]
pub fn quoted(text: &str, units_max: usize) -> String {
    let mut out = String::new();
    push_quoted(&mut out, text, units_max);
    out
}

/// Cuts a text into pieces of at most `units_max` each, after escaping, at white space where there is some.
pub(crate) fn pieces(text: &str, units_max: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let (mut piece, mut spent) = (String::new(), 0);
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        let mut escaped = String::new();
        for character in word.chars() {
            push_character(&mut escaped, character);
        }
        let (space, units) = (usize::from(!piece.is_empty()), cost(&escaped));
        if spent + space + units <= units_max {
            piece.extend((space == 1).then_some(' '));
            piece.push_str(&escaped);
            spent += space + units;
            continue;
        }
        if !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            spent = 0;
        }
        // A word that is too long by itself (Chinese has no spaces) is cut between characters.
        for character in word.chars() {
            let mut one = String::new();
            push_character(&mut one, character);
            if spent + cost(&one) > units_max && !piece.is_empty() {
                pieces.push(std::mem::take(&mut piece));
                spent = 0;
            }
            spent += cost(&one);
            piece.push_str(&one);
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

fn push_character(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        hidden if is_hidden(hidden) => out.extend(hidden.escape_unicode()),
        plain => out.push(plain),
    }
}

/// White space in the wide sense: also what some programs treat as the end of a line.
fn is_space(character: char) -> bool {
    character.is_whitespace()
}

/// Characters that cannot be seen or that reorder what is seen: controls, zero-width and bidirectional marks, tags,
/// variation selectors in bulk, interlinear annotations (Unicode categories Cc, Cf and the ignorable ranges).
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character as u32,
            0xad | 0x34f | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f
            | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
            | 0x1_bca0..=0x1_bca3 | 0x1_d173..=0x1_d17a | 0xe_0000..=0xe_0fff)
}

#[cfg(test)]
mod tests {
    use super::{cost, pieces, quoted};

    #[test]
    fn a_text_cannot_close_its_quotes_or_its_line() {
        let cases = [
            ("plain", "\"plain\""),
            ("  two \n\t words ", "\"two words\""),
            ("\"\n[k7q2-9] button \"Pay", "\"\\\" [k7q2-9] button \\\"Pay\""),
            ("back\\slash", "\"back\\\\slash\""),
            ("a\u{202e}b\u{200b}c\u{0}d", "\"a\\u{202e}b\\u{200b}c\\u{0}d\""),
            ("line\u{2028}sep\u{85}x", "\"line sep x\""),
            ("中文 é", "\"中文 é\""),
        ];
        for (text, want) in cases {
            assert_eq!(quoted(text, 1000), want);
        }
    }

    #[test]
    fn a_long_text_is_cut_within_its_units_and_says_so() {
        assert_eq!(quoted("abcdef", 6), "\"abcdef\"");
        assert_eq!(quoted("abcdefg", 6), "\"abcd…\"");
        assert_eq!(quoted("中中中", 8), "\"中…\"");
        assert_eq!(quoted("\u{202e}\u{202e}", 10), "\"\\u{202e}…\"");
        for units in 2..40 {
            assert!(cost(&quoted("ab \"中\" \u{202e} word word word", units)) <= units + 2, "{units}");
        }
    }

    #[test]
    fn pieces_lose_nothing_and_stay_small() {
        let text = "One two three. 一二三四五六七八九十 \"quoted\" end";
        let cut = pieces(text, 16);
        assert!(cut.iter().all(|piece| cost(piece) <= 16), "{cut:?}");
        let joined: String = cut.concat().replace(['\\', ' '], "");
        assert_eq!(joined, text.replace(' ', ""));
        assert!(pieces(" \n ", 16).is_empty());
    }
}
