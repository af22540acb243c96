//! The machine of one document: it keeps the conversation with the engine alive and the view model true.
//!
//! Inputs are what the shell saw (a port opened, a message came, the person clicked); effects are what it must do.
//! Read next: `client/link.rs`, `client/outbox.rs`, `client/commands.rs`, `client/events.rs`.

mod commands;
mod events;
mod link;
mod outbox;

use std::collections::{BTreeMap, BTreeSet};

use panelot_base::limits::RECONNECT_MIN_MS;
use panelot_base::{
    ApprovalId, ClientId, ConnectionId, IdSource, RuleId, RunId, SubmissionId, ThreadId, Timestamp,
};
use panelot_protocol::op::{
    ApprovalDecision, BrowserContext, DraftUpdate, InteractionAnswer, Resolution, Surface, TurnOverrides,
};
use panelot_protocol::settings::{GrantView, IncomingKey, SecretsChange, SettingsChange};
use panelot_protocol::{DirectoryCursor, Op, OpMessage, StreamCursor, Text};
use serde_json::Value;

use crate::model::{Changes, CommandKind, LastError, Refusal, Verification, ViewModel};
use link::Link;
use outbox::Outbox;
pub use outbox::{outbox_key, unfinished_clients};

/// What a client is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The document's own id. A reloaded document keeps it, or its outbox is not its own any more.
    pub client_id: ClientId,
    /// Where the ids of commands come from: 128 random bits, new ones at every load of the document.
    pub ids: IdSource,
    /// The browser window the document stands in.
    pub window_id: Option<u32>,
    /// What kind of page it is.
    pub surface: Surface,
}

/// What the person wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Show a thread.
    Open {
        /// Which.
        thread: ThreadId,
    },
    /// Show an empty draft. Nothing is stored before its first message.
    NewChat,
    /// Send a message to the open thread, or make a thread of the draft with it.
    Submit {
        /// The text.
        text: String,
        /// What the browser showed, captured when the person sent it.
        browser_context: Option<BrowserContext>,
        /// Choices for this message.
        overrides: TurnOverrides,
    },
    /// Add a message to the turn that is under way in the open thread; where none can take it, send it as any other.
    Steer {
        /// The text.
        text: String,
        /// What the browser showed, captured when the person sent it.
        browser_context: Option<BrowserContext>,
        /// Choices for it, should it become a message of its own.
        overrides: TurnOverrides,
    },
    /// Change a message of the open thread that waits its turn.
    ChangeQueued {
        /// Its run.
        run: RunId,
        /// The text now.
        text: String,
    },
    /// Take a message that waits its turn out of the queue, or give an interrupted run up.
    RemoveQueued {
        /// The run.
        run: RunId,
    },
    /// Send another version of a message of the open thread, or the same once more; its answer begins a branch.
    Revise {
        /// The sequence of the message that it stands beside.
        sibling_of: u64,
        /// The text.
        text: String,
        /// What the browser showed, captured when the person sent it.
        browser_context: Option<BrowserContext>,
        /// Choices for it.
        overrides: TurnOverrides,
    },
    /// Show the branch of another version of a message of the open thread.
    ShowVersion {
        /// The version's sequence.
        node: u64,
    },
    /// Copy the open thread up to an entry into a thread of its own, and show that.
    Copy {
        /// The entry's sequence.
        node: u64,
    },
    /// Delete the content of an entry of the open thread.
    DeleteEntry {
        /// Its sequence.
        node: u64,
    },
    /// Add a message of the open thread that waits its turn to the turn under way, where that can take it.
    Promote {
        /// Its run.
        run: RunId,
        /// Its text.
        text: String,
    },
    /// Change what the list says of a thread.
    Arrange {
        /// Which.
        thread: ThreadId,
        /// What becomes other.
        change: Arrangement,
    },
    /// Answer what a call of the open thread waits for.
    Respond {
        /// The interaction.
        interaction: ApprovalId,
        /// The answer.
        answer: InteractionAnswer,
    },
    /// Keep what is being written.
    SaveDraft {
        /// For which thread; none for a new chat.
        thread: Option<ThreadId>,
        /// The text so far.
        text: String,
    },
    /// Unlock the credentials.
    Unlock {
        /// The key that the passphrase gives, base64.
        key: IncomingKey,
    },
    /// Lock them.
    Lock,
    /// Change how they are protected.
    ChangeSecrets {
        /// How.
        change: SecretsChange,
    },
    /// Install a waiting update at once.
    ApplyUpdate,
    /// Take back a permission that was given until the browser closes.
    RevokeGrant {
        /// Which.
        grant: GrantView,
    },
    /// Stop what the open thread does.
    Stop,
    /// Answer an approval of the open thread.
    Answer {
        /// The question.
        approval: ApprovalId,
        /// The answer.
        decision: ApprovalDecision,
    },
    /// Go on with an interrupted run of the open thread.
    Resume {
        /// Which.
        run: RunId,
    },
    /// Say what became of a write whose end was not seen.
    Resolve {
        /// The run.
        run: RunId,
        /// What became of it.
        resolution: Resolution,
    },
    /// Delete a thread.
    Delete {
        /// Which.
        thread: ThreadId,
    },
    /// Load older entries of the open thread.
    LoadOlder,
    /// Change the settings.
    UpdateSettings {
        /// 1 to 64 changes, applied together.
        changes: Vec<SettingsChange>,
    },
    /// Remove a permission rule.
    RemoveRule {
        /// Which.
        rule: RuleId,
    },
    /// Try a connection with a real request.
    Verify {
        /// Which.
        connection: ConnectionId,
        /// The model to try; the connection's first one when absent.
        model: Option<String>,
    },
    /// Reconnect at once (the page became visible, or the person asked after a mismatch).
    Reconnect,
    /// The person has seen the last error.
    DismissError,
}

