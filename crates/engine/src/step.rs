//! What the engine wants: one commit, and effects that wait for it.

use panelot_base::{
    ConnectionId, EnvironmentDigest, ItemId, ModelCallId, RunId, SafeUrl, Secret, SubmissionId, ThreadId,
    TurnId,
};
use panelot_gatekeeper::Permit;
use panelot_protocol::{EventMessage, OpMessage};
use panelot_provider::{ModelFacts, Quirks, Request};
use panelot_records::{Commit, ProviderWire, Response, Scan};
use panelot_tools::{Call, Command};

use crate::input::{ConnectionHandle, TargetPhase};

/// One decision. The driver applies the commit and only then runs the effects, in order. If the commit fails it drops
/// the threads' machines, reads them and the directory anew from the store, and runs `on_failure` instead. Later steps of
/// the same input that concern a dropped thread are dropped too.
#[derive(Debug, Default)]
pub struct Step {
    /// The durable change; `None` for what changes nothing that lasts.
    pub commit: Option<Commit>,
    /// What follows from it.
    pub effects: Vec<Effect>,
    /// The answer to the command when the commit fails: refused, retryable, nothing changed.
    pub on_failure: Vec<Effect>,
    /// The threads that it concerns.
    pub threads: Vec<ThreadId>,
}

/// Who hears an event.
pub type Audience = Vec<ConnectionHandle>;

/// How a model is told something that is not part of the conversation's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reminder {
    /// Its previous answer was cut off; go on from there.
    ContinueAnswer,
    /// The turn that was cut off is not the newest one any more: take it up again.
    ResumeEarlier(TurnId),
    /// So many calls failed in a row: change the approach.
    ChangeApproach(u32),
    /// The same calls brought the same so many times: change the approach.
    BreakLoop(u32),
    /// Too many calls failed: sum up, without tools.
    Finalize,
    /// The same calls brought the same too often: sum up, without tools.
    FinalizeLoop,
}

impl Reminder {
    /// Whether the answer is the last one of its turn, for which no tools are offered.
    pub(crate) const fn is_last(&self) -> bool {
        matches!(self, Self::Finalize | Self::FinalizeLoop)
    }
}

/// How much a request may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// What is known of the model's window.
    Window,
    /// Less than it holds now: the provider has refused it as too long.
    Less,
    /// Whatever it holds: nothing can be left out.
    Any,
}

/// Where a conversation is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The last node that the summary stands for.
    pub up_to: u64,
    /// What the person wrote up to there.
    pub requests: String,
    /// Tokens that the request for the summary may have.
    pub room_tokens: usize,
}

/// What a model is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// To go on with the conversation.
    Answer(Room),
    /// To summarise its beginning.
    Summary(Cut),
    /// A small task beside the conversation, with its whole request: there is no path to read, and only the answer counts.
    Given(Box<Request>),
}

/// A credential, or where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Sealed in the store under this name.
    Stored(ConnectionId),
    /// As it was typed.
    Given(Secret),
}

/// How a provider is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which protocol it speaks.
    pub wire: ProviderWire,
    /// Where it is.
    pub base_url: SafeUrl,
    /// What its server wants differently.
    pub quirks: Quirks,
    /// The keys, in the order in which they are used; of a call the one that it is made with.
    pub keys: Vec<Credential>,
    /// Headers that go with every request.
    pub headers: Vec<(String, Credential)>,
}

impl Access {
    /// No place at all.
    pub(crate) fn nowhere() -> Self {
        Self {
            wire: ProviderWire::default(),
            base_url: SafeUrl::new(String::new()),
            quirks: Quirks::default(),
            keys: Vec::new(),
            headers: Vec::new(),
        }
    }
}

/// A connection to be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Who asks.
    pub from: ConnectionHandle,
    /// With which command.
    pub submission: SubmissionId,
    /// Which connection.
    pub connection: ConnectionId,
    /// How it is reached.
    pub access: Access,
    /// With which model; empty for the first one that it lists.
    pub model: String,
    /// Whether it is only asked for its models.
    pub only_lists: bool,
}

