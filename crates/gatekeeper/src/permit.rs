//! The one key to dispatching.

use panelot_base::digest::json_digest;
use panelot_tools::target::Target;
use serde_json::Value;

/// Proof that the gatekeeper let one call go ahead: what it was granted for, and on what.
///
/// It has no public constructor, cannot be cloned and cannot be stored: after a restart the call is judged again.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is dropped permits nothing"]
pub struct Permit {
    tool: String,
    target: Option<Target>,
    destination: Option<String>,
    arguments: String,
    digest: String,
}

impl Permit {
    pub(crate) fn new(
        tool: &str,
        arguments: &Value,
        target: Option<&Target>,
        destination: Option<&str>,
        digest: String,
    ) -> Self {
        Self {
            tool: tool.to_owned(),
            target: target.cloned(),
            destination: destination.map(str::to_owned),
            arguments: json_digest(arguments),
            digest,
        }
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The document that it may be done in, as it was judged. The driver addresses this one and no other.
    #[must_use]
    pub const fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// The address that a tab may be sent to.
    #[must_use]
    pub fn destination(&self) -> Option<&str> {
        self.destination.as_deref()
    }

    /// Digest of what was shown and judged.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether it was granted for this tool with these arguments.
    #[must_use]
    pub fn covers(&self, tool: &str, arguments: &Value) -> bool {
        self.tool == tool && self.arguments == json_digest(arguments)
    }
}
