//! The composer: a growing field, send and stop, the model and the policy of the next message, and drafts.

use leptos::html;
use leptos::prelude::*;
use panelot_base::ThreadId;
use panelot_protocol::op::Surface;
use panelot_protocol::settings::{PermissionPolicy, SettingsChange, SettingsView};
use panelot_view::model::ConnectionState;
use panelot_view::{Command, Focus};
use wasm_bindgen::JsCast as _;

use crate::glyph::{Glyph, glyph};
use crate::i18n::Messages;
use crate::options::{choice_of, choice_value};
use crate::platform;
use crate::session::{Part, Session};
use crate::words;

/// A draft is written this long after the last key.
const DRAFT_SAVE_MS: u64 = 300;

/// The composer. `prefill` puts a text into it; sending brings the reader to the end.
#[component]
pub(crate) fn Composer(prefill: RwSignal<Option<String>>, following: RwSignal<bool>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let field = NodeRef::<html::Textarea>::new();
    let filled = RwSignal::new(false);
    let draft = Draft::new(session);
    keep_drafts(session, field, filled, draft);
    take_texts(session, field, filled, draft, prefill);
    take_focus(session, field);

    let busy = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.is_busy()));
    let queues = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.would_queue()));
    let stopping = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.stopping));
    let off = Memo::new(move |_| {
        session.read(Part::Connection, |model| {
            matches!(
                model.connection,
                ConnectionState::ReloadRequired { .. } | ConnectionState::Mismatch { .. }
            )
        })
    });
    let send = move || {
        let Some(field) = field.get_untracked() else { return };
        let text = field.value();
        if text.trim().is_empty() || off.get_untracked() {
            return;
        }
        // The page in front is read before anything is awaited; a refusal brings the text back.
        session.submit(text);
        field.set_value("");
        filled.set(false);
        draft.save("");
        following.set(true);
    };
    let placeholder = move || match (off.get(), queues.get(), session.surface()) {
        (true, ..) => t.composer_placeholder_off(),
        (_, true, _) => t.composer_placeholder_running(),
        (.., Surface::Chat) => t.composer_placeholder_chat(),
        _ => t.composer_placeholder(),
    };
    view! {
        <form class="composer" on:submit=move |event| { event.prevent_default(); send(); }>
            <label class="sr-only" for="composer">{t.composer_label()}</label>
            <textarea id="composer" rows="1" node_ref=field placeholder=placeholder disabled=move || off.get()
                on:input=move |_| {
                    let text = field.get_untracked().map(|field| field.value()).unwrap_or_default();
                    filled.set(!text.trim().is_empty());
                    draft.save_soon(text);
                }
                on:keydown=move |event| keydown(session, &event, send)
            ></textarea>
            <div class="composer-foot">
                <div class="pills"><ModelPill /> <PolicyPill /></div>
                <Show when=move || busy.get()>
                    <button type="button" class="icon-button send stop" disabled=move || stopping.get()
                        aria-label=move || if stopping.get() { t.stopping() } else { t.stop() } title=t.stop()
                        on:click=move |_| session.command(Command::Stop)>
                        {glyph(Glyph::Stop)}
                    </button>
                </Show>
                <Show when=move || !busy.get() || filled.get()>
                    <button type="submit" class="icon-button send" disabled=move || !filled.get() || off.get()
                        aria-label=t.send() title=t.send()>
                        {glyph(Glyph::Send)}
                    </button>
                </Show>
            </div>
        </form>
    }
}

fn keydown(session: Session, event: &web_sys::KeyboardEvent, send: impl Fn()) {
    // While an input method composes, its Enter chooses a candidate.
    if event.is_composing() || event.key_code() == 229 {
        return;
    }
    match event.key().as_str() {
        "Enter" if !event.shift_key() && !event.alt_key() && !event.ctrl_key() && !event.meta_key() => {
            event.prevent_default();
            send();
        }
        "Escape" => {
            let asked = session.peek(|model| !model.thread.approvals.is_empty());
            if asked {
                // From here the card's own keys work.
                let card = document().query_selector(".approval").ok().flatten();
                if let Some(card) = card.and_then(|card| card.dyn_into::<web_sys::HtmlElement>().ok()) {
                    let _ = card.focus();
                }
            } else if session.peek(|model| model.thread.is_busy()) {
                session.command(Command::Stop);
            }
        }
        _ => {}
    }
}

/// The draft of the open thread, kept until the browser closes.
#[derive(Clone, Copy)]
struct Draft {
    session: Session,
    timer: StoredValue<Option<i32>>,
    pending: StoredValue<Option<(String, String)>>,
}

impl Draft {
    fn new(session: Session) -> Self {
        Self { session, timer: StoredValue::new(None), pending: StoredValue::new(None) }
    }

    fn key(self, thread: Option<&ThreadId>) -> String {
        match thread {
            Some(id) => format!("draft:{id}"),
            None => format!("draft:new:{:?}", self.session.surface()),
        }
    }

    fn current_key(self) -> String {
        self.key(self.session.peek(|model| model.thread.id.clone()).as_ref())
    }

    fn save_soon(self, text: String) {
        self.pending.set_value(Some((self.current_key(), text)));
        if self.timer.get_value().is_some() {
            return;
        }
        self.timer.set_value(Some(0));
        platform::Timer::after(DRAFT_SAVE_MS, move || self.flush());
    }

    fn save(self, text: &str) {
        self.pending.set_value(Some((self.current_key(), text.to_owned())));
        self.flush();
    }

