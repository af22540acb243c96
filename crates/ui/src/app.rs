//! The page around everything: which page it is, language, theme, the bars of panel and chat tab.

use leptos::prelude::*;
use panelot_base::{ClientId, IdSource, ThreadId};
use panelot_protocol::op::Surface;
use panelot_protocol::settings::{Language, Theme};
use panelot_view::Command;

use crate::chats::Chats;
use crate::glyph::{Glyph, glyph};
use crate::i18n::{Lang, Messages};
use crate::options::Options;
use crate::platform;
use crate::session::{Part, Session};
use crate::thread::ThreadPane;

/// Where a document keeps its client id between two loads.
const CLIENT_KEY: &str = "panelot.client";
/// How long a document waits for the name that it had before it was reloaded.
const RELOAD_MS: u32 = 1000;
/// Where the last theme and language are kept, so that the next page does not flash (`boot-ui.js` reads them).
const THEME_KEY: &str = "panelot.theme";
const LANG_KEY: &str = "panelot.lang";

/// Builds the page that the document asks for.
pub(crate) fn mount() {
    let page = document().body().and_then(|body| body.get_attribute("data-page")).unwrap_or_default();
    let surface = match page.as_str() {
        "chat" => Surface::Chat,
        "options" => Surface::Options,
        _ => Surface::Panel,
    };
    wasm_bindgen_futures::spawn_local(async move {
        let window_id = platform::window_id().await;
        let remembered = match surface {
            Surface::Chat => thread_of_address(),
            Surface::Panel => match platform::session_get(&panel_key(window_id)).await {
                Some(value) => value.as_str().and_then(|id| ThreadId::new(id).ok()),
                None => None,
            },
            Surface::Options => None,
        };
        let client = client_id(surface).await;
        mount_to_body(
            move || view! { <App surface client=client.clone() window_id remembered=remembered.clone() /> },
        );
    });
}

fn panel_key(window_id: Option<u32>) -> String {
    format!("panel-thread:{}", window_id.unwrap_or_default())
}

fn thread_of_address() -> Option<ThreadId> {
    let hash = window().location().hash().ok()?;
    ThreadId::new(hash.strip_prefix("#thread=")?).ok()
}

/// Who this document is to the engine, for its life and over its reloads.
///
/// A panel or chat that starts becomes the client of a document that went away with commands unanswered, if there is
/// one: they were safe in its outbox, and only under its name does the engine know them again. The name is held by a
/// lock, so two documents are never one client. It lies in `sessionStorage` between two loads only, because a
/// duplicated tab copies that.
async fn client_id(surface: Surface) -> ClientId {
    let storage = window().session_storage().ok().flatten();
    let kept = storage.as_ref().and_then(|it| it.get_item(CLIENT_KEY).ok().flatten());
    if let Some(storage) = &storage {
        let _ = storage.remove_item(CLIENT_KEY);
    }
    let mut candidates: Vec<(ClientId, u32)> = Vec::new();
    // A reloaded document may still be on its way out.
    candidates.extend(kept.and_then(|text| ClientId::new(text).ok()).map(|id| (id, RELOAD_MS)));
    if surface != Surface::Options {
        let unfinished = panelot_view::unfinished_clients(&platform::session_all().await);
        candidates.extend(unfinished.into_iter().map(|id| (id, 0)));
    }
    candidates.push((ClientId::mint(&mut IdSource::new(platform::random_seed())), 0));
    let mut id = None;
    for (candidate, wait_ms) in candidates {
        let held = platform::hold_lock(&format!("panelot.client:{candidate}"), wait_ms).await;
        id = Some(candidate);
        if held {
            break;
        }
    }
    // The last candidate is a new one, which nobody else can hold.
    let id = id.unwrap_or_else(|| ClientId::mint(&mut IdSource::new(platform::random_seed())));
    let kept = id.clone();
    let handle = window_event_listener_untyped("pagehide", move |_| {
        if let Some(storage) = &storage {
            let _ = storage.set_item(CLIENT_KEY, kept.as_str());
        }
    });
    // It stays for the life of the document.
    std::mem::forget(handle);
    id
}

#[component]
fn App(
    surface: Surface,
    client: ClientId,
    window_id: Option<u32>,
    remembered: Option<ThreadId>,
) -> impl IntoView {
    let session = Session::new(client, surface, window_id);
    provide_context(session);
    let browser = platform::browser_language();
    let last = stored(LANG_KEY);
    let lang = Memo::new(move |_| {
        match (
            session.read(Part::Settings, |model| model.settings.as_ref().map(|it| it.language)),
            last.as_deref(),
        ) {
            (Some(setting), _) => Lang::choose(setting, &browser),
            (None, Some(tag)) => Lang::choose(Language::System, tag),
            (None, None) => Lang::choose(Language::System, &browser),
        }
    });
    Effect::new(move |_| {
        let tag = lang.get().tag();
        set_root("lang", Some(tag));
        store(LANG_KEY, Some(tag));
    });
    Effect::new(move |_| {
        let theme = session.read(Part::Settings, |model| model.settings.as_ref().map(|it| it.theme));
        let name = match theme {
            None => return,
            Some(Theme::System) => None,
            Some(Theme::Light) => Some("light"),
            Some(Theme::Dark) => Some("dark"),
        };
        set_root("data-theme", name);
        store(THEME_KEY, name);
    });
    session.flush_when_hidden();
    remember_thread(session, window_id);
    session.start(remembered);
    move || {
        let t = Messages::new(lang.get());
        provide_context(t);
        match surface {
            Surface::Panel | Surface::Chat => view! { <Conversations /> }.into_any(),
            Surface::Options => view! { <Options /> }.into_any(),
        }
    }
}

