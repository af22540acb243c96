//! The machine of one document: it keeps the conversation with the engine alive and the view model true.
//!
//! Inputs are what the shell saw (a port opened, a message came, the person clicked); effects are what it must do.
//! Read next: `client/connection.rs`, `client/outbox.rs`, `client/events.rs`.

use panelot_base::{ApprovalId, ClientId, ConnectionId, IdSource, RunId, ThreadId, Timestamp};
use panelot_protocol::op::{ApprovalDecision, BrowserContext, Resolution, Surface, TurnOverrides};
use panelot_protocol::settings::SettingsChange;
use serde_json::Value;

use crate::model::{Changes, CommandKind, Refusal, ViewModel};

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
    /// [`ClientInput::OutboxSaved`]. Only one such save is under way at a time.
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
    #[expect(dead_code, reason = "filled in next")]
    setup: Setup,
}

impl Client {
    /// A client that has done nothing yet.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { model: ViewModel::default(), setup }
    }

    /// What to show.
    #[must_use]
    pub const fn model(&self) -> &ViewModel {
        &self.model
    }

    /// Takes what the shell saw and says what it must do.
    #[must_use]
    pub fn handle(&mut self, now: Timestamp, input: ClientInput) -> Vec<ClientEffect> {
        let _ = (now, input);
        Vec::new()
    }
}
