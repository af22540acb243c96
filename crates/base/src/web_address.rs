//! Reading web addresses whose host is not written in ASCII, without the tables of Unicode.
//!
//! `idna_adapter` is pinned to the version without tables, which spares the worker 125 kB. The browser reports hosts in
//! their ASCII form, so only what a person or a model types comes here; why, and what is left out: decision 0011.

use url::{ParseError, Url};

/// Code points that stand for themselves in a host name once they are in lower case: no mapping and no normalisation
/// (UTS 46) changes them. Latin, Greek, Cyrillic, Thai, kana, CJK ideographs and hangul; checked one by one against the
/// full tables.
const PLAIN: [(char, char); 20] = [
    ('\u{df}', '\u{f6}'),
    ('\u{f8}', '\u{131}'),
    ('\u{134}', '\u{13e}'),
    ('\u{141}', '\u{148}'),
    ('\u{14a}', '\u{17e}'),
    ('\u{3ac}', '\u{3ce}'),
    ('\u{430}', '\u{45f}'),
    ('\u{48b}', '\u{48b}'),
    ('\u{e01}', '\u{e32}'),
    ('\u{e34}', '\u{e39}'),
    ('\u{e40}', '\u{e4e}'),
    ('\u{1ea0}', '\u{1ef9}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3041}', '\u{3096}'),
    ('\u{30a1}', '\u{30fa}'),
    ('\u{30fc}', '\u{30fe}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{ac00}', '\u{d7a3}'),
    ('\u{20000}', '\u{2ebe0}'),
];

/// Reads an address, as the URL standard does.
///
/// A host beyond ASCII is read where each of its letters is of a script that needs no tables; full-width letters and
/// dots, as Chinese keyboards write them, are understood too.
///
/// # Errors
/// Those of [`Url::parse`]; [`ParseError::IdnaError`] also for a host in another script, which has to be written in its
/// ASCII form (`xn--…`).
pub fn parse_url(text: &str) -> Result<Url, ParseError> {
    match Url::parse(text) {
        Err(ParseError::IdnaError) => {
            with_ascii_host(text).ok_or(ParseError::IdnaError).and_then(|text| Url::parse(&text))
        }
        read => read,
    }
}

/// The same address with its host in ASCII. What this makes is read again by the standard's parser, which has the last
/// word on where the host is.
fn with_ascii_host(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at_checked(end)?;
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let (host, port) = host.rsplit_once(':').map_or((host, None), |(host, port)| (host, Some(port)));
    let mut out = format!("{scheme}://");
    if let Some(user) = user {
        out.push_str(user);
        out.push('@');
    }
    let narrow: String = host.chars().map(narrow).collect();
    for (index, label) in narrow.split('.').enumerate() {
        if index > 0 {
            out.push('.');
        }
        push_label(&mut out, label)?;
    }
    if let Some(port) = port {
        out.push(':');
        out.push_str(port);
    }
    out.push_str(tail);
    Some(out)
}

/// The usual form of a full-width letter, digit or dot.
fn narrow(c: char) -> char {
    match c {
        '\u{3002}' | '\u{ff61}' => '.',
        '\u{ff0d}'..='\u{ff0e}'
        | '\u{ff10}'..='\u{ff19}'
        | '\u{ff21}'..='\u{ff3a}'
        | '\u{ff41}'..='\u{ff5a}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    }
}

fn push_label(out: &mut String, label: &str) -> Option<()> {
    if label.is_ascii() {
        out.push_str(label);
        return Some(());
    }
    let label: String = label.chars().flat_map(char::to_lowercase).collect();
    let plain = |c: char| {
        c == '-'
            || c.is_ascii_alphanumeric()
            || PLAIN.iter().any(|(first, last)| (*first..=*last).contains(&c))
    };
    // Two hyphens in the third and fourth place are kept for encodings.
    let encoded = label.chars().skip(2).take(2).eq("--".chars());
    if encoded || label.starts_with('-') || label.ends_with('-') || !label.chars().all(plain) {
        return None;
    }
    out.push_str("xn--");
    out.push_str(&idna::punycode::encode_str(&label)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{PLAIN, parse_url};
    use url::ParseError;

    #[test]
    fn a_host_beyond_ascii_is_read_in_its_ascii_form() {
        for (text, expected) in [
            ("https://münchen.test/", "https://xn--mnchen-3ya.test/"),
            ("https://BÜCHER.example:8443/Ä?ö#ü", "https://xn--bcher-kva.example:8443/%C3%84?%C3%B6#%C3%BC"),
            ("https://例え.テスト/a", "https://xn--r8jz45g.xn--zckzah/a"),
            ("http://中国。中国/", "http://xn--fiqs8s.xn--fiqs8s/"),
            ("https://ｅｘａｍｐｌｅ．ｃｏｍ/", "https://example.com/"),
            ("https://пример.испытание", "https://xn--e1afmkfd.xn--80akhbyknj4f/"),
            ("https://한국.test", "https://xn--3e0b707e.test/"),
            ("https://me@例え.test/", "https://me@xn--r8jz45g.test/"),
            ("https://xn--r8jz45g.test/", "https://xn--r8jz45g.test/"),
            ("https://plain.test/例", "https://plain.test/%E4%BE%8B"),
        ] {
            assert_eq!(parse_url(text).map(String::from).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_host_that_would_need_the_tables_is_refused() {
        for text in [
            "https://e\u{301}.test/",   // composed by normalisation
            "https://ﬁ.test/",          // a ligature
            "https://①.test/",          // a circled digit
            "https://שלום.test/",       // written from right to left
            "https://a\u{200d}b.test/", // a joiner
            "https://例 え.test/",      // a space
            "https://ab--ü.test/",      // the place of an encoding
            "https://-ü.test/",         // a hyphen at the edge
            "https://例え／x.test/",    // a slash look-alike
        ] {
            assert_eq!(parse_url(text), Err(ParseError::IdnaError), "{text}");
        }
    }

    #[test]
    fn the_host_stays_where_the_standard_sees_it() {
        let host = |text| parse_url(text).ok().and_then(|url| url.host_str().map(str::to_owned));
        assert_eq!(host("https://bank.test@例え.test/").as_deref(), Some("xn--r8jz45g.test"));
        assert_eq!(host("https://例え.test\\@bank.test/").as_deref(), Some("xn--r8jz45g.test"));
        assert_eq!(host("https://例え.test?@bank.test/").as_deref(), Some("xn--r8jz45g.test"));
        assert_eq!(host("https://例え／x@evil.test/").as_deref(), Some("evil.test"));
        assert_eq!(parse_url("https://例え.test:port/"), Err(ParseError::InvalidPort));
    }

    #[test]
    fn the_plain_ranges_are_in_order_and_apart() {
        assert!(PLAIN.iter().all(|(first, last)| first <= last));
        assert!(PLAIN.iter().zip(PLAIN.iter().skip(1)).all(|(one, next)| one.1 < next.0));
    }
}
