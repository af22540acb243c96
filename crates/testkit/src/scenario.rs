//! What a script says: which requests it answers, and how, step by step.
//!
//! One JSON file is one [`Scenario`]. A request finds its scenario by model name or by a marker in a user message,
//! takes the first step that fits and is not used up, and gets that step's answer. `docs` of each field are the
//! manual; `e2e/scenarios/` has examples.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A script for one conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Its name, unique in a server.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub about: String,
    /// Which requests it answers.
    #[serde(rename = "match")]
    pub matches: Match,
    /// The answers, in order.
    pub steps: Vec<Step>,
}

/// Which requests a scenario answers: all that is given must hold, and something must be given.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// The request's model, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A text that the newest user message contains. It wins over a scenario that is found by its model alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
}

/// One answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// When it may be taken; always, when nothing is given.
    #[serde(default)]
    pub when: When,
    /// True if it is never used up.
    #[serde(default)]
    pub repeat: bool,
    /// Values to take out of the request. A value that is not found is answered with an error.
    #[serde(default)]
    pub capture: Vec<Capture>,
    /// Milliseconds before the first byte of the response, its status line.
    #[serde(default)]
    pub stall_before_ms: u64,
    /// Sends nothing, not even the status line, until `POST /__control/release/NAME`.
    #[serde(default)]
    pub hold_before: Option<String>,
    /// Answers an error instead of a stream.
    #[serde(default)]
    pub error: Option<HttpError>,
    /// What the model says.
    #[serde(default)]
    pub reply: Vec<Action>,
}

/// What must be true of a request for a step to be taken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct When {
    /// The role of the last message.
    #[serde(default)]
    pub last_role: Option<String>,
    /// A text that the last message contains.
    #[serde(default)]
    pub last_contains: Option<String>,
    /// The tool whose result is the newest.
    #[serde(default)]
    pub after_tool: Option<String>,
    /// How many tool results the conversation holds.
    #[serde(default)]
    pub tool_results: Option<usize>,
}

/// A value to take out of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Capture {
    /// What `{{name}}` in texts and arguments stands for.
    pub name: String,
    /// A regular expression; its first group is the value, or the whole match without a group. The last match
    /// in the text counts.
    pub pattern: String,
    /// Where to look.
    #[serde(default)]
    pub from: CaptureFrom,
}

/// Where a captured value stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CaptureFrom {
    /// The newest tool result.
    #[default]
    LastTool,
    /// Any tool result, the newest that matches first.
    AnyTool,
    /// Any message, the newest that matches first.
    AnyMessage,
}

/// An error response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpError {
    /// The status.
    pub status: u16,
    /// Headers beside the content type.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body: a string is sent as it is, anything else as JSON.
    #[serde(default)]
    pub body: Value,
}

/// A part of what the model says, or does not.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Action {
    /// Text of the answer.
    Text {
        /// The text; `{{name}}` stands for a captured value.
        text: String,
        /// Characters in a delta; all of it when 0.
        #[serde(default)]
        chunk_chars: usize,
        /// Milliseconds from one delta to the next.
        #[serde(default)]
        delay_ms: u64,
        /// Bytes in a network packet: the events are cut there, also inside a character. All of it when 0.
        #[serde(default)]
        packet_bytes: usize,
        /// How often the text is sent, one after the other; once when 0.
        #[serde(default)]
        times: usize,
    },
    /// Reasoning, in the field `reasoning_content`.
    Reasoning {
        /// The text.
        text: String,
        /// As for a text.
        #[serde(default)]
        chunk_chars: usize,
        /// As for a text.
        #[serde(default)]
        delay_ms: u64,
    },
    /// A call of a tool.
    ToolCall {
        /// The tool.
        name: String,
        /// Its arguments; `{{name}}` in a string stands for a captured value.
        #[serde(default)]
        arguments: Value,
        /// The arguments as the model writes them, when they should not be JSON.
        #[serde(default)]
        raw_arguments: Option<String>,
        /// The call's id; a new one when absent.
        #[serde(default)]
        id: Option<String>,
        /// Characters of the arguments in a delta; 16 when 0.
        #[serde(default)]
        chunk_chars: usize,
        /// Milliseconds from one delta to the next.
        #[serde(default)]
        delay_ms: u64,
    },
    /// Silence.
    Stall {
        /// Milliseconds.
        ms: u64,
    },
    /// Silence until `POST /__control/release/NAME`.
    Hold {
        /// The name to release.
        name: String,
    },
    /// Bytes of the body as they are.
    Raw {
        /// The bytes.
        text: String,
    },
    /// What was used; otherwise a small made-up amount is reported.
    Usage {
        /// Tokens of the prompt.
        prompt_tokens: u64,
        /// Tokens of the answer.
        completion_tokens: u64,
    },
    /// The reason to stop; otherwise `tool_calls` or `stop`.
    Finish {
        /// The reason.
        reason: String,
    },
    /// The connection ends here, without an end of the body.
    Cut {
        /// Where in an event.
        at: CutAt,
        /// The text of the event that is cut.
        #[serde(default)]
        text: String,
    },
}

