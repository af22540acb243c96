//! What a view may ask of the engine.

use panelot_base::json::{FromJson, JsonError, ToJson};
use panelot_base::{ApprovalId, ClientId, ConnectionId, RuleId, RunId, ThreadId, Timestamp, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Text;
use crate::connection::{ConnectionDraft, Effort, ThreadEffort, ThreadModel};
use crate::settings::{IncomingKey, ModelChoice, PermissionPolicy, RuleView, SecretsChange, SettingsChange};

/// What an operation concerns, and so with which others it is kept in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Scope {
    /// The connection itself.
    Connection,
    /// The list of threads and the settings.
    Directory,
    /// One thread.
    Thread,
}

/// Whether an operation changes anything that outlives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Receipting {
    /// It does, and is applied once: its answer is a stored receipt.
    Durable,
    /// It only asks.
    None,
}

/// A tab as it was in front. Foreign text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabIdentity {
    /// `chrome.tabs` id.
    pub tab_id: u32,
    /// Address.
    pub url: Text<8192>,
    /// Title.
    pub title: Text<2048>,
}

/// What the browser showed when the person sent a message, captured before anything was awaited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserContext {
    /// When it was captured.
    pub captured_at: Timestamp,
    /// The web page in front beside this view.
    pub default_tab: Option<TabIdentity>,
}

/// What the person wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInput {
    /// The text; not blank.
    #[schemars(length(min = 1))]
    pub text: Text<500_000>,
    /// What the browser showed.
    #[serde(default)]
    pub browser_context: Option<BrowserContext>,
}

/// What the person chose for one message instead of the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnOverrides {
    /// Another model.
    #[serde(default)]
    pub model: Option<ModelChoice>,
    /// Another permission policy.
    #[serde(default)]
    pub permission_policy: Option<PermissionPolicy>,
    /// How much the model should think.
    #[serde(default)]
    pub effort: Option<Effort>,
}

/// What the person answers to an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// This once.
    Accept,
    /// This tool on this origin, in this thread, until the browser closes.
    AcceptForSession,
    /// This tool on this origin, from now on.
    AcceptForSite,
    /// Not this; go on without it.
    Decline {
        /// What the model is told.
        #[serde(default)]
        note: Option<Text<8000>>,
    },
    /// Not this, and stop.
    Cancel,
}

/// What the person answers to an interaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum InteractionAnswer {
    /// Here it is; of a page wait or a timer: go on now.
    Submit {
        /// `ask_user`: an object with a text for each question's id. `mcp_elicitation`: an object as its schema says.
        /// Else `null`.
        value: serde_json::Value,
    },
    /// Not this; the task goes on without it.
    Cancel {
        /// What the model is told.
        #[serde(default)]
        note: Option<Text<8000>>,
    },
}

/// What the person says of a write whose end was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// It did not happen: do it (a new attempt).
    Retry,
    /// It happened: go on.
    MarkDone,
    /// Give the run up.
    Fail,
}

/// What kind of page a view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Surface {
    /// The side panel.
    Panel,
    /// The full-page chat.
    Chat,
    /// The options page.
    Options,
}

/// Opens the conversation with the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    /// Must be [`crate::PROTOCOL`].
    pub protocol: Text<256>,
    /// Must be [`crate::SCHEMA_HASH`].
    pub schema_hash: Text<256>,
    /// The document's own id.
    pub client_id: ClientId,
    /// The browser window the view stands in.
    #[serde(default)]
    pub window_id: Option<u32>,
    /// What kind of page it is.
    #[serde(default)]
    pub surface: Option<Surface>,
    /// The thread to follow from the start.
    #[serde(default)]
    pub subscribe: Option<ThreadId>,
}

/// Makes a thread, with its first message when there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCreate {
    /// A model preset.
    #[serde(default)]
    pub preset: Option<Text<128>>,
    /// A folder.
    #[serde(default)]
    pub folder_id: Option<Text<128>>,
    /// The first message, admitted in the same commit.
    #[serde(default)]
    pub input: Option<UserInput>,
    /// Choices for that message.
    #[serde(default)]
    pub overrides: TurnOverrides,
}

/// Names a thread and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOnly {
    /// The thread.
    pub thread_id: ThreadId,
}

/// Asks for older messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadHistory {
    /// The thread.
    pub thread_id: ThreadId,
    /// Those before this sequence.
    pub before: u64,
}

/// Names an entry of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNode {
    /// The thread.
    pub thread_id: ThreadId,
    /// The sequence of the entry.
    pub node: u64,
}