    fn flush(self) {
        let Some(Some((key, text))) = self.pending.try_update_value(Option::take) else { return };
        self.timer.set_value(None);
        if text.is_empty() {
            return platform::session_remove(&key);
        }
        let value = serde_json::Value::from(text);
        wasm_bindgen_futures::spawn_local(async move {
            // A draft that cannot be written is still in the field.
            let _ = platform::session_set(&key, &value).await;
        });
    }
}

/// Puts the draft of a thread into the field when the thread is opened.
fn keep_drafts(session: Session, field: NodeRef<html::Textarea>, filled: RwSignal<bool>, draft: Draft) {
    Effect::new(move |before: Option<Option<ThreadId>>| {
        let thread = session.thread_id();
        let Some(field) = field.get() else { return thread };
        let was_draft_sent = before.as_ref().is_some_and(|before| before.is_none() && thread.is_some())
            && session.peek(|model| !model.thread.loading);
        if before.as_ref() == Some(&thread) || was_draft_sent {
            return thread;
        }
        draft.flush();
        field.set_value("");
        filled.set(false);
        let key = draft.key(thread.as_ref());
        wasm_bindgen_futures::spawn_local(async move {
            let kept = platform::session_get(&key).await;
            let text = kept.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
            // The person may have typed or gone on meanwhile.
            if !text.is_empty() && field.value().is_empty() && draft.current_key() == key {
                field.set_value(text);
                let _ = filled.try_set(true);
            }
        });
        thread
    });
    let handle = window_event_listener_untyped("pagehide", move |_| draft.flush());
    on_cleanup(move || handle.remove());
}

/// Takes suggestions, and texts that were refused.
fn take_texts(
    session: Session,
    field: NodeRef<html::Textarea>,
    filled: RwSignal<bool>,
    draft: Draft,
    prefill: RwSignal<Option<String>>,
) {
    let put = move |field: &web_sys::HtmlTextAreaElement, text: &str| {
        field.set_value(text);
        filled.set(!text.trim().is_empty());
        draft.save_soon(text.to_owned());
    };
    Effect::new(move |_| {
        let (Some(field), Some(text)) = (field.get(), prefill.get()) else { return };
        prefill.set(None);
        put(&field, &text);
        let _ = field.focus();
    });
    Effect::new(move |_| {
        let Some(field) = field.get() else { return };
        let thread = session.thread_id();
        let (mine, rest): (Vec<_>, Vec<_>) =
            session.restored.get().into_iter().partition(|(meant, _)| *meant == thread);
        if mine.is_empty() {
            return;
        }
        session.restored.set(rest);
        // What was refused stands before what was typed since.
        let mut texts: Vec<String> = mine.into_iter().map(|(_, text)| text).collect();
        texts.extend(Some(field.value()).filter(|typed| !typed.trim().is_empty()));
        put(&field, &texts.join("\n\n"));
    });
}

fn take_focus(session: Session, field: NodeRef<html::Textarea>) {
    Effect::new(move |first: Option<()>| {
        let Some(field) = field.get() else { return };
        let wanted = matches!(session.focus.get(), Some(Focus::Composer));
        // A dialog or drawer keeps the focus that it has.
        let overlay =
            document().query_selector("dialog[open], [popover]:popover-open").ok().flatten().is_some();
        if (first.is_none() || wanted) && !overlay {
            let _ = field.focus();
        }
    });
}

#[component]
fn ModelPill() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let settings = Memo::new(move |_| session.read(Part::Settings, |model| model.settings.clone()));
    let choose = move |event: web_sys::Event| {
        let model = settings
            .with_untracked(|it| it.as_ref().and_then(|it| choice_of(it, &event_target_value(&event))));
        session.change(SettingsChange::SetDefaultModel { model });
    };
    move || {
        let settings = settings.get()?;
        if settings.connections.iter().all(|connection| connection.models.is_empty()) {
            return None;
        }
        let current = current_choice(&settings);
        Some(view! {
            <select class="pill" aria-label=t.model_label() title=t.model_label() on:change=choose>
                {settings.connections.iter().map(|connection| view! {
                    <optgroup label=connection.name.to_string()>
                        {connection.models.iter().map(|model| {
                            let value = choice_value(&connection.id, model);
                            let selected = value == current;
                            view! { <option value=value selected=selected>{model.to_string()}</option> }
                        }).collect_view()}
                    </optgroup>
                }).collect_view()}
            </select>
        })
    }
}

/// The model that the next message uses: the chosen one, else the first there is.
fn current_choice(settings: &SettingsView) -> String {
    let first = settings
        .connections
        .iter()
        .find_map(|connection| connection.models.first().map(|model| choice_value(&connection.id, model)));
    let chosen = settings.default_model.as_ref().map(|it| choice_value(&it.connection_id, &it.model_id));
    chosen.or(first).unwrap_or_default()
}

#[component]
fn PolicyPill() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let policy =
        Memo::new(move |_| session.read(Part::Settings, |model| model.settings.as_ref().map(|it| it.policy)));
    let choose = move |event: web_sys::Event| {
        let policy = match event_target_value(&event).as_str() {
            "always" => PermissionPolicy::Always,
            "auto" => PermissionPolicy::Auto,
            _ => PermissionPolicy::Untrusted,
        };
        session.change(SettingsChange::SetPolicy { policy });
    };
    move || {
        let current = policy.get()?;
        let options = [
            ("always", PermissionPolicy::Always),
            ("untrusted", PermissionPolicy::Untrusted),
            ("auto", PermissionPolicy::Auto),
        ];
        Some(view! {
            <select class="pill" aria-label=t.policy_label() title=t.policy_label() on:change=choose>
                {options.map(|(value, policy)| view! {
                    <option value=value selected=policy == current>{words::policy_words(t, policy)}</option>
                })}
            </select>
        })
    }
}
