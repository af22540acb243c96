//! Pictures that a model can take: bytes that are what their type says, and not too many of them.

use std::borrow::Cow;

use crate::request::{Message, Part, Request};

/// Pictures of one request. Anthropic lets 20 be of full size, and every one costs the reading of a page.
const PICTURES_MAX: usize = 20;
/// How many of the oldest go at once, so that the beginning of a long conversation does not change with every picture
/// (the provider's cache hangs on it).
const PICTURES_STEP: usize = 10;
/// Characters of all pictures' base64 together: requests end at 20 MB with the strictest of the large providers.
const PICTURE_CHARS_MAX: usize = 15 * 1024 * 1024;

/// What stands in the place of a picture that is no longer sent.
const OLDER: &str = "(an older picture is no longer shown)";
/// What stands in the place of bytes that no model takes.
const UNREADABLE: &str = "(a picture in a format that models do not take was left out)";

/// A part as it is sent.
pub(crate) enum Sent<'a> {
    Text(Cow<'a, str>),
    Image { media_type: &'static str, data: &'a str },
}

impl Sent<'_> {
    pub(crate) const fn is_image(&self) -> bool {
        matches!(self, Self::Image { .. })
    }
}

/// Turns parts into what is sent, oldest part first.
#[derive(Debug)]
pub(crate) struct Pictures {
    /// How many of the next pictures are too old.
    too_old: usize,
}

impl Pictures {
    pub(crate) fn of(request: &Request) -> Self {
        let lengths: Vec<usize> = request.messages.iter().flat_map(lengths).collect();
        let mut too_old = match lengths.len().checked_sub(PICTURES_MAX) {
            None | Some(0) => 0,
            Some(over) => over.div_ceil(PICTURES_STEP) * PICTURES_STEP,
        };
        let kept = |from: usize| lengths.iter().skip(from).sum::<usize>();
        while too_old < lengths.len() && kept(too_old) > PICTURE_CHARS_MAX {
            too_old += 1;
        }
        Self { too_old }
    }

    /// What is sent for a part. Every picture of the conversation must be asked for, in order.
    pub(crate) fn sent<'a>(&mut self, part: &'a Part) -> Sent<'a> {
        match part {
            Part::Text { text } => Sent::Text(Cow::Borrowed(text)),
            Part::Image { .. } if self.too_old > 0 => {
                self.too_old -= 1;
                Sent::Text(Cow::Borrowed(OLDER))
            }
            Part::Image { data, .. } => match media_type(data) {
                Some(media_type) => Sent::Image { media_type, data },
                None => Sent::Text(Cow::Borrowed(UNREADABLE)),
            },
        }
    }
}

fn lengths(message: &Message) -> impl Iterator<Item = usize> + '_ {
    let parts = match message {
        Message::User { parts } | Message::ToolResult { parts, .. } => parts.as_slice(),
        Message::Assistant { .. } => &[],
    };
    parts.iter().filter_map(|part| match part {
        Part::Image { data, .. } => Some(data.len()),
        Part::Text { .. } => None,
    })
}

/// The type of a picture by its first bytes, whatever it was called; `None` when no model takes it or the base64 is
/// broken.
fn media_type(data: &str) -> Option<&'static str> {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let body = data.strip_suffix("==").or_else(|| data.strip_suffix('=')).unwrap_or(data);
    if !data.len().is_multiple_of(4) || !body.bytes().all(is_base64) {
        return None;
    }
    let first = beginning(data);
    match first.as_slice() {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => Some("image/webp"),
        _ => None,
    }
}

/// The first twelve bytes.
fn beginning(data: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => 0,
    };
    let digits: Vec<u32> = data.bytes().take(16).map(value).collect();
    let mut out = Vec::new();
    for four in digits.chunks_exact(4) {
        let bits = four.iter().fold(0, |bits, digit| (bits << 6) | digit);
        out.extend(bits.to_be_bytes().into_iter().skip(1));
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{PICTURE_CHARS_MAX, Pictures, Sent, media_type};
    use crate::request::{Message, Parameters, Part, Request};

    /// The smallest PNG: one pixel.
    pub(crate) const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn shown(pictures: &[&str]) -> Vec<bool> {
        let part = |data: &&str| Part::Image { media_type: "image/png".into(), data: (*data).into() };
        let parts: Vec<Part> = pictures.iter().map(part).collect();
        let request = Request {
            model: "m".into(),
            system: String::new(),
            messages: vec![Message::User { parts: parts.clone() }],
            tools: vec![],
            parameters: Parameters::default(),
        };
        let mut pictures = Pictures::of(&request);
        parts.iter().map(|part| pictures.sent(part).is_image()).collect()
    }

    #[test]
    fn a_picture_is_what_its_bytes_say() {
        for (data, expected) in [
            (PNG, Some("image/png")),
            ("/9j/4AAQSkZJRgABAQAAAQABAAA=", Some("image/jpeg")),
            ("R0lGODlhAQABAAAAACw=", Some("image/gif")),
            ("UklGRiIAAABXRUJQVlA4IBYA", Some("image/webp")),
            ("PHN2ZyB4bWxucz0i", None),
            ("Qk02AAAAAAAAADYA", None),
            ("", None),
            ("iVBORw0KGgo", None),
            ("iVBORw0KGgoAAA\n=", None),
        ] {
            assert_eq!(media_type(data), expected, "{data}");
        }
        let wrong = Part::Image { media_type: "image/jpeg".into(), data: PNG.into() };
        let sent = Pictures { too_old: 0 }.sent(&wrong);
        assert!(matches!(sent, Sent::Image { media_type: "image/png", .. }));
    }

    #[test]
    fn the_newest_pictures_are_kept_and_old_ones_go_in_steps() {
        let count = |all: usize| shown(&vec![PNG; all]).into_iter().filter(|shown| *shown).count();
        assert_eq!([20, 21, 30, 31, 40].map(count), [20, 11, 20, 11, 20]);
        let kept = shown(&[PNG; 21]);
        assert!(!kept[9] && kept[10]);
        let large = format!("{}{}", PNG.split_at(12).0, "A".repeat(PICTURE_CHARS_MAX / 2));
        assert_eq!(shown(&[&large, &large, PNG]), [false, true, true]);
    }
}