/// Changes what the list of threads says of one. What is absent stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUpdate {
    /// The thread.
    pub thread_id: ThreadId,
    /// Another name; not blank. Longer ones than a title may be are cut.
    #[serde(default)]
    pub title: Option<Text<2048>>,
    /// Whether it is kept on top.
    #[serde(default)]
    pub pinned: Option<bool>,
    /// Whether it is put away.
    #[serde(default)]
    pub archived: Option<bool>,
    /// The folder it lies in; empty for none.
    #[serde(default)]
    pub folder_id: Option<Text<128>>,
    /// All of its labels.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub tags: Option<Vec<Text<64>>>,
    /// Its model.
    #[serde(default)]
    pub model: Option<ThreadModel>,
    /// How much that model should think.
    #[serde(default)]
    pub effort: Option<ThreadEffort>,
    /// Its preset; empty for none.
    #[serde(default)]
    pub preset: Option<Text<128>>,
}

/// Sends another version of an earlier message, or the same one once more: the answer to it begins a branch of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnFork {
    /// The thread.
    pub thread_id: ThreadId,
    /// The sequence of the person's message that it stands beside; on the active branch.
    pub sibling_of: u64,
    /// The message.
    pub input: UserInput,
    /// Choices for it.
    #[serde(default)]
    pub overrides: TurnOverrides,
}

/// Adds or changes a permission rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulePut {
    /// The rule, its id minted by the view for a new one.
    pub rule: RuleView,
}

/// Removes a permission rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleRemove {
    /// Which.
    pub rule_id: RuleId,
}

/// Takes back a permission that was given until the browser closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantRevoke {
    /// The conversation that it was given in.
    pub granted_in: ThreadId,
    /// The tool.
    pub tool: Text<128>,
    /// The origin.
    pub origin: Text<2048>,
}

/// Sends a message; it waits its turn when the thread is busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSubmit {
    /// The thread.
    pub thread_id: ThreadId,
    /// The message.
    pub input: UserInput,
    /// Choices for it.
    #[serde(default)]
    pub overrides: TurnOverrides,
}

/// Adds a message to the turn that is under way; the model reads it with its next request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteer {
    /// The thread.
    pub thread_id: ThreadId,
    /// The turn that the person saw; the message is not meant for another one.
    pub expected_turn_id: TurnId,
    /// The message.
    pub input: UserInput,
    /// The message that waits in the queue and that this one is: it leaves the queue by the same commit.
    #[serde(default)]
    pub promotes: Option<RunId>,
}

/// Changes a message that waits in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueUpdate {
    /// The thread.
    pub thread_id: ThreadId,
    /// The run that waits.
    pub run_id: RunId,
    /// The message now. Without a browser context the tab that it was sent beside stays.
    pub input: UserInput,
    /// The choices for it now; absent leaves them as they are.
    #[serde(default)]
    pub overrides: Option<TurnOverrides>,
}

/// Names a run of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOnly {
    /// The thread.
    pub thread_id: ThreadId,
    /// The run.
    pub run_id: RunId,
}

/// Says what became of a write whose end was not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResolveUncertain {
    /// The thread.
    pub thread_id: ThreadId,
    /// The run.
    pub run_id: RunId,
    /// What became of it.
    pub resolution: Resolution,
}

/// Answers an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    /// The thread that asks.
    pub thread_id: ThreadId,
    /// The question.
    pub approval_id: ApprovalId,
    /// The answer.
    pub decision: ApprovalDecision,
}

/// Answers an interaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InteractionResponse {
    /// The thread that waits.
    pub thread_id: ThreadId,
    /// The interaction.
    pub interaction_id: ApprovalId,
    /// The answer.
    pub response: InteractionAnswer,
}

/// Keeps a message that is being written. The newest text counts; nothing is answered unless it cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftUpdate {
    /// The thread; none for the one that does not exist yet.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    /// The text so far; empty when there is none any more.
    pub text: Text<500_000>,
}

/// Changes the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsUpdate {
    /// The changes, applied together.
    #[schemars(length(min = 1, max = 64))]
    pub changes: Vec<SettingsChange>,
}

/// Unlocks the credentials until the browser closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretsUnlock {
    /// The key that the passphrase gives.
    pub key: IncomingKey,
}

/// Changes how credentials are protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretsUpdate {
    /// The change.
    pub change: SecretsChange,
}

/// Tries a connection with a real request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionVerify {
    /// Which.
    pub connection_id: ConnectionId,
    /// The model to try; the connection's first one when absent.
    #[serde(default)]
    pub model_id: Option<Text<256>>,
    /// What to try in place of what is saved; then the id need not be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Box<ConnectionDraft>>,
}

/// Asks a connection for its models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionModels {
    /// Which.
    pub connection_id: ConnectionId,
    /// What to ask in place of what is saved; then the id need not be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Box<ConnectionDraft>>,
}

/// Names a connection and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionOnly {
    /// Which.
    pub connection_id: ConnectionId,
}

/// Asks for nothing but an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
pub struct Nothing {}