/// What the list says of a thread. What is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Another name; a blank one stays what it was.
    pub title: Option<String>,
    /// Whether it is kept on top.
    pub pinned: Option<bool>,
    /// Whether it is put away.
    pub archived: Option<bool>,
    /// The folder it lies in; blank for none.
    pub folder: Option<String>,
    /// All of its labels.
    pub tags: Option<Vec<String>>,
}

/// What the shell saw.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientInput {
    /// The document is ready: connect.
    Start {
        /// The thread to show; none for a draft.
        thread: Option<ThreadId>,
        /// What [`ClientEffect::SaveOutbox`] last saved for this document.
        outbox: Option<Value>,
    },
    /// The port of [`ClientEffect::OpenPort`] is open.
    PortOpened {
        /// Its number.
        port: u32,
    },
    /// It could not be opened.
    PortFailed {
        /// Its number.
        port: u32,
    },
    /// It was closed by the other side.
    PortClosed {
        /// Its number.
        port: u32,
    },
    /// A message came through it.
    Message {
        /// Its number.
        port: u32,
        /// The message.
        value: Value,
    },
    /// A timer fired.
    TimerFired(Timer),
    /// How the last [`ClientEffect::SaveOutbox`] went.
    OutboxSaved {
        /// Whether it is safe now.
        ok: bool,
    },
    /// The person wants something.
    Command(Command),
}

/// The timers of a client. Setting one that is set already replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Time for another try to connect.
    Reconnect,
    /// Time to ask for a sign of life.
    Ping,
    /// Time by which the engine should have answered.
    Liveness,
}

/// Where the keyboard's focus would best go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Focus {
    /// Into the composer.
    Composer,
    /// To the card of a question that was just asked, unless the person is typing.
    Approval(ApprovalId),
}

