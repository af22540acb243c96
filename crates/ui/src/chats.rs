//! The list of conversations, in groups by day, and the question before one is deleted.

use leptos::html;
use leptos::prelude::*;
use panelot_base::{ThreadId, Timestamp};
use panelot_protocol::snapshot::ThreadMeta;
use panelot_view::Command;

use crate::glyph::{Glyph, glyph};
use crate::i18n::Messages;
use crate::platform;
use crate::session::{Part, Session};
use crate::words::{self, Group};

#[derive(Clone, PartialEq, Eq)]
enum Row {
    Head(Group),
    Thread(ThreadId),
}

/// The list; `on_open` runs when the person chose an entry.
#[component]
pub(crate) fn Chats(on_open: Callback<()>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let asked = RwSignal::new(None::<(ThreadId, String)>);
    let rows = Memo::new(move |_| session.read(Part::Directory, |model| rows(&model.directory.sorted())));
    let empty =
        move || session.read(Part::Directory, |model| model.directory.loaded) && rows.with(Vec::is_empty);
    view! {
        <div class="chats">
            <Show when=empty>
                <p class="chats-empty">{t.chats_empty()}</p>
            </Show>
            <ul>
                <For
                    each=move || rows.get()
                    key=|row| match row {
                        Row::Head(group) => format!("{group:?}"),
                        Row::Thread(id) => id.to_string(),
                    }
                    children=move |row| match row {
                        Row::Head(group) => view! { <li class="chats-group">{group.words(t)}</li> }.into_any(),
                        Row::Thread(id) => view! { <ChatRow id on_open asked /> }.into_any(),
                    }
                />
            </ul>
        </div>
        <DeleteDialog asked />
    }
}

fn rows(sorted: &[&ThreadMeta]) -> Vec<Row> {
    let midnight = midnight();
    let mut rows = Vec::new();
    let mut last = None;
    for meta in sorted.iter().filter(|meta| !meta.archived) {
        let group = Group::of(meta.pinned, midnight, meta.updated_at);
        if last.replace(group) != Some(group) {
            rows.push(Row::Head(group));
        }
        rows.push(Row::Thread(meta.id.clone()));
    }
    rows
}

/// When this calendar day began, where the person is.
fn midnight() -> Timestamp {
    let date = js_sys::Date::new_0();
    date.set_hours(0);
    date.set_minutes(0);
    date.set_seconds(0);
    date.set_milliseconds(0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "milliseconds since 1970 fit"
    )]
    Timestamp(date.get_time() as u64)
}

#[component]
fn ChatRow(
    id: ThreadId,
    on_open: Callback<()>,
    asked: RwSignal<Option<(ThreadId, String)>>,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let id = StoredValue::new(id);
    let title = Memo::new(move |_| {
        session
            .read(Part::Directory, |model| {
                id.with_value(|id| model.directory.thread(id).map(|it| it.title.clone()))
            })
            .filter(|title| !title.is_empty())
            .unwrap_or_else(|| t.untitled().to_owned())
    });
    let age = move || {
        let at = session.read(Part::Directory, |model| {
            id.with_value(|id| model.directory.thread(id).map(|it| it.updated_at))
        });
        at.map(|at| words::age(t, platform::now(), at))
    };
    let current = move || session.thread_id().is_some_and(|open| id.with_value(|id| *id == open));
    let status = move || {
        session.read(Part::Directory, |model| {
            id.with_value(|id| {
                let activity = model.directory.activity(id);
                match (model.directory.thread(id).is_some_and(|it| it.quarantined), activity) {
                    (true, _) => Some(("aside", t.status_set_aside())),
                    (_, Some(activity)) if activity.pending_approvals > 0 => Some(("asks", t.status_asks())),
                    (_, Some(activity)) if activity.running => Some(("running", t.status_running())),
                    _ => None,
                }
            })
        })
    };
    let open = move |_| {
        session.command(Command::Open { thread: id.get_value() });
        on_open.run(());
    };
    view! {
        <li class="chat-row" data-current=move || current().to_string()>
            <button type="button" class="chat-open" aria-current=move || current().then_some("page") on:click=open>
                <span class="chat-title">{move || title.get()}</span>
                {move || status().map(|(name, words)| view! {
                    <span class="chat-status" data-status=name title=words>
                        {if name == "running" { view! { <span class="spinner"></span> }.into_any() } else { glyph(Glyph::Warning).into_any() }}
                        <span class="sr-only">{words}</span>
                    </span>
                })}
                <span class="chat-age">{age}</span>
            </button>
            <button type="button" class="icon-button chat-delete" aria-label=move || t.chat_delete(&title.get()) title=t.delete()
                on:click=move |_| asked.set(Some((id.get_value(), title.get_untracked())))>
                {glyph(Glyph::Bin)}
            </button>
        </li>
    }
}

#[component]
fn DeleteDialog(asked: RwSignal<Option<(ThreadId, String)>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if asked.with(Option::is_some) {
            let _ = dialog.show_modal();
        } else {
            dialog.close();
        }
    });
    let delete = move |_| {
        if let Some((thread, _)) = asked.get_untracked() {
            session.command(Command::Delete { thread });
        }
        asked.set(None);
    };
    view! {
        <dialog class="small" node_ref=dialog aria-labelledby="delete-title" on:close=move |_| asked.set(None)>
            <h2 id="delete-title">{t.chat_delete_title()}</h2>
            <p>{move || asked.get().map(|(_, title)| t.chat_delete_text(&title))}</p>
            <div class="dialog-actions">
                <button type="button" class="button" autofocus on:click=move |_| asked.set(None)>{t.cancel()}</button>
                <button type="button" class="button danger" on:click=delete>{t.delete()}</button>
            </div>
        </dialog>
    }
}
