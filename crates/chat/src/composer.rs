//! The composer: a growing field, send and stop, the model and the policy of the next message, and drafts.

use leptos::html;
use leptos::prelude::*;
use panelot_base::ThreadId;
use panelot_protocol::op::Surface;
use panelot_protocol::settings::{PermissionPolicy, SettingsView};
use panelot_view::model::ConnectionState;
use panelot_view::{Command, Focus};
use wasm_bindgen::JsCast as _;

use panelot_ui::choice::{choice_of, choice_value};
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};
use panelot_ui::words;

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

    let queues = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.would_queue()));
    let off = Memo::new(move |_| {
        session.read(Part::Connection, |model| {
            matches!(
                model.connection,
                ConnectionState::ReloadRequired { .. } | ConnectionState::Mismatch { .. }
            )
        })
    });
    let steers =
        Memo::new(move |_| session.read(Part::Thread, |model| model.thread.steerable_turn().is_some()));
    let send = move |way: Way| {
        let Some(field) = field.get_untracked() else { return };
        let text = field.value();
        if text.trim().is_empty() || off.get_untracked() {
            return;
        }
        // The page in front is read before anything is awaited; a refusal brings the text back.
        match way {
            Way::Next => session.submit(text),
            Way::Now => session.steer(text),
        }
        field.set_value("");
        filled.set(false);
        draft.save("");
        following.set(true);
    };
    let placeholder = move || match (off.get(), steers.get(), queues.get(), session.surface()) {
        (true, ..) => t.composer_placeholder_off(),
        (_, true, ..) => t.composer_placeholder_steer(),
        (_, _, true, _) => t.composer_placeholder_running(),
        (.., Surface::Chat) => t.composer_placeholder_chat(),
        _ => t.composer_placeholder(),
    };
    view! {
        <form class="composer" on:submit=move |event| { event.prevent_default(); send(Way::Next); }>
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
                <Buttons filled off send=Callback::new(send) />
            </div>
        </form>
    }
}

/// Stop, and the ways to send.
#[component]
fn Buttons(filled: RwSignal<bool>, off: Memo<bool>, send: Callback<Way>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let busy = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.is_busy()));
    let queues = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.would_queue()));
    let stopping = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.stopping));
    let steers =
        Memo::new(move |_| session.read(Part::Thread, |model| model.thread.steerable_turn().is_some()));
    let send_words = move || if queues.get() { t.send_next() } else { t.send() };
    view! {
            <Show when=move || busy.get()>
                <button type="button" class="icon-button send stop" disabled=move || stopping.get()
                    aria-label=move || if stopping.get() { t.stopping() } else { t.stop() } title=t.stop()
                    on:click=move |_| session.command(Command::Stop)>
                    {glyph(Glyph::Stop)}
                </button>
            </Show>
            <Show when=move || steers.get() && filled.get()>
                <button type="button" class="icon-button send steer" disabled=move || off.get()
                    aria-label=t.send_now() title=t.send_now_hint() aria-keyshortcuts="Control+Enter Meta+Enter"
                    on:click=move |_| send.run(Way::Now)>
                    {glyph(Glyph::Steer)}
                </button>
            </Show>
            <Show when=move || !busy.get() || filled.get()>
                <button type="submit" class="icon-button send" disabled=move || !filled.get() || off.get()
                    aria-label=send_words title=send_words>
                    {move || glyph(if queues.get() { Glyph::Queue } else { Glyph::Send })}
                </button>
            </Show>
    }
}

/// Where a message goes while a turn is under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It waits its turn, and goes at once where there is nothing to wait for.
    Next,
    /// Into the turn, where it can take one.
    Now,
}

