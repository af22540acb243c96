//! A thread and the list of threads, as views see them at one moment.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ApprovalId, ConnectionId, ItemId, RunId, SubmissionId, ThreadId, Timestamp, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::connection::Effort;
use crate::op::{ApprovalDecision, TabIdentity, TurnOverrides};
use crate::settings::ModelChoice;

/// Tokens of one model call, as the provider reported them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
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

/// What model calls cost together.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// In nanodollars.
    pub nanodollars: u64,
    /// Whether there were calls besides whose price is not known.
    pub at_least: bool,
}

/// What a turn is for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
    /// It answers a message.
    #[default]
    User,
    /// A model looks for the thread's title, beside everything else; no message can be added to it.
    Title,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// With an answer.
    End,
    /// The answer reached the model's length limit.
    MaxTokens,
    /// The provider's content filter cut it.
    ContentFilter,
    /// The person stopped it, or the worker died.
    Interrupted,
    /// Something failed.
    Error,
    /// The token budget is used up.
    BudgetPause,
    /// A write's end was not seen and the person must say what became of it.
    Uncertain,
    /// The credentials are locked by a passphrase.
    LockedPause,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It waits its turn.
    Queued,
    /// It works.
    Running,
    /// It needs the person's word.
    WaitingApproval,
    /// It waits for something else.
    WaitingInteraction,
    /// The token budget is used up.
    PausedBudget,
    /// A write's end was not seen.
    PausedUncertain,
    /// The credentials are locked by a passphrase; it goes on once they are unlocked.
    PausedLocked,
    /// The worker died; it can be resumed.
    Interrupted,
    /// Ended with an answer.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended by the person.
    Cancelled,
}

/// A tool call as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallView {
    /// Identity.
    pub item_id: ItemId,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
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

/// What a notice is about; views have the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NoticeKind {
    /// The model call failed; details carry the provider's error.
    ModelError,
    /// The run ended after repeated failures.
    TooManyFailures,
    /// The run ended because it repeated the same calls although nothing changed.
    Looping,
    /// The record of this conversation was repaired; details say what: `branchCut` (older messages are lost),
    /// `leafLost`, `resultsMissing`.
    Repaired,
    /// What stands before entry `upTo` reaches the model as a summary from here on; details carry its `text`. Deleting
    /// this entry brings the whole conversation back.
    Summarized,
}

/// What an entry of a conversation says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    /// What the person wrote.
    #[serde(rename_all = "camelCase")]
    UserMessage {
        /// The text.
        text: String,
        /// The tab in front when it was sent.
        default_tab: Option<TabIdentity>,
        /// The command that brought it; a view's optimistic echo is matched by it.
        submission_id: SubmissionId,
        /// Added to a turn that was under way.
        #[serde(default)]
        steered: bool,
    },
    /// What the model wrote.
    #[serde(rename_all = "camelCase")]
    AssistantMessage {
        /// Identity of the streamed item.
        item_id: ItemId,
        /// The answer, in Markdown.
        text: String,
        /// The model's shown reasoning.
        reasoning: String,
        /// The calls it asked for.
        calls: Vec<CallView>,
        /// The connection.
        connection_id: ConnectionId,
        /// The model.
        model_id: String,
        /// Its tokens.
        usage: Option<Usage>,
        /// What they cost, in nanodollars; none when no price is known.
        #[serde(default)]
        cost: Option<u64>,
        /// Cut short.
        incomplete: bool,
        /// What the provider cut it for: `max_tokens` or `content_filter`.
        #[serde(default)]
        stop: Option<StopReason>,
    },
    /// What came back from a call.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        /// The call.
        item_id: ItemId,
        /// How it ended.
        outcome: ResultOutcome,
        /// What the model reads, its beginning at least.
        content: String,
        /// Whether there is more than `content` shows.
        clipped: bool,
        /// Facts for the card.
        details: Value,
        /// Whose content it is.
        origin: Option<String>,
    },
    /// What the person answered to an approval.
    #[serde(rename_all = "camelCase")]
    ApprovalDecision {
        /// The question.
        approval_id: ApprovalId,
        /// The call.
        item_id: ItemId,
        /// The answer.
        decision: ApprovalDecision,
    },
    /// A line of the engine's own.
    #[serde(rename_all = "camelCase")]
    SystemNotice {
        /// What it is about.
        notice: NoticeKind,
        /// Facts for the words.
        details: Value,
    },
    /// Nothing any more: the person deleted it.
    Removed,
}

