//! The list of conversations: search, groups by day, what is put away, and the menu of each one.

use leptos::html;
use leptos::prelude::*;
use panelot_base::limits::TITLE_CHARS_MAX;
use panelot_base::{ThreadId, Timestamp};
use panelot_protocol::snapshot::ThreadMeta;
use panelot_view::Command;
use wasm_bindgen::JsCast as _;

use crate::glyph::{Glyph, chevron, glyph};
use crate::i18n::Messages;
use crate::platform;
use crate::session::{Part, Session};
use crate::words::{self, Group};

#[derive(Clone, PartialEq, Eq)]
enum Row {
    Head(Group),
    Thread(ThreadId),
}

/// What the person is asked about a conversation.
#[derive(Clone, PartialEq, Eq)]
enum Asked {
    Rename(ThreadId, String),
    Delete(ThreadId, String),
}

/// What the rows of the list share.
#[derive(Clone, Copy)]
struct List {
    on_open: Callback<()>,
    asked: RwSignal<Option<Asked>>,
    /// The conversation whose menu is open.
    menu: RwSignal<Option<ThreadId>>,
    menu_node: NodeRef<html::Div>,
}

/// The list; `on_open` runs when the person chose an entry.
#[component]
pub(crate) fn Chats(on_open: Callback<()>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let list =
        List { on_open, asked: RwSignal::new(None), menu: RwSignal::new(None), menu_node: NodeRef::new() };
    let query = RwSignal::new(String::new());
    let searching = move || query.with(|it| !it.trim().is_empty());
    let rows = Memo::new(move |_| {
        session.read(Part::Directory, |model| query.with(|query| rows(&model.directory.matching(query))))
    });
    let archived = Memo::new(move |_| {
        session.read(Part::Directory, |model| {
            query.with(|query| {
                let found = model.directory.matching(query).into_iter().filter(|meta| meta.archived);
                found.map(|meta| meta.id.clone()).collect::<Vec<_>>()
            })
        })
    });
    let any = Memo::new(move |_| session.read(Part::Directory, |model| !model.directory.sorted().is_empty()));
    let loaded = move || session.read(Part::Directory, |model| model.directory.loaded);
    let found = move || rows.with(|it| !it.is_empty()) || archived.with(|it| !it.is_empty());
    view! {
        <Show when=move || any.get()>
            <div class="search" role="search">
                {glyph(Glyph::Search)}
                <input type="search" aria-label=t.chats_search() placeholder=t.chats_search() prop:value=move || query.get()
                    on:input=move |event| query.set(event_target_value(&event)) />
            </div>
        </Show>
        <div class="chats">
            <div role="status">
                <Show when=move || loaded() && !found()>
                    <p class="chats-empty">{move || if searching() { t.chats_none_found() } else { t.chats_empty() }}</p>
                </Show>
            </div>
            <ul>
                <For
                    each=move || rows.get()
                    key=|row| match row {
                        Row::Head(group) => format!("{group:?}"),
                        Row::Thread(id) => id.to_string(),
                    }
                    children=move |row| match row {
                        Row::Head(group) => view! { <li class="chats-group">{group.words(t)}</li> }.into_any(),
                        Row::Thread(id) => view! { <ChatRow id list /> }.into_any(),
                    }
                />
            </ul>
            <Show when=move || archived.with(|it| !it.is_empty())>
                <details class="chats-archived" prop:open=searching>
                    <summary class="chats-group">{chevron()} {move || t.group_archived(archived.with(|it| it.len() as u64))}</summary>
                    <ul>
                        <For each=move || archived.get() key=Clone::clone children=move |id| view! { <ChatRow id list /> } />
                    </ul>
                </details>
            </Show>
            <Menu list />
        </div>
        <RenameDialog asked=list.asked />
        <DeleteDialog asked=list.asked />
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

/// A conversation's title, or the words for one that has none yet.
fn title_of(session: Session, t: Messages, id: &ThreadId) -> String {
    session
        .read(Part::Directory, |model| model.directory.thread(id).map(|it| it.title.clone()))
        .filter(|title| !title.is_empty())
        .unwrap_or_else(|| t.untitled().to_owned())
}

#[component]
fn ChatRow(id: ThreadId, list: List) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let id = StoredValue::new(id);
    let title = Memo::new(move |_| id.with_value(|id| title_of(session, t, id)));
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
                    (_, Some(activity)) if activity.pending_interactions > 0 => {
                        Some(("waits", t.status_waits()))
                    }
                    (_, Some(activity)) if activity.running => Some(("running", t.status_running())),
                    _ => None,
                }
            })
        })
    };
    let sign = |name: &str| match name {
        "running" => view! { <span class="spinner"></span> }.into_any(),
        "waits" => glyph(Glyph::Timer).into_any(),
        _ => glyph(Glyph::Warning).into_any(),
    };
    let open = move |_| {
        session.command(Command::Open { thread: id.get_value() });
        list.on_open.run(());
    };
    view! {
        <li class="chat-row" data-current=move || current().to_string()>
            <button type="button" class="chat-open" aria-current=move || current().then_some("page") on:click=open>
                <span class="chat-title">{move || title.get()}</span>
                {move || status().map(|(name, words)| view! {
                    <span class="chat-status" data-status=name title=words>
                        {sign(name)}
                        <span class="sr-only">{words}</span>
                    </span>
                })}
                <span class="chat-age">{age}</span>
            </button>
            <button type="button" class="icon-button chat-more" aria-label=move || t.chat_menu(&title.get()) title=t.more()
                aria-haspopup="menu" on:click=move |event| open_menu(list, id.get_value(), &event)>
                {glyph(Glyph::More)}
            </button>
        </li>
    }
}

