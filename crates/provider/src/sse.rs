//! Server-sent events as the WHATWG HTML standard defines them (section 9.2.6), without I/O.
//!
//! Two deviations, both for real providers: an event that the end of the stream cuts off before its blank line is
//! given out by [`Parser::finish`], and lines and events are bounded by [`EVENT_BYTES_MAX`].

use crate::limits::EVENT_BYTES_MAX;

/// The fields of the standard.
const FIELDS: [&str; 4] = ["data", "event", "id", "retry"];

/// One event. `id` and `retry` fields are read over: nothing is ever resumed by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event` field; empty when there was none.
    pub name: String,
    /// The `data` fields, joined by line feeds.
    pub data: String,
}

/// A line or an event is longer than [`EVENT_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {EVENT_BYTES_MAX} bytes")]
pub struct TooLong;

/// Turns bytes, cut anywhere, into events.
///
/// A line is decoded when it is complete, so a character that two chunks share is never broken. Invalid UTF-8 becomes
/// U+FFFD.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    first_line_done: bool,
    after_carriage_return: bool,
    event: Event,
    has_data: bool,
    foreign: bool,
}

impl Parser {
    /// Reads more bytes and appends the events that they complete.
    ///
    /// # Errors
    /// [`TooLong`]; what came before is in `events`, and the parser is of no further use.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        if self.after_carriage_return && !bytes.is_empty() {
            self.after_carriage_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, rest) = bytes.split_at(end);
            self.extend_line(head)?;
            self.end_line(events)?;
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_carriage_return = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.extend_line(bytes)
    }

    /// Ends the stream; gives the last event when its blank line never came.
    pub fn finish(&mut self) -> Option<Event> {
        let foreign_before = self.foreign;
        let cut_field = FIELDS.iter().any(|field| field.as_bytes().starts_with(&self.line));
        // A line that is too long here was refused by `push` already.
        if !self.line.is_empty() {
            self.end_line(&mut Vec::new()).ok()?;
        }
        self.foreign = foreign_before || (self.foreign && !cut_field);
        std::mem::take(&mut self.has_data).then(|| std::mem::take(&mut self.event))
    }

    /// Whether a line came that is no field of an event stream: the body is likely something else, HTML for one.
    #[must_use]
    pub const fn saw_foreign_line(&self) -> bool {
        self.foreign
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len().saturating_add(bytes.len()) > EVENT_BYTES_MAX {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.first_line_done, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        let text = String::from_utf8_lossy(&line);
        if text.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
        } else {
            let (field, value) = text.split_once(':').unwrap_or((&text, ""));
            self.field(field, value.strip_prefix(' ').unwrap_or(value))?;
        }
        // The buffer is used again: a stream has thousands of lines.
        line.clear();
        self.line = line;
        Ok(())
    }

    fn field(&mut self, field: &str, value: &str) -> Result<(), TooLong> {
        match field {
            "data" => {
                if self.event.data.len().saturating_add(value.len()) >= EVENT_BYTES_MAX {
                    return Err(TooLong);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            "" | "id" | "retry" => {}
            _ => self.foreign = true,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Event, Parser, TooLong};
    use crate::limits::EVENT_BYTES_MAX;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.into(), data: data.into() }
    }

    fn parse(chunks: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            parser.push(chunk, &mut events).unwrap();
        }
        events.extend(parser.finish());
        events
    }

    #[test]
    fn each_rule_of_the_standard_holds() {
        let table: &[(&str, &[Event])] = &[
            ("data: a\n\ndata: b\n\n", &[event("", "a"), event("", "b")]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &[event("", "a"), event("", "b")]),
            ("data: a\r\rdata: b\r\r", &[event("", "a"), event("", "b")]),
            ("data: a\r\n\ndata: b\n\r", &[event("", "a"), event("", "b")]),
            ("data:a\ndata:  b\ndata\n\n", &[event("", "a\n b\n")]),
            ("\u{feff}data: a\n\n", &[event("", "a")]),
            ("data: \u{feff}a\n\n", &[event("", "\u{feff}a")]),
            (": comment\ndata: a\n:\n\n", &[event("", "a")]),
            ("event: error\ndata: a\n\ndata: b\n\n", &[event("error", "a"), event("", "b")]),
            ("event: lost\n\ndata: b\n\n", &[event("", "b")]),
            ("id: 1\nretry: 5\nunknown: x\ndata: a\n\n", &[event("", "a")]),
            ("data\n\n", &[event("", "")]),
            ("\n\n\n", &[]),
            ("data: a\n\ndata: unfinished", &[event("", "a"), event("", "unfinished")]),
            ("data: 点😀\n\n", &[event("", "点😀")]),
        ];
        for (text, expected) in table {
            assert_eq!(&parse(&[text.as_bytes()]), expected, "{text:?}");
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(&parse(&bytes), expected, "byte by byte: {text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(parse(&[b"data: a\xff\xe7\x82\n\n"]), [event("", "a\u{fffd}\u{fffd}")]);
    }

    #[test]
    fn a_line_or_an_event_without_end_is_refused_and_not_stored() {
        let mut parser = Parser::default();
        let chunk = vec![b'x'; 1024 * 1024];
        let refused = (0..100).find(|_| parser.push(&chunk, &mut Vec::new()) == Err(TooLong));
        assert_eq!(refused, Some(EVENT_BYTES_MAX / chunk.len()));
        let mut parser = Parser::default();
        let line = [b"data: ".as_slice(), &chunk, b"\n"].concat();
        let refused = (0..100).find(|_| parser.push(&line, &mut Vec::new()) == Err(TooLong));
        assert_eq!(refused, Some(3));
    }

    #[test]
    fn a_page_instead_of_a_stream_is_noticed() {
        let mut parser = Parser::default();
        parser.push(b": ping\ndata: a\n\n", &mut Vec::new()).unwrap();
        assert!(!parser.saw_foreign_line());
        parser.push(b"<!doctype html>\n", &mut Vec::new()).unwrap();
        assert!(parser.saw_foreign_line());
        for (cut, foreign) in [("dat", false), ("<ht", true), ("datum", true), ("", false)] {
            let mut parser = Parser::default();
            parser.push(cut.as_bytes(), &mut Vec::new()).unwrap();
            assert_eq!((parser.finish(), parser.saw_foreign_line()), (None, foreign), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_chunking_of_any_text_gives_the_same_events(
            text in "(data: ?|event:|:|\u{feff}|[a点😀]|\r|\n|\r\n|\n\n){0,40}",
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([bytes.len()]) {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(parse(&chunks), parse(&[bytes]));
        }
    }
}