macro_rules! ops {
    ($($(#[$doc:meta])* $wire:literal $variant:ident($params:ty) $scope:ident $receipt:ident;)*) => {
        /// An operation. The table below is the whole list: wire name, parameters, scope, receipt.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Op { $($(#[$doc])* $variant($params),)* }

        impl Op {
            /// The wire names.
            pub const NAMES: &'static [&'static str] = &[$($wire),*];

            /// The wire name.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $wire,)* }
            }

            /// What it concerns.
            #[must_use]
            pub const fn scope(&self) -> Scope {
                match self { $(Self::$variant(_) => Scope::$scope,)* }
            }

            /// Whether it is answered with a stored receipt.
            #[must_use]
            pub const fn receipting(&self) -> Receipting {
                match self { $(Self::$variant(_) => Receipting::$receipt,)* }
            }

            /// Its parameters as JSON.
            #[must_use]
            pub fn params(&self) -> serde_json::Value {
                match self { $(Self::$variant(params) => params.to_json(),)* }
            }

            /// Reads the parameters of an operation; `None` for a name that is not in the table.
            pub(crate) fn from_params(
                name: &str,
                params: &serde_json::Value,
            ) -> Option<Result<Self, JsonError>> {
                // Each type's reading is compiled when it is first needed, so it is no part of this function.
                #[inline(never)]
                fn read<T: FromJson>(params: &serde_json::Value, wrap: fn(T) -> Op) -> Result<Op, JsonError> {
                    T::from_json(params.clone()).map(wrap)
                }
                match name {
                    $($wire => Some(read(params, Self::$variant)),)*
                    _ => None,
                }
            }

            /// What serde, the oracle of the tests, reads from the same value.
            #[cfg(test)]
            pub(crate) fn by_serde(name: &str, params: &serde_json::Value) -> Option<Option<Self>> {
                match name {
                    $($wire => Some(serde_json::from_value(params.clone()).ok().map(Self::$variant)),)*
                    _ => None,
                }
            }

            /// What serde writes for the same.
            #[cfg(test)]
            pub(crate) fn params_by_serde(&self) -> serde_json::Value {
                match self { $(Self::$variant(params) => serde_json::to_value(params).unwrap(),)* }
            }

            pub(crate) fn schemas() -> Vec<(&'static str, String, schemars::Schema)> {
                vec![$(($wire, format!("{:?} {:?}", Scope::$scope, Receipting::$receipt), crate::manifest::schema::<$params>()),)*]
            }
        }
    };
}

ops! {
    /// Answers an approval.
    "approval.response" ApprovalResponse(ApprovalResponse) Thread Durable;
    /// Ends the try of a connection, or the question for its models, that the same view has begun.
    "connection.cancel" ConnectionCancel(ConnectionOnly) Directory None;
    /// Asks a connection for its models.
    "connection.models" ConnectionModels(ConnectionModels) Directory None;
    /// Tries a connection with real requests.
    "connection.verify" ConnectionVerify(ConnectionVerify) Directory None;
    /// Keeps a message that is being written.
    "draft.update" DraftUpdate(DraftUpdate) Thread None;
    /// Takes back a permission for this browser session.
    "grant.revoke" GrantRevoke(GrantRevoke) Directory Durable;
    /// Opens the conversation.
    "initialize" Initialize(Initialize) Connection None;
    /// Answers an interaction.
    "interaction.response" InteractionResponse(InteractionResponse) Thread Durable;
    /// Deletes the content of an entry; of a message of the model the results of its calls, too.
    "message.delete" MessageDelete(ThreadNode) Thread Durable;
    /// Asks for a sign of life.
    "ping" Ping(Nothing) Connection None;
    /// Takes a message out of the queue, or gives an interrupted run up.
    "queue.remove" QueueRemove(RunOnly) Thread Durable;
    /// Changes a message that waits in the queue.
    "queue.update" QueueUpdate(QueueUpdate) Thread Durable;
    /// Adds or changes a permission rule.
    "rule.put" RulePut(RulePut) Directory Durable;
    /// Removes a permission rule.
    "rule.remove" RuleRemove(RuleRemove) Directory Durable;
    /// Says what became of an uncertain write.
    "run.resolveUncertain" RunResolveUncertain(RunResolveUncertain) Thread Durable;
    /// Goes on with a run that is interrupted or has used up its token budget.
    "run.resume" RunResume(RunOnly) Thread Durable;
    /// Locks the credentials.
    "secrets.lock" SecretsLock(Nothing) Directory None;
    /// Unlocks them until the browser closes.
    "secrets.unlock" SecretsUnlock(SecretsUnlock) Directory None;
    /// Sets, changes or removes the passphrase, or forgets the credentials.
    "secrets.update" SecretsUpdate(SecretsUpdate) Directory Durable;
    /// Asks for the settings.
    "settings.get" SettingsGet(Nothing) Directory None;
    /// Changes the settings.
    "settings.update" SettingsUpdate(SettingsUpdate) Directory Durable;
    /// Makes a thread.
    "thread.create" ThreadCreate(ThreadCreate) Directory Durable;
    /// Deletes a thread.
    "thread.delete" ThreadDelete(ThreadOnly) Thread Durable;
    /// Copies the branch up to an entry into a thread of its own.
    "thread.fork" ThreadFork(ThreadNode) Thread Durable;
    /// Asks for older messages.
    "thread.history" ThreadHistory(ThreadHistory) Thread None;
    /// Shows the branch that goes on from another version of a message.
    "thread.selectBranch" ThreadSelectBranch(ThreadNode) Thread Durable;
    /// Follows a thread, and no other any more.
    "thread.subscribe" ThreadSubscribe(ThreadOnly) Thread None;
    /// Changes what the list says of a thread.
    "thread.update" ThreadUpdate(ThreadUpdate) Thread Durable;
    /// Sends a message behind what is under way, and leaves what is interrupted as it is.
    "turn.enqueue" TurnEnqueue(TurnSubmit) Thread Durable;
    /// Sends another version of an earlier message.
    "turn.fork" TurnFork(TurnFork) Thread Durable;
    /// Stops what a thread does.
    "turn.interrupt" TurnInterrupt(ThreadOnly) Thread Durable;
    /// Adds a message to the turn under way.
    "turn.steer" TurnSteer(TurnSteer) Thread Durable;
    /// Sends a message.
    "turn.submit" TurnSubmit(TurnSubmit) Thread Durable;
    /// Installs a waiting update now, whatever is under way.
    "update.apply" UpdateApply(Nothing) Directory None;
}

