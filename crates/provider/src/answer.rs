//! The head of an answer together with what must not leave it: how every decoder makes its errors.

use panelot_base::Secret;
use serde_json::Value;

use crate::error::{ErrorKind, ProviderError, Reason};
use crate::http::ResponseHead;
use crate::upstream::{format_error, in_stream};

/// An answer whose body is being read.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    /// Removed from every text of an error.
    pub(crate) key: Secret,
}

impl Answer {
    /// The body is not one of the wire; `detail` says why, in English.
    pub(crate) fn format(&self, detail: &str) -> ProviderError {
        format_error(detail, &self.head, &self.key)
    }

    /// The error object that the body carried.
    pub(crate) fn said(&self, value: &Value) -> ProviderError {
        in_stream(value, &self.head, &self.key)
    }

    /// The body ended before the answer did.
    pub(crate) fn truncated(&self) -> ProviderError {
        ProviderError::new(ErrorKind::Network, Some(Reason::Truncated)).with_answer(&self.head)
    }

    /// The body is beyond the limits.
    pub(crate) fn too_large(&self) -> ProviderError {
        self.format("The answer is larger than this client accepts.")
    }
}
