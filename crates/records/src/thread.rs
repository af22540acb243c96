//! A conversation.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{RunId, ThreadId, Timestamp};
use panelot_provider::Effort;
use serde::{Deserialize, Serialize};

use crate::run::ModelChoice;
use crate::{Approval, Node, Run};

/// Where a title came from, which decides what may replace it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum TitleSource {
    /// There is none yet.
    #[default]
    None,
    /// The first line of the first message.
    FirstLine,
    /// A model wrote it.
    Model,
    /// The person wrote it; nothing replaces it but the person.
    Person,
}

/// What a thread has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Turns started.
    pub turns: u64,
    /// Input and output tokens as the providers reported them.
    pub total_tokens: u64,
    /// What those cost whose price was known, in nanodollars; none while there were no such.
    #[serde(default)]
    pub cost: Option<u64>,
    /// Whether there were tokens whose price was not known.
    #[serde(default)]
    pub unpriced: bool,
}

/// A stretch of a conversation's tree that grows at its end only. Each edit of an earlier message begins one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Chain {
    /// Sequence of its first node, which is also its name; 0 for the trunk.
    pub first: u64,
    /// The node that the first one follows; none at a root.
    pub after: Option<u64>,
    /// The chain of that node.
    pub from: u64,
    /// The message that the first one is another version of; 0 for the trunk.
    pub beside: u64,
    /// Its newest node, as it was when the person last left the chain.
    pub end: u64,
}

/// A conversation's head: small, rewritten with each change of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Identity.
    pub id: ThreadId,
    /// Grows by one with each commit that changes it.
    pub revision: u64,
    /// Shown name; empty until the first message.
    pub title: String,
    /// Where the title came from.
    #[serde(default)]
    pub title_source: TitleSource,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// Sequence of the newest node of the active branch.
    pub leaf: Option<u64>,
    /// The chain that the active branch ends in; 0 for the trunk.
    #[serde(default)]
    pub chain: u64,
    /// The chains, oldest first; empty while there is only the trunk.
    #[serde(default)]
    pub chains: Vec<Chain>,
    /// Sequence that the next node gets; sequences start at 1 and are never reused.
    pub next_seq: u64,
    /// Order that the next admitted run gets.
    pub next_order: u64,
    /// Runs that have not ended.
    pub open_runs: Vec<RunId>,
    /// Kept on top of the list.
    #[serde(default)]
    pub pinned: bool,
    /// Put away from the list.
    #[serde(default)]
    pub archived: bool,
    /// The folder it lies in.
    #[serde(default)]
    pub folder: Option<String>,
    /// The preset it was made with.
    #[serde(default)]
    pub preset: Option<String>,
    /// The model that the person chose for it.
    #[serde(default)]
    pub model: Option<ModelChoice>,
    /// How much that model should think.
    #[serde(default)]
    pub effort: Option<Effort>,
    /// Free labels.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The conversation that it was copied from.
    #[serde(default)]
    pub forked_from: Option<ThreadId>,
    /// What it has used.
    #[serde(default)]
    pub stats: Stats,
    /// Secret text from which the fences of this thread's foreign content are made; never shown to a model or a page.
    #[serde(default)]
    pub fence_seed: String,
    /// When it was deleted: a tombstone is invisible and refuses every write but its removal.
    #[serde(default)]
    pub deleted_at: Option<Timestamp>,
}

/// Everything a thread's machine is built from. Never the whole thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadHead {
    /// The conversation.
    pub thread: Thread,
    /// Its runs that have not ended, in the order of their admission.
    pub runs: Vec<Run>,
    /// The approvals and interactions of those runs.
    pub approvals: Vec<Approval>,
    /// The newest nodes of the active branch, oldest first. It reaches back at least to the message whose calls are open.
    pub page: Vec<Node>,
    /// Whether there are older nodes than the page holds.
    pub has_older: bool,
    /// Whether the oldest node of the page follows one that does not exist or is not older.
    pub is_cut: bool,
    /// Whether the thread's leaf does not exist, and the page is the branch of the newest node there is.
    pub leaf_lost: bool,
}
