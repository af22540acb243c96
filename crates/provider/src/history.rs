//! Whether a conversation is one that providers accept.
//!
//! Every wire refuses a tool call without its result and a result without its call, and answers a whole thread's later
//! requests with an error; so it is checked here before anything is sent, and by the simulator after everything.

use crate::request::{Message, Request};
use panelot_base::SortedSet;

/// What is wrong with a conversation. Always a defect of ours, never of a provider or a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// There is nothing to answer.
    #[error("the conversation is empty")]
    Empty,
    /// A call has no result before the next other message.
    #[error("tool call {0} has no result")]
    Unanswered(String),
    /// A result stands where no open call has its id.
    #[error("tool result {0} answers no open call")]
    Orphan(String),
    /// Two calls of the conversation share an id.
    #[error("tool call id {0} is used twice")]
    DuplicateId(String),
    /// A call has no id or no name.
    #[error("tool call {0:?} has an empty id or name")]
    Unnamed(String),
    /// A user message says nothing, or an assistant message has neither text nor calls.
    #[error("message {0} is empty")]
    EmptyMessage(usize),
    /// The last message is the model's own.
    #[error("the conversation ends with the model's own message")]
    EndsWithAssistant,
    /// Two tools share a name.
    #[error("tool {0} is offered twice")]
    DuplicateTool(String),
}

impl Request {
    /// Checks that every call has exactly one result right after its message, that ids and tool names are unique, that
    /// no result is an orphan, that no message is empty, and that somebody other than the model spoke last.
    ///
    /// # Errors
    /// The first violation, in the order of the conversation.
    pub fn check(&self) -> Result<(), HistoryError> {
        let mut names = SortedSet::new();
        for tool in &self.tools {
            if !names.insert(tool.name.as_str()) {
                return Err(HistoryError::DuplicateTool(tool.name.clone()));
            }
        }
        check_messages(&self.messages)?;
        match self.messages.last() {
            None => Err(HistoryError::Empty),
            Some(Message::Assistant { .. }) => Err(HistoryError::EndsWithAssistant),
            Some(_) => Ok(()),
        }
    }
}

fn check_messages(messages: &[Message]) -> Result<(), HistoryError> {
    let mut seen: SortedSet<&str> = SortedSet::new();
    let mut open: SortedSet<&str> = SortedSet::new();
    for (place, message) in messages.iter().enumerate() {
        if let Message::ToolResult { call_id, .. } = message {
            if !open.remove(call_id.as_str()) {
                return Err(HistoryError::Orphan(call_id.clone()));
            }
            continue;
        }
        all_answered(&open)?;
        match message {
            Message::User { parts } if parts.is_empty() => return Err(HistoryError::EmptyMessage(place)),
            Message::Assistant { text, tool_calls, .. } => {
                if text.is_empty() && tool_calls.is_empty() {
                    return Err(HistoryError::EmptyMessage(place));
                }
                for call in tool_calls {
                    if call.id.is_empty() || call.name.is_empty() {
                        return Err(HistoryError::Unnamed(call.id.clone()));
                    }
                    if !seen.insert(&call.id) {
                        return Err(HistoryError::DuplicateId(call.id.clone()));
                    }
                    open.insert(&call.id);
                }
            }
            Message::User { .. } | Message::ToolResult { .. } => {}
        }
    }
    all_answered(&open)
}

fn all_answered(open: &SortedSet<&str>) -> Result<(), HistoryError> {
    open.iter().next().map_or(Ok(()), |id| Err(HistoryError::Unanswered((*id).to_owned())))
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::HistoryError;
    use crate::request::{Message, Parameters, Part, Request, ToolCall, ToolSchema};

    fn user(text: &str) -> Message {
        Message::User { parts: vec![Part::text(text)] }
    }

    fn calls(ids: &[&str]) -> Message {
        let tool_calls = ids
            .iter()
            .map(|id| ToolCall {
                id: (*id).into(),
                name: "t".into(),
                arguments: "{}".into(),
                vendor: serde_json::Map::new(),
            })
            .collect();
        Message::Assistant {
            text: String::new(),
            reasoning: String::new(),
            tool_calls,
            vendor: Default::default(),
        }
    }

    fn says(text: &str) -> Message {
        Message::Assistant {
            text: text.into(),
            reasoning: String::new(),
            tool_calls: vec![],
            vendor: Default::default(),
        }
    }

    fn result(id: &str) -> Message {
        Message::ToolResult { call_id: id.into(), parts: vec![Part::text("ok")], is_error: false }
    }

    fn check(messages: Vec<Message>) -> Result<(), HistoryError> {
        Request {
            model: "m".into(),
            system: String::new(),
            messages,
            tools: vec![],
            parameters: Parameters::default(),
        }
        .check()
    }

    #[test]
    fn legal_conversations_pass() {
        for messages in [
            vec![user("a")],
            vec![user("a"), says("b"), user("c")],
            vec![user("a"), calls(&["1", "2"]), result("2"), result("1")],
            vec![user("a"), calls(&["1"]), result("1"), calls(&["2"]), result("2"), says("x"), user("b")],
            vec![user("a"), user("b")],
        ] {
            assert_eq!(check(messages.clone()), Ok(()), "{messages:?}");
        }
    }

    #[test]
    fn each_way_to_break_a_conversation_is_named() {
        let of = |text: &str| text.to_owned();
        for (messages, error) in [
            (vec![], HistoryError::Empty),
            (vec![user("a"), calls(&["1"])], HistoryError::Unanswered(of("1"))),
            (vec![user("a"), calls(&["1"]), user("b")], HistoryError::Unanswered(of("1"))),
            (vec![user("a"), calls(&["1", "2"]), result("1"), says("x")], HistoryError::Unanswered(of("2"))),
            (vec![user("a"), result("1")], HistoryError::Orphan(of("1"))),
            (vec![user("a"), calls(&["1"]), result("1"), result("1")], HistoryError::Orphan(of("1"))),
            (
                vec![user("a"), calls(&["1"]), result("1"), user("b"), result("1")],
                HistoryError::Orphan(of("1")),
            ),
            (vec![user("a"), calls(&["1", "1"]), result("1")], HistoryError::DuplicateId(of("1"))),
            (
                vec![user("a"), calls(&["1"]), result("1"), calls(&["1"]), result("1")],
                HistoryError::DuplicateId(of("1")),
            ),
            (vec![user("a"), calls(&[""]), result("")], HistoryError::Unnamed(of(""))),
            (vec![user("a"), says(""), user("b")], HistoryError::EmptyMessage(1)),
            (vec![Message::User { parts: vec![] }], HistoryError::EmptyMessage(0)),
            (vec![user("a"), says("b")], HistoryError::EndsWithAssistant),
        ] {
            assert_eq!(check(messages.clone()), Err(error), "{messages:?}");
        }
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        let tool = ToolSchema { name: "t".into(), description: "d".into(), parameters: json!({}) };
        let request = Request {
            model: "m".into(),
            system: String::new(),
            messages: vec![user("a")],
            tools: vec![tool.clone(), tool],
            parameters: Parameters::default(),
        };
        assert_eq!(request.check(), Err(HistoryError::DuplicateTool("t".into())));
    }
}
