//! The durable execution of one submitted message.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{
    ApprovalId, ClientId, ConnectionId, EnvironmentDigest, ItemId, RunId, SubmissionId, ThreadId, Timestamp,
    TurnId,
};
use panelot_provider::Effort;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::node::{TabIdentity, Usage};

/// Where a run stands. No state means two things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Admitted, not begun: it has no nodes yet.
    Queued,
    /// Begun: a model call or a tool is due or under way.
    Running,
    /// A call needs the person's word.
    WaitingApproval,
    /// A call waits for something other than an approval.
    WaitingInteraction,
    /// The token budget is used up.
    PausedBudget,
    /// A write was started and its end was not seen: the person decides.
    PausedUncertain,
    /// The credentials are locked by a passphrase; it goes on once they are unlocked.
    PausedLocked,
    /// The worker died; it can be resumed and does not hold the queue.
    Interrupted,
    /// Ended with an answer.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended by the person.
    Cancelled,
}

impl RunState {
    /// Whether the run is over for good.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether it works, or waits for something that its calls need.
    #[must_use]
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Running | Self::WaitingApproval | Self::WaitingInteraction)
    }

    /// Whether runs behind it must wait.
    #[must_use]
    pub const fn holds_queue(self) -> bool {
        matches!(
            self,
            Self::Running
                | Self::WaitingApproval
                | Self::WaitingInteraction
                | Self::PausedBudget
                | Self::PausedUncertain
                | Self::PausedLocked
        )
    }

    /// Whether `self` may become `next`. Every other pair is a bug.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Queued => matches!(next, Self::Running | Self::Failed | Self::Cancelled),
            Self::Running => !matches!(next, Self::Queued),
            Self::WaitingApproval | Self::WaitingInteraction => matches!(
                next,
                Self::Running
                    | Self::WaitingApproval
                    | Self::WaitingInteraction
                    | Self::PausedUncertain
                    | Self::Failed
                    | Self::Cancelled
            ),
            Self::PausedBudget | Self::PausedUncertain | Self::PausedLocked | Self::Interrupted => {
                matches!(next, Self::Running | Self::Failed | Self::Cancelled)
            }
            Self::Completed | Self::Failed | Self::Cancelled => false,
        }
    }
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CallState {
    /// The model asked for it.
    Proposed,
    /// It waits: for the person's word, or for what an interaction is about.
    #[serde(rename_all = "camelCase")]
    Waiting {
        /// The question or interaction.
        approval: ApprovalId,
    },
    /// The person agreed; it is not started.
    #[serde(rename_all = "camelCase")]
    Approved {
        /// The answered question.
        approval: ApprovalId,
    },
    /// It may have started: recorded before the first effect.
    #[serde(rename_all = "camelCase")]
    Dispatched {
        /// Counts the attempts, from 1; each is made at most once.
        attempt: u32,
        /// When.
        at: Timestamp,
    },
    /// Its end was not seen, and it may have had an effect.
    #[serde(rename_all = "camelCase")]
    Uncertain {
        /// The attempt in question.
        attempt: u32,
    },
    /// It has its result node.
    Done,
    /// It was never started and has a result node that says so.
    Skipped,
}

/// The durable status of one call of the open batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The call, found in the assistant node of the batch.
    pub item: ItemId,
    /// Where it stands.
    pub state: CallState,
    /// What it was aimed at when it was judged (the tools crate's `Target` as JSON).
    #[serde(default)]
    pub target: Option<Value>,
    /// Attempts made so far.
    #[serde(default)]
    pub attempts: u32,
    /// The question that the person agreed to, kept for a replay after a crash.
    #[serde(default)]
    pub approval: Option<ApprovalId>,
}

/// The calls of the newest assistant message, while any of them is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// The node that asked for them.
    pub assistant_seq: u64,
    /// Their states, in the order of the message.
    pub calls: Vec<Call>,
}

/// Why a run ended or stands still, for the record and for views.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    /// A code from the protocol's closed list.
    pub code: String,
    /// What happened, in English, bounded, without secrets.
    pub message: String,
    /// The provider's error as JSON, when it was one.
    #[serde(default)]
    pub provider: Option<Value>,
}

/// A message that was added to a run under way. It becomes a node before the next request to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Steer {
    /// With which command it came.
    pub submission: SubmissionId,
    /// The text.
    pub text: String,
    /// The tab in front when it was sent.
    #[serde(default)]
    pub default_tab: Option<TabIdentity>,
}