fn keydown(session: Session, event: &web_sys::KeyboardEvent, send: impl Fn(Way)) {
    // While an input method composes, its Enter chooses a candidate.
    if event.is_composing() || event.key_code() == 229 {
        return;
    }
    match event.key().as_str() {
        "Enter" if !event.shift_key() && !event.alt_key() && !event.ctrl_key() && !event.meta_key() => {
            event.prevent_default();
            send(Way::Next);
        }
        "Enter" if event.ctrl_key() || event.meta_key() => {
            event.prevent_default();
            send(Way::Now);
        }
        "Escape" => {
            let asked = session
                .peek(|model| !(model.thread.approvals.is_empty() && model.thread.interactions.is_empty()));
            if asked {
                // From here the card's own keys work.
                let card = document().query_selector(".approval, .interaction").ok().flatten();
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

/// What is being written, kept by the engine for each thread and for a new chat.
#[derive(Clone, Copy)]
struct Draft {
    session: Session,
    due: StoredValue<bool>,
    pending: StoredValue<Option<(Option<ThreadId>, String)>>,
}

impl Draft {
    fn new(session: Session) -> Self {
        Self { session, due: StoredValue::new(false), pending: StoredValue::new(None) }
    }

    fn write(self, text: String) {
        let thread = self.session.peek(|model| model.thread.id.clone());
        self.pending.set_value(Some((thread, text)));
    }

    fn save_soon(self, text: String) {
        self.write(text);
        if !self.due.get_value() {
            self.due.set_value(true);
            platform::after(DRAFT_SAVE_MS, move || self.flush());
        }
    }

    fn save(self, text: &str) {
        self.write(text.to_owned());
        self.flush();
    }

    fn flush(self) {
        if let Some(Some((thread, text))) = self.pending.try_update_value(Option::take) {
            self.due.set_value(false);
            self.session.command(Command::SaveDraft { thread, text });
        }
    }
}

/// Puts the draft of a thread into the field when the thread is opened.
fn keep_drafts(session: Session, field: NodeRef<html::Textarea>, filled: RwSignal<bool>, draft: Draft) {
    // The thread whose draft the field waits for.
    let awaited = StoredValue::new(Some(None::<ThreadId>));
    Effect::new(move |before: Option<Option<ThreadId>>| {
        let thread = session.thread_id();
        let Some(field) = field.get() else { return thread };
        let was_draft_sent = before.as_ref().is_some_and(|before| before.is_none() && thread.is_some())
            && session.peek(|model| !model.thread.loading);
        if before.as_ref() != Some(&thread) && !was_draft_sent {
            draft.flush();
            field.set_value("");
            filled.set(false);
            awaited.set_value(Some(thread.clone()));
        }
        thread
    });
    Effect::new(move |_| {
        let thread = session.thread_id();
        let loaded = session.read(Part::Thread, |model| !model.thread.loading && !model.thread.creating)
            && session.read(Part::Directory, |model| model.directory.loaded);
        let Some(field) = field.get() else { return };
        if !loaded || awaited.with_value(|awaited| awaited.as_ref() != Some(&thread)) {
            return;
        }
        awaited.set_value(None);
        let text = session.peek(|model| match thread {
            Some(_) => model.thread.draft.clone(),
            None => model.directory.draft.clone(),
        });
        // The person may have typed meanwhile.
        if !text.is_empty() && field.value().is_empty() {
            field.set_value(&text);
            filled.set(!text.trim().is_empty());
        }
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
        let value = event_target_value(&event);
        let model = settings.with_untracked(|it| {
            let settings = it.as_ref()?;
            choice_of(settings, &value).filter(|_| value != default_choice(settings))
        });
        session.overrides.update(|it| it.model = model);
    };
    let own = move || session.overrides.with(|it| it.model.is_some());
    let hint = move || if own() { t.model_own() } else { t.model_label() };
    move || {
        let settings = settings.get()?;
        if settings.connections.iter().all(|connection| connection.models.is_empty()) {
            return None;
        }
        let default = default_choice(&settings);
        // The list stays where it is when a choice is made, or the keyboard would lose it.
        let current = Memo::new(move |_| {
            let own = session.overrides.with(|it| it.model.clone());
            own.map_or_else(|| default.clone(), |it| choice_value(&it.connection_id, &it.model_id))
        });
        Some(view! {
            <select class="pill" aria-label=t.model_label() title=hint data-own=move || own().to_string() on:change=choose>
                {settings.connections.iter().map(|connection| view! {
                    <optgroup label=connection.name.to_string()>
                        {connection.models.iter().map(|model| {
                            let value = choice_value(&connection.id, model);
                            let own = value.clone();
                            let selected = move || current.with(|current| *current == own);
                            view! { <option value=value selected=selected>{model.to_string()}</option> }
                        }).collect_view()}
                    </optgroup>
                }).collect_view()}
            </select>
        })
    }
}

/// The model that a message uses unless it says otherwise: the chosen default, else the first there is.
fn default_choice(settings: &SettingsView) -> String {
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
    // What one conversation may do says nothing about the next one.
    Effect::new(move |before: Option<Option<ThreadId>>| {
        let thread = session.thread_id();
        let grew_from_draft = before.as_ref().is_some_and(Option::is_none) && thread.is_some();
        if before.is_some_and(|before| before != thread) && !grew_from_draft {
            session.overrides.update(|it| it.permission_policy = None);
        }
        thread
    });
    let choose = move |event: web_sys::Event| {
        let chosen = match event_target_value(&event).as_str() {
            "always" => PermissionPolicy::Always,
            "auto" => PermissionPolicy::Auto,
            _ => PermissionPolicy::Untrusted,
        };
        let own = Some(chosen).filter(|_| policy.get_untracked() != Some(chosen));
        session.overrides.update(|it| it.permission_policy = own);
    };
    let own = move || session.overrides.with(|it| it.permission_policy.is_some());
    let hint = move || if own() { t.policy_own() } else { t.policy_label() };
    move || {
        let default = policy.get()?;
        let current =
            Memo::new(move |_| session.overrides.with(|it| it.permission_policy).unwrap_or(default));
        let options = [
            ("always", PermissionPolicy::Always),
            ("untrusted", PermissionPolicy::Untrusted),
            ("auto", PermissionPolicy::Auto),
        ];
        Some(view! {
            <select class="pill" aria-label=t.policy_label() title=hint data-own=move || own().to_string() on:change=choose>
                {options.map(|(value, policy)| view! {
                    <option value=value selected=move || current.get() == policy>{words::policy_words(t, policy)}</option>
                })}
            </select>
        })
    }
}
