//! The one client machine of this document, its effects, and the triggers by which components learn of changes.
//!
//! Changes are gathered and published once per frame. Components read the view model, they never copy it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use leptos::prelude::*;
use panelot_base::{ClientId, IdSource, ThreadId};
use panelot_chrome::{Chrome, Connect as _, JsPort, Port as _};
use panelot_protocol::PORT_NAME;
use panelot_protocol::op::{BrowserContext, Surface, TurnOverrides};
use panelot_protocol::settings::SettingsChange;
use panelot_view::model::{CommandKind, Entry, EntryKey, Refusal};
use panelot_view::{Changes, Client, ClientEffect, ClientInput, Command, Focus, Setup, Timer, ViewModel};
use serde_json::Value;

use crate::platform::{self, PageWatch};

/// A page that nobody sees draws no frames; it is told of changes this often instead, for its title.
const HIDDEN_FLUSH_MS: u64 = 250;
/// Settled commands that are kept for whoever looks.
const SETTLED_MAX: usize = 16;

/// A part of the view model that is published on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// How the engine is reached.
    Connection,
    /// The list of threads.
    Directory,
    /// The settings.
    Settings,
    /// The open thread beside its entries.
    Thread,
    /// Which entries there are.
    EntryList,
    /// The last error.
    LastError,
    /// Tries of connections.
    Verifications,
    /// Commands under way.
    Pending,
}

#[derive(Clone, Copy)]
struct Parts {
    connection: Trigger,
    directory: Trigger,
    settings: Trigger,
    thread: Trigger,
    switched: Trigger,
    entry_list: Trigger,
    last_error: Trigger,
    verifications: Trigger,
    pending: Trigger,
}

struct Inner {
    client: RefCell<Client>,
    port: RefCell<Option<(u32, JsPort)>>,
    effects: RefCell<VecDeque<ClientEffect>>,
    draining: Cell<bool>,
    timers: RefCell<BTreeMap<Timer, TimeoutHandle>>,
    waiting: RefCell<Changes>,
    flush_due: Cell<bool>,
    /// By key: a number of its own for each component that follows the entry, and its trigger.
    entries: RefCell<BTreeMap<EntryKey, (u64, Trigger)>>,
    followers: Cell<u64>,
    ids: RefCell<IdSource>,
    outbox_key: String,
    page: RefCell<Option<PageWatch>>,
}

/// The session of this document.
#[derive(Clone, Copy)]
pub struct Session {
    inner: StoredValue<Inner, LocalStorage>,
    parts: Parts,
    surface: Surface,
    /// Where the focus should go next; `None` when nowhere in particular.
    pub focus: RwSignal<Option<Focus>>,
    /// Texts that must go back into the composer; who puts one back takes it out.
    pub restored: RwSignal<Vec<(Option<ThreadId>, String)>>,
    /// Commands that came to their end since somebody looked; who looks empties it.
    pub settled: RwSignal<Vec<(CommandKind, Option<Refusal>)>>,
    /// What the person chose for the messages of this page, beside the settings.
    pub overrides: RwSignal<TurnOverrides>,
    /// Grows after every frame in which entries changed.
    pub entries_flushed: Trigger,
}

impl Session {
    /// Makes the session of this document; nothing is sent before [`Session::start`].
    #[must_use]
    pub fn new(client_id: ClientId, surface: Surface, window_id: Option<u32>) -> Self {
        let outbox_key = panelot_view::outbox_key(&client_id);
        let ids = IdSource::new(platform::random_seed());
        let client = Client::new(Setup { client_id, ids, window_id, surface });
        let inner = Inner {
            client: RefCell::new(client),
            port: RefCell::default(),
            effects: RefCell::default(),
            draining: Cell::new(false),
            timers: RefCell::default(),
            waiting: RefCell::default(),
            flush_due: Cell::new(false),
            entries: RefCell::default(),
            followers: Cell::new(0),
            ids: RefCell::new(IdSource::new(platform::random_seed())),
            outbox_key,
            page: RefCell::default(),
        };
        let parts = Parts {
            connection: Trigger::new(),
            directory: Trigger::new(),
            settings: Trigger::new(),
            thread: Trigger::new(),
            switched: Trigger::new(),
            entry_list: Trigger::new(),
            last_error: Trigger::new(),
            verifications: Trigger::new(),
            pending: Trigger::new(),
        };
        let session = Self {
            inner: StoredValue::new_local(inner),
            parts,
            surface,
            focus: RwSignal::new(None),
            restored: RwSignal::default(),
            settled: RwSignal::default(),
            overrides: RwSignal::default(),
            entries_flushed: Trigger::new(),
        };
        if surface != Surface::Options {
            let watch = PageWatch::start(window_id);
            session.inner.with_value(|inner| *inner.page.borrow_mut() = Some(watch));
        }
        session
    }

