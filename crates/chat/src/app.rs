//! The bars of side panel and chat tab, the list of chats, and which chat a document opens with.

use leptos::prelude::*;
use panelot_base::ThreadId;
use panelot_protocol::op::Surface;
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::session::{Part, Session};
use panelot_ui::{page, platform};
use panelot_view::Command;

use crate::chats::Chats;
use crate::thread::ThreadPane;

/// Builds the page that the document asks for.
pub(crate) fn mount() {
    let asked = document().body().and_then(|body| body.get_attribute("data-page"));
    let surface = if asked.as_deref() == Some("chat") { Surface::Chat } else { Surface::Panel };
    wasm_bindgen_futures::spawn_local(async move {
        let window_id = platform::window_id().await;
        let remembered = match surface {
            Surface::Chat => thread_of_address(),
            _ => match platform::session_get(&panel_key(window_id)).await {
                Some(value) => value.as_str().and_then(|id| ThreadId::new(id).ok()),
                None => None,
            },
        };
        let client = page::client_id(surface).await;
        let begin = move |session: Session| {
            remember_thread(session, window_id);
            session.start(remembered);
        };
        page::mount(client, surface, window_id, begin, || view! { <Conversations /> }.into_any());
    });
}

fn panel_key(window_id: Option<u32>) -> String {
    format!("panel-thread:{}", window_id.unwrap_or_default())
}

fn thread_of_address() -> Option<ThreadId> {
    let hash = window().location().hash().ok()?;
    ThreadId::new(hash.strip_prefix("#thread=")?).ok()
}

/// Keeps the open thread where the next load of this page finds it.
fn remember_thread(session: Session, window_id: Option<u32>) {
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