/// Opens the menu below the pressed button, and above it where there is no room below.
fn open_menu(list: List, id: ThreadId, event: &web_sys::MouseEvent) {
    let Some(menu) = list.menu_node.get_untracked() else { return };
    let button = event.current_target().and_then(|it| it.dyn_into::<web_sys::Element>().ok());
    let Some(place) = button.map(|button| button.get_bounding_client_rect()) else { return };
    list.menu.set(Some(id));
    let _ = menu.show_popover();
    // It is measured when it is drawn.
    platform::next_frame(move || {
        let (width, height) = (f64::from(menu.offset_width()), f64::from(menu.offset_height()));
        let room = window().inner_height().ok().and_then(|it| it.as_f64()).unwrap_or_default();
        let below = place.bottom() + height <= room;
        let top = if below { place.bottom() } else { (place.top() - height).max(0.0) };
        let style = web_sys::HtmlElement::style(&menu);
        let _ = style.set_property("top", &format!("{top}px"));
        let _ = style.set_property("left", &format!("{}px", (place.right() - width).max(0.0)));
        if let Some(first) = items_of(&menu).first() {
            let _ = first.focus();
        }
    });
}

fn items_of(menu: &web_sys::HtmlElement) -> Vec<web_sys::HtmlElement> {
    let Ok(found) = menu.query_selector_all("[role=menuitem]") else { return Vec::new() };
    (0..found.length()).filter_map(|index| found.item(index)?.dyn_into().ok()).collect()
}

/// Arrow keys, Home and End go through a menu; Tab leaves it.
fn menu_keys(menu: NodeRef<html::Div>, event: &web_sys::KeyboardEvent) {
    let Some(menu) = menu.get_untracked() else { return };
    let items = items_of(&menu);
    let active = document().active_element();
    let at = items.iter().position(|item| active.as_ref().is_some_and(|it| it.is_same_node(Some(item))));
    let last = items.len().saturating_sub(1);
    let to = match (event.key().as_str(), at) {
        ("ArrowDown", Some(at)) => {
            if at == last {
                0
            } else {
                at + 1
            }
        }
        ("ArrowUp", Some(at)) => at.checked_sub(1).unwrap_or(last),
        ("Home", _) | ("ArrowDown", None) => 0,
        ("End", _) | ("ArrowUp", None) => last,
        ("Tab", _) => {
            let _ = menu.hide_popover();
            return;
        }
        _ => return,
    };
    event.prevent_default();
    if let Some(item) = items.get(to) {
        let _ = item.focus();
    }
}

