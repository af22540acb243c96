//! What the engine tells its views.

use panelot_base::json::{FromJson, JsonError, ToJson};
use panelot_base::{ApprovalId, ConnectionId, ItemId, RunId, SubmissionId, ThreadId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::connection::{TryOutcome, TryStep};
use crate::op::ApprovalDecision;
use crate::settings::SettingsView;
use crate::snapshot::{
    Activity, ApprovalView, DirectorySnapshot, ErrorView, InteractionOutcome, InteractionView, ItemKind,
    ItemMeta, RunView, SnapshotItem, StopReason, ThreadMeta, ThreadSnapshot, TurnKind, Usage,
};

/// Why something was refused or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// A known message was malformed. Made by the decoder of a view.
    ProtocolMismatch,
    /// No such thread.
    ThreadNotFound,
    /// The thread is busy with another turn.
    TurnMismatch,
    /// The turn takes no further messages.
    TurnNotSteerable,
    /// Nothing is under way.
    NoActiveTurn,
    /// Eight messages wait already.
    QueueFull,
    /// Too many operations wait.
    Overloaded,
    /// A restart cut it short.
    Interrupted,
    /// The model provider failed or refused.
    ProviderError,
    /// No usable model connection.
    NotConfigured,
    /// The operation makes no sense: malformed, or its id was used for another one.
    InvalidCommand,
    /// The store could not write; nothing was changed and the same command may be sent again.
    StorageFailed,
    /// The thread was set aside after it stopped the engine twice.
    Quarantined,
    /// The credentials are locked by a passphrase that was not given in this browser session.
    Locked,
    /// The passphrase is not the right one.
    WrongPassphrase,
    /// A fault of the engine.
    Internal,
}

/// Answers `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    /// The command.
    pub submission_id: SubmissionId,
    /// [`crate::PROTOCOL`].
    pub protocol: String,
    /// [`crate::SCHEMA_HASH`].
    pub schema_hash: String,
    /// The list of threads.
    pub directory: DirectorySnapshot,
    /// The settings.
    pub settings: SettingsView,
}

/// Tells a page of another version to reload. Its shape is frozen for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadRequired {
    /// The command, or a made-up id.
    pub submission_id: SubmissionId,
    /// The client's own protocol name when it sent one.
    pub protocol: String,
    /// The engine's schema hash.
    pub schema_hash: String,
    /// What to do, in English.
    pub message: String,
}

/// A command was admitted, and that is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandAck {
    /// The command.
    pub submission_id: SubmissionId,
    /// The thread it concerned or made.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    /// The run it concerned or made.
    #[serde(default)]
    pub run_id: Option<RunId>,
    /// The revision of that run, else of that thread.
    #[serde(default)]
    pub revision: Option<u64>,
}

/// A command was refused and changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandRejected {
    /// The command.
    pub submission_id: SubmissionId,
    /// What kind of refusal.
    pub code: ErrorCode,
    /// Why, in English.
    pub message: String,
    /// Whether the same command may succeed later.
    pub retryable: bool,
    /// The thread it concerned.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    /// The command.
    pub submission_id: SubmissionId,
}

/// Something failed that is not the answer to a receipted command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorEvent {
    /// The command, when one caused it.
    #[serde(default)]
    pub submission_id: Option<SubmissionId>,
    /// What happened.
    pub error: ErrorView,
    /// Whether trying again may help.
    pub retryable: bool,
}

/// A subscribed thread, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSnapshotEvent {
    /// The command.
    pub submission_id: SubmissionId,
    /// The thread.
    pub thread_id: ThreadId,
    /// What it is like now.
    pub snapshot: ThreadSnapshot,
}

/// Older entries of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPage {
    /// The command.
    pub submission_id: SubmissionId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The entries, oldest first.
    pub items: Vec<SnapshotItem>,
    /// Whether there are older ones still.
    pub has_older: bool,
}

/// A thread's head changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUpdated {
    /// The thread.
    pub thread_id: ThreadId,
    /// Its head now.
    pub meta: ThreadMeta,
}

/// A turn begins, or goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// Its run; of the turn that looks for a title, the run that it names the thread after.
    pub run_id: RunId,
    /// What it is for.
    #[serde(default)]
    pub turn_kind: TurnKind,
}

/// A turn ended, or stands still until the person says something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnComplete {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// Why.
    pub stop_reason: StopReason,
}

/// What a model call cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// Its tokens.
    pub usage: Usage,
    /// What they cost, in nanodollars; none when no price is known.
    #[serde(default)]
    pub cost: Option<u64>,
}

/// An item begins to stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemStart {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// The item.
    pub item_id: ItemId,
    /// What kind of thing it is.
    pub kind: ItemKind,
    /// What is known of it.
    pub meta: ItemMeta,
}

/// More of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemDelta {
    /// The thread.
    pub thread_id: ThreadId,
    /// The item.
    pub item_id: ItemId,
    /// Text to append.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Reasoning to append.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
}