/// A request to a model, by reference: the driver reads the path and builds the request with [`crate::context`].
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// The thread.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// Identity of this call.
    pub call: ModelCallId,
    /// The newest node of the path.
    pub leaf: u64,
    /// What the run is bound to.
    pub environment: EnvironmentDigest,
    /// Whose model it is.
    pub connection: ConnectionId,
    /// How the provider is reached, as the settings say now.
    pub access: Access,
    /// What is known of the model.
    pub facts: ModelFacts,
    /// What for.
    pub purpose: Purpose,
    /// Said to the model after the conversation.
    pub reminders: Vec<Reminder>,
    /// From which the fences of foreign content are made.
    pub fence_seed: String,
}

/// A look at what a call is aimed at.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetLookup {
    /// The thread.
    pub thread: ThreadId,
    /// The call.
    pub item: ItemId,
    /// For what.
    pub phase: TargetPhase,
    /// The call itself.
    pub call: Call,
    /// The tab that was in front when the person wrote.
    pub default_tab: Option<u32>,
}

/// Something for the driver to do.
#[derive(Debug)]
pub enum Effect {
    /// Tell views.
    Send {
        /// Which.
        to: Audience,
        /// What.
        message: Box<EventMessage>,
    },
    /// Close a Port after what was sent to it.
    Close(ConnectionHandle),
    /// Hand in [`crate::Input::Load`].
    Load(ThreadId),
    /// Ask a model.
    CallModel(Box<ModelCall>),
    /// Stop asking. A result that comes all the same is ignored.
    CancelModel {
        /// Which thread's.
        thread: ThreadId,
        /// Which.
        call: ModelCallId,
    },
    /// Look up a target.
    FindTarget(Box<TargetLookup>),
    /// Let a tool run. The dispatch is recorded.
    Dispatch {
        /// The thread.
        thread: ThreadId,
        /// The call.
        item: ItemId,
        /// Which attempt of it.
        attempt: u32,
        /// The permission for exactly this.
        permit: Box<Permit>,
        /// What to do.
        command: Box<Command>,
    },
    /// Stop a tool. What it reports all the same is recorded and moves nothing.
    CancelTool {
        /// The thread.
        thread: ThreadId,
        /// The call.
        item: ItemId,
    },
    /// Tell the server that carries out a call what the person answered to its question.
    Elicited {
        /// The thread.
        thread: ThreadId,
        /// The call.
        item: ItemId,
        /// Which attempt of it.
        attempt: u32,
        /// The answer.
        response: Response,
    },
    /// Try a connection, and answer with [`crate::Input::TryStep`] and [`crate::Input::Tried`]. A second try of the same
    /// connection by the same view ends the first.
    Try(Box<Trial>),
    /// End what a view tries, of one connection or of all.
    CancelTry {
        /// Whose.
        from: ConnectionHandle,
        /// Of which connection; none for all.
        connection: Option<ConnectionId>,
    },
    /// Unlock the credentials and answer with [`crate::Input::Unlocked`].
    Unlock {
        /// Who asks.
        from: ConnectionHandle,
        /// With which command.
        submission: SubmissionId,
        /// The key that the passphrase gives.
        key: Secret,
    },
    /// Lock them.
    Lock,
    /// What unlocks the credentials has changed: keep it until the browser closes.
    KeepUnlocked,
    /// Read a whole branch and answer with [`crate::Input::Branch`].
    ReadBranch {
        /// Who asks.
        from: ConnectionHandle,
        /// With which command.
        message: Box<OpMessage>,
        /// The thread.
        thread: ThreadId,
        /// The end of the branch.
        leaf: u64,
    },
    /// Read these records after a while and answer with [`crate::Input::Swept`]. It is not work that keeps the worker
    /// alive.
    Sweep(Box<Scan>),
    /// Read older nodes and answer with [`crate::Input::History`].
    ReadHistory {
        /// Who asks.
        from: ConnectionHandle,
        /// With which command.
        submission: SubmissionId,
        /// The thread.
        thread: ThreadId,
        /// The node before which the wanted page lies.
        before: u64,
    },
}
