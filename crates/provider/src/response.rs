//! What a model answers: events while it streams, and the whole at the end.

use panelot_base::SortedSet;
use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::request::ToolCall;

/// One thing that a stream brought. Events show progress; the [`Response`] at the end is what counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum StreamEvent {
    /// More of the visible answer; never empty.
    Text(String),
    /// More of the reasoning; never empty.
    Reasoning(String),
    /// A tool call became known by name. Its place in [`Response::tool_calls`] is `index`.
    ToolCallStarted {
        /// Place of the call among the response's calls, from 0.
        index: usize,
        /// Name of the tool, as far as the stream has told it.
        name: String,
    },
    /// More of a call's arguments arrived.
    ToolCallArguments {
        /// Place of the call among the response's calls, from 0.
        index: usize,
        /// Bytes of arguments that this event brought; a sign of life for a long call, not the content.
        bytes: usize,
    },
}

/// A complete answer.
///
/// `tool_calls` is not empty exactly when `stop_reason` is [`StopReason::ToolUse`]: calls of an answer that was cut by
/// a limit or a filter may be incomplete, and are dropped rather than run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The visible answer; equals the concatenated [`StreamEvent::Text`] events of a stream.
    pub text: String,
    /// The reasoning; empty when the model showed none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// What the model asked for, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Tokens used; `None` when the provider does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// What the provider wants back with this turn and nobody else understands: signed thinking, encrypted reasoning,
    /// the name under which the reasoning came. See [`Message::Assistant`](crate::Message::Assistant).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vendor: Map<String, Value>,
}

impl Response {
    /// Renames calls whose id is already in `used` (ids of the history), so that the next request stays legal.
    ///
    /// Deterministic: a taken id `x` becomes the first free of `x-2`, `x-3`, and so on.
    pub fn make_call_ids_unique(&mut self, used: &SortedSet<String>) {
        make_unique(&mut self.tool_calls, used);
    }
}

/// Gives every call an id that is not empty, not in `used` and not that of another call.
pub(crate) fn make_unique(calls: &mut [ToolCall], used: &SortedSet<String>) {
    let mut taken = used.clone();
    for (index, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("call_{index}");
        }
        if taken.contains(&call.id) {
            let free = (2u64..).map(|n| format!("{}-{n}", call.id)).find(|id| !taken.contains(id));
            call.id = free.unwrap_or_default();
        }
        taken.insert(call.id.clone());
    }
}

/// Tokens of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the whole request, those read from and written to a cache included.
    pub input: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// Part of `input` that came from the provider's cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Part of `input` that was written to the provider's cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    End,
    /// It waits for the results of its calls.
    ToolUse,
    /// The answer reached a token limit and is cut.
    MaxTokens,
    /// The provider's filter ended the answer.
    ContentFilter,
}

#[cfg(test)]
mod tests {
    use panelot_base::SortedSet;

    use super::make_unique;
    use crate::request::ToolCall;

    #[test]
    fn empty_and_taken_ids_become_free_ones_and_others_stay() {
        let mut calls: Vec<_> = ["a", "", "b", "b", "b-2"]
            .map(|id| ToolCall {
                id: id.into(),
                name: "t".into(),
                arguments: String::new(),
                vendor: serde_json::Map::new(),
            })
            .into();
        make_unique(&mut calls, &SortedSet::from_iter(["a".to_owned(), "a-2".to_owned()]));
        let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a-3", "call_1", "b", "b-2", "b-2-2"]);
    }
}
