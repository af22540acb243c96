//! What stands around every page: who the document is to the engine, its language and its theme.

use leptos::prelude::*;
use panelot_base::{ClientId, IdSource};
use panelot_protocol::op::Surface;
use panelot_protocol::settings::{Language, Theme};

use crate::i18n::{Lang, Messages};
use crate::platform;
use crate::session::{Part, Session};

/// Where a document keeps its client id between two loads.
const CLIENT_KEY: &str = "panelot.client";
/// How long a document waits for the name that it had before it was reloaded.
const RELOAD_MS: u32 = 1000;
/// Where the last theme and language are kept, so that the next page does not flash (`boot-ui.js` reads them).
const THEME_KEY: &str = "panelot.theme";
const LANG_KEY: &str = "panelot.lang";

/// Who this document is to the engine, for its life and over its reloads.
///
/// A panel or chat that starts becomes the client of a document that went away with commands unanswered, if there is
/// one: they were safe in its outbox, and only under its name does the engine know them again. The name is held by a
/// lock, so two documents are never one client. It lies in `sessionStorage` between two loads only, because a
/// duplicated tab copies that.
pub async fn client_id(surface: Surface) -> ClientId {
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

/// Builds the page: `begin` is called once with the session that all of it shares, `content` draws it, and again when the
/// language changes.
pub fn mount(
    client: ClientId,
    surface: Surface,
    window_id: Option<u32>,
    begin: impl FnOnce(Session) + 'static,
    content: fn() -> AnyView,
) {
    mount_to_body(move || {
        let session = Session::new(client, surface, window_id);
        provide_context(session);
        let lang = language(session);
        follow_theme(session);
        session.flush_when_hidden();
        begin(session);
        move || {
            provide_context(Messages::new(lang.get()));
            content()
        }
    });
}

/// The language of the page: as the settings say; until they are there, as last time.
fn language(session: Session) -> Memo<Lang> {
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
    lang
}

fn follow_theme(session: Session) {
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
}

/// What this browser keeps for the pages under a key, beyond their end. It is never anything secret.
#[must_use]
pub fn stored(key: &str) -> Option<String> {
    window().local_storage().ok().flatten()?.get_item(key).ok().flatten()
}

/// Keeps it, or removes it.
pub fn store(key: &str, value: Option<&str>) {
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
