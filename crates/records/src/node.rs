//! What was said and what came back: the nodes of a conversation's tree.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ApprovalId, ConnectionId, ItemId, SubmissionId, ThreadId, Timestamp, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One entry of a conversation. Nodes are written once; only a message that is still streaming is rewritten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The conversation.
    pub thread: ThreadId,
    /// Its place in the order of writing; with the thread it is the key.
    pub seq: u64,
    /// The node it follows, `None` for a first one.
    pub parent: Option<u64>,
    /// The chain that it is of; see [`crate::thread::Chain`].
    #[serde(default, skip_serializing_if = "is_trunk")]
    pub chain: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// What it says.
    pub body: Body,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the attribute of serde hands over a reference")]
const fn is_trunk(chain: &u64) -> bool {
    *chain == 0
}

/// A tab as the person had it in front when they wrote. Foreign text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct TabIdentity {
    /// `chrome.tabs` id.
    pub tab_id: u32,
    /// Address.
    pub url: String,
    /// Title.
    pub title: String,
}

/// A tool call as the model proposed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct StoredCall {
    /// Its identity in the conversation and on the provider's wire.
    pub item: ItemId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, perhaps broken.
    pub arguments: String,
    /// What else the provider put on the call and wants back with it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vendor: Map<String, Value>,
}

/// Tokens of one model call, as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens, cache traffic included.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input tokens written to a cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// What a node says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Body {
    /// What the person wrote.
    #[serde(rename_all = "camelCase")]
    User {
        /// The text.
        text: String,
        /// The tab in front when it was sent.
        default_tab: Option<TabIdentity>,
        /// The command that brought it; views match their optimistic echo by it.
        submission: SubmissionId,
        /// Added to a turn that was under way.
        #[serde(default)]
        steered: bool,
    },
    /// What the model wrote, with the whole list of the calls it asked for.
    #[serde(rename_all = "camelCase")]
    Assistant {
        /// Identity of the streamed item.
        item: ItemId,
        /// The answer, in Markdown.
        text: String,
        /// The model's shown reasoning.
        reasoning: String,
        /// The calls it asked for, in order.
        calls: Vec<StoredCall>,
        /// The connection that was used.
        connection: ConnectionId,
        /// The model that was used.
        model: String,
        /// What it cost, when the provider said.
        usage: Option<Usage>,
        /// Cut short: by a stop, an error, a crash or the provider.
        incomplete: bool,
        /// What the provider cut it for, as the wire's `StopReason` spells it.
        #[serde(default)]
        stop: Option<String>,
        /// What the provider wants back with the turn: signed thinking, encrypted reasoning. For this connection and
        /// this model only.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        vendor: Map<String, Value>,
        /// What its tokens cost, in nanodollars, at the price that was known then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<u64>,
    },
    /// What came back from a call.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        /// The call.
        item: ItemId,
        /// How it ended.
        outcome: ResultOutcome,
        /// What the model reads.
        content: String,
        /// What views show.
        details: Value,
        /// Whether the content is foreign and must be fenced.
        foreign: bool,
        /// Whose content it is.
        origin: Option<String>,
    },
    /// What the person answered to an approval.
    #[serde(rename_all = "camelCase")]
    Decision {
        /// The question.
        approval: ApprovalId,
        /// The call it was about.
        item: ItemId,
        /// The answer.
        decision: crate::Decision,
    },
    /// A line of the engine's own for the person.
    #[serde(rename_all = "camelCase")]
    Notice {
        /// What it is about; views have the words.
        kind: NoticeKind,
        /// Further facts for the words.
        details: Value,
    },
    /// What the person deleted. Its place in the tree stays, its content is gone.
    Removed,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum ResultOutcome {
    /// It did what it was asked.
    Ok,
    /// It failed.
    Failed,
    /// The person or a rule refused it.
    Declined,
    /// It was never started.
    Skipped,
    /// It was started and its end was not seen.
    Uncertain,
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum NoticeKind {
    /// The model call failed; details carry the error.
    ModelError,
    /// The run ended after repeated failures.
    TooManyFailures,
    /// The run ended because it repeated the same calls although nothing changed.
    Looping,
    /// The record of this conversation was repaired.
    Repaired,
    /// What lies before reaches the model as a summary from here on.
    Summarized,
}