/// An item ends. Its stored form, where it has one, came just before as `item.stored`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemComplete {
    /// The thread.
    pub thread_id: ThreadId,
    /// The item.
    pub item_id: ItemId,
    /// Whether it came to its proper end.
    pub ok: bool,
}

/// An entry was added to the conversation, or replaced the one with its sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemStored {
    /// The thread.
    pub thread_id: ThreadId,
    /// The entry.
    pub item: SnapshotItem,
}

/// The person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The thread.
    pub thread_id: ThreadId,
    /// The question.
    pub approval: ApprovalView,
}

/// A question is closed, whoever closed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResolved {
    /// The thread.
    pub thread_id: ThreadId,
    /// The question.
    pub approval_id: ApprovalId,
    /// The answer; none when its run ended first.
    pub decision: Option<ApprovalDecision>,
}

/// A call waits for something other than a yes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionRequest {
    /// The thread.
    pub thread_id: ThreadId,
    /// What it waits for.
    pub interaction: InteractionView,
}

/// An interaction ended, whoever ended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionResolved {
    /// The thread.
    pub thread_id: ThreadId,
    /// Which.
    pub interaction_id: ApprovalId,
    /// How; none when its run ended first.
    pub outcome: Option<InteractionOutcome>,
}

/// A new version waits until nothing is under way and no page of ours is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateAvailable {
    /// Which.
    pub version: String,
}

/// A run changed. One that ended is named once more and then gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunUpdated {
    /// The thread.
    pub thread_id: ThreadId,
    /// The run.
    pub run: RunView,
}

/// A thread appeared in the list or changed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryThread {
    /// Its head.
    pub thread: ThreadMeta,
}

/// A thread is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeleted {
    /// Which.
    pub deleted_thread_id: ThreadId,
}

/// What goes on in a thread changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityUpdated {
    /// What goes on now.
    pub activity: Activity,
}

/// The settings; with an id, as an answer to `settings.get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsEvent {
    /// The command.
    #[serde(default)]
    pub submission_id: Option<SubmissionId>,
    /// What is set up now.
    pub settings: SettingsView,
}

/// How a try of a connection went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionVerified {
    /// The command.
    pub submission_id: SubmissionId,
    /// Which.
    pub connection_id: ConnectionId,
    /// The model that answered.
    pub model_id: String,
    /// The models the provider lists, when it does.
    pub models: Vec<String>,
    /// What failed; none when it works.
    pub error: Option<ErrorView>,
}

/// A part of the try of a connection ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStep {
    /// The command.
    pub submission_id: SubmissionId,
    /// Which connection.
    pub connection_id: ConnectionId,
    /// Which part.
    pub step: TryStep,
    /// How.
    pub outcome: TryOutcome,
    /// What failed, when the provider or the way to it did.
    #[serde(default)]
    pub error: Option<ErrorView>,
}

/// What a connection answered to the question for its models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionListed {
    /// The command.
    pub submission_id: SubmissionId,
    /// Which.
    pub connection_id: ConnectionId,
    /// The names, in the provider's order.
    pub models: Vec<String>,
    /// What failed.
    #[serde(default)]
    pub error: Option<ErrorView>,
}

/// The stream that numbers an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Stream {
    /// The thread's.
    Thread,
    /// That of the list of threads.
    Directory,
    /// None: a private answer.
    Private,
}

macro_rules! events {
    ($($(#[$doc:meta])* $wire:literal $variant:ident($payload:ty) $stream:ident;)*) => {
        /// An event. The table below is the whole list: wire name, payload, stream.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event { $($(#[$doc])* $variant($payload),)* }

        impl Event {
            /// The wire names.
            pub const NAMES: &'static [&'static str] = &[$($wire),*];

            /// The wire name.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $wire,)* }
            }

            /// The stream that numbers it.
            #[must_use]
            pub const fn stream(&self) -> Stream {
                match self { $(Self::$variant(_) => Stream::$stream,)* }
            }

            /// Its payload as JSON.
            #[must_use]
            pub fn payload(&self) -> Value {
                match self { $(Self::$variant(payload) => payload.to_json(),)* }
            }

            pub(crate) fn from_payload(
                name: &str,
                payload: &Value,
            ) -> Option<Result<Self, JsonError>> {
                match name {
                    $($wire => Some(FromJson::from_json(payload.clone()).map(Self::$variant)),)*
                    _ => None,
                }
            }

            /// What serde, the oracle of the tests, reads from the same value.
            #[cfg(test)]
            pub(crate) fn by_serde(name: &str, payload: &serde_json::Value) -> Option<Option<Self>> {
                match name {
                    $($wire => Some(serde_json::from_value(payload.clone()).ok().map(Self::$variant)),)*
                    _ => None,
                }
            }

            /// What serde writes for the same.
            #[cfg(test)]
            pub(crate) fn payload_by_serde(&self) -> serde_json::Value {
                match self { $(Self::$variant(payload) => serde_json::to_value(payload).unwrap(),)* }
            }

            pub(crate) fn schemas() -> Vec<(&'static str, String, schemars::Schema)> {
                vec![$(($wire, format!("{:?}", Stream::$stream), crate::manifest::schema::<$payload>()),)*]
            }
        }
    };
}