/// What the shell must do, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEffect {
    /// Connect a port named [`panelot_protocol::PORT_NAME`] and tell how that went.
    OpenPort {
        /// The number under which it is spoken of; a new one for each try.
        port: u32,
    },
    /// Disconnect it; what still comes from it may be reported or not.
    ClosePort {
        /// Its number.
        port: u32,
    },
    /// Post a message.
    Send {
        /// The port's number.
        port: u32,
        /// The message.
        value: Value,
    },
    /// Save this under a key of the document, in place of what was saved before, and answer with
    /// [`ClientInput::OutboxSaved`]. Null removes the key. Only one such save is under way at a time.
    SaveOutbox(Value),
    /// Set a timer.
    SetTimer {
        /// Which.
        timer: Timer,
        /// Milliseconds from now.
        ms: u64,
    },
    /// The view model changed. At most one per input, after everything else.
    Changed(Changes),
    /// A hint where the focus should go.
    Focus(Focus),
    /// Put this text back into the composer: sending it was refused.
    RestoreText {
        /// The thread it was meant for; none for a new chat.
        thread: Option<ThreadId>,
        /// The text.
        text: String,
    },
    /// A command of the person has come to its end. A refusal is the model's `last_error` too.
    Settled {
        /// Which kind.
        kind: CommandKind,
        /// Why not; none when the engine took it.
        refusal: Option<Refusal>,
    },
    /// The shown thread became another one without a command to open it: a draft got its thread, or the thread was
    /// deleted and a draft is shown.
    ThreadChanged {
        /// The thread now; none for a draft.
        thread: Option<ThreadId>,
    },
}

/// The machine.
#[derive(Debug)]
pub struct Client {
    model: ViewModel,
    setup: Setup,
    link: Link,
    /// The number of the newest port.
    port: u32,
    /// How long the next try to connect will wait.
    delay_ms: u64,
    /// Whether anything was heard since the engine was last asked for a sign of life.
    heard: bool,
    /// The `initialize` that is not answered yet.
    handshake: Option<SubmissionId>,
    /// Where the list of threads stands; none until the handshake is answered.
    directory_at: Option<DirectoryCursor>,
    follow: Option<Follow>,
    outbox: Outbox,
    /// The command that makes a thread of the draft that is shown.
    creating: Option<SubmissionId>,
    /// The question for older entries that is not answered yet.
    history: Option<SubmissionId>,
    /// What is being written and was not sent to the engine yet, by thread; none is a new chat.
    drafts: BTreeMap<Option<ThreadId>, String>,
    /// Commands admitted since the thread was last asked for: its snapshot may not know them yet.
    admitted: BTreeSet<SubmissionId>,
    /// Commands whose echo outlived a snapshot because no answer to them was here: their message may have come and gone.
    unsure: BTreeSet<SubmissionId>,
}

/// The stream of the open thread.
#[derive(Debug)]
struct Follow {
    thread: ThreadId,
    /// The question whose answer is the snapshot; none when that is here.
    request: Option<SubmissionId>,
    /// The last event that was taken; none until the snapshot is here.
    at: Option<StreamCursor>,
}

/// What one input leads to.
#[derive(Debug, Default)]
struct Out {
    effects: Vec<ClientEffect>,
    changes: Changes,
}