/// Where in an event the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CutAt {
    /// After a whole event.
    BetweenEvents,
    /// Inside the JSON string of a delta, in the middle of the text.
    InsideString,
    /// Inside the first character of the text that has more than one byte.
    InsideCharacter,
}

impl Scenario {
    /// Reads a scenario and checks what the types cannot.
    ///
    /// # Errors
    /// A text that names the scenario and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = serde_json::from_str(text).map_err(|error| format!("scenario: {error}"))?;
        scenario.check().map_err(|error| format!("scenario {:?}: {error}", scenario.name))?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("it has no name".into());
        }
        if self.matches.model.is_none() && self.matches.marker.as_deref().is_none_or(str::is_empty) {
            return Err("`match` needs a model or a marker".into());
        }
        if self.steps.is_empty() {
            return Err("it has no steps".into());
        }
        for (index, step) in self.steps.iter().enumerate() {
            step.check().map_err(|error| format!("step {index}: {error}"))?;
        }
        Ok(())
    }
}

impl Step {
    fn check(&self) -> Result<(), String> {
        if self.error.is_some() != self.reply.is_empty() {
            return Err("give either `error` or `reply`".into());
        }
        for capture in &self.capture {
            regex_lite::Regex::new(&capture.pattern)
                .map_err(|error| format!("{:?}: {error}", capture.name))?;
        }
        for action in &self.reply {
            match action {
                Action::Cut { at: CutAt::InsideCharacter, text } if text.is_ascii() => {
                    return Err("to cut inside a character the text needs one beyond ASCII".into());
                }
                Action::Cut { at: CutAt::InsideString, text } if text.chars().count() < 2 => {
                    return Err("to cut inside a string the text needs two characters".into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Scenario::parse(text).unwrap_err()
    }

    #[test]
    fn a_scenario_that_cannot_be_played_is_refused_with_the_reason() {
        let step = r#"{"reply":[{"kind":"text","text":"hi"}]}"#;
        let cases = [
            (r#"{"name":"a","match":{},"steps":[]}"#.to_owned(), "needs a model or a marker"),
            (r#"{"name":"a","match":{"model":"m"},"steps":[]}"#.to_owned(), "no steps"),
            (r#"{"name":"a","match":{"model":"m"},"steps":[{}]}"#.to_owned(), "either `error` or `reply`"),
            (format!(r#"{{"name":"a","match":{{"model":"m"}},"steps":[{step}],"x":1}}"#), "unknown field"),
            (
                r#"{"name":"a","match":{"model":"m"},"steps":[{"reply":[{"kind":"cut","at":"insideCharacter","text":"abc"}]}]}"#
                    .to_owned(),
                "beyond ASCII",
            ),
            (
                r#"{"name":"a","match":{"model":"m"},"steps":[{"capture":[{"name":"r","pattern":"("}],"reply":[{"kind":"stall","ms":1}]}]}"#
                    .to_owned(),
                "\"r\"",
            ),
            (
                r#"{"name":"a","match":{"model":"m"},"steps":[{"reply":[{"kind":"stall","ms":1,"delay":2}]}]}"#
                    .to_owned(),
                "unknown field",
            ),
        ];
        for (text, expected) in cases {
            let found = refusal(&text);
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
