//! A client with everything around it done at once, unless a test says otherwise.

use panelot_base::{ClientId, IdSource, SubmissionId, ThreadId, Timestamp};
use panelot_protocol::op::{Surface, TurnOverrides};
use panelot_protocol::{Event, EventMessage, Op, OpMessage, decode_op};
use serde_json::Value;

use super::engine::Engine;
use super::mirror::Mirror;
use crate::model::{Changes, CommandKind, EntryBody, Refusal, ViewModel};
use crate::{Client, ClientEffect, ClientInput, Command, Focus, Setup, Timer};

pub(super) struct Rig {
    pub(super) client: Client,
    pub(super) now: Timestamp,
    pub(super) port: u32,
    pub(super) opened: Vec<u32>,
    pub(super) closed: Vec<u32>,
    pub(super) sent: Vec<OpMessage>,
    pub(super) saves: Vec<Value>,
    pub(super) timers: Vec<(Timer, u64)>,
    pub(super) restored: Vec<String>,
    pub(super) settled: Vec<(CommandKind, Option<Refusal>)>,
    pub(super) changed_thread: Vec<Option<ThreadId>>,
    pub(super) focus: Vec<Focus>,
    pub(super) changes: Changes,
    mirror: Mirror,
    /// What becomes of a save; none leaves it under way.
    pub(super) save_ok: Option<bool>,
    /// Whether ports open by themselves.
    pub(super) connects: bool,
}

pub(super) fn setup(name: &str, seed: u8) -> Setup {
    Setup {
        client_id: ClientId::new(name).expect("an id"),
        ids: IdSource::new([seed; 16]),
        window_id: Some(7),
        surface: Surface::Panel,
    }
}

pub(super) fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("an id")
}

impl Rig {
    pub(super) fn new(name: &str, seed: u8) -> Self {
        Self {
            client: Client::new(setup(name, seed)),
            now: Timestamp(1_000_000),
            port: 0,
            opened: Vec::new(),
            closed: Vec::new(),
            sent: Vec::new(),
            saves: Vec::new(),
            timers: Vec::new(),
            restored: Vec::new(),
            settled: Vec::new(),
            changed_thread: Vec::new(),
            focus: Vec::new(),
            changes: Changes::default(),
            mirror: Mirror::default(),
            save_ok: Some(true),
            connects: true,
        }
    }

    pub(super) fn model(&self) -> &ViewModel {
        self.client.model()
    }

    pub(super) fn start(&mut self, open: Option<ThreadId>, outbox: Option<Value>) {
        self.input(ClientInput::Start { thread: open, outbox });
    }

    pub(super) fn input(&mut self, input: ClientInput) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let effects = self.client.handle(self.now, input);
            let changes = effects.iter().filter(|effect| matches!(effect, ClientEffect::Changed(_))).count();
            assert!(changes <= 1, "at most one change per input");
            for effect in effects {
                self.perform(effect, &mut inputs);
            }
            self.mirror.check(&self.client.model().thread);
        }
    }

    fn perform(&mut self, effect: ClientEffect, inputs: &mut Vec<ClientInput>) {
        match effect {
            ClientEffect::OpenPort { port } => {
                self.port = port;
                self.opened.push(port);
                if self.connects {
                    inputs.push(ClientInput::PortOpened { port });
                }
            }
            ClientEffect::ClosePort { port } => self.closed.push(port),
            ClientEffect::Send { port, value } => {
                assert_eq!(port, self.port, "nothing is sent through an old port");
                self.sent.push(decode_op(&value).expect("what a client sends is valid"));
            }
            ClientEffect::SaveOutbox(value) => {
                self.saves.push(value);
                if let Some(ok) = self.save_ok {
                    inputs.push(ClientInput::OutboxSaved { ok });
                }
            }
            ClientEffect::SetTimer { timer, ms } => self.timers.push((timer, ms)),
            ClientEffect::Changed(changes) => {
                self.mirror.draw(&self.client.model().thread, &changes);
                self.changes.merge(changes);
            }
            ClientEffect::Focus(focus) => self.focus.push(focus),
            ClientEffect::RestoreText { text, .. } => self.restored.push(text),
            ClientEffect::Settled { kind, refusal } => self.settled.push((kind, refusal)),
            ClientEffect::ThreadChanged { thread } => self.changed_thread.push(thread),
        }
    }

    pub(super) fn command(&mut self, command: Command) {
        self.input(ClientInput::Command(command));
    }

    pub(super) fn say(&mut self, text: &str) {
        let overrides = TurnOverrides::default();
        self.command(Command::Submit { text: text.into(), browser_context: None, overrides });
    }

    pub(super) fn message(&mut self, value: Value) {
        self.input(ClientInput::Message { port: self.port, value });
    }

    pub(super) fn lose_port(&mut self) {
        self.input(ClientInput::PortClosed { port: self.port });
    }

    pub(super) fn fire(&mut self, timer: Timer) {
        self.input(ClientInput::TimerFired(timer));
    }

    /// The newest operation sent, with its wire name checked.
    pub(super) fn last_sent(&self, name: &str) -> OpMessage {
        let last = self.sent.last().expect("something was sent");
        assert_eq!(last.op.name(), name, "{:?}", self.sent);
        last.clone()
    }

    pub(super) fn sent_names(&self) -> Vec<&'static str> {
        self.sent.iter().map(|message| message.op.name()).collect()
    }

    pub(super) fn take_sent(&mut self) -> Vec<OpMessage> {
        std::mem::take(&mut self.sent)
    }

    /// The texts that are shown as the person's own, with whether they are echoes.
    pub(super) fn own_texts(&self) -> Vec<(String, bool)> {
        let texts = self.model().thread.entries().filter_map(|entry| match &entry.body {
            EntryBody::User { text, sending, .. } => Some((text.clone(), *sending)),
            _ => None,
        });
        texts.collect()
    }

    pub(super) fn subscribed_to(message: &OpMessage) -> Option<ThreadId> {
        match &message.op {
            Op::Initialize(it) => it.subscribe.clone(),
            Op::ThreadSubscribe(it) => Some(it.thread_id.clone()),
            _ => None,
        }
    }
}

pub(super) fn id(text: &str) -> SubmissionId {
    SubmissionId::new(text).expect("an id")
}

pub(super) fn private(event: Event) -> Value {
    EventMessage::private(event).to_json()
}

/// A connected client that shows the engine's thread.
pub(super) fn connected(engine: &Engine) -> Rig {
    let mut rig = Rig::new("client", 1);
    rig.start(Some(engine.id.clone()), None);
    let hello = rig.last_sent("initialize");
    rig.message(engine.snapshot(&hello.submission_id));
    rig.message(engine.initialized(&hello.submission_id));
    rig.take_sent();
    rig
}

pub(super) fn tell(rig: &mut Rig, engine: &mut Engine) {
    for event in engine.drain() {
        rig.message(event);
    }
}