/// One submitted message on its way to an answer. Small: what it is bound to lies in its [`Environment`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Identity.
    pub id: RunId,
    /// The conversation.
    pub thread: ThreadId,
    /// The streamed activity; the same across resumes.
    pub turn: TurnId,
    /// Grows by one with each commit that changes it.
    pub revision: u64,
    /// Where it stands.
    pub state: RunState,
    /// Its place in the thread's order of admission.
    pub order: u64,
    /// Who submitted it.
    pub client: ClientId,
    /// With which command.
    pub submission: SubmissionId,
    /// The message while it waits in the queue; once begun it lies in a node.
    #[serde(default)]
    pub queued_text: Option<String>,
    /// The tab in front when it was sent.
    #[serde(default)]
    pub default_tab: Option<TabIdentity>,
    /// The person's choices for this run alone.
    #[serde(default)]
    pub overrides: Overrides,
    /// What it is bound to, once begun.
    #[serde(default)]
    pub environment: Option<EnvironmentDigest>,
    /// The model that it uses, once begun.
    #[serde(default)]
    pub model: Option<ModelChoice>,
    /// The levels of tools that it may use, once begun; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_levels: Option<Vec<String>>,
    /// Its newest node: where it goes on after a restart.
    #[serde(default)]
    pub leaf: Option<u64>,
    /// The node that holds what a model call had streamed so far.
    #[serde(default)]
    pub partial: Option<u64>,
    /// The calls that are open.
    #[serde(default)]
    pub batch: Option<Batch>,
    /// Model calls made.
    #[serde(default)]
    pub model_calls: u32,
    /// Tool calls that failed in a row.
    #[serde(default)]
    pub failures: u32,
    /// Messages that were added and are not in a node yet, in the order of their admission.
    #[serde(default)]
    pub steers: Vec<Steer>,
    /// Fingerprints of the newest calls with what came back, oldest first: a loop shows in them.
    #[serde(default)]
    pub trail: Vec<u32>,
    /// Tokens after which it pauses, counted from its beginning; none for no bound.
    #[serde(default)]
    pub token_limit: Option<u64>,
    /// What it has used.
    #[serde(default)]
    pub usage: Usage,
    /// Why it ended.
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<RunError>,
    /// When it was admitted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What the person chose for one message instead of the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Overrides {
    /// Another model.
    #[serde(default)]
    pub model: Option<ModelChoice>,
    /// Another permission policy (`always`, `untrusted`, `auto`).
    #[serde(default)]
    pub policy: Option<String>,
    /// How much the model should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// A model of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct ModelChoice {
    /// The connection.
    pub connection: ConnectionId,
    /// The model's name at the provider.
    pub model: String,
}

/// What a run was bound to when it began. Stored once per content, found by its digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    /// The system prompt, whole.
    pub system: String,
    /// The tools that were offered: name, description, parameters.
    pub tools: Vec<Value>,
    /// The model.
    pub model: ModelChoice,
    /// Sampling parameters as the provider crate writes them.
    #[serde(default)]
    pub parameters: Value,
}

#[cfg(test)]
mod tests {
    use super::RunState::{self, *};

    const ALL: [RunState; 11] = [
        Queued,
        Running,
        WaitingApproval,
        WaitingInteraction,
        PausedBudget,
        PausedUncertain,
        PausedLocked,
        Interrupted,
        Completed,
        Failed,
        Cancelled,
    ];

    #[test]
    fn an_end_is_final_and_every_open_state_can_be_cancelled() {
        for state in ALL {
            let ways_out = ALL.iter().filter(|next| state.may_become(**next)).count();
            assert_eq!(state.is_end(), ways_out == 0, "{state:?}");
            assert!(state.is_end() || state.may_become(Cancelled), "{state:?}");
        }
    }

    #[test]
    fn nothing_goes_back_into_the_queue() {
        assert!(ALL.iter().all(|state| !state.may_become(Queued)));
    }

    #[test]
    fn only_unfinished_business_of_the_person_or_the_agent_holds_the_queue() {
        let holding: Vec<_> = ALL.into_iter().filter(|state| state.holds_queue()).collect();
        assert_eq!(
            holding,
            [Running, WaitingApproval, WaitingInteraction, PausedBudget, PausedUncertain, PausedLocked]
        );
    }
}