events! {
    /// What goes on in a thread changed.
    "activity.updated" ActivityUpdated(ActivityUpdated) Directory;
    /// The person is asked.
    "approval.request" ApprovalRequest(ApprovalRequest) Thread;
    /// A question is closed.
    "approval.resolved" ApprovalResolved(ApprovalResolved) Thread;
    /// A command was admitted.
    "command.ack" CommandAck(CommandAck) Private;
    /// A command was refused.
    "command.rejected" CommandRejected(CommandRejected) Private;
    /// The models of a connection.
    "connection.listed" ConnectionListed(ConnectionListed) Private;
    /// A part of the try of a connection ended.
    "connection.step" ConnectionStep(ConnectionStep) Private;
    /// How a try of a connection went, at its end.
    "connection.verified" ConnectionVerified(ConnectionVerified) Private;
    /// A thread in the list.
    "directory.thread" DirectoryThread(DirectoryThread) Directory;
    /// Something failed.
    "error" Error(ErrorEvent) Private;
    /// A page of another version must reload.
    "fatal.reload_required" ReloadRequired(ReloadRequired) Private;
    /// The conversation with the engine is open.
    "initialized" Initialized(Initialized) Directory;
    /// A call waits for something other than a yes.
    "interaction.request" InteractionRequest(InteractionRequest) Thread;
    /// An interaction ended.
    "interaction.resolved" InteractionResolved(InteractionResolved) Thread;
    /// An item ends.
    "item.complete" ItemComplete(ItemComplete) Thread;
    /// More of an item.
    "item.delta" ItemDelta(ItemDelta) Thread;
    /// An item begins.
    "item.start" ItemStart(ItemStart) Thread;
    /// An entry of the conversation.
    "item.stored" ItemStored(ItemStored) Thread;
    /// A sign of life.
    "pong" Pong(Pong) Private;
    /// A run changed.
    "run.updated" RunUpdated(RunUpdated) Thread;
    /// The settings changed, or were asked for.
    "settings.updated" SettingsUpdated(SettingsEvent) Private;
    /// A thread is gone.
    "thread.deleted" ThreadDeleted(ThreadDeleted) Directory;
    /// Older entries.
    "thread.page" ThreadPage(ThreadPage) Private;
    /// A subscribed thread, whole.
    "thread.snapshot" ThreadSnapshot(ThreadSnapshotEvent) Thread;
    /// A thread's head changed.
    "thread.updated" ThreadUpdated(ThreadUpdated) Thread;
    /// What a model call cost.
    "token.usage" TokenUsage(TokenUsage) Thread;
    /// A turn ended.
    "turn.complete" TurnComplete(TurnComplete) Thread;
    /// A turn begins.
    "turn.start" TurnStart(TurnStart) Thread;
    /// A new version waits.
    "update.available" UpdateAvailable(UpdateAvailable) Directory;
}

impl Event {
    /// The thread whose stream it belongs to.
    #[must_use]
    pub fn thread_id(&self) -> Option<&ThreadId> {
        match self {
            Self::ApprovalRequest(it) => Some(&it.thread_id),
            Self::ApprovalResolved(it) => Some(&it.thread_id),
            Self::InteractionRequest(it) => Some(&it.thread_id),
            Self::InteractionResolved(it) => Some(&it.thread_id),
            Self::ItemComplete(it) => Some(&it.thread_id),
            Self::ItemDelta(it) => Some(&it.thread_id),
            Self::ItemStart(it) => Some(&it.thread_id),
            Self::ItemStored(it) => Some(&it.thread_id),
            Self::RunUpdated(it) => Some(&it.thread_id),
            Self::ThreadSnapshot(it) => Some(&it.thread_id),
            Self::ThreadUpdated(it) => Some(&it.thread_id),
            Self::TokenUsage(it) => Some(&it.thread_id),
            Self::TurnComplete(it) => Some(&it.thread_id),
            Self::TurnStart(it) => Some(&it.thread_id),
            Self::ActivityUpdated(_)
            | Self::CommandAck(_)
            | Self::CommandRejected(_)
            | Self::ConnectionListed(_)
            | Self::ConnectionStep(_)
            | Self::ConnectionVerified(_)
            | Self::DirectoryThread(_)
            | Self::Error(_)
            | Self::Initialized(_)
            | Self::Pong(_)
            | Self::ReloadRequired(_)
            | Self::SettingsUpdated(_)
            | Self::ThreadDeleted(_)
            | Self::ThreadPage(_)
            | Self::UpdateAvailable(_) => None,
        }
    }
}
