//! Whether a connection works: a real, tiny request, made of the same parts as every other.
//!
//! The caller lists the models first (their names are offered to the person), then sends [`request`] through the same
//! encoder, driver and decoder as a turn, and gives the outcome to [`read`].

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::{ErrorKind, ProviderError, Reason};
use crate::models::ListedModel;
use crate::registry::KnownFacts;
use crate::request::{Message, Parameters, Part, Request, ToolSchema};
use crate::response::Response;

/// Tokens that the answer may have: enough for a word, and for a reasoning model to start.
pub const OUTPUT_TOKENS: u32 = 32;
/// How long the caller waits for the answer, in milliseconds: a local model may be loaded first.
pub const TIMEOUT_MS: u64 = 60_000;

/// A part of a try, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// A server answers.
    Reachable,
    /// It lists its models.
    Models,
    /// A model answers as a stream.
    Stream,
    /// It calls a tool and takes the result.
    Tools,
    /// It sees a picture.
    Image,
}

/// How a part of a try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum StepOutcome {
    /// It works.
    Passed,
    /// It does not.
    Failed,
    /// It was not tried, or the server has no such thing.
    Skipped,
}

/// What is told of a part as soon as it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// Which part.
    pub step: Step,
    /// How it ended.
    pub outcome: StepOutcome,
    /// What failed, when the provider or the way to it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProviderError>,
}

/// What a try, or a question for the models, came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Tried {
    /// The model that was asked; empty when none was.
    pub model: String,
    /// What the server lists; none when it has no list or did not give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<Vec<ListedModel>>,
    /// What the try showed of the model.
    pub facts: KnownFacts,
    /// Why the connection does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ProviderError>,
}

/// The first of a list that is likely to chat: servers list what embeds, paints and speaks beside it.
#[must_use]
pub fn first_chat_model(listed: &[ListedModel]) -> Option<&str> {
    const OTHERS: [&str; 11] = [
        "embed",
        "whisper",
        "tts",
        "dall-e",
        "moderation",
        "rerank",
        "image",
        "audio",
        "realtime",
        "transcribe",
        "ocr",
    ];
    let chats = |model: &&ListedModel| {
        let name = model.id.to_lowercase();
        !OTHERS.iter().any(|word| name.contains(word))
    };
    listed.iter().find(chats).or_else(|| listed.first()).map(|model| model.id.as_str())
}

/// Whether a server without a list answered the question for it.
#[must_use]
pub fn has_no_list(error: &ProviderError) -> bool {
    matches!(error.status, Some(404 | 405 | 501))
}

/// Whether an error says that the model takes no pictures.
#[must_use]
pub fn refuses_pictures(error: &ProviderError) -> bool {
    let may_be = error.kind == ErrorKind::Protocol
        && !matches!(
            error.reason,
            Some(
                Reason::ModelNotFound
                    | Reason::EndpointNotFound
                    | Reason::ResponseFormat
                    | Reason::Redirected
            )
        );
    let said = error.upstream_message.as_deref().unwrap_or_default().to_lowercase();
    let about = ["image", "vision", "multimodal", "multi-modal", "图片", "图像"];
    let refusal = [
        "not support",
        "unsupported",
        "n't support",
        "no support",
        "cannot",
        "can't",
        "not allowed",
        "invalid",
        "unknown variant",
        "not a multimodal",
        "text only",
        "only text",
        "must be a string",
        "mmproj",
        "不支持",
    ];
    // About the picture itself, which another model would not take either.
    let bad_picture = ["too large", "corrupt", "decode", "download", "base64", "dimension", "exceed"];
    may_be
        && about.iter().any(|word| said.contains(word))
        && refusal.iter().any(|word| said.contains(word))
        && !bad_picture.iter().any(|word| said.contains(word))
}

/// The request to verify `model` with.
#[must_use]
pub fn request(model: &str) -> Request {
    Request {
        model: model.to_owned(),
        system: String::new(),
        messages: vec![Message::User { parts: vec![Part::text("Reply with the single word: ready")] }],
        tools: Vec::new(),
        parameters: Parameters { max_output_tokens: Some(OUTPUT_TOKENS), ..Parameters::default() },
    }
}

