//! What the tests of streams share.

use panelot_provider::StreamEvent;

/// Joins neighbouring events of a kind, so that streams are compared by what they brought.
pub(crate) fn merged(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut out: Vec<StreamEvent> = Vec::new();
    for event in events {
        match (out.last_mut(), event) {
            (Some(StreamEvent::Text(so_far)), StreamEvent::Text(more))
            | (Some(StreamEvent::Reasoning(so_far)), StreamEvent::Reasoning(more)) => so_far.push_str(&more),
            (
                Some(StreamEvent::ToolCallArguments { index, bytes }),
                StreamEvent::ToolCallArguments { index: other, bytes: more },
            ) if *index == other => *bytes += more,
            (_, event) => out.push(event),
        }
    }
    out
}
