//! What a person enters about a connection, and how that is kept.

use leptos::prelude::*;
use panelot_base::ConnectionId;
use panelot_protocol::Text;
use panelot_protocol::settings::{ConnectionView, IncomingKey, ModelChoice, ProviderWire, SettingsChange};
use panelot_ui::i18n::Messages;
use panelot_ui::session::{Part, Session};
use panelot_ui::{platform, words};
use panelot_view::Command;
use panelot_view::model::{CommandKind, Verification};

use crate::templates::Template;

/// The fields as the person has them.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) name: RwSignal<String>,
    pub(crate) url: RwSignal<String>,
    pub(crate) wire: RwSignal<ProviderWire>,
    pub(crate) key: RwSignal<String>,
    pub(crate) drop_key: RwSignal<bool>,
    pub(crate) models: RwSignal<String>,
}

impl Form {
    /// The fields of a connection; empty ones without one.
    pub(crate) fn of(connection: Option<&ConnectionView>) -> Self {
        let text =
            |get: fn(&ConnectionView) -> String| RwSignal::new(connection.map(get).unwrap_or_default());
        Self {
            name: text(|it| it.name.to_string()),
            url: text(|it| it.base_url.to_string()),
            wire: RwSignal::new(connection.map(|it| it.wire).unwrap_or_default()),
            key: RwSignal::new(String::new()),
            drop_key: RwSignal::new(false),
            models: text(|it| it.models.iter().map(|model| &**model).collect::<Vec<_>>().join("\n")),
        }
    }

    /// Fills in what is known of a provider.
    pub(crate) fn fill(self, template: &Template) {
        self.name.set(template.name.to_owned());
        self.url.set(template.url.to_owned());
        self.wire.set(template.wire);
    }

    /// The models, each once.
    pub(crate) fn models(self) -> Vec<String> {
        let mut models: Vec<String> = Vec::new();
        for line in self.models.get().lines().map(str::trim).filter(|line| !line.is_empty()) {
            if !models.iter().any(|it| it == line) {
                models.push(line.to_owned());
            }
        }
        models
    }

    /// The origin of the address; none while it is no address.
    pub(crate) fn origin(self) -> Option<String> {
        words::origin_of(&self.url.get())
    }

    /// The change that keeps the connection under `id`.
    pub(crate) fn change(self, id: ConnectionId) -> SettingsChange {
        let url = self.url.get_untracked();
        let name = Some(self.name.get_untracked().trim().to_owned()).filter(|name| !name.is_empty());
        let host =
            words::origin_of(&url).and_then(|it| it.split_once("://").map(|(_, host)| host.to_owned()));
        let typed = self.key.get_untracked();
        let key = match (typed.trim(), self.drop_key.get_untracked()) {
            ("", true) => Some(IncomingKey::new("")),
            ("", false) => None,
            (typed, _) => Some(IncomingKey::new(typed)),
        };
        SettingsChange::PutConnection {
            id,
            name: Text::clipped(&name.or(host).unwrap_or_default()),
            wire: self.wire.get_untracked(),
            base_url: Text::clipped(url.trim().trim_end_matches('/')),
            models: untrack(|| self.models()).iter().map(|model| Text::clipped(model)).collect(),
            key,
            add_keys: Vec::new(),
            remove_keys: Vec::new(),
            headers: None,
            quirks: None,
            keyless: None,
        }
    }
}

/// What follows once the connection is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing is being kept.
    Nothing,
    /// The work is done.
    Close,
    /// It is tried.
    Test,
}

/// Keeps what a form holds. Nothing that was typed is lost when that fails.
#[derive(Clone, Copy)]
pub(crate) struct Saving {
    session: Session,
    t: Messages,
    pub(crate) form: Form,
    pub(crate) id: StoredValue<ConnectionId>,
    /// Whether the connection becomes the default when there is none yet.
    fresh: bool,
    /// Where the stored key may go.
    key_origin: RwSignal<Option<String>>,
    /// Why it was not kept, in words.
    pub(crate) refusal: RwSignal<Option<String>>,
    next: RwSignal<Next>,
    /// Whether a test was begun here.
    pub(crate) tested: RwSignal<bool>,
}

