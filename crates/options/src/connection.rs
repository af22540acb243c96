//! The dialog in which a connection is made, tried and changed. A key goes in and is never shown again.

use leptos::html;
use leptos::prelude::*;
use panelot_base::ConnectionId;
use panelot_protocol::Text;
use panelot_protocol::settings::{ConnectionView, IncomingKey, ModelChoice, ProviderWire, SettingsChange};
use panelot_view::Command;
use panelot_view::model::{CommandKind, Verification};

use crate::templates::{TemplatePicker, WirePicker};
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};
use panelot_ui::words;

/// The fields as the person has them.
#[derive(Clone, Copy)]
struct Form {
    name: RwSignal<String>,
    url: RwSignal<String>,
    wire: RwSignal<ProviderWire>,
    key: RwSignal<String>,
    drop_key: RwSignal<bool>,
    models: RwSignal<String>,
}

impl Form {
    fn of(connection: Option<&ConnectionView>) -> Self {
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

    fn models(self) -> Vec<String> {
        let mut models: Vec<String> = Vec::new();
        for line in self.models.get().lines().map(str::trim).filter(|line| !line.is_empty()) {
            if !models.iter().any(|it| it == line) {
                models.push(line.to_owned());
            }
        }
        models
    }

    fn origin(self) -> Option<String> {
        words::origin_of(&self.url.get())
    }

    /// The change that keeps the connection under `id`.
    fn change(self, id: ConnectionId) -> SettingsChange {
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
        }
    }
}

/// What follows once the connection is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Nothing,
    Close,
    Test,
}

/// The dialog for `connection`, or for a new one.
#[component]
pub(crate) fn ConnectionDialog(
    connection: Option<ConnectionView>,
    edited: RwSignal<Option<Option<ConnectionView>>>,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    let form = Form::of(connection.as_ref());
    let fresh = connection.is_none();
    let key_origin = RwSignal::new(connection.as_ref().and_then(|it| words::origin_of(&it.base_url)));
    let id = StoredValue::new(connection.map_or_else(|| session.mint(ConnectionId::mint), |it| it.id));
    // As the engine says: what a save changed comes a moment after its acknowledgement.
    let has_key = Memo::new(move |_| {
        session.read(Part::Settings, |model| {
            let all = model.settings.as_ref().map(|it| it.connections.as_slice()).unwrap_or_default();
            all.iter().any(|it| id.with_value(|id| it.id == *id) && it.has_key)
        })
    });
    let refusal = RwSignal::new(None::<String>);
    let next = RwSignal::new(Next::Nothing);
    let tested = RwSignal::new(false);
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get() {
            let _ = dialog.show_modal();
        }
    });
    after_saving(session, Saving { form, id, key_origin, refusal, next, tested, edited });
    let save = move |then: Next| {
        let Some(origin) = untrack(|| form.origin()) else {
            return refusal.set(Some(t.connection_url_invalid().to_owned()));
        };
        if then == Next::Close && untrack(|| form.models()).is_empty() {
            return refusal.set(Some(t.connection_models_missing().to_owned()));
        }
        // A stored key goes to no other place than it was given for, unless the person says so.
        let keeps_key = has_key.get_untracked()
            && form.key.get_untracked().trim().is_empty()
            && !form.drop_key.get_untracked();
        if keeps_key && key_origin.get_untracked().is_some_and(|known| known != origin) {
            refusal.set(Some(t.connection_key_elsewhere(&origin)));
            // Saving the same again agrees.
            return key_origin.set(Some(origin));
        }
        refusal.set(None);
        wasm_bindgen_futures::spawn_local(async move {
            if !platform::request_origin(&origin).await {
                let _ = refusal.try_set(Some(t.connection_host_refused(&origin)));
                return;
            }
            session.settled.set(Vec::new());
            next.set(then);
            session
                .command(Command::UpdateSettings { changes: changes(session, form, id.get_value(), fresh) });
        });
    };
    let busy = Memo::new(move |_| {
        next.get() != Next::Nothing || verification(session, id) == Some(Verification::Running)
    });
    let title = if fresh { t.connection_add_title() } else { t.connection_edit_title() };
    view! {
        <dialog node_ref=dialog aria-labelledby="connection-title" on:close=move |_| edited.set(None)>
            <form on:submit=move |event| { event.prevent_default(); save(Next::Close); }>
                <h2 id="connection-title">{title}</h2>
                {fresh.then(|| view! { <TemplatePicker name=form.name url=form.url wire=form.wire /> })}
                <Access form has_key />
                {move || refusal.get().map(|text| view! { <p class="field-error" role="alert">{text}</p> })}
                <Show when=move || tested.get()><TestResult id form /></Show>
                <Naming form />
                <div class="dialog-actions">
                    <button type="button" class="button quiet" on:click=move |_| edited.set(None)>{t.cancel()}</button>
                    <button type="button" class="button" disabled=move || busy.get() on:click=move |_| save(Next::Test)>{t.connection_test()}</button>
                    <button type="submit" class="button primary" disabled=move || busy.get()>{t.save()}</button>
                </div>
            </form>
        </dialog>
    }
}

