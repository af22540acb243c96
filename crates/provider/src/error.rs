//! What went wrong with a model call, and whose fault it was.

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};

/// A failed model call. Plain data: it is stored with the run and shown to the person.
///
/// The words for the person are the view's, in their language, chosen by `kind`, `reason` and [`ProviderError::fault`];
/// `upstream_message` is the provider's own text, shown beside them as plain text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, thiserror::Error)]
#[error("model call failed ({kind:?}, {reason:?}, HTTP {status:?}): {upstream_message:?}")]
#[serde(rename_all = "camelCase")]
pub struct ProviderError {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// What exactly, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// HTTP status of the answer; `None` when there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's identifier of the request, to quote in a report to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The provider's own code, sanitised and at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_code: Option<String>,
    /// The provider's own text, or what our decoder has to say about its bytes; sanitised, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_message: Option<String>,
    /// How long the provider asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Whether the same request may succeed later without anybody changing anything.
    pub retryable: bool,
}

/// The sorts of failure. Closed: a new one needs words in every language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is missing, wrong, or may not do this.
    Auth,
    /// Too many requests, or the account has no credit left.
    RateLimit,
    /// The provider is busy or broken.
    Overloaded,
    /// The conversation is longer than the model takes.
    ContextTooLong,
    /// The provider refused the content.
    ContentFilter,
    /// No answer, or one that broke off.
    Network,
    /// An answer that this wire does not know, or a request that the provider does not accept.
    Protocol,
}

/// What exactly failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The key is not accepted.
    InvalidKey,
    /// The key is known and may not do this.
    PermissionDenied,
    /// The account's credit or quota is used up.
    QuotaExceeded,
    /// There is no such address at the server.
    EndpointNotFound,
    /// The server does not know the model.
    ModelNotFound,
    /// The server does not accept the request.
    InvalidRequest,
    /// The server, or one behind it, failed.
    UpstreamError,
    /// The answer is not one of this wire.
    ResponseFormat,
    /// The answer broke off before its end.
    Truncated,
    /// The server sends to another address, where the key must not follow.
    Redirected,
    /// A server on this computer refuses what comes from an extension until it is told otherwise.
    OriginRefused,
    /// No server answers at this address of this computer.
    NotRunning,
    /// Nothing came for too long: before the answer, or in the middle of it.
    Stalled,
    /// This browser has no model of its own, or this computer cannot run it.
    BuiltInMissing,
    /// The browser's own model is not downloaded yet.
    BuiltInNotDownloaded,
    /// The browser does not let this extension reach the address: the person has not allowed it, or no longer does.
    NoAccess,
}

/// Who has to do something about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The person's account or key at the provider.
    Account,
    /// The connection's settings: address or model.
    Settings,
    /// The provider: waiting helps, or telling it.
    Provider,
    /// The way between the browser and the provider.
    Network,
    /// What was asked: too long, refused content, or a request of ours that the provider does not accept.
    Request,
}

impl ProviderError {
    /// A failure with nothing known but its sort; `retryable` follows from both (see [`ProviderError::fault`]).
    #[must_use]
    pub fn new(kind: ErrorKind, reason: Option<Reason>) -> Self {
        let retryable = matches!(kind, ErrorKind::Network | ErrorKind::RateLimit | ErrorKind::Overloaded)
            && !matches!(
                reason,
                Some(Reason::QuotaExceeded | Reason::Redirected | Reason::NotRunning | Reason::NoAccess)
            );
        Self {
            kind,
            reason,
            status: None,
            request_id: None,
            upstream_code: None,
            upstream_message: None,
            retry_after_ms: None,
            retryable,
        }
    }

    /// Who has to do something about it.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match (self.kind, self.reason) {
            (
                _,
                Some(
                    Reason::EndpointNotFound
                    | Reason::ModelNotFound
                    | Reason::Redirected
                    | Reason::OriginRefused
                    | Reason::NotRunning
                    | Reason::NoAccess
                    | Reason::BuiltInMissing
                    | Reason::BuiltInNotDownloaded,
                ),
            ) => Fault::Settings,
            (_, Some(Reason::InvalidKey | Reason::PermissionDenied | Reason::QuotaExceeded))
            | (ErrorKind::Auth | ErrorKind::RateLimit, _) => Fault::Account,
            (ErrorKind::Overloaded, _)
            | (_, Some(Reason::UpstreamError | Reason::ResponseFormat | Reason::Stalled)) => Fault::Provider,
            (ErrorKind::Network, _) => Fault::Network,
            (ErrorKind::ContextTooLong | ErrorKind::ContentFilter | ErrorKind::Protocol, _) => Fault::Request,
        }
    }
}