    /// A page that is hidden gets no frame any more for what waits.
    pub fn flush_when_hidden(self) {
        let handle = window_event_listener_untyped("visibilitychange", move |_| {
            if document().hidden() {
                self.flush();
            }
        });
        on_cleanup(move || handle.remove());
    }

    /// Connects; `thread` is shown first.
    pub fn start(self, thread: Option<ThreadId>) {
        wasm_bindgen_futures::spawn_local(async move {
            let key = self.inner.with_value(|inner| inner.outbox_key.clone());
            let outbox = platform::session_get(&key).await;
            self.input(ClientInput::Start { thread, outbox });
        });
    }

    /// What kind of page this is.
    #[must_use]
    pub const fn surface(self) -> Surface {
        self.surface
    }

    /// Reads the view model and, inside a reactive scope, runs again when `part` changes.
    pub fn read<T>(self, part: Part, read: impl FnOnce(&ViewModel) -> T) -> T {
        match part {
            Part::Connection => self.parts.connection.track(),
            Part::Directory => self.parts.directory.track(),
            Part::Settings => self.parts.settings.track(),
            Part::Thread => {
                self.parts.thread.track();
                self.parts.switched.track();
            }
            Part::EntryList => {
                self.parts.entry_list.track();
                self.parts.switched.track();
            }
            Part::LastError => self.parts.last_error.track(),
            Part::Verifications => self.parts.verifications.track(),
            Part::Pending => self.parts.pending.track(),
        }
        self.peek(read)
    }

    /// Reads the view model once.
    pub fn peek<T>(self, read: impl FnOnce(&ViewModel) -> T) -> T {
        self.inner.with_value(|inner| read(inner.client.borrow().model()))
    }

    /// The open thread; changes only when another one is shown.
    #[must_use]
    pub fn thread_id(self) -> Option<ThreadId> {
        self.parts.switched.track();
        self.parts.thread.track();
        self.peek(|model| model.thread.id.clone())
    }

    /// The trigger of an entry, for the life of the calling component.
    #[must_use]
    pub fn follow(self, key: &EntryKey) -> Trigger {
        let trigger = Trigger::new();
        let number = self.inner.with_value(|inner| {
            let number = inner.followers.get() + 1;
            inner.followers.set(number);
            inner.entries.borrow_mut().insert(key.clone(), (number, trigger));
            number
        });
        let key = key.clone();
        on_cleanup(move || {
            let _ = self.inner.try_with_value(|inner| {
                let mut entries = inner.entries.borrow_mut();
                // The same key may have been taken over by a component that came later.
                if entries.get(&key).is_some_and(|(mine, _)| *mine == number) {
                    entries.remove(&key);
                }
            });
        });
        trigger
    }

    /// Reads an entry; the default when it is gone.
    pub fn entry<T: Default>(self, key: &EntryKey, read: impl FnOnce(&Entry) -> T) -> T {
        self.peek(|model| model.thread.entry(key).map(read).unwrap_or_default())
    }

    /// Does what the person wants.
    pub fn command(self, command: Command) {
        self.input(ClientInput::Command(command));
    }

    /// Changes one setting.
    pub fn change(self, change: SettingsChange) {
        self.command(Command::UpdateSettings { changes: vec![change] });
    }

    /// Sends a message with what the browser shows at this very moment.
    pub fn submit(self, text: String) {
        let (browser_context, overrides) = self.circumstances();
        self.command(Command::Submit { text, browser_context, overrides });
    }

    /// Adds a message to the turn under way.
    pub fn steer(self, text: String) {
        let (browser_context, overrides) = self.circumstances();
        self.command(Command::Steer { text, browser_context, overrides });
    }

    /// Sends another version of an earlier message.
    pub fn revise(self, sibling_of: u64, text: String) {
        let (browser_context, overrides) = self.circumstances();
        self.command(Command::Revise { sibling_of, text, browser_context, overrides });
    }

    /// What the browser shows and what the person chose, now.
    fn circumstances(self) -> (Option<BrowserContext>, TurnOverrides) {
        let default_tab =
            self.inner.with_value(|inner| inner.page.borrow().as_ref().and_then(PageWatch::current));
        let context = BrowserContext { captured_at: platform::now(), default_tab };
        (Some(context), self.overrides.get_untracked())
    }

    /// A fresh identifier.
    pub fn mint<T>(self, mint: impl FnOnce(&mut IdSource) -> T) -> T {
        self.inner.with_value(|inner| mint(&mut inner.ids.borrow_mut()))
    }