/// An entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotItem {
    /// Its place in the thread; unique there.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The turn it belongs to.
    pub turn_id: TurnId,
    /// The sequences of all versions of this message, its own included, oldest first; empty while it is the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<u64>,
    /// What it says.
    pub body: ItemBody,
}

/// What kind of thing is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// The model writes.
    AssistantMessage,
    /// A tool works.
    ToolCall,
    /// The model summarises the beginning of the conversation, which has become too long for it.
    Summary,
}

/// What is known of a streamed item from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemMeta {
    /// The tool's name.
    #[serde(default)]
    pub tool_name: Option<String>,
    /// The arguments as JSON text.
    #[serde(default)]
    pub arguments: Option<String>,
}

/// An item in flight, with all that was streamed of it so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveItem {
    /// Identity.
    pub item_id: ItemId,
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// What is known of it.
    pub meta: ItemMeta,
    /// The text so far.
    pub text: String,
    /// The reasoning so far.
    pub reasoning: String,
}

/// A turn that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveTurn {
    /// Identity.
    pub turn_id: TurnId,
    /// Its run.
    pub run_id: RunId,
    /// When it began (or went on, after a restart).
    pub started_at: Timestamp,
}

/// What an approval shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalView {
    /// The question.
    pub approval_id: ApprovalId,
    /// The turn that waits.
    pub turn_id: TurnId,
    /// The call it is about.
    pub item_id: ItemId,
    /// The tool.
    pub tool: String,
    /// All arguments.
    pub params: Value,
    /// The origin the call is judged by.
    pub target_origin: String,
    /// Title of the page that is aimed at. Foreign text.
    pub target_title: String,
    /// What is acted on, as the page's outline had it: `[ref] role "name" …`. Foreign text.
    #[serde(default)]
    pub preview: Option<String>,
    /// What made it a question: `sensitive_payload`, `host_permission`, `escalation_l2`.
    pub flags: Vec<String>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it answers itself with a decline.
    pub deadline_at: Timestamp,
}

/// What an interaction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InteractionKind {
    /// The person's answers.
    AskUser,
    /// Something that the person does by hand.
    UserAction,
    /// A change of a page.
    WatchPage,
    /// A time: its deadline.
    Schedule,
    /// The person's answer to a server.
    McpElicitation,
}

/// How an interaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InteractionOutcome {
    /// With what was waited for.
    Submitted,
    /// It was given up.
    Cancelled,
    /// Its deadline came.
    TimedOut,
}

/// What a call waits for, other than a yes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionView {
    /// Identity.
    pub interaction_id: ApprovalId,
    /// The turn that waits.
    pub turn_id: TurnId,
    /// The call that waits.
    pub item_id: ItemId,
    /// What for.
    pub kind: InteractionKind,
    /// The tool's arguments, checked. `ask_user`: `questions`, each `{id, question, options?: [{value, label,
    /// description?}]}`. `user_action`: `instruction`, `tabId?`. `watch_page`: `condition` (`text`, `text_gone`, `url`)
    /// and `value`. `schedule`: `reason`. `mcp_elicitation`: `serverId`, `message`, `requestedSchema`; foreign text.
    pub params: Value,
    /// The page that is watched. Foreign text.
    #[serde(default)]
    pub tab: Option<TabIdentity>,
    /// When it began.
    pub requested_at: Timestamp,
    /// When it ends by itself.
    pub deadline_at: Timestamp,
}

/// A message that was added to a turn and that the model has not been given yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SteerView {
    /// The command that brought it; the entry that it becomes carries the same.
    pub submission_id: SubmissionId,
    /// The message.
    pub text: String,
}