impl Client {
    /// A client that has done nothing yet.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self {
            model: ViewModel::default(),
            setup,
            link: Link::Idle,
            port: 0,
            delay_ms: RECONNECT_MIN_MS,
            heard: false,
            handshake: None,
            directory_at: None,
            follow: None,
            outbox: Outbox::default(),
            creating: None,
            history: None,
            drafts: BTreeMap::new(),
            admitted: BTreeSet::new(),
            unsure: BTreeSet::new(),
        }
    }

    /// What to show.
    #[must_use]
    pub const fn model(&self) -> &ViewModel {
        &self.model
    }

    /// Takes what the shell saw and says what it must do.
    #[must_use]
    pub fn handle(&mut self, now: Timestamp, input: ClientInput) -> Vec<ClientEffect> {
        let mut out = Out::default();
        match input {
            ClientInput::Start { thread, outbox } => self.start(now, thread, outbox.as_ref(), &mut out),
            ClientInput::PortOpened { port } => self.port_opened(port, &mut out),
            ClientInput::PortFailed { port } | ClientInput::PortClosed { port } => {
                self.port_lost(now, port, &mut out);
            }
            ClientInput::Message { port, value } => self.message(now, port, &value, &mut out),
            ClientInput::TimerFired(timer) => self.timer_fired(now, timer, &mut out),
            ClientInput::OutboxSaved { ok } => {
                for (id, op, kind) in self.outbox.end_save(ok) {
                    self.give_back(&id, &op, kind, Refusal::OutboxFailed, &mut out);
                }
            }
            ClientInput::Command(command) => self.command(now, command, &mut out),
        }
        self.flush(&mut out);
        let Out { mut effects, changes } = out;
        if !changes.is_empty() {
            effects.push(ClientEffect::Changed(changes));
        }
        effects
    }

    /// Saves and sends what waits for it, and tells the model what is under way.
    fn flush(&mut self, out: &mut Out) {
        if let Some(value) = self.outbox.begin_save(&self.setup.client_id) {
            out.effects.push(ClientEffect::SaveOutbox(value));
        }
        if self.link == Link::Open && self.handshake.is_none() {
            for message in self.outbox.take_ready(self.port) {
                out.effects.push(ClientEffect::Send { port: self.port, value: message.to_json() });
            }
            // The newest text counts, so none is lost by sending one too many and none is repeated.
            for (thread_id, text) in std::mem::take(&mut self.drafts) {
                self.send_now(Op::DraftUpdate(DraftUpdate { thread_id, text: Text::clipped(&text) }), out);
            }
        }
        let pending = self.outbox.kinds();
        if self.model.pending != pending {
            self.model.pending = pending;
            out.changes.pending = true;
        }
    }

    /// Sends an operation that is not kept: it is meant for this moment only.
    fn send_now(&mut self, op: Op, out: &mut Out) -> SubmissionId {
        let submission_id = SubmissionId::mint(&mut self.setup.ids);
        let message = OpMessage { submission_id: submission_id.clone(), op };
        out.effects.push(ClientEffect::Send { port: self.port, value: message.to_json() });
        submission_id
    }

    /// A command comes to nothing: its traces go, a text goes back to the composer.
    fn give_back(&mut self, id: &SubmissionId, op: &Op, kind: CommandKind, refusal: Refusal, out: &mut Out) {
        let (thread, text) = match op {
            Op::TurnSubmit(it) | Op::TurnEnqueue(it) => {
                (Some(it.thread_id.clone()), Some(it.input.text.to_string()))
            }
            // A promoted message waits on.
            Op::TurnSteer(it) if it.promotes.is_none() => {
                (Some(it.thread_id.clone()), Some(it.input.text.to_string()))
            }
            Op::TurnFork(it) => (Some(it.thread_id.clone()), Some(it.input.text.to_string())),
            Op::QueueUpdate(it) => (Some(it.thread_id.clone()), Some(it.input.text.to_string())),
            Op::ThreadCreate(it) => (None, it.input.as_ref().map(|input| input.text.to_string())),
            _ => (None, None),
        };
        self.model.thread.drop_echo(id, &mut out.changes);
        if self.creating.as_ref() == Some(id) {
            self.creating = None;
            self.model.thread.creating = false;
            out.changes.thread = true;
        }
        if kind == CommandKind::Stop {
            self.model.thread.stopping = false;
            out.changes.thread = true;
        }
        if let CommandKind::Verify(connection) = &kind {
            let verification = Verification::Refused(refusal.clone());
            self.model.verifications.insert(connection.clone(), verification);
            out.changes.verifications = true;
        }
        if let Some(text) = text {
            out.effects.push(ClientEffect::RestoreText { thread, text });
        }
        self.refuse(kind, refusal, out);
    }

    /// Tells that a command came to nothing.
    fn refuse(&mut self, kind: CommandKind, refusal: Refusal, out: &mut Out) {
        self.fail(Some(kind.clone()), refusal.clone(), out);
        out.effects.push(ClientEffect::Settled { kind, refusal: Some(refusal) });
    }

    fn fail(&mut self, about: Option<CommandKind>, refusal: Refusal, out: &mut Out) {
        self.model.last_error = Some(LastError { about, refusal });
        out.changes.last_error = true;
    }
}

#[cfg(test)]
mod tests;