impl Saving {
    /// For `form`, which is that of `connection` if there is one; `closed` is called when it was kept for good.
    pub(crate) fn new(
        form: Form,
        id: ConnectionId,
        connection: Option<&ConnectionView>,
        fresh: bool,
        closed: impl Fn() + 'static,
    ) -> Self {
        let saving = Self {
            session: expect_context(),
            t: expect_context(),
            form,
            id: StoredValue::new(id),
            fresh,
            key_origin: RwSignal::new(connection.and_then(|it| words::origin_of(&it.base_url))),
            refusal: RwSignal::new(None),
            next: RwSignal::new(Next::Nothing),
            tested: RwSignal::new(false),
        };
        saving.follow(closed);
        saving
    }

    /// Whether a key is stored, as the engine says: what a save changed comes a moment after its acknowledgement.
    pub(crate) fn has_key(self) -> bool {
        self.session.read(Part::Settings, |model| {
            let all = model.settings.as_ref().map(|it| it.connections.as_slice()).unwrap_or_default();
            all.iter().any(|it| self.id.with_value(|id| it.id == *id) && it.has_key)
        })
    }

    /// How the try of the connection stands.
    pub(crate) fn verification(self) -> Option<Verification> {
        self.session
            .read(Part::Verifications, |model| self.id.with_value(|id| model.verifications.get(id).cloned()))
    }

    /// Whether it is being kept or tried.
    pub(crate) fn is_busy(self) -> bool {
        self.next.get() != Next::Nothing || self.verification() == Some(Verification::Running)
    }

    /// Keeps the connection, after the person's word where one is needed.
    pub(crate) fn save(self, then: Next) {
        let (form, t, refusal) = (self.form, self.t, self.refusal);
        let Some(origin) = untrack(|| form.origin()) else {
            return refusal.set(Some(t.connection_url_invalid().to_owned()));
        };
        if then == Next::Close && untrack(|| form.models()).is_empty() {
            return refusal.set(Some(t.connection_models_missing().to_owned()));
        }
        // A stored key goes to no other place than it was given for, unless the person says so.
        let keeps_key = untrack(|| self.has_key())
            && form.key.get_untracked().trim().is_empty()
            && !form.drop_key.get_untracked();
        if keeps_key && self.key_origin.get_untracked().is_some_and(|known| known != origin) {
            refusal.set(Some(t.connection_key_elsewhere(&origin)));
            // Saving the same again agrees.
            return self.key_origin.set(Some(origin));
        }
        refusal.set(None);
        wasm_bindgen_futures::spawn_local(async move {
            if !platform::request_origin(&origin).await {
                let _ = refusal.try_set(Some(t.connection_host_refused(&origin)));
                return;
            }
            self.session.settled.set(Vec::new());
            self.next.set(then);
            let changes = self.changes();
            self.session.command(Command::UpdateSettings { changes });
        });
    }

    /// The changes of a save: the connection, and as the default when there is none yet.
    fn changes(self) -> Vec<SettingsChange> {
        let id = self.id.get_value();
        let first = untrack(|| self.form.models()).first().map(|model| Text::clipped(model));
        let none_yet =
            self.session.peek(|model| model.settings.as_ref().is_some_and(|it| it.default_model.is_none()));
        let mut changes = vec![self.form.change(id.clone())];
        if let Some(model_id) = first.filter(|_| self.fresh && none_yet) {
            changes.push(SettingsChange::SetDefaultModel {
                model: Some(ModelChoice { connection_id: id, model_id }),
            });
        }
        changes
    }

    /// Once the engine has kept the connection, a test follows, or the work is done.
    fn follow(self, closed: impl Fn() + 'static) {
        Effect::new(move |_| {
            let settled = self.session.settled.get();
            let last = settled.iter().rev().find(|(kind, _)| *kind == CommandKind::Settings);
            let (Some((_, why)), now) = (last, self.next.get_untracked()) else { return };
            if now == Next::Nothing {
                return;
            }
            self.next.set(Next::Nothing);
            match (why, now) {
                (Some(why), _) => {
                    let words = words::refusal_words(self.t, why);
                    self.refusal.set(Some(format!("{} {} {}", self.t.not_saved(), words.title, words.next)));
                }
                (None, Next::Test) => {
                    self.form.key.set(String::new());
                    self.key_origin.set(untrack(|| self.form.origin()));
                    self.tested.set(true);
                    self.session.command(Command::Verify { connection: self.id.get_value(), model: None });
                }
                (None, _) => closed(),
            }
        });
    }
}