/// What goes on around a save.
#[derive(Clone, Copy)]
struct Saving {
    form: Form,
    id: StoredValue<ConnectionId>,
    /// Where the stored key may go.
    key_origin: RwSignal<Option<String>>,
    refusal: RwSignal<Option<String>>,
    next: RwSignal<Next>,
    tested: RwSignal<bool>,
    edited: RwSignal<Option<Option<ConnectionView>>>,
}

/// Once the engine has kept the connection, a test follows, or the dialog closes.
fn after_saving(session: Session, saving: Saving) {
    let t = expect_context::<Messages>();
    let Saving { form, id, key_origin, refusal, next, tested, edited } = saving;
    Effect::new(move |_| {
        let settled = session.settled.get();
        let last = settled.iter().rev().find(|(kind, _)| *kind == CommandKind::Settings);
        let (Some((_, why)), now) = (last, next.get_untracked()) else { return };
        if now == Next::Nothing {
            return;
        }
        next.set(Next::Nothing);
        match (why, now) {
            (Some(why), _) => {
                let words = words::refusal_words(t, why);
                refusal.set(Some(format!("{} {} {}", t.not_saved(), words.title, words.next)));
            }
            (None, Next::Test) => {
                form.key.set(String::new());
                key_origin.set(untrack(|| form.origin()));
                tested.set(true);
                session.command(Command::Verify { connection: id.get_value(), model: None });
            }
            (None, _) => edited.set(None),
        }
    });
}

/// The changes of a save: the connection, and as the default when there is none yet.
fn changes(session: Session, form: Form, id: ConnectionId, fresh: bool) -> Vec<SettingsChange> {
    let first = untrack(|| form.models()).first().map(|model| Text::clipped(model));
    let none_yet = session.peek(|model| model.settings.as_ref().is_some_and(|it| it.default_model.is_none()));
    let mut changes = vec![form.change(id.clone())];
    if let Some(model_id) = first.filter(|_| fresh && none_yet) {
        changes.push(SettingsChange::SetDefaultModel {
            model: Some(ModelChoice { connection_id: id, model_id }),
        });
    }
    changes
}

fn verification(session: Session, id: StoredValue<ConnectionId>) -> Option<Verification> {
    session.read(Part::Verifications, |model| id.with_value(|id| model.verifications.get(id).cloned()))
}

/// Where the provider is and how it lets one in.
#[component]
fn Access(form: Form, has_key: Memo<bool>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let invalid = move || (!form.url.get().trim().is_empty() && form.origin().is_none()).then_some("true");
    let key_hint = move || if has_key.get() { t.connection_key_stored() } else { t.connection_key_hint() };
    view! {
        <div class="field">
            <label for="connection-url">{t.connection_url()}</label>
            <input id="connection-url" class="input" type="url" inputmode="url" autocomplete="off" spellcheck="false" required autofocus
                placeholder="https://" aria-describedby="connection-url-hint" aria-invalid=invalid
                bind:value=form.url />
            <p class="hint" id="connection-url-hint">{t.connection_url_hint()}</p>
        </div>
        <WirePicker wire=form.wire />
        <div class="field">
            <label for="connection-key">{t.connection_key()}</label>
            <input id="connection-key" class="input" type="password" autocomplete="off" spellcheck="false"
                aria-describedby="connection-key-hint" bind:value=form.key />
            <p class="hint" id="connection-key-hint">{key_hint}</p>
            <Show when=move || has_key.get()>
                <label class="check">
                    <input type="checkbox" bind:checked=form.drop_key /> {t.connection_key_remove()}
                </label>
            </Show>
        </div>
    }
}

