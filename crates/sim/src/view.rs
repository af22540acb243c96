//! The shell of one document around the real client machine: its Port, its timers, its saved outbox, and its person.

use std::collections::{BTreeMap, VecDeque};

use panelot_base::{ClientId, IdSource, ThreadId};
use panelot_protocol::Text;
use panelot_protocol::op::{
    ApprovalDecision, BrowserContext, Resolution, Surface, TabIdentity, TurnOverrides,
};
use panelot_protocol::settings::{PermissionPolicy, SettingsChange};
use panelot_view::model::{EntryBody, Recovery, ToolState};
use panelot_view::{Client, ClientEffect, ClientInput, Command, Setup, Timer};
use serde_json::Value;

use crate::chance::Chance;
use crate::world::{Holder, ToView, World};

/// One document.
pub(crate) struct View {
    pub(crate) client: Client,
    pub(crate) id: ClientId,
    loads: u64,
    seed: u64,
    /// What is saved for the document.
    outbox: Option<Value>,
    /// The Port that it wants to open.
    wanted: Option<u32>,
    /// The Port that is open: its handle, and the client's number for it.
    pub(crate) port: Option<(u64, u32)>,
    timers: BTreeMap<Timer, u64>,
    /// A save that is under way.
    saving: Option<Value>,
    /// Questions that this person has seen, answered or not.
    pub(crate) seen: Vec<(ThreadId, String)>,
}

impl View {
    pub(crate) fn new(seed: u64, place: usize) -> Self {
        let id = ClientId::new(format!("view{place}"))
            .unwrap_or_else(|_| ClientId::mint(&mut IdSource::new([9; 16])));
        let mut view = Self {
            client: Client::new(setup(&id, seed, 0)),
            id,
            loads: 0,
            seed: seed ^ ((place as u64 + 1) << 48),
            outbox: None,
            wanted: None,
            port: None,
            timers: BTreeMap::new(),
            saving: None,
            seen: Vec::new(),
        };
        view.load();
        view
    }

    /// The document is loaded, or loaded again: a new machine with the same id.
    fn load(&mut self) {
        self.loads += 1;
        self.client = Client::new(setup(&self.id, self.seed, self.loads));
        (self.wanted, self.port, self.saving) = (None, None, None);
        self.timers.clear();
    }

    pub(crate) fn thread(&self) -> Option<&ThreadId> {
        self.client.model().thread.id.as_ref()
    }

    pub(crate) fn next_timer(&self) -> Option<(u64, Timer)> {
        self.timers.iter().map(|(timer, at)| (*at, *timer)).min()
    }

    /// What is shown, as a text that two views that show the same have in common.
    pub(crate) fn picture(&self, entries: usize) -> String {
        let model = self.client.model();
        let thread = &model.thread;
        let meta = thread
            .meta
            .as_ref()
            .map(|meta| (&meta.title, meta.pinned, meta.archived, meta.turns, meta.total_tokens));
        let turn = thread.active_turn.as_ref().map(|turn| (&turn.turn_id, &turn.run_id));
        let runs: Vec<_> = thread
            .runs
            .iter()
            .map(|run| {
                (
                    &run.run_id,
                    &run.turn_id,
                    run.state,
                    &run.queued_text,
                    &run.submission_id,
                    &run.uncertain,
                    &run.error,
                )
            })
            .collect();
        let shown: Vec<String> = thread
            .entries()
            .map(|entry| {
                let body = match &entry.body {
                    EntryBody::Assistant {
                        document, reasoning, streaming, incomplete, usage, model, ..
                    } => {
                        format!(
                            "{:?} {reasoning} {streaming} {incomplete} {usage:?} {model:?}",
                            document.text()
                        )
                    }
                    // Whether an open call waits or runs is told by other things that are compared.
                    EntryBody::Tool { name, arguments_text, state, result, decision, .. } => {
                        let open =
                            matches!(state, ToolState::Proposed | ToolState::Waiting | ToolState::Running);
                        let state = if open { "open".to_owned() } else { format!("{state:?}") };
                        format!("{name} {arguments_text} {state} {result:?} {decision:?}")
                    }
                    body => format!("{body:?}"),
                };
                format!("\n  {:?} {:?} {:?} {body}", entry.key, entry.at, entry.turn_id)
            })
            .collect();
        let tail: String = shown.iter().skip(shown.len().saturating_sub(entries)).cloned().collect();
        let approvals = &thread.approvals;
        format!("{:?} {meta:?} {turn:?} runs {runs:?} questions {approvals:?} {tail}", thread.id)
    }

    /// The list of threads, as a text.
    pub(crate) fn list(&self) -> String {
        let directory = &self.client.model().directory;
        let mut lines: Vec<String> = directory
            .sorted()
            .into_iter()
            .map(|meta| {
                let activity = directory.activity(&meta.id);
                format!(
                    "{} {:?} {} {} {} {activity:?}",
                    meta.id, meta.title, meta.pinned, meta.archived, meta.quarantined
                )
            })
            .collect();
        lines.sort();
        lines.join("\n")
    }