/// A run as views see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Identity.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// Where it stands.
    pub state: RunState,
    /// Grows by one with each change.
    pub revision: u64,
    /// The message, while it waits in the queue.
    #[serde(default)]
    pub queued_text: Option<String>,
    /// Its place in the thread's order of admission: the queue is worked off in this order.
    #[serde(default)]
    pub order: u64,
    /// What the person chose for it, while it waits in the queue.
    #[serde(default)]
    pub overrides: TurnOverrides,
    /// The command that brought it.
    pub submission_id: SubmissionId,
    /// Whether a message can be added to its turn now.
    #[serde(default)]
    pub steerable: bool,
    /// Messages that were added and that the model has not been given yet, in order.
    #[serde(default)]
    pub pending_steers: Vec<SteerView>,
    /// The call whose end was not seen.
    #[serde(default)]
    pub uncertain: Option<CallView>,
    /// The error that ended it.
    #[serde(default)]
    pub error: Option<ErrorView>,
}

/// An error for a person to read; views have the words for its code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    /// What kind of error.
    pub code: crate::event::ErrorCode,
    /// What happened, in English.
    pub message: String,
    /// The provider's error: `kind`, `reason`, `status`, `requestId`, `upstreamMessage`, `retryAfterMs`.
    #[serde(default)]
    pub provider: Option<Value>,
}

/// A thread in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMeta {
    /// Identity.
    pub id: ThreadId,
    /// Grows by one with each change.
    pub revision: u64,
    /// Shown name; empty until the first message.
    pub title: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// Kept on top.
    pub pinned: bool,
    /// Put away.
    pub archived: bool,
    /// The folder it lies in.
    #[serde(default)]
    pub folder_id: Option<String>,
    /// Its labels.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The preset it was made with.
    #[serde(default)]
    pub preset: Option<String>,
    /// The conversation that it was copied from.
    #[serde(default)]
    pub forked_from: Option<ThreadId>,
    /// Turns started.
    pub turns: u64,
    /// Tokens used.
    pub total_tokens: u64,
    /// What they cost; none when no price is known.
    #[serde(default)]
    pub cost: Option<Cost>,
    /// The model that the person chose for it.
    #[serde(default)]
    pub model: Option<ModelChoice>,
    /// How much that model should think.
    #[serde(default)]
    pub effort: Option<Effort>,
    /// Set aside: it stopped the engine twice and is not run any more.
    pub quarantined: bool,
}

/// What goes on in a thread, for the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// The thread.
    pub thread_id: ThreadId,
    /// Whether it works.
    pub running: bool,
    /// Questions that wait for the person.
    pub pending_approvals: u32,
    /// Interactions that are open.
    #[serde(default)]
    pub pending_interactions: u32,
}

/// The list of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectorySnapshot {
    /// The threads, in no particular order.
    pub threads: Vec<ThreadMeta>,
    /// Those in which something goes on.
    pub activity: Vec<Activity>,
    /// The message that is being written in a thread that does not exist yet.
    #[serde(default)]
    pub draft: String,
    /// The version that waits for being installed.
    #[serde(default)]
    pub update: Option<String>,
}

/// A thread at one moment of its stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSnapshot {
    /// Its head.
    pub meta: ThreadMeta,
    /// The newest entries of the active branch, oldest first.
    pub items: Vec<SnapshotItem>,
    /// Whether there are older ones.
    pub has_older: bool,
    /// The turn under way.
    pub active_turn: Option<ActiveTurn>,
    /// What it streams.
    pub active_items: Vec<ActiveItem>,
    /// Open questions.
    pub pending_approvals: Vec<ApprovalView>,
    /// Open interactions.
    #[serde(default)]
    pub pending_interactions: Vec<InteractionView>,
    /// The message that is being written in it.
    #[serde(default)]
    pub draft: String,
    /// Runs that have not ended, queued ones included, in order.
    pub runs: Vec<RunView>,
}
