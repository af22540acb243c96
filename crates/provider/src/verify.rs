//! Whether a connection works: a real, tiny request, made of the same parts as every other.
//!
//! The caller lists the models first (their names are offered to the person), then sends [`request`] through the same
//! encoder, driver and decoder as a turn, and gives the outcome to [`read`].

use crate::error::{ErrorKind, ProviderError};
use crate::request::{Message, Parameters, Part, Request};
use crate::response::Response;

/// Tokens that the answer may have: enough for a word, and for a reasoning model to start.
pub const OUTPUT_TOKENS: u32 = 32;
/// How long the caller waits for the answer, in milliseconds: a local model may be loaded first.
pub const TIMEOUT_MS: u64 = 60_000;

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

#[cfg(test)]
mod tests {
    use panelot_base::Secret;

    use super::{read, request};
    use crate::{Response, ResponseHead, StopReason, http_error};

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
}
