//! The stream of a conversation: entries by key, the states without entries, and scrolling that follows the end only
//! while the reader is there.

use leptos::html;
use leptos::prelude::*;
use panelot_protocol::op::Surface;
use panelot_view::Command;
use panelot_view::model::{ConnectionState, EntryBody, EntryKey};
use wasm_bindgen::prelude::*;
use web_sys::{HtmlElement, ResizeObserver};

use crate::entry::EntryView;
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};

/// So close to the end, in CSS pixels, the reader counts as being there.
const END_DISTANCE: i32 = 48;
/// How long a copy button says that it did.
const COPIED_MS: u64 = 2000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Reload,
    Mismatch,
    Waiting,
    Skeleton,
    Setup,
    Empty,
    Entries,
}

/// The stream.
#[component]
pub(crate) fn Stream(following: RwSignal<bool>, prefill: RwSignal<Option<String>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let body = Memo::new(move |_| {
        let connected = session.read(Part::Connection, |model| match model.connection {
            ConnectionState::ReloadRequired { .. } => Err(Body::Reload),
            ConnectionState::Mismatch { .. } => Err(Body::Mismatch),
            _ => Ok(()),
        });
        if let Err(body) = connected {
            return body;
        }
        let (any, waiting) = session.read(Part::EntryList, |model| {
            (model.thread.keys().next().is_some(), model.thread.loading || model.thread.creating)
        });
        let loading = session.read(Part::Thread, |model| model.thread.loading) || waiting;
        let connections =
            session.read(Part::Settings, |model| model.settings.as_ref().map(|it| it.connections.len()));
        match (any, loading, connections) {
            (true, ..) => Body::Entries,
            (_, true, _) => Body::Skeleton,
            (_, _, None) => Body::Waiting,
            (_, _, Some(0)) => Body::Setup,
            _ => Body::Empty,
        }
    });
    let scroller = NodeRef::<html::Div>::new();
    let content = NodeRef::<html::Div>::new();
    let last_top = StoredValue::new(0);
    follow_the_end(session, scroller, content, following, last_top);
    let on_scroll = move |_| {
        let Some(scroller) = scroller.get_untracked() else { return };
        let (top, distance) = (scroller.scroll_top(), from_end(&scroller));
        // Growing content moves the end, not the reader: only scrolling up lets go of it.
        let up = top < last_top.get_value();
        last_top.set_value(top);
        let now = distance <= END_DISTANCE || (following.get_untracked() && !up);
        if now != following.get_untracked() {
            following.set(now);
        }
    };
    let t = expect_context::<Messages>();
    view! {
        <div class="scroller" node_ref=scroller tabindex="0" role="region" aria-label=t.conversation()
            on:click=copy_code on:scroll=on_scroll>
            <div class="column stream-holder" node_ref=content>
                {move || match body.get() {
                    Body::Reload => view! { <Reload /> }.into_any(),
                    Body::Mismatch => view! { <Mismatch /> }.into_any(),
                    Body::Waiting => ().into_any(),
                    Body::Skeleton => view! { <div class="skeleton" aria-hidden="true"><span></span><span></span><span></span><span></span></div> }.into_any(),
                    Body::Setup => view! { <Setup /> }.into_any(),
                    Body::Empty => view! { <Empty prefill /> }.into_any(),
                    Body::Entries => view! { <Entries /> }.into_any(),
                }}
            </div>
        </div>
    }
}

#[component]
fn Entries() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let keys = move || {
        session.read(Part::EntryList, |model| model.thread.keys().cloned().collect::<Vec<EntryKey>>())
    };
    let older = move || session.read(Part::Thread, |model| model.thread.can_load_older);
    let loading_older = move || session.read(Part::Thread, |model| model.thread.loading_older);
    view! {
        <div class="stream">
            <Show when=older>
                <div class="older">
                    <button type="button" class="button quiet" disabled=loading_older on:click=move |_| session.command(Command::LoadOlder)>
                        {move || if loading_older() { t.loading() } else { t.older() }}
                    </button>
                </div>
            </Show>
            <ol role="list">
                <For each=keys key=Clone::clone children=move |key| view! { <EntryView key /> } />
            </ol>
            <Working />
        </div>
    }
}

/// Shown while a turn is under way and nothing on the screen moves yet.
#[component]
fn Working() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let shown = Memo::new(move |_| {
        session.entries_flushed.track();
        session.read(Part::Thread, |model| {
            let thread = &model.thread;
            let moves = thread.entries().last().is_some_and(|entry| match &entry.body {
                EntryBody::Assistant { streaming, document, reasoning, .. } => {
                    *streaming && !(document.is_empty() && reasoning.is_empty())
                }
                EntryBody::Tool { result, .. } => result.is_none(),
                _ => false,
            });
            thread.is_busy() && !moves && thread.approvals.is_empty() && thread.interactions.is_empty()
        })
    });
    view! {
        <Show when=move || shown.get()>
            <p class="working"><span class="pulse" aria-hidden="true"></span> {t.working()}</p>
        </Show>
    }
}

#[component]
fn Reload() -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <div class="full-note" role="alert">
            <h2>{t.state_reload_title()}</h2>
            <p>{t.state_reload_text()}</p>
            <button type="button" class="button primary" on:click=move |_| { let _ = window().location().reload(); }>{t.reload()}</button>
        </div>
    }
}