    pub(crate) fn entry_count(&self) -> usize {
        self.client.model().thread.entries().count()
    }
}

fn setup(id: &ClientId, seed: u64, load: u64) -> Setup {
    let mut bytes = [0; 16];
    for (byte, from) in bytes.iter_mut().zip([seed, load].iter().flat_map(|word| word.to_le_bytes())) {
        *byte = from;
    }
    Setup { client_id: id.clone(), ids: IdSource::new(bytes), window_id: Some(1), surface: Surface::Panel }
}

impl World {
    pub(crate) fn start_view(&mut self, place: usize, thread: Option<ThreadId>) {
        let Some(view) = self.views.get_mut(place) else { return };
        let outbox = view.outbox.clone();
        self.tell_view(place, ClientInput::Start { thread, outbox });
    }

    /// Hands an input to a client and does what it says.
    pub(crate) fn tell_view(&mut self, place: usize, input: ClientInput) {
        let now = self.time();
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let Some(view) = self.views.get_mut(place) else { return };
            for effect in view.client.handle(now, input) {
                self.view_effect(place, effect);
            }
        }
    }

    fn view_effect(&mut self, place: usize, effect: ClientEffect) {
        let now = self.now;
        let Some(view) = self.views.get_mut(place) else { return };
        match effect {
            ClientEffect::OpenPort { port } => view.wanted = Some(port),
            ClientEffect::ClosePort { port } => {
                if let Some((handle, _)) = view.port.take_if(|(_, number)| *number == port) {
                    self.cut_port(handle);
                }
            }
            ClientEffect::Send { port, value } => {
                let handle = view.port.filter(|(_, number)| *number == port).map(|(handle, _)| handle);
                if let Some(port) = handle.and_then(|handle| self.ports.get_mut(&handle)) {
                    port.to_worker.push_back(value);
                }
            }
            ClientEffect::SaveOutbox(value) => view.saving = Some(value),
            ClientEffect::SetTimer { timer, ms } => {
                view.timers.insert(timer, now + ms);
            }
            ClientEffect::Changed(_)
            | ClientEffect::Focus(_)
            | ClientEffect::RestoreText { .. }
            | ClientEffect::Settled { .. }
            | ClientEffect::ThreadChanged { .. } => {}
        }
    }

    /// A message, or the end, of a Port reaches its view.
    pub(crate) fn hear(&mut self, place: usize, number: u32, message: ToView) {
        match message {
            ToView::Message(value) => self.tell_view(place, ClientInput::Message { port: number, value }),
            ToView::Closed => {
                if let Some(view) = self.views.get_mut(place) {
                    view.port.take_if(|(_, port)| *port == number);
                }
                self.tell_view(place, ClientInput::PortClosed { port: number });
            }
        }
        self.remember_questions(place);
    }

    fn remember_questions(&mut self, place: usize) {
        let Some(view) = self.views.get_mut(place) else { return };
        let thread = &view.client.model().thread;
        let Some(id) = thread.id.clone() else { return };
        let fresh: Vec<(ThreadId, String)> = thread
            .approvals
            .iter()
            .map(|it| (id.clone(), it.approval_id.to_string()))
            .filter(|it| !view.seen.contains(it))
            .collect();
        view.seen.extend(fresh);
    }

    /// Whether a view waits for its Port or its save.
    pub(crate) fn views_want(&self) -> bool {
        self.views.iter().any(|view| view.wanted.is_some() || view.saving.is_some())
    }

    /// Ports open and saves succeed.
    pub(crate) fn serve_views(&mut self) {
        for place in 0..self.views.len() {
            self.open_wanted(place, true);
            self.end_save(place, true);
        }
    }

    fn open_wanted(&mut self, place: usize, ok: bool) {
        let Some(number) = self.views.get_mut(place).and_then(|view| view.wanted.take()) else { return };
        let handle = if ok { self.open_port(Holder::View(place), number) } else { None };
        let Some(view) = self.views.get_mut(place) else { return };
        view.port = handle.map(|handle| (handle, number));
        let input = match handle {
            Some(_) => ClientInput::PortOpened { port: number },
            None => ClientInput::PortFailed { port: number },
        };
        self.tell_view(place, input);
    }

    fn end_save(&mut self, place: usize, ok: bool) {
        let Some(view) = self.views.get_mut(place) else { return };
        let Some(value) = view.saving.take() else { return };
        if ok {
            view.outbox = Some(value);
        }
        self.tell_view(place, ClientInput::OutboxSaved { ok });
    }

    /// A view's timer fires.
    pub(crate) fn fire_view_timer(&mut self, place: usize) {
        let Some(view) = self.views.get_mut(place) else { return };
        let Some((_, timer)) = view.next_timer() else { return };
        view.timers.remove(&timer);
        self.tell_view(place, ClientInput::TimerFired(timer));
    }

    /// Something happens to a view: its Port, its save, its document.
    pub(crate) fn stir_view(&mut self, chance: &mut Chance) {
        let place = chance.index(self.views.len());
        match chance.below(12) {
            0..=4 => {
                let works = !chance.one_in(10);
                self.open_wanted(place, works);
            }
            5..=8 => {
                let works = !chance.one_in(4);
                if !works && self.views.get(place).is_some_and(|view| view.saving.is_some()) {
                    self.fault("outbox cannot be saved");
                }
                self.end_save(place, works);
            }
            9..=10 => self.cut_view(place),
            _ => self.reload_view(place),
        }
    }

    /// The Port of a view breaks.
    fn cut_view(&mut self, place: usize) {
        let Some((handle, number)) = self.views.get_mut(place).and_then(|view| view.port.take()) else {
            return;
        };
        self.fault("port cut");
        self.cut_port(handle);
        self.tell_view(place, ClientInput::PortClosed { port: number });
    }

    /// The document is loaded again: what was not saved is lost with it, the rest goes on.
    fn reload_view(&mut self, place: usize) {
        let Some(view) = self.views.get_mut(place) else { return };
        let (thread, port) = (view.thread().cloned(), view.port.take());
        view.load();
        self.fault("document reloaded");
        if let Some((handle, _)) = port {
            self.cut_port(handle);
        }
        self.start_view(place, thread);
    }

    /// The person at a view does something.
    pub(crate) fn person(&mut self, chance: &mut Chance) {
        let place = chance.index(self.views.len());
        if let Some(command) = self.wish(place, chance) {
            let clock = self.clock();
            self.note(|| format!("{clock} the person at view{place}: {command:?}"));
            self.tell_view(place, ClientInput::Command(command));
        }
    }

    fn wish(&mut self, place: usize, chance: &mut Chance) -> Option<Command> {
        let text = format!("m{}", self.count());
        let threads = self.living_threads();
        let view = self.views.get(place)?;
        let model = view.client.model();
        let open = model.thread.id.is_some();
        Some(match chance.below(40) {
            0..=3 if threads.len() < 4 => Command::NewChat,
            0..=6 => Command::Open { thread: chance.pick(&threads)?.clone() },
            7..=18 => {
                Command::Submit { text, browser_context: context(chance), overrides: overrides(chance) }
            }
            19..=20 if open => Command::Stop,
            21..=28 => {
                let question = chance.pick(&model.thread.approvals)?;
                Command::Answer { approval: question.approval_id.clone(), decision: decision(chance) }
            }
            29..=33 => match chance.pick(&model.thread.recoveries())?.clone() {
                Recovery::Interrupted { run_id } => Command::Resume { run: run_id },
                Recovery::Uncertain { run_id, .. } => {
                    let resolutions = [Resolution::Retry, Resolution::MarkDone, Resolution::Fail];
                    Command::Resolve { run: run_id, resolution: *chance.pick(&resolutions)? }
                }
                Recovery::Budget { .. } | Recovery::Failed { .. } => return None,
            },
            34 if chance.one_in(2) => Command::Delete { thread: chance.pick(&threads)?.clone() },
            35 => Command::LoadOlder,
            36 => {
                let policies = [
                    PermissionPolicy::Always,
                    PermissionPolicy::Untrusted,
                    PermissionPolicy::Untrusted,
                    PermissionPolicy::Auto,
                ];
                Command::UpdateSettings {
                    changes: vec![SettingsChange::SetPolicy { policy: *chance.pick(&policies)? }],
                }
            }
            37 => Command::Verify { connection: panelot_base::ConnectionId::new("c1").ok()?, model: None },
            _ => Command::Reconnect,
        })
    }
}

pub(crate) fn context(chance: &mut Chance) -> Option<BrowserContext> {
    (!chance.one_in(8)).then(|| BrowserContext {
        captured_at: panelot_base::Timestamp(1),
        default_tab: Some(TabIdentity {
            tab_id: 7,
            url: Text::clipped("https://shop.test/order"),
            title: Text::clipped("Order"),
        }),
    })
}

fn overrides(chance: &mut Chance) -> TurnOverrides {
    let mut overrides = TurnOverrides::default();
    if chance.one_in(5) {
        let policies = [PermissionPolicy::Always, PermissionPolicy::Untrusted, PermissionPolicy::Auto];
        overrides.permission_policy = chance.pick(&policies).copied();
    }
    overrides
}

fn decision(chance: &mut Chance) -> ApprovalDecision {
    match chance.below(12) {
        0..=6 => ApprovalDecision::Accept,
        7 => ApprovalDecision::AcceptForSession,
        8 if chance.one_in(3) => ApprovalDecision::AcceptForSite,
        8..=10 => ApprovalDecision::Decline { note: None },
        _ => ApprovalDecision::Cancel,
    }
}
