//! The browser as the pages need it, over the crates `chrome` and `web`: storage, tabs, permissions, the page beside.
//!
//! The only module of this crate that calls the browser's extension interfaces. Nothing here decides.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use leptos::prelude::{TimeoutHandle, set_timeout_with_handle};
use panelot_chrome::permissions::{self, Permissions};
use panelot_chrome::storage::{self, Area};
use panelot_chrome::tabs::{self, Query};
use panelot_chrome::{Chrome, i18n, runtime, windows};
use panelot_protocol::Text;
use panelot_protocol::op::TabIdentity;
pub use panelot_web::{derive_key, hold_lock, now};
use serde_json::Value;
use wasm_bindgen::UnwrapThrowExt as _;
use wasm_bindgen_futures::{JsFuture, spawn_local};

/// 128 random bits.
#[must_use]
pub fn random_seed() -> [u8; 16] {
    panelot_web::random_bytes().expect_throw("16 bytes are within the browser's quota")
}

/// A salt for a passphrase: 16 random bytes in base64.
#[must_use]
pub fn random_salt() -> String {
    panelot_web::to_base64(&random_seed()).unwrap_throw()
}

/// The browser's language tag.
#[must_use]
pub fn browser_language() -> String {
    i18n::ui_language(&Chrome).unwrap_or_default()
}

/// The extension's version.
#[must_use]
pub fn version() -> String {
    runtime::version(&Chrome).unwrap_or_default()
}

/// Reads a value of `chrome.storage.session`.
pub async fn session_get(key: &str) -> Option<Value> {
    storage::get(&Chrome, Area::Session, key).await.ok().flatten()
}

/// Reads all of `chrome.storage.session`; null when that failed.
pub async fn session_all() -> Value {
    storage::get_all(&Chrome, Area::Session).await.unwrap_or_default()
}

/// Writes a value of `chrome.storage.session`, or removes it when it is null; `false` when that failed.
pub async fn session_set(key: &str, value: Value) -> bool {
    let done = match value {
        Value::Null => storage::remove(&Chrome, Area::Session, key).await,
        value => storage::set(&Chrome, Area::Session, key, value).await,
    };
    done.is_ok()
}

/// Calls `callback` once, `ms` milliseconds from now; the handle takes it back.
pub fn after(ms: u64, callback: impl FnOnce() + 'static) -> Option<TimeoutHandle> {
    set_timeout_with_handle(callback, Duration::from_millis(ms)).ok()
}

/// Opens the options page.
pub fn open_options() {
    spawn_local(async {
        let _ = runtime::open_options_page(&Chrome).await;
    });
}

/// Opens a page of the extension in a new tab.
pub fn open_page(path: String) {
    spawn_local(async move {
        if let Ok(url) = runtime::url(&Chrome, &path) {
            let _ = tabs::create(&Chrome, &url, true).await;
        }
    });
}

/// Brings a tab to the front.
pub fn show_tab(tab_id: u32) {
    spawn_local(async move {
        let _ = tabs::activate(&Chrome, tab_id).await;
    });
}

/// The browser window that this page stands in.
pub async fn window_id() -> Option<u32> {
    windows::current(&Chrome).await.ok().map(|window| window.id)
}

/// Asks the person for access to an origin, which Chrome grants for all its ports; `false` for what is no web origin. It
/// must be awaited first of all after a click: Chrome wants that for its question.
pub async fn request_origin(origin: &str) -> bool {
    match Permissions::of_origin(origin) {
        Some(wanted) => permissions::request(&Chrome, &wanted).await.unwrap_or_default(),
        None => false,
    }
}

/// The web page beside this view, kept up to date so that it can be read at the moment of a submit.
#[derive(Clone)]
pub struct PageWatch {
    current: Rc<RefCell<Option<TabIdentity>>>,
    window: Option<u32>,
}

impl PageWatch {
    /// Starts to watch the tabs; `window` is this view's own.
    pub fn start(window: Option<u32>) -> Self {
        let watch = Self { current: Rc::default(), window };
        for event in [
            "tabs.onActivated",
            "tabs.onUpdated",
            "tabs.onRemoved",
            "tabs.onReplaced",
            "windows.onFocusChanged",
        ] {
            let watch = watch.clone();
            Chrome.listen(event, move || watch.refresh());
        }
        watch.refresh();
        watch
    }

    fn refresh(&self) {
        let watch = self.clone();
        spawn_local(async move {
            let found = front_page(watch.window).await;
            *watch.current.borrow_mut() = found;
        });
    }

    /// The page now in front.
    #[must_use]
    pub fn current(&self) -> Option<TabIdentity> {
        self.current.borrow().clone()
    }
}

/// The active web page of `window`; where that shows none (a page of the extension is in front), the one used last.
async fn front_page(window: Option<u32>) -> Option<TabIdentity> {
    let mut best: Option<(bool, f64, TabIdentity)> = None;
    for tab in tabs::query(&Chrome, Query { active: Some(true), window_id: None }).await.ok()? {
        if !(tab.url.starts_with("http://") || tab.url.starts_with("https://")) {
            continue;
        }
        let (own, used) = (window == Some(tab.window_id), tab.last_accessed);
        if best.as_ref().is_some_and(|(was_own, was_used, _)| (*was_own, *was_used) >= (own, used)) {
            continue;
        }
        if let Some(tab_id) = tab.id {
            let (url, title) = (Text::clipped(&tab.url), Text::clipped(&tab.title));
            best = Some((own, used, TabIdentity { tab_id, url, title }));
        }
    }
    best.map(|(_, _, identity)| identity)
}

/// Puts a text on the clipboard; `false` when that failed.
pub async fn copy(text: &str) -> bool {
    let clipboard = leptos::prelude::window().navigator().clipboard();
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}