#[component]
fn Mismatch() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let detail = move || {
        session.read(Part::Connection, |model| match &model.connection {
            ConnectionState::Mismatch { detail } => Some(detail.clone()),
            _ => None,
        })
    };
    view! {
        <div class="full-note" role="alert">
            <h2>{t.state_mismatch_title()}</h2>
            <p>{t.state_mismatch_text()}</p>
            <p class="hint">{detail}</p>
            <div class="card-actions">
                <button type="button" class="button primary" on:click=move |_| { let _ = window().location().reload(); }>{t.reload()}</button>
                <button type="button" class="button outline" on:click=move |_| session.command(Command::Reconnect)>{t.retry()}</button>
            </div>
        </div>
    }
}

#[component]
fn Setup() -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <div class="empty">
            <img src="icons/icon-128.png" alt="" />
            <h2>{t.setup_title()}</h2>
            <p>{t.empty_text()}</p>
            <p>{t.setup_text()}</p>
            <button type="button" class="button primary" on:click=move |_| platform::open_options()>{t.setup_button()}</button>
        </div>
    }
}

#[component]
fn Empty(prefill: RwSignal<Option<String>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let title = if session.surface() == Surface::Chat { t.empty_title_chat() } else { t.empty_title() };
    let suggestions = [
        (t.try_summary(), t.try_summary_prompt().to_owned()),
        (t.try_form(), t.try_form_prompt().to_owned()),
        (t.try_find(), format!("{} ", t.try_find_prompt())),
    ];
    view! {
        <div class="empty">
            <img src="icons/icon-128.png" alt="" />
            <h2>{title}</h2>
            <p>{t.empty_text()}</p>
            <div class="suggestions">
                {suggestions.map(|(name, prompt)| view! {
                    <button type="button" class="button outline" on:click=move |_| prefill.set(Some(prompt.clone()))>{name}</button>
                })}
            </div>
        </div>
    }
}

/// The button that brings the reader back to the end.
#[component]
pub(crate) fn Jump(following: RwSignal<bool>) -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <Show when=move || !following.get()>
            <button type="button" class="icon-button jump" aria-label=t.jump() title=t.jump() on:click=move |_| following.set(true)>
                {glyph(Glyph::Down)}
            </button>
        </Show>
    }
}

fn from_end(scroller: &HtmlElement) -> i32 {
    scroller.scroll_height() - scroller.scroll_top() - scroller.client_height()
}

/// Keeps the end in sight while the reader is there, and the reader's place while older entries come in above.
fn follow_the_end(
    session: Session,
    scroller: NodeRef<html::Div>,
    content: NodeRef<html::Div>,
    following: RwSignal<bool>,
    last_top: StoredValue<i32>,
) {
    let observer = StoredValue::new_local(None::<(ResizeObserver, Closure<dyn FnMut()>)>);
    let to_end = move || {
        if let Some(scroller) = scroller.get_untracked() {
            scroller.set_scroll_top(scroller.scroll_height());
            last_top.set_value(scroller.scroll_top());
        }
    };
    let from_bottom = StoredValue::new(None::<i32>);
    Effect::new(move |_| {
        let (Some(scroller), Some(content)) = (scroller.get(), content.get()) else { return };
        let observed = scroller.clone();
        let callback = Closure::<dyn FnMut()>::new(move || {
            if let Some(distance) = from_bottom.get_value() {
                from_bottom.set_value(None);
                observed.set_scroll_top(observed.scroll_height() - observed.client_height() - distance);
                last_top.set_value(observed.scroll_top());
            } else if following.get_untracked() {
                to_end();
            }
        });
        if let Ok(made) = ResizeObserver::new(callback.as_ref().unchecked_ref()) {
            made.observe(&content);
            made.observe(&scroller);
            observer.set_value(Some((made, callback)));
        }
    });
    on_cleanup(move || {
        if let Some(Some((observer, _))) = observer.try_update_value(Option::take) {
            observer.disconnect();
        }
    });
    // The jump button and a message of the person's own lead back to the end.
    Effect::new(move |_| {
        if following.get() {
            to_end();
        }
    });
    Effect::new(move |before: Option<Option<panelot_base::ThreadId>>| {
        let thread = session.thread_id();
        if before.is_some_and(|before| before != thread) {
            following.set(true);
        }
        thread
    });
    // While older entries are on their way the reader's place is measured from below.
    Effect::new(move |_| {
        let loading = session.read(Part::Thread, |model| model.thread.loading_older);
        if let Some(scroller) = scroller.get_untracked().filter(|_| loading) {
            from_bottom.set_value(Some(from_end(&scroller)));
        }
    });
}

/// Copies the code beside the pressed button; one listener serves all code blocks.
fn copy_code(event: web_sys::MouseEvent) {
    let Some(target) = event.target().and_then(|it| it.dyn_into::<web_sys::Element>().ok()) else { return };
    let Some(button) = target.closest("[data-copy]").ok().flatten() else { return };
    let block = button.closest(".code-block").ok().flatten();
    let code = block
        .and_then(|block| block.query_selector("code").ok().flatten())
        .and_then(|code| code.text_content());
    let Some(code) = code else { return };
    let t = expect_messages();
    wasm_bindgen_futures::spawn_local(async move {
        if platform::copy(&code).await {
            button.set_text_content(Some(t.copied()));
            platform::after(COPIED_MS, move || button.set_text_content(Some(t.copy())));
        }
    });
}

/// The words outside of a component: the document says in which language it is.
fn expect_messages() -> Messages {
    let tag = document().document_element().and_then(|root| root.get_attribute("lang")).unwrap_or_default();
    Messages::new(panelot_ui::i18n::Lang::choose(panelot_protocol::settings::Language::System, &tag))
}