/// Keeps the open thread where the next load of this page finds it.
fn remember_thread(session: Session, window_id: Option<u32>) {
    if session.surface() == Surface::Options {
        return;
    }
    Effect::new(move |before: Option<Option<ThreadId>>| {
        let thread = session.thread_id();
        // The first run sees the draft that is there before the start.
        if before.is_some_and(|before| before != thread) {
            match (session.surface(), &thread) {
                (Surface::Chat, _) => {
                    let hash = thread.as_ref().map_or_else(|| "#".to_owned(), |id| format!("#thread={id}"));
                    let _ = window()
                        .history()
                        .map(|it| it.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&hash)));
                }
                (_, id) => {
                    let value = id.as_ref().map(|id| id.as_str().into()).unwrap_or_default();
                    wasm_bindgen_futures::spawn_local(async move {
                        let _ = platform::session_set(&panel_key(window_id), value).await;
                    });
                }
            }
        }
        thread
    });
    if session.surface() == Surface::Chat {
        let handle = window_event_listener_untyped("hashchange", move |_| match thread_of_address() {
            Some(thread) => session.command(Command::Open { thread }),
            None => session.command(Command::NewChat),
        });
        on_cleanup(move || handle.remove());
    }
}

fn stored(key: &str) -> Option<String> {
    window().local_storage().ok().flatten()?.get_item(key).ok().flatten()
}

fn store(key: &str, value: Option<&str>) {
    if let Some(storage) = window().local_storage().ok().flatten() {
        let _ = match value {
            Some(value) => storage.set_item(key, value),
            None => storage.remove_item(key),
        };
    }
}

fn set_root(name: &str, value: Option<&str>) {
    if let Some(root) = document().document_element() {
        let _ = match value {
            Some(value) => root.set_attribute(name, value),
            None => root.remove_attribute(name),
        };
    }
}

/// The open thread's title, or the words for a new chat.
fn title(session: Session, t: Messages) -> impl Fn() -> String + Clone + Send + Sync + 'static {
    move || {
        session
            .read(Part::Thread, |model| model.thread.meta.as_ref().map(|meta| meta.title.clone()))
            .filter(|title| !title.is_empty())
            .unwrap_or_else(|| t.untitled().to_owned())
    }
}

fn new_chat(session: Session) {
    session.command(Command::NewChat);
    session.focus.set(Some(panelot_view::Focus::Composer));
}

/// Panel and chat tab: the list of chats beside the open one, or in a drawer where there is no room beside it.
#[component]
fn Conversations() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let is_panel = session.surface() == Surface::Panel;
    let shown = title(session, t);
    let heading = shown.clone();
    if !is_panel {
        Effect::new(move |_| document().set_title(&format!("{} · {}", shown(), t.app_name())));
    }
    let drawer = NodeRef::<leptos::html::Nav>::new();
    let close = Callback::new(move |()| {
        if let Some(drawer) = drawer.get_untracked() {
            let _ = drawer.hide_popover();
        }
    });
    let open_tab = move |_| {
        let thread = session.peek(|model| model.thread.id.clone());
        platform::open_page(
            thread.map_or_else(|| "chat.html".to_owned(), |id| format!("chat.html#thread={id}")),
        );
    };
    view! {
        <div class=if is_panel { "app app-panel" } else { "app app-chat" }>
            <nav class="sidebar" id="chats" popover="auto" aria-label=t.chats() node_ref=drawer>
                <div class="brand">
                    <img src="icons/icon-48.png" alt="" /> {t.app_name()}
                    <button type="button" class="icon-button" popovertarget="chats" popovertargetaction="hide" aria-label=t.chats_close()>
                        {glyph(Glyph::Cross)}
                    </button>
                </div>
                <button type="button" class="row-button" on:click=move |_| { close.run(()); new_chat(session); }>
                    {glyph(Glyph::Plus)} {t.new_chat()}
                </button>
                <Chats on_open=close />
                <div class="sidebar-foot">
                    <button type="button" class="row-button" on:click=move |_| platform::open_options()>
                        {glyph(Glyph::Gear)} {t.settings()}
                    </button>
                </div>
            </nav>
            <div class="main">
                <header class="bar">
                    <button type="button" class="icon-button" popovertarget="chats" aria-label=t.chats_open() title=t.chats()>
                        {glyph(Glyph::List)}
                    </button>
                    <h1 class="bar-title">{heading}</h1>
                    {is_panel.then(|| view! {
                        <button type="button" class="icon-button" aria-label=t.open_in_tab() title=t.open_in_tab() on:click=open_tab>
                            {glyph(Glyph::Expand)}
                        </button>
                        <button type="button" class="icon-button" aria-label=t.settings() title=t.settings()
                            on:click=move |_| platform::open_options()>
                            {glyph(Glyph::Gear)}
                        </button>
                    })}
                    <button type="button" class="icon-button" aria-label=t.new_chat() title=t.new_chat()
                        on:click=move |_| new_chat(session)>
                        {glyph(Glyph::Plus)}
                    </button>
                </header>
                <ThreadPane />
            </div>
        </div>
    }
}
