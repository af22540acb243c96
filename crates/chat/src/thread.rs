//! The thread view that panel and chat tab share: the stream above, the dock with cards and composer below.

use leptos::prelude::*;
use panelot_view::Command;
use panelot_view::model::{ConnectionState, EntryBody, EntryKey};

use crate::approval::Approvals;
use crate::composer::Composer;
use crate::interaction::Interactions;
use crate::recovery::{Queue, Recoveries};
use crate::stream::{Jump, Stream};
use panelot_ui::failure::Failure;
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};
use panelot_ui::words::{self, clip};

/// A shorter absence of the engine is not worth a word: Chrome stops and starts the worker as it likes.
const ABSENCE_SHOWN_MS: u64 = 1500;
/// Characters of an answer that are read out when it is complete.
const ANNOUNCED_CHARS: usize = 600;

/// The open thread.
#[component]
pub(crate) fn ThreadPane() -> impl IntoView {
    let following = RwSignal::new(true);
    let prefill = RwSignal::new(None::<String>);
    view! {
        <main class="thread">
            <Stream following prefill />
            <div class="dock">
                <Jump following />
                <div class="column">
                    <StatusLine />
                    <UpdateNotice />
                    <LastError />
                    <Recoveries />
                    <Queue />
                    <Approvals />
                    <Interactions />
                    <Composer prefill following />
                </div>
            </div>
            <Announcer />
        </main>
    }
}

#[component]
fn StatusLine() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let text = RwSignal::new(None::<&'static str>);
    Effect::new(move |_| {
        let state = session.read(Part::Connection, |model| model.connection.clone());
        let words = match state {
            ConnectionState::Connecting => t.state_connecting(),
            ConnectionState::Reconnecting { .. } => t.state_reconnecting(),
            _ => return text.set(None),
        };
        if text.get_untracked().is_some() {
            return text.set(Some(words));
        }
        platform::after(ABSENCE_SHOWN_MS, move || {
            let away = session.peek(|model| {
                matches!(model.connection, ConnectionState::Connecting | ConnectionState::Reconnecting { .. })
            });
            if away {
                let _ = text.try_set(Some(words));
            }
        });
    });
    view! {
        <div role="status">
            {move || text.get().map(|words| view! {
                <p class="status-line"><span class="spinner" aria-hidden="true"></span> {words}</p>
            })}
        </div>
    }
}

/// A new version waits until nothing is under way; the person may have it at once.
#[component]
fn UpdateNotice() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let version = Memo::new(move |_| session.read(Part::Directory, |model| model.directory.update.clone()));
    view! {
        <div role="status">
            {move || version.get().map(|version| view! {
                <p class="update">
                    {glyph(Glyph::Spark)} <span>{t.update_waits(&version)}</span>
                    <button type="button" class="button quiet" title=t.update_now_hint() on:click=move |_| session.command(Command::ApplyUpdate)>{t.update_now()}</button>
                </p>
            })}
        </div>
    }
}

#[component]
fn LastError() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    move || {
        let error = session.read(Part::LastError, |model| model.last_error.clone())?;
        let words = words::refusal_words(t, &error.refusal);
        let dismiss = Callback::new(move |()| session.command(Command::DismissError));
        Some(view! { <div class="card error" role="alert"><Failure words dismiss /></div> })
    }
}

/// Says once, politely, that an answer is complete or that the person is asked; never the single deltas.
#[component]
fn Announcer() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let said = RwSignal::new(String::new());
    Effect::new(move |before: Option<Option<EntryKey>>| {
        session.entries_flushed.track();
        let streaming = session.peek(|model| {
            let thread = &model.thread;
            let newest = thread
                .entries()
                .filter(|entry| matches!(entry.body, EntryBody::Assistant { streaming: true, .. }))
                .last();
            newest.map(|entry| entry.key.clone())
        });
        let ended = before.flatten().filter(|key| streaming.as_ref() != Some(key));
        if let Some(key) = ended {
            let text = session.entry(&key, |entry| match &entry.body {
                EntryBody::Assistant { document, streaming: false, .. } => {
                    clip(document.text(), ANNOUNCED_CHARS)
                }
                _ => String::new(),
            });
            if !text.is_empty() {
                said.set(format!("{} {text}", t.answer_done()));
            }
        }
        streaming
    });
    Effect::new(move |before: Option<usize>| {
        let open = session.read(Part::Thread, |model| model.thread.approvals.len());
        if open > before.unwrap_or_default() {
            said.set(t.answer_asks().to_owned());
        }
        open
    });
    Effect::new(move |before: Option<usize>| {
        let open = session.read(Part::Thread, |model| {
            let thread = &model.thread;
            thread.interactions.iter().filter(|it| panelot_view::model::is_for_the_person(it.kind)).count()
        });
        if open > before.unwrap_or_default() {
            said.set(t.answer_needs().to_owned());
        }
        open
    });
    view! { <div class="sr-only" role="status" aria-live="polite">{move || said.get()}</div> }
}
