//! The wires behind one face: whoever calls a model names a [`Wire`] and never a provider's JSON.
//!
//! A new wire is a module like `openai`, a variant here, and its samples in `tests/conformance.rs` and `tests/corpus`.

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};

use crate::decode::{Decoder, Frames};
use crate::endpoint::{Auth, Endpoint};
use crate::error::ProviderError;
use crate::http::{HttpRequest, ResponseHead};
use crate::models::{ListedModel, read_list};
use crate::request::Request;
use crate::{anthropic, built_in, openai, responses};

/// A protocol that providers speak. Stored with a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's chat completions and everything compatible.
    #[default]
    Openai,
    /// Anthropic's messages and everything compatible.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// The model that is built into the browser.
    BuiltIn,
}

impl Wire {
    /// The request that asks for a streamed answer. `request` must satisfy [`Request::check`].
    #[must_use]
    pub fn encode(self, request: &Request, endpoint: &Endpoint) -> HttpRequest {
        match self {
            Self::Openai => openai::encode(request, endpoint),
            Self::Anthropic => anthropic::encode(request, endpoint),
            Self::Responses => responses::encode(request, endpoint),
            Self::BuiltIn => built_in::encode(request),
        }
    }

    /// The decoder of a successful answer (status 200 to 299) that starts with `head`; a failed one goes to
    /// [`http_error`](crate::http_error). Tell it the request with [`Decoder::for_request`].
    #[must_use]
    pub fn decoder(self, head: &ResponseHead, endpoint: &Endpoint) -> Decoder {
        let frames = match self {
            Self::Openai => Frames::Openai(openai::Frames::default()),
            Self::Anthropic => Frames::Anthropic(anthropic::Frames::default()),
            Self::Responses => Frames::Responses(responses::Frames::default()),
            Self::BuiltIn => Frames::BuiltIn(built_in::Frames::default()),
        };
        Decoder::new(frames, head, endpoint.key())
    }

    /// The request for the endpoint's models.
    #[must_use]
    pub fn list_models(self, endpoint: &Endpoint) -> HttpRequest {
        match self {
            Self::BuiltIn => built_in::list(),
            Self::Anthropic => endpoint.get("/models", Auth::Anthropic),
            Self::Openai | Self::Responses => endpoint.get("/models", Auth::Bearer),
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
        let listed = self.read_listing(head, body, endpoint)?;
        Ok(listed.into_iter().map(|model| model.id).collect())
    }

    /// The same with what the list says about each model.
    ///
    /// # Errors
    /// Those of [`Wire::read_models`].
    pub fn read_listing(
        self,
        head: &ResponseHead,
        body: &[u8],
        endpoint: &Endpoint,
    ) -> Result<Vec<ListedModel>, ProviderError> {
        read_list(head, body, endpoint.key())
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
