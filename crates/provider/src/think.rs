//! Reasoning that stands inside the answer: servers that run an open model without a parser for it send
//! `<think>…</think>` at the start of the content.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Part of the content, told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Of the answer.
    Text(String),
    /// Of the reasoning before it.
    Reasoning(String),
}

/// Tells the two apart while the content streams, tags cut anywhere. Only a tag at the very start counts: later ones
/// are the model's own words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Splitter {
    state: State,
    /// What may still become a tag.
    held: String,
    saw_tag: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space so far.
    #[default]
    Start,
    Inside,
    Answer,
}

impl Splitter {
    /// Takes more content and gives what is certain by now.
    pub(crate) fn push(&mut self, content: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.held.push_str(content);
        if self.state == State::Start {
            let start = self.held.trim_start();
            if let Some(inside) = start.strip_prefix(OPEN) {
                self.held = inside.to_owned();
                self.state = State::Inside;
                self.saw_tag = true;
            } else if start.is_empty() || !OPEN.starts_with(start) {
                self.state = if start.is_empty() { State::Start } else { State::Answer };
                pieces.extend(self.flush());
            }
        }
        if self.state == State::Inside {
            if let Some((inside, after)) = self.held.split_once(CLOSE) {
                pieces.push(Piece::Reasoning(inside.to_owned()));
                self.held = after.to_owned();
                self.state = State::Answer;
            } else {
                let kept = (1..CLOSE.len())
                    .rev()
                    .find(|len| CLOSE.get(..*len).is_some_and(|beginning| self.held.ends_with(beginning)));
                let tail = self.held.split_off(self.held.len() - kept.unwrap_or(0));
                pieces.push(Piece::Reasoning(std::mem::replace(&mut self.held, tail)));
            }
        }
        if self.state == State::Answer {
            pieces.extend(self.flush());
        }
        pieces
            .retain(|piece| !matches!(piece, Piece::Text(text) | Piece::Reasoning(text) if text.is_empty()));
        pieces
    }

    /// Whether the content began with a tag.
    pub(crate) const fn saw_tag(&self) -> bool {
        self.saw_tag
    }

    /// Gives out what was held back, because the content is over or something else follows.
    pub(crate) fn flush(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return None;
        }
        Some(if self.state == State::Inside { Piece::Reasoning(held) } else { Piece::Text(held) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Piece, Splitter};

    /// (reasoning, answer) of content that arrives in `pieces`.
    fn split<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let mut splitter = Splitter::default();
        let mut out = (String::new(), String::new());
        let mut take = |piece| match piece {
            Piece::Reasoning(text) => out.0.push_str(&text),
            Piece::Text(text) => out.1.push_str(&text),
        };
        for piece in pieces {
            splitter.push(piece).into_iter().for_each(&mut take);
        }
        splitter.flush().into_iter().for_each(take);
        out
    }

    #[test]
    fn only_a_tag_at_the_start_is_reasoning() {
        for (content, reasoning, answer) in [
            ("<think>hm</think>\n\nyes", "hm", "\n\nyes"),
            ("\n <think>hm</think>yes", "hm", "yes"),
            ("<think>never closed <", "never closed <", ""),
            ("<think></think>yes", "", "yes"),
            ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
            ("yes <think>no</think>", "", "yes <think>no</think>"),
            ("<thinking>", "", "<thinking>"),
            ("<th", "", "<th"),
            ("  ", "", "  "),
            ("", "", ""),
        ] {
            assert_eq!(split([content]), (reasoning.to_owned(), answer.to_owned()), "{content}");
        }
    }

    #[test]
    fn nothing_is_held_back_that_cannot_become_a_tag() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push("  "), [Piece::Text("  ".into())]);
        assert_eq!(splitter.push("<thi"), []);
        assert_eq!(splitter.push("nk>a</"), [Piece::Reasoning("a".into())]);
        assert_eq!(splitter.push("b"), [Piece::Reasoning("</b".into())]);
        assert_eq!(splitter.push("</think>c<"), [Piece::Text("c<".into())]);
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(parts in prop::collection::vec("(<|/|think|>|</think>|<think>|a|点){0,3}", 0..8)) {
            let whole = parts.concat();
            // White space that came before a tag in a piece of its own was shown already, so there is none here.
            let chars: Vec<String> = whole.chars().map(String::from).collect();
            prop_assert_eq!(split(parts.iter().map(String::as_str)), split([whole.as_str()]));
            prop_assert_eq!(split(chars.iter().map(String::as_str)), split([whole.as_str()]));
        }
    }
}
