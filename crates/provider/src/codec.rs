//! The wires behind one face: whoever calls a model names a [`Wire`] and never a provider's JSON.
//!
//! A new wire is a module like `openai`, a variant here, and its samples in `tests/conformance.rs`.

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};

use crate::endpoint::Endpoint;
use crate::error::ProviderError;
use crate::http::{HttpRequest, ResponseHead};
use crate::openai;
use crate::request::Request;
use crate::response::{Response, StreamEvent};

/// A protocol that providers speak. Stored with a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's chat completions and everything compatible.
    #[default]
    Openai,
}

impl Wire {
    /// The request that asks for a streamed answer. `request` must satisfy [`Request::check`].
    #[must_use]
    pub fn encode(self, request: &Request, endpoint: &Endpoint) -> HttpRequest {
        match self {
            Self::Openai => openai::encode(request, endpoint),
        }
    }

    /// The decoder of a successful answer (status 200 to 299) that starts with `head`; a failed one goes to
    /// [`http_error`](crate::http_error).
    #[must_use]
    pub fn decoder(self, head: &ResponseHead, endpoint: &Endpoint) -> Decoder {
        match self {
            Self::Openai => Decoder::Openai(Box::new(openai::Decoder::new(head, endpoint.key()))),
        }
    }

    /// The request for the endpoint's models.
    #[must_use]
    pub fn list_models(self, endpoint: &Endpoint) -> HttpRequest {
        match self {
            Self::Openai => openai::list_models(endpoint),
        }
    }

    /// The names in the answer to [`Wire::list_models`], in the provider's order, without repeats.
    ///
    /// # Errors
    /// What the status stands for, or a `protocol` error when the body is no list of models.
    pub fn read_models(
        self,
        head: &ResponseHead,
        body: &[u8],
        endpoint: &Endpoint,
    ) -> Result<Vec<String>, ProviderError> {
        match self {
            Self::Openai => openai::read_models(head, body, endpoint.key()),
        }
    }
}

/// Whether a stream may bring more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Read on.
    More,
    /// The wire's own end mark came: stop reading (some servers keep the connection open) and call `finish`.
    Done,
}

/// Decodes one answer from bytes cut anywhere. Does no I/O and keeps no clock.
#[derive(Clone, Debug)]
pub enum Decoder {
    /// OpenAI-compatible.
    Openai(Box<openai::Decoder>),
}

impl Decoder {
    /// Reads more bytes of the body and appends what they brought to `events`.
    ///
    /// # Errors
    /// The stream failed: stop reading. What came before the failure is in `events`. Every later call and `finish`
    /// give the same error.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<Progress, ProviderError> {
        match self {
            Self::Openai(decoder) => decoder.push(bytes, events),
        }
    }

    /// The complete answer, once the body ended.
    ///
    /// Call it after a broken read too: when the model's last word had arrived the answer is complete, and otherwise the
    /// error says `network` and `truncated`, and what the events brought is the caller's to keep.
    ///
    /// # Errors
    /// The answer is cut, is no answer of this wire, or carried an error.
    pub fn finish(self) -> Result<Response, ProviderError> {
        match self {
            Self::Openai(decoder) => decoder.finish(),
        }
    }
}