/// What is used there and how it is called here.
#[component]
fn Naming(form: Form) -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <div class="field">
            <label for="connection-models">{t.connection_models()}</label>
            <textarea id="connection-models" class="input" rows="2" spellcheck="false" autocomplete="off" aria-describedby="connection-models-hint"
                bind:value=form.models></textarea>
            <p class="hint" id="connection-models-hint">{t.connection_models_hint()}</p>
        </div>
        <div class="field">
            <label for="connection-name">{t.connection_name()}</label>
            <input id="connection-name" class="input" type="text" autocomplete="off" aria-describedby="connection-name-hint" bind:value=form.name />
            <p class="hint" id="connection-name-hint">{t.connection_name_hint()}</p>
        </div>
    }
}

#[component]
fn TestResult(id: StoredValue<ConnectionId>, form: Form) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    move || {
        let result = match verification(session, id)? {
            Verification::Running => view! {
                <div class="result" role="status"><span class="spinner" aria-hidden="true"></span> {t.connection_testing()}</div>
            }
            .into_any(),
            Verification::Refused(refusal) => {
                let words = words::refusal_words(t, &refusal);
                view! { <Outcome words=Some(words) model=String::new() /> }.into_any()
            }
            Verification::Done(done) => {
                let done = *done;
                let words = done.error.as_ref().map(|it| words::error_words(t, it.code, &it.message, it.provider.as_ref()));
                view! {
                    <Outcome words model=done.model_id />
                    {(!done.models.is_empty()).then(|| view! { <Offer models=done.models form /> })}
                }
                .into_any()
            }
        };
        Some(result)
    }
}

#[component]
fn Outcome(words: Option<words::ErrorWords>, model: String) -> impl IntoView {
    let t = expect_context::<Messages>();
    match words {
        None => view! {
            <div class="result" role="status" data-ok="true">{glyph(Glyph::Check)} <div>{t.connection_works(&model)}</div></div>
        }
        .into_any(),
        Some(words) => view! {
            <div class="result" role="alert" data-ok="false">
                {glyph(Glyph::Warning)}
                <div>
                    <strong>{words.title}</strong>
                    <p>{words.next}</p>
                    {words.said.map(|said| view! { <p>{t.error_said(&said, t.provider())}</p> })}
                </div>
            </div>
        }
        .into_any(),
    }
}

/// The models that the provider lists, to choose from.
#[component]
fn Offer(models: Vec<String>, form: Form) -> impl IntoView {
    let t = expect_context::<Messages>();
    let filter = RwSignal::new(String::new());
    let many = models.len() > 8;
    let toggle = move |model: &str, on: bool| {
        let mut chosen = untrack(|| form.models());
        chosen.retain(|it| it != model);
        if on {
            chosen.push(model.to_owned());
        }
        form.models.set(chosen.join("\n"));
    };
    let rows = move || {
        let wanted = filter.get().to_lowercase();
        let shown = models.iter().filter(|model| model.to_lowercase().contains(&wanted)).cloned();
        shown
            .map(|model| {
                let (name, value) = (model.clone(), model.clone());
                view! {
                    <label>
                        <input type="checkbox" prop:checked=move || form.models().contains(&value)
                            on:change=move |event| toggle(&model, event_target_checked(&event)) />
                        {name}
                    </label>
                }
            })
            .collect_view()
    };
    view! {
        <fieldset class="offer-set">
            <legend class="field-label">{t.connection_offers()}</legend>
            {many.then(|| view! { <input class="input" type="search" aria-label=t.filter_models() placeholder=t.filter_models() bind:value=filter /> })}
            <div class="offer" tabindex="0">{rows}</div>
        </fieldset>
    }
}
