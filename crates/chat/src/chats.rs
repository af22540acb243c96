//! The list of conversations: search, groups by day, what is put away, and the menu of each one.

use leptos::html;
use leptos::prelude::*;
use panelot_base::limits::TITLE_CHARS_MAX;
use panelot_base::{ThreadId, Timestamp};
use panelot_protocol::snapshot::ThreadMeta;
use panelot_view::model::Label;
use panelot_view::{Arrangement, Command};
use wasm_bindgen::JsCast as _;

use panelot_ui::glyph::{Glyph, chevron, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};
use panelot_ui::words::{self, Group};

/// As many labels as the wire takes for one conversation.
const TAGS_MAX: usize = 16;
/// Characters of a folder's name, so that it fits the wire in any script.
const FOLDER_CHARS_MAX: usize = 40;

#[derive(Clone, PartialEq, Eq)]
enum Row {
    Head(Group),
    Thread(ThreadId),
}

/// What the person is asked about a conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Its name.
    Rename,
    /// Its folder and its labels.
    File,
    /// Whether it shall go.
    Delete,
}

/// The question, and the conversation as it was when it was asked.
type Asked = RwSignal<Option<(Question, ThreadMeta)>>;

/// What the rows of the list share.
#[derive(Clone, Copy)]
struct List {
    on_open: Callback<()>,
    asked: Asked,
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
    let chosen = RwSignal::new(None::<Label>);
    let labels = Memo::new(move |_| session.read(Part::Directory, |model| model.directory.labels()));
    // A label that no chat has any more narrows nothing.
    let label = Memo::new(move |_| chosen.get().filter(|label| labels.with(|all| all.contains(label))));
    let searching = move || query.with(|it| !it.trim().is_empty()) || label.with(Option::is_some);
    let found = Memo::new(move |_| {
        session.read(Part::Directory, |model| {
            let found =
                query.with(|query| label.with(|label| model.directory.matching(query, label.as_ref())));
            let (archived, rest) = found.into_iter().partition::<Vec<_>, _>(|meta| meta.archived);
            (rows(&rest), archived.into_iter().map(|meta| meta.id.clone()).collect::<Vec<_>>())
        })
    });
    let rows = Memo::new(move |_| found.with(|it| it.0.clone()));
    let archived = Memo::new(move |_| found.with(|it| it.1.clone()));
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
        <Show when=move || labels.with(|it| !it.is_empty())>
            <div class="labels" role="group" aria-label=t.chats_filter()>
                {move || labels.get().into_iter().map(|it| view! { <LabelButton it chosen label /> }).collect_view()}
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
        <EditDialog asked=list.asked labels />
        <DeleteDialog asked=list.asked />
    }
}

/// Narrows the list to a folder or a label, and widens it when pressed again.
#[component]
fn LabelButton(it: Label, chosen: RwSignal<Option<Label>>, label: Memo<Option<Label>>) -> impl IntoView {
    let name = it.name().to_owned();
    let sign = matches!(it, Label::Folder(_)).then(|| glyph(Glyph::Folder));
    let it = StoredValue::new(it);
    let is_on = move || it.with_value(|it| label.with(|label| label.as_ref() == Some(it)));
    view! {
        <button type="button" class="chip" aria-pressed=move || is_on().to_string()
            on:click=move |_| chosen.set((!is_on()).then(|| it.get_value()))>
            {sign} {name}
        </button>
    }
}