impl Op {
    /// The thread it names.
    #[must_use]
    pub fn thread_id(&self) -> Option<&ThreadId> {
        match self {
            Self::ApprovalResponse(it) => Some(&it.thread_id),
            Self::DraftUpdate(it) => it.thread_id.as_ref(),
            Self::InteractionResponse(it) => Some(&it.thread_id),
            Self::RunResolveUncertain(it) => Some(&it.thread_id),
            Self::QueueUpdate(it) => Some(&it.thread_id),
            Self::QueueRemove(it) | Self::RunResume(it) => Some(&it.thread_id),
            Self::ThreadDelete(it) | Self::ThreadSubscribe(it) | Self::TurnInterrupt(it) => {
                Some(&it.thread_id)
            }
            Self::ThreadHistory(it) => Some(&it.thread_id),
            Self::MessageDelete(it) | Self::ThreadFork(it) | Self::ThreadSelectBranch(it) => {
                Some(&it.thread_id)
            }
            Self::ThreadUpdate(it) => Some(&it.thread_id),
            Self::TurnFork(it) => Some(&it.thread_id),
            Self::TurnSteer(it) => Some(&it.thread_id),
            Self::TurnEnqueue(it) | Self::TurnSubmit(it) => Some(&it.thread_id),
            Self::ConnectionCancel(_)
            | Self::ConnectionModels(_)
            | Self::ConnectionVerify(_)
            | Self::GrantRevoke(_)
            | Self::Initialize(_)
            | Self::Ping(_)
            | Self::RulePut(_)
            | Self::RuleRemove(_)
            | Self::SecretsLock(_)
            | Self::SecretsUnlock(_)
            | Self::SecretsUpdate(_)
            | Self::SettingsGet(_)
            | Self::SettingsUpdate(_)
            | Self::ThreadCreate(_)
            | Self::UpdateApply(_) => None,
        }
    }

    /// Rules that a type alone cannot state; the text goes to the developer of the view.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let blank = |input: &UserInput| input.text.trim().is_empty();
        match self {
            Self::ThreadCreate(it) if it.input.as_ref().is_some_and(blank) => {
                Err("input.text: must not be blank")
            }
            Self::TurnFork(it) if blank(&it.input) => Err("input.text: must not be blank"),
            Self::ThreadUpdate(it) if it.title.as_ref().is_some_and(|title| title.trim().is_empty()) => {
                Err("title: must not be blank")
            }
            Self::ThreadUpdate(it) if it.tags.as_ref().is_some_and(|tags| tags.len() > 16) => {
                Err("tags: at most 16 expected")
            }
            Self::TurnEnqueue(it) | Self::TurnSubmit(it) if blank(&it.input) => {
                Err("input.text: must not be blank")
            }
            Self::TurnSteer(it) if blank(&it.input) => Err("input.text: must not be blank"),
            Self::QueueUpdate(it) if blank(&it.input) => Err("input.text: must not be blank"),
            Self::SettingsUpdate(it) if it.changes.is_empty() || it.changes.len() > 64 => {
                Err("changes: 1 to 64 changes expected")
            }
            _ => Ok(()),
        }
    }
}
