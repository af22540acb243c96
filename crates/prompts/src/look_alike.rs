//! Characters that a model may read as others. Used to find fence markers however they are written.

/// What `c` may be read as, in lower case; `None` when it is not seen at all.
pub(crate) fn folded(c: char) -> Option<char> {
    if is_invisible(c) {
        return None;
    }
    Some(match c {
        // Full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xfee0).map_or(c, |ascii| ascii.to_ascii_lowercase())
        }
        '‹' | '«' | '\u{2329}' | '\u{3008}' | '《' | '﹤' | '≪' | '⋘' | '˂' | '❮' | '❰' | '⟨' | '⟪' | '᚜'
        | 'ᐸ' | '<' => '<',
        '›' | '»' | '\u{232a}' | '\u{3009}' | '》' | '﹥' | '≫' | '⋙' | '˃' | '❯' | '❱' | '⟩' | '⟫' | '᚛'
        | 'ᐳ' | '>' => '>',
        '∕' | '⁄' | '⧸' | '/' => '/',
        '‿' | '⁀' | '﹍' | '﹎' | '﹏' | 'ˍ' | '‗' | '_' => '_',
        // Cyrillic and Greek letters that look like those of the marker.
        'е' | 'Е' | 'ε' | 'Ε' => 'e',
        'о' | 'О' | 'ο' | 'Ο' => 'o',
        'с' | 'С' | 'ϲ' | 'Ϲ' => 'c',
        'в' | 'В' | 'Β' | 'β' => 'b',
        'т' | 'Т' | 'τ' | 'Τ' => 't',
        'п' | 'ո' | 'η' | 'Ν' => 'n',
        'ѡ' | 'ω' | 'ԝ' | 'Ԝ' => 'w',
        'ԁ' => 'd',
        // Mathematical and circled alphabets: 26 capitals and 26 small letters in a row.
        '\u{1d400}'..='\u{1d6a3}' => letter((u32::from(c) - 0x1d400) % 52 % 26),
        'Ⓐ'..='Ⓩ' => letter(u32::from(c) - u32::from('Ⓐ')),
        'ⓐ'..='ⓩ' => letter(u32::from(c) - u32::from('ⓐ')),
        _ => c.to_ascii_lowercase(),
    })
}

fn letter(place: u32) -> char {
    char::from_u32(u32::from('a') + place).unwrap_or('a')
}

/// Format, joining and combining characters, and controls other than white space.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}'
        | '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || (c.is_control() && !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn marker_letters_are_recognised_in_other_alphabets() {
        for text in [
            "web_content",
            "WEB_CONTENT",
            "ｗｅｂ＿ｃｏｎｔｅｎｔ",
            "wеb_соntеnt",
            "𝐰𝐞𝐛_𝕔𝕠𝕟𝕥𝕖𝕟𝕥",
            "ⓦⓔⓑ_Ⓒⓞⓝⓣⓔⓝⓣ",
            "w\u{200b}e\u{301}b_con\u{ad}tent",
        ] {
            assert_eq!(text.chars().filter_map(folded).collect::<String>(), "web_content", "{text}");
        }
        assert_eq!("＜﹤《«".chars().filter_map(folded).collect::<String>(), "<<<<");
    }

    #[test]
    fn ordinary_text_keeps_its_letters() {
        assert_eq!("点a B\n".chars().filter_map(folded).collect::<String>(), "点a b\n");
    }
}