    fn input(self, input: ClientInput) {
        let drains = self.inner.try_with_value(|inner| {
            let effects = inner.client.borrow_mut().handle(platform::now(), input);
            inner.effects.borrow_mut().extend(effects);
            !inner.draining.replace(true)
        });
        // An effect may bring the next input at once; its effects follow those that are there already.
        if drains != Some(true) {
            return;
        }
        while let Some(Some(effect)) =
            self.inner.try_with_value(|inner| inner.effects.borrow_mut().pop_front())
        {
            self.perform(effect);
        }
        let _ = self.inner.try_with_value(|inner| inner.draining.set(false));
    }

    fn perform(self, effect: ClientEffect) {
        match effect {
            ClientEffect::OpenPort { port } => self.open_port(port),
            ClientEffect::ClosePort { port } => {
                let open = self
                    .inner
                    .with_value(|inner| inner.port.borrow_mut().take_if(|(number, _)| *number == port));
                if let Some((_, port)) = open {
                    port.disconnect();
                }
            }
            ClientEffect::Send { port, value } => self.send(port, &value),
            ClientEffect::SaveOutbox(value) => {
                let key = self.inner.with_value(|inner| inner.outbox_key.clone());
                wasm_bindgen_futures::spawn_local(async move {
                    let ok = platform::session_set(&key, value).await;
                    self.input(ClientInput::OutboxSaved { ok });
                });
            }
            ClientEffect::SetTimer { timer, ms } => {
                let handle = platform::after(ms, move || {
                    let _ = self.inner.try_with_value(|inner| inner.timers.borrow_mut().remove(&timer));
                    self.input(ClientInput::TimerFired(timer));
                });
                let before = self.inner.with_value(|inner| {
                    let mut timers = inner.timers.borrow_mut();
                    let before = timers.remove(&timer);
                    timers.extend(handle.map(|handle| (timer, handle)));
                    before
                });
                if let Some(before) = before {
                    before.clear();
                }
            }
            ClientEffect::Changed(changes) => self.changed(changes),
            ClientEffect::Focus(focus) => self.focus.set(Some(focus)),
            ClientEffect::RestoreText { thread, text } => {
                self.restored.update(|all| all.push((thread, text)))
            }
            ClientEffect::Settled { kind, refusal } => self.settled.update(|all| {
                all.push((kind, refusal));
                // Where nobody looks it must not grow for ever.
                all.drain(..all.len().saturating_sub(SETTLED_MAX));
            }),
            // Whoever shows the thread reads its id from the model.
            ClientEffect::ThreadChanged { .. } => {}
        }
    }

    fn open_port(self, number: u32) {
        let opened = Chrome.connect(
            PORT_NAME,
            move |value| self.input(ClientInput::Message { port: number, value }),
            move || self.input(ClientInput::PortClosed { port: number }),
        );
        let input = match opened {
            Ok(port) => {
                self.inner.with_value(|inner| *inner.port.borrow_mut() = Some((number, port)));
                ClientInput::PortOpened { port: number }
            }
            Err(_) => ClientInput::PortFailed { port: number },
        };
        self.input(input);
    }

    fn send(self, number: u32, value: &Value) {
        let posted = self.inner.with_value(|inner| {
            inner
                .port
                .borrow()
                .as_ref()
                .is_none_or(|(open, port)| *open != number || port.post(value).is_ok())
        });
        if !posted {
            self.input(ClientInput::PortClosed { port: number });
        }
    }

    fn changed(self, changes: Changes) {
        let due = self.inner.with_value(|inner| {
            inner.waiting.borrow_mut().merge(changes);
            inner.flush_due.replace(true)
        });
        if due {
            return;
        }
        if document().hidden() {
            platform::after(HIDDEN_FLUSH_MS, move || self.flush());
        } else {
            request_animation_frame(move || self.flush());
        }
    }

    fn flush(self) {
        let Some((changes, entries)) = self.inner.try_with_value(|inner| {
            inner.flush_due.set(false);
            let changes = std::mem::take(&mut *inner.waiting.borrow_mut());
            let known = inner.entries.borrow();
            let entries: Vec<Trigger> = changes
                .entries
                .iter()
                .filter_map(|key| known.get(key))
                .map(|(_, trigger)| *trigger)
                .collect();
            (changes, entries)
        }) else {
            return;
        };
        let parts = self.parts;
        let due = [
            (changes.connection, parts.connection),
            (changes.directory, parts.directory),
            (changes.settings, parts.settings),
            (changes.thread_switched, parts.switched),
            (changes.thread, parts.thread),
            (changes.entry_list, parts.entry_list),
            (changes.last_error, parts.last_error),
            (changes.verifications, parts.verifications),
            (changes.pending, parts.pending),
            (changes.entry_list || !changes.entries.is_empty(), self.entries_flushed),
        ];
        entries.into_iter().for_each(|trigger| trigger.notify());
        due.into_iter().filter(|(due, _)| *due).for_each(|(_, trigger)| trigger.notify());
    }
}