fn rows(sorted: &[&ThreadMeta]) -> Vec<Row> {
    let midnight = midnight();
    let mut rows = Vec::new();
    let mut last = None;
    for meta in sorted {
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
    let filed = Memo::new(move |_| {
        session.read(Part::Directory, |model| {
            let meta = id.with_value(|id| model.directory.thread(id))?;
            let filed: Vec<&str> = meta.folder_id.iter().chain(&meta.tags).map(String::as_str).collect();
            (!filed.is_empty()).then(|| filed.join(" · "))
        })
    });
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
                <span class="chat-title">
                    {move || title.get()}
                    {move || filed.get().map(|filed| view! { <span class="chat-filed">{filed}</span> })}
                </span>
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
    request_animation_frame(move || {
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
        let change = Arrangement { pinned, archived, ..Arrangement::default() };
        session.command(Command::Arrange { thread, change });
    };
    let ask = move |question| {
        move |_| {
            chosen(&|mut meta| {
                meta.title = title_of(session, t, &meta.id);
                list.asked.set(Some((question, meta)));
            });
        }
    };
    view! {
        <div class="menu" popover="auto" role="menu" aria-label=t.more() node_ref=list.menu_node
            on:keydown=move |event| menu_keys(list.menu_node, &event)>
            <button type="button" role="menuitem" class="row-button" tabindex="-1" on:click=ask(Question::Rename)>
                {glyph(Glyph::Pencil)} {t.rename()}
            </button>
            <button type="button" role="menuitem" class="row-button" tabindex="-1" on:click=ask(Question::File)>
                {glyph(Glyph::Folder)} {t.file_chat()}
            </button>
            <button type="button" role="menuitem" class="row-button" tabindex="-1"
                on:click=move |_| chosen(&|meta| arrange(meta.id, Some(!meta.pinned), None))>
                {glyph(Glyph::Pin)} {move || if pinned() { t.unpin() } else { t.pin() }}
            </button>
            <button type="button" role="menuitem" class="row-button" tabindex="-1"
                on:click=move |_| chosen(&|meta| arrange(meta.id, None, Some(!meta.archived)))>
                {glyph(Glyph::Archive)} {move || if archived() { t.unarchive() } else { t.archive() }}
            </button>
            <button type="button" role="menuitem" class="row-button danger" tabindex="-1" on:click=ask(Question::Delete)>
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

/// The parts of a text between commas, each once.
fn tags_of(text: &str) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in text.split([',', '，', '、']).map(str::trim).filter(|tag| !tag.is_empty()) {
        if tags.len() < TAGS_MAX && !tags.iter().any(|it| it == tag) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

/// A conversation's name, or its folder and labels.
#[component]
fn EditDialog(asked: Asked, labels: Memo<Vec<Label>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    let (first, second) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let field = NodeRef::<html::Input>::new();
    let is = move |question| asked.with(|it| it.as_ref().is_some_and(|it| it.0 == question));
    let renames = move || is(Question::Rename);
    Effect::new(move |_| {
        match asked.get() {
            Some((Question::Rename, meta)) => first.set(meta.title),
            Some((Question::File, meta)) => {
                first.set(meta.folder_id.unwrap_or_default());
                second.set(meta.tags.join(", "));
            }
            _ => {}
        }
        // What is in the field is seen before it is written over.
        request_animation_frame(move || {
            if let Some(field) = field.get_untracked() {
                field.select();
            }
        });
    });
    follow_dialog(dialog, move || renames() || is(Question::File));
    let save = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let (text, tags) = (first.get_untracked(), tags_of(&second.get_untracked()));
        if let Some((question, meta)) = asked.get_untracked() {
            let change = match question {
                Question::Rename => Arrangement { title: Some(text), ..Arrangement::default() },
                _ => Arrangement { folder: Some(text), tags: Some(tags), ..Arrangement::default() },
            };
            session.command(Command::Arrange { thread: meta.id, change });
        }
        asked.set(None);
    };
    let folders = move || {
        let folders = labels.get().into_iter().filter(|it| matches!(it, Label::Folder(_)));
        folders.map(|it| view! { <option value=it.name().to_owned()></option> }).collect_view()
    };
    view! {
        <dialog class="small" node_ref=dialog aria-labelledby="edit-title" on:close=move |_| asked.set(None)>
            <form on:submit=save>
                <h2 id="edit-title">{move || if renames() { t.rename_title() } else { t.file_title() }}</h2>
                <div class="field">
                    <label for="edit-field">{move || if renames() { t.rename_field() } else { t.folder() }}</label>
                    <input id="edit-field" class="input" node_ref=field bind:value=first autofocus autocomplete="off"
                        list=move || (!renames()).then_some("edit-folders")
                        maxlength=move || if renames() { TITLE_CHARS_MAX } else { FOLDER_CHARS_MAX }.to_string() required=renames />
                    <datalist id="edit-folders">{move || (!renames()).then(folders)}</datalist>
                </div>
                <Show when=move || !renames()>
                    <div class="field">
                        <label for="edit-tags">{t.labels()}</label>
                        <input id="edit-tags" class="input" bind:value=second autocomplete="off" aria-describedby="edit-tags-hint" />
                        <p class="hint" id="edit-tags-hint">{t.labels_hint()}</p>
                    </div>
                </Show>
                <div class="dialog-actions">
                    <button type="button" class="button" on:click=move |_| asked.set(None)>{t.cancel()}</button>
                    <button type="submit" class="button primary">{t.save()}</button>
                </div>
            </form>
        </dialog>
    }
}

#[component]
fn DeleteDialog(asked: Asked) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    let meta = move || asked.get().filter(|it| it.0 == Question::Delete).map(|it| it.1);
    follow_dialog(dialog, move || meta().is_some());
    let delete = move |_| {
        if let Some(meta) = untrack(meta) {
            session.command(Command::Delete { thread: meta.id });
        }
        asked.set(None);
    };
    view! {
        <dialog class="small" node_ref=dialog aria-labelledby="delete-title" on:close=move |_| asked.set(None)>
            <h2 id="delete-title">{t.chat_delete_title()}</h2>
            <p>{move || meta().map(|meta| t.chat_delete_text(&meta.title))}</p>
            <div class="dialog-actions">
                <button type="button" class="button" autofocus on:click=move |_| asked.set(None)>{t.cancel()}</button>
                <button type="button" class="button danger" on:click=delete>{t.delete()}</button>
            </div>
        </dialog>
    }
}

#[cfg(test)]
mod tests {
    use super::tags_of;

    #[test]
    fn labels_are_what_stands_between_commas_of_either_script_each_once() {
        assert_eq!(tags_of(" urgent, later ,urgent，中文、日本"), ["urgent", "later", "中文", "日本"]);
        assert_eq!(tags_of(" , ,"), [""; 0]);
        assert_eq!(tags_of("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r").len(), 16);
    }
}
