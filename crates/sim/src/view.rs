//! The shell of one document around the real client machine: its Port, its timers, its saved outbox, and what it shows.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::rc::Rc;

use panelot_base::{ClientId, IdSource, ThreadId, Timestamp};
use panelot_protocol::op::Surface;
use panelot_protocol::snapshot::{RunView, ThreadMeta};
use panelot_view::model::{EntryBody, ThreadView};
use panelot_view::{Client, ClientEffect, ClientInput, Setup, Timer};
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
    pub(crate) fn picture(&self) -> String {
        let thread = &self.client.model().thread;
        let ThreadView { id, meta, active_turn, approvals, interactions, runs, .. } = thread;
        // A checkpoint makes a revision and is no news; the date is told to the list.
        let date = Timestamp(0);
        let meta = meta.as_ref().map(|meta| ThreadMeta { revision: 0, updated_at: date, ..meta.clone() });
        let runs: Vec<_> = runs.iter().map(|run| RunView { revision: 0, ..run.clone() }).collect();
        // When a turn began is told by the clock of the view that saw it begin.
        let turn = active_turn.as_ref().map(|turn| (&turn.turn_id, &turn.run_id));
        let waiting = (thread.queued(), thread.steers());
        let mut text = format!(
            "{id:?} {meta:?}\n  turn {turn:?}\n  runs {runs:?}\n  waiting {waiting:?}\n  questions {approvals:?} {interactions:?}"
        );
        for entry in thread.entries() {
            let _ = write!(text, "\n  {:?} {:?} {:?} ", entry.key, entry.at, entry.turn_id);
            let _ = match &entry.body {
                // The text stands for the blocks that are made of it.
                EntryBody::Assistant { document, reasoning, streaming, incomplete, stop, usage, model } => {
                    let text_of = document.text();
                    write!(
                        text,
                        "{text_of:?} {reasoning:?} {streaming} {incomplete} {stop:?} {usage:?} {model:?}"
                    )
                }
                body => write!(text, "{body:?}"),
            };
        }
        text
    }

    /// The list of threads and the settings, as a text.
    pub(crate) fn list(&self) -> String {
        let model = self.client.model();
        let directory = &model.directory;
        let mut text = format!("update {:?}\n{:?}", directory.update, model.settings);
        for meta in directory.sorted() {
            let activity = directory.activity(&meta.id);
            let meta = ThreadMeta { revision: 0, ..meta.clone() };
            let _ = write!(text, "\n{meta:?} {activity:?}");
        }
        text
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
            ToView::Message(value) => {
                let value = Rc::unwrap_or_clone(value);
                self.tell_view(place, ClientInput::Message { port: number, value });
            }
            ToView::Closed => {
                if let Some(view) = self.views.get_mut(place) {
                    view.port.take_if(|(_, port)| *port == number);
                }
                self.tell_view(place, ClientInput::PortClosed { port: number });
            }
        }
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
}
