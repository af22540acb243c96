//! Everything that can ever make the engine do something. A closed list.

use crate::step::{Cut, Trial};
use panelot_base::{ItemId, ModelCallId, SubmissionId, ThreadId};
use panelot_protocol::{OpMessage, RejectedOp};
use panelot_provider::verify::{StepReport, Tried};
use panelot_provider::{ProviderError, Response};
use panelot_records::{Node, Receipt, Record, RecordError, ThreadHead};
use panelot_tools::{Report, TargetError, TargetFacts};
use serde_json::Value;

/// A Port that is open, as the driver numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionHandle(pub u64);

/// Which of its two looks at the target a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPhase {
    /// To be judged.
    Judge,
    /// Agreed to by the person; judged again right before it is dispatched.
    Dispatch,
    /// Of a page that is watched: judged again before each look.
    Look,
}

/// What happened in a tab that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageSignal {
    /// It shows something else, or something of it changed.
    Changed {
        /// Its new address.
        url: Option<String>,
    },
    /// It was closed.
    Gone,
}

/// What a model call brings.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelInput {
    /// More text, merged by the driver over at most [`panelot_base::limits::DELTA_MERGE_MS`].
    Delta {
        /// Answer.
        text: String,
        /// Shown reasoning.
        reasoning: String,
    },
    /// The whole answer.
    Completed(Response),
    /// The request would not fit and was not sent; where its path can be cut, if anywhere.
    Full(Option<Cut>),
    /// The provider failed.
    Failed(ProviderError),
    /// The call was not made: the credential is locked.
    Locked,
    /// The call could not be made for a fault on our side.
    Broken(String),
}

/// Nodes that must be read before an operation can be handled; see [`crate::Engine::wants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The newest nodes of the branch that ends in `leaf`, that one included.
    Branch {
        /// The end.
        leaf: u64,
        /// How many.
        limit: usize,
    },
    /// The nodes below `before`, whatever branch they are of, newest first.
    Window {
        /// The bound.
        before: u64,
        /// How many.
        limit: usize,
    },
}

/// What was read of them; nothing where there is no such node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The nodes; of a branch the oldest first.
    pub nodes: Vec<Node>,
    /// Whether the branch has older ones.
    pub has_older: bool,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A Port was opened.
    Connected(ConnectionHandle),
    /// A Port is gone.
    Disconnected(ConnectionHandle),
    /// A view asks for something.
    Op {
        /// By which Port.
        from: ConnectionHandle,
        /// What it asks.
        message: OpMessage,
        /// The stored answer to the same submission, which the driver looked up for every durable operation.
        receipt: Option<Receipt>,
    },
    /// Whether the key that [`crate::Engine::wants_checked`] named is that of the present passphrase; the operation follows at
    /// once.
    Checked {
        /// It is.
        right: bool,
    },
    /// A view's try to unlock the credentials ended.
    Unlocked {
        /// By which Port it asked.
        from: ConnectionHandle,
        /// With which command.
        submission: SubmissionId,
        /// Whether the passphrase was the right one; or why that cannot be told, in English.
        result: Result<bool, String>,
    },
    /// What [`crate::Engine::wants`] asked for; the operation follows at once.
    Found {
        /// The thread.
        thread: ThreadId,
        /// What was read.
        found: Found,
    },
    /// The branch that a copy is made of was read, or could not be.
    Branch {
        /// By which Port the copy was asked for.
        from: ConnectionHandle,
        /// By which command.
        message: OpMessage,
        /// The stored answer to the same submission, which the driver looked up once more.
        receipt: Option<Receipt>,
        /// The whole branch, oldest node first; empty where there is no such node; or why it cannot be read now.
        path: Result<Vec<Node>, String>,
    },
    /// A view sent something that is no operation.
    Malformed {
        /// By which Port.
        from: ConnectionHandle,
        /// What is wrong with it.
        rejected: RejectedOp,
    },
    /// An operation found too many others of its thread waiting and was not looked at.
    Overloaded {
        /// By which Port.
        from: ConnectionHandle,
        /// The operation.
        message: OpMessage,
    },
    /// A thread's records are due: it had open runs at the start, or a commit of it failed. The driver reads them
    /// before it hands this over, as for every input that [`crate::Engine::needs`] a thread for.
    Load {
        /// The thread.
        thread: ThreadId,
    },
    /// A thread's records were read: build its machine and recover what was open.
    Loaded {
        /// The thread.
        thread: ThreadId,
        /// Its head; none when it does not exist.
        head: Option<Box<ThreadHead>>,
    },
    /// A thread's records cannot be read. It concerns this thread alone.
    Unreadable {
        /// The thread.
        thread: ThreadId,
        /// Why, in English.
        why: String,
    },
    /// A reader found that the branch begins with this node, because the one that it names as its parent is not there.
    Cut {
        /// The thread.
        thread: ThreadId,
        /// The node.
        node: Box<Node>,
    },
    /// A model call brought something.
    Model {
        /// The thread.
        thread: ThreadId,
        /// The call; one that is not the current one is ignored.
        call: ModelCallId,
        /// What it brought.
        event: ModelInput,
    },
    /// A call's target was looked up.
    Target {
        /// The thread.
        thread: ThreadId,
        /// The call.
        item: ItemId,
        /// For which look.
        phase: TargetPhase,
        /// What the browser says.
        found: Result<TargetFacts, TargetError>,
    },
    /// A dispatched call ended.
    Report {
        /// The thread.
        thread: ThreadId,
        /// The call.
        item: ItemId,
        /// Which attempt of it.
        attempt: u32,
        /// What the browser reports.
        report: Report,
    },
    /// Records that may not be needed any more.
    Swept {
        /// As they were read, in the order of the scan.
        found: Vec<Result<Record, RecordError>>,
    },
    /// A server that carries out a dispatched call asks the person something; [`crate::Effect::Elicited`] answers.
    Elicitation {
        /// The thread.
        thread: ThreadId,
        /// The call.
        item: ItemId,
        /// Which attempt of it.
        attempt: u32,
        /// What it asks: `serverId`, `message`, `requestedSchema`. Foreign.
        asked: Value,
    },
    /// Something happened in a tab for which [`crate::Engine::watches`] says yes.
    Page {
        /// The tab.
        tab_id: u32,
        /// What.
        signal: PageSignal,
    },
    /// A new version of the extension waits until [`crate::Engine::wants_reload`].
    UpdateAvailable {
        /// Which.
        version: String,
    },
    /// The time that [`crate::Engine::next_wake`] named has come.
    Wake,
    /// A part of a try of a connection ended.
    TryStep {
        /// Which try.
        trial: Box<Trial>,
        /// What is told of it.
        report: StepReport,
    },
    /// A try of a connection ended.
    Tried {
        /// Which try.
        trial: Box<Trial>,
        /// What it came to; none when it was cancelled.
        result: Option<Tried>,
    },
    /// Older nodes were read, or could not be.
    History {
        /// Who asked.
        from: ConnectionHandle,
        /// With which command.
        submission: SubmissionId,
        /// The thread.
        thread: ThreadId,
        /// The nodes, oldest first, and whether there are older ones still; or why not, in English.
        page: Result<(Vec<Node>, bool), String>,
    },
}