/// What can be done with one conversation.
#[component]
fn Menu(list: List) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let meta = Memo::new(move |_| {
        let id = list.menu.get()?;
        session.read(Part::Directory, |model| model.directory.thread(&id).cloned())
    });
    let is = move |what: fn(&ThreadMeta) -> bool| meta.with(|meta| meta.as_ref().is_some_and(what));
    let pinned = move || is(|meta| meta.pinned);
    let archived = move || is(|meta| meta.archived);
    let chosen = move |act: &dyn Fn(ThreadMeta)| {
        if let Some(menu) = list.menu_node.get_untracked() {
            let _ = menu.hide_popover();
        }
        if let Some(meta) = meta.get_untracked() {
            act(meta);
        }
    };
    let arrange = move |thread, pinned, archived| {
        session.command(Command::Arrange { thread, title: None, pinned, archived });
    };
    let ask = move |ask: fn(ThreadId, String) -> Asked| {
        move |_| {
            chosen(&|meta| {
                let title = title_of(session, t, &meta.id);
                list.asked.set(Some(ask(meta.id, title)));
            });
        }
    };
    view! {
        <div class="menu" popover="auto" role="menu" aria-label=t.more() node_ref=list.menu_node
            on:keydown=move |event| menu_keys(list.menu_node, &event)>
            <button type="button" role="menuitem" class="row-button" tabindex="-1" on:click=ask(Asked::Rename)>
                {glyph(Glyph::Pencil)} {t.rename()}
            </button>
            <button type="button" role="menuitem" class="row-button" tabindex="-1"
                on:click=move |_| chosen(&|meta| arrange(meta.id, Some(!meta.pinned), None))>
                {glyph(Glyph::Pin)} {move || if pinned() { t.unpin() } else { t.pin() }}
            </button>
            <button type="button" role="menuitem" class="row-button" tabindex="-1"
                on:click=move |_| chosen(&|meta| arrange(meta.id, None, Some(!meta.archived)))>
                {glyph(Glyph::Archive)} {move || if archived() { t.unarchive() } else { t.archive() }}
            </button>
            <button type="button" role="menuitem" class="row-button danger" tabindex="-1" on:click=ask(Asked::Delete)>
                {glyph(Glyph::Bin)} {t.delete()}
            </button>
        </div>
    }
}

/// Shows a dialog while `shown`, and puts `asked` back when it is closed by a key.
fn follow_dialog(dialog: NodeRef<html::Dialog>, shown: impl Fn() -> bool + 'static) {
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if shown() {
            let _ = dialog.show_modal();
        } else {
            dialog.close();
        }
    });
}

#[component]
fn RenameDialog(asked: RwSignal<Option<Asked>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    let field = NodeRef::<html::Input>::new();
    follow_dialog(dialog, move || asked.with(|it| matches!(it, Some(Asked::Rename(..)))));
    Effect::new(move |_| {
        if let (Some(field), Some(Asked::Rename(_, title))) = (field.get(), asked.get()) {
            field.set_value(&title);
            field.select();
        }
    });
    let rename = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let title = field.get_untracked().map(|field| field.value()).unwrap_or_default();
        if let Some(Asked::Rename(thread, _)) = asked.get_untracked().filter(|_| !title.trim().is_empty()) {
            session.command(Command::Arrange { thread, title: Some(title), pinned: None, archived: None });
        }
        asked.set(None);
    };
    view! {
        <dialog class="small" node_ref=dialog aria-labelledby="rename-title" on:close=move |_| asked.set(None)>
            <form on:submit=rename>
                <h2 id="rename-title">{t.rename_title()}</h2>
                <div class="field">
                    <label for="rename-field" class="sr-only">{t.rename_field()}</label>
                    <input id="rename-field" class="input" node_ref=field maxlength=TITLE_CHARS_MAX.to_string() required autocomplete="off" />
                </div>
                <div class="dialog-actions">
                    <button type="button" class="button" on:click=move |_| asked.set(None)>{t.cancel()}</button>
                    <button type="submit" class="button primary">{t.save()}</button>
                </div>
            </form>
        </dialog>
    }
}

#[component]
fn DeleteDialog(asked: RwSignal<Option<Asked>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    follow_dialog(dialog, move || asked.with(|it| matches!(it, Some(Asked::Delete(..)))));
    let text = move || match asked.get() {
        Some(Asked::Delete(_, title)) => Some(t.chat_delete_text(&title)),
        _ => None,
    };
    let delete = move |_| {
        if let Some(Asked::Delete(thread, _)) = asked.get_untracked() {
            session.command(Command::Delete { thread });
        }
        asked.set(None);
    };
    view! {
        <dialog class="small" node_ref=dialog aria-labelledby="delete-title" on:close=move |_| asked.set(None)>
            <h2 id="delete-title">{t.chat_delete_title()}</h2>
            <p>{text}</p>
            <div class="dialog-actions">
                <button type="button" class="button" autofocus on:click=move |_| asked.set(None)>{t.cancel()}</button>
                <button type="button" class="button danger" on:click=delete>{t.delete()}</button>
            </div>
        </dialog>
    }
}
