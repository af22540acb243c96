//! The order of a turn whose parts are signed: providers take their thinking back only in the very place where it stood.
//!
//! Kept in the turn's vendor members is a list of slots. Text and reasoning are told by their length, because the turn
//! has them already.

use serde_json::{Map, Value, json};

use crate::request::ToolCall;

/// A piece of a turn in its place.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    Text(&'a str, &'a Map<String, Value>),
    /// With what the provider put on it.
    Reasoning(&'a str, &'a Map<String, Value>),
    Call(&'a ToolCall),
    /// As the provider sent it.
    AsIs(&'a Value),
}

/// The slot of `bytes` of text or reasoning.
pub(crate) fn slot(kind: &str, bytes: usize, marks: Map<String, Value>) -> Value {
    let mut slot = marks;
    slot.insert("slot".to_owned(), kind.into());
    slot.insert("bytes".to_owned(), bytes.into());
    Value::Object(slot)
}

/// The slot of the next call.
pub(crate) fn call_slot() -> Value {
    json!({"slot": "call"})
}

/// The slot of something that goes back as it is.
pub(crate) fn as_is_slot(value: Value) -> Value {
    json!({"slot": "as_is", "value": value})
}

/// The pieces of a turn in the order of `slots`, or, where they do not fit what the turn is now (a call was dropped, a
/// text was cut), what is signed first, then the text, then the calls.
pub(crate) fn arrange<'a>(
    (text, reasoning, calls): (&'a str, &'a str, &'a [ToolCall]),
    slots: Option<&'a Value>,
    no_marks: &'a Map<String, Value>,
) -> Vec<Piece<'a>> {
    let slots = slots.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut left = (text, reasoning, calls);
    let pieces: Option<Vec<Piece<'a>>> = slots.iter().map(|slot| take(slot, &mut left)).collect();
    if let Some(pieces) = pieces.filter(|_| !slots.is_empty() && left.0.is_empty() && left.2.is_empty()) {
        return pieces;
    }
    let mut left = ("", reasoning, &[][..]);
    let is_signed =
        |slot: &&Value| matches!(slot.get("slot").and_then(Value::as_str), Some("reasoning" | "as_is"));
    let signed: Option<Vec<Piece<'a>>> =
        slots.iter().filter(is_signed).map(|slot| take(slot, &mut left)).collect();
    let mut pieces = signed.unwrap_or_default();
    if !text.is_empty() {
        pieces.push(Piece::Text(text, no_marks));
    }
    pieces.extend(calls.iter().map(Piece::Call));
    pieces
}

/// Takes what a slot stands for from what is left.
fn take<'a>(slot: &'a Value, left: &mut (&'a str, &'a str, &'a [ToolCall])) -> Option<Piece<'a>> {
    let slot = slot.as_object()?;
    let bytes = slot.get("bytes").and_then(Value::as_u64).and_then(|bytes| usize::try_from(bytes).ok());
    match slot.get("slot").and_then(Value::as_str)? {
        "text" => {
            let (head, tail) = left.0.split_at_checked(bytes?)?;
            left.0 = tail;
            Some(Piece::Text(head, slot))
        }
        "reasoning" => {
            let (head, tail) = left.1.split_at_checked(bytes?)?;
            left.1 = tail;
            Some(Piece::Reasoning(head, slot))
        }
        "call" => {
            let (first, rest) = left.2.split_first()?;
            left.2 = rest;
            Some(Piece::Call(first))
        }
        "as_is" => slot.get("value").map(Piece::AsIs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{Piece, arrange, as_is_slot, call_slot, slot};
    use crate::request::ToolCall;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into(), vendor: Map::new() }
    }

    fn told(text: &str, reasoning: &str, calls: &[ToolCall], slots: &Value) -> Vec<String> {
        let none = Map::new();
        let tell = |piece: Piece<'_>| match piece {
            Piece::Text(text, _) => format!("text {text}"),
            Piece::Reasoning(text, marks) => format!("reasoning {text} {}", marks["signature"]),
            Piece::Call(call) => format!("call {}", call.id),
            Piece::AsIs(value) => format!("as is {value}"),
        };
        arrange((text, reasoning, calls), Some(slots), &none).into_iter().map(tell).collect()
    }

    #[test]
    fn pieces_stand_where_they_stood_and_signed_ones_first_when_the_turn_has_changed() {
        let marks = |name: &str| Map::from_iter([("signature".to_owned(), Value::from(name))]);
        let slots = json!([
            slot("reasoning", 2, marks("s1")),
            slot("text", 3, Map::new()),
            as_is_slot(json!(7)),
            slot("reasoning", 1, marks("s2")),
            call_slot(),
        ]);
        let calls = [call("a")];
        assert_eq!(
            told("abc", "hmx", &calls, &slots),
            ["reasoning hm \"s1\"", "text abc", "as is 7", "reasoning x \"s2\"", "call a"]
        );
        let first = ["reasoning hm \"s1\"", "as is 7", "reasoning x \"s2\""];
        assert_eq!(told("abcd", "hmx", &calls, &slots), [&first[..], &["text abcd", "call a"]].concat());
        assert_eq!(told("abc", "hmx", &[], &slots), [&first[..], &["text abc"]].concat());
        assert_eq!(told("abc", "h", &calls, &slots), ["text abc", "call a"]);
        assert_eq!(told("abc", "", &calls, &json!([])), ["text abc", "call a"]);
        assert_eq!(told("点", "", &[], &json!([slot("text", 1, Map::new())])), ["text 点"]);
    }
}
