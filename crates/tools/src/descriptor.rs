//! What a tool is, as the model, the gatekeeper and the recovery see it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a tool does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// The browser's own interface: tabs, history, bookmarks.
    L0,
    /// The page executor, a content script.
    L1,
    /// The debugger (trusted input).
    L2,
    /// A remote MCP server.
    #[serde(rename = "mcp")]
    Mcp,
    /// The engine itself.
    #[serde(rename = "builtin")]
    Builtin,
}

/// Whether a call can change something outside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// It only looks.
    Read,
    /// It may change a page, a tab or a server.
    Write,
}

/// What may be done with a call whose outcome is unknown after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Running it again does no harm.
    RetrySafe,
    /// Only a look at the page tells whether it happened: ask the person.
    InspectFirst,
    /// Never run it again on our own: ask the person.
    NeverRetry,
}

/// What a call is aimed at, and so what must be resolved before the gatekeeper can judge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Nothing in particular (a list of all tabs).
    Browser,
    /// The document that a tab shows now.
    Document,
    /// A tab that is sent to another address; the destination is judged.
    Destination,
}

/// Everything that is fixed about a tool.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The name the model calls it by: letters, digits, underscore.
    pub name: &'static str,
    /// What it does and when to use it, for the model.
    pub description: &'static str,
    /// JSON Schema (draft 2020-12) of the arguments; objects are closed.
    pub parameters: Value,
    /// Where it does its work.
    pub level: Level,
    /// Whether it can change something.
    pub effect: Effect,
    /// What a crash in the middle means.
    pub recovery: Recovery,
    /// What it is aimed at.
    pub target: TargetKind,
}