/// Whether the outcome of [`request`] proves that address, key and model work.
///
/// Any answer does, also an empty or a cut one. So does the complaint of a reasoning model that the token limit was too
/// small for it: address, key and model were good enough to get there.
///
/// # Errors
/// What went wrong otherwise, as it is.
pub fn read(outcome: Result<Response, ProviderError>) -> Result<(), ProviderError> {
    let error = match outcome {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let message = error.upstream_message.as_deref().unwrap_or_default().to_lowercase();
    let limit_was_reached =
        message.contains("output limit was reached") || message.contains("max_tokens limit");
    if error.kind == ErrorKind::Protocol && error.status == Some(400) && limit_was_reached {
        return Ok(());
    }
    Err(error)
}

/// Tokens for the tries with a tool and with a picture: a reasoning model thinks before it acts.
const STEP_TOKENS: u32 = 1024;
/// The tool of the try.
const ECHO: &str = "echo";
/// A red square of 32 by 32 points, as PNG.
const RED_SQUARE: &str = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC";

/// Asks `model` to call a tool.
#[must_use]
pub fn tool_request(model: &str) -> Request {
    let mut asked = request(model);
    asked.messages = vec![Message::User {
        parts: vec![Part::text("Call the tool `echo` with the text \"ready\". Do not answer in words.")],
    }];
    asked.tools = vec![ToolSchema {
        name: ECHO.to_owned(),
        description: "Gives the text back.".to_owned(),
        parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    }];
    asked.parameters.max_output_tokens = Some(STEP_TOKENS);
    asked
}

/// The request that brings the results of the calls that [`tool_request`] was answered with; `None` when no call of the
/// tool is among them. Any answer to it proves the round trip.
#[must_use]
pub fn tool_result_request(model: &str, mut response: Response) -> Option<Request> {
    response.make_call_ids_unique(&panelot_base::SortedSet::new());
    let is_echo = response.tool_calls.iter().any(|call| call.name == ECHO && call.parse_arguments().is_ok());
    if !is_echo {
        return None;
    }
    let mut asked = tool_request(model);
    let ids: Vec<String> = response.tool_calls.iter().map(|call| call.id.clone()).collect();
    asked.messages.push(Message::Assistant {
        text: response.text,
        reasoning: response.reasoning,
        tool_calls: response.tool_calls,
        vendor: response.vendor,
    });
    let result = |call_id| Message::ToolResult { call_id, parts: vec![Part::text("ready")], is_error: false };
    asked.messages.extend(ids.into_iter().map(result));
    Some(asked)
}

/// Asks `model` what it sees.
#[must_use]
pub fn image_request(model: &str) -> Request {
    let mut asked = request(model);
    asked.messages = vec![Message::User {
        parts: vec![
            Part::text("Which colour is this picture? Answer with one English word."),
            Part::Image { media_type: "image/png".to_owned(), data: RED_SQUARE.to_owned() },
        ],
    }];
    asked.parameters.max_output_tokens = Some(STEP_TOKENS);
    asked
}

/// Whether the answer to [`image_request`] shows that the picture was seen. Servers that drop pictures silently answer,
/// too.
#[must_use]
pub fn has_seen(response: &Response) -> bool {
    let text = response.text.to_lowercase();
    text.contains('红') || text.split(|c: char| !c.is_alphabetic()).any(|word| word == "red")
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;

    use super::{has_seen, image_request, read, request, tool_request, tool_result_request};
    use crate::{Response, ResponseHead, StopReason, ToolCall, http_error};

    #[test]
    fn the_request_is_a_legal_conversation_with_a_small_answer() {
        let request = request("m");
        assert_eq!(request.check(), Ok(()));
        assert!(request.parameters.max_output_tokens.is_some_and(|tokens| tokens < 100));
    }

    #[test]
    fn any_answer_proves_the_connection_and_failures_keep_their_reason() {
        let cut = Response {
            text: String::new(),
            reasoning: "hm".into(),
            tool_calls: vec![],
            usage: None,
            stop_reason: StopReason::MaxTokens,
            vendor: Default::default(),
        };
        assert_eq!(read(Ok(cut)), Ok(()));
        let failed = |status, body: &str| {
            http_error(&ResponseHead { status, headers: vec![] }, body.as_bytes(), &Secret::default())
        };
        let reached = "Could not finish the message because max_tokens or model output limit was reached.";
        assert_eq!(read(Err(failed(400, reached))), Ok(()));
        for error in [failed(401, ""), failed(404, reached), failed(400, "no such field")] {
            assert_eq!(read(Err(error.clone())), Err(error));
        }
    }

    fn answer(text: &str, calls: &[(&str, &str)]) -> Response {
        let call = |(name, arguments): &(&str, &str)| ToolCall {
            id: "same".into(),
            name: (*name).into(),
            arguments: (*arguments).into(),
            vendor: Default::default(),
        };
        Response {
            text: text.into(),
            reasoning: String::new(),
            tool_calls: calls.iter().map(call).collect(),
            usage: None,
            stop_reason: if calls.is_empty() { StopReason::End } else { StopReason::ToolUse },
            vendor: Default::default(),
        }
    }

    #[test]
    fn a_call_of_the_tool_is_answered_in_a_legal_conversation() {
        assert_eq!(tool_request("m").check(), Ok(()));
        let good = ("echo", "{\"text\":\"ready\"}");
        let next = tool_result_request("m", answer("", &[good, ("other", "{")])).unwrap();
        assert_eq!((next.check(), next.messages.len()), (Ok(()), 4));
        for calls in [&[][..], &[("other", "{}")], &[("echo", "{")]] {
            assert_eq!(tool_result_request("m", answer("ready", calls)), None, "{calls:?}");
        }
    }

    #[test]
    fn a_picture_is_seen_when_its_colour_is_named() {
        assert_eq!(image_request("m").check(), Ok(()));
        for (text, seen) in [("Red.", true), ("红色", true), ("It cannot be rendered.", false), ("", false)]
        {
            assert_eq!(has_seen(&answer(text, &[])), seen, "{text}");
        }
    }
}
