//! `chrome.tabs`.

use panelot_base::json::FromJson;
use serde_json::{Value, json};

use crate::api::{Api, ChromeError, read};

/// A tab. The address and title are foreign text.
#[derive(Clone, Debug, Default, PartialEq, FromJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Tab {
    /// Its id; absent for a window of the developer tools.
    pub id: Option<u32>,
    /// The window it is in.
    pub window_id: u32,
    /// The address of its committed document; empty before the first.
    pub url: String,
    /// The address that it is about to show.
    pub pending_url: Option<String>,
    /// Its title.
    pub title: String,
    /// Whether it is in front in its window.
    pub active: bool,
    /// `loading` or `complete`.
    pub status: Option<String>,
    /// When it was last in front, in Unix milliseconds with a fraction.
    pub last_accessed: f64,
}

impl Tab {
    /// Whether a navigation is under way in it.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.pending_url.is_some() || self.status.as_deref() == Some("loading")
    }
}

/// Which document of a tab gets a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// This document and no other.
    Document(String),
    /// Whatever this frame shows; 0 is the top frame.
    Frame(u32),
}

/// Which tabs are asked for; absent means any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Whether it is in front in its window.
    pub active: Option<bool>,
    /// The window.
    pub window_id: Option<u32>,
}

/// A tab by its id.
///
/// # Errors
/// [`ChromeError`] of kind `NoSuchTarget` when it is closed.
pub async fn get(api: &impl Api, tab_id: u32) -> Result<Tab, ChromeError> {
    read("tabs.get", api.call("tabs.get", vec![json!(tab_id)]).await?)
}

/// The tabs that fit.
///
/// # Errors
/// [`ChromeError`] when Chrome refuses.
pub async fn query(api: &impl Api, query: Query) -> Result<Vec<Tab>, ChromeError> {
    let mut filter = json!({});
    if let Some(active) = query.active {
        set(&mut filter, "active", json!(active));
    }
    if let Some(window_id) = query.window_id {
        set(&mut filter, "windowId", json!(window_id));
    }
    read("tabs.query", api.call("tabs.query", vec![filter]).await?)
}

/// Sends a tab to an address. It returns before anything is loaded.
///
/// # Errors
/// [`ChromeError`] when the tab is closed or the address is not one.
pub async fn navigate(api: &impl Api, tab_id: u32, url: &str) -> Result<(), ChromeError> {
    api.call("tabs.update", vec![json!(tab_id), json!({"url": url})]).await.map(drop)
}

/// Brings a tab to the front of its window.
///
/// # Errors
/// [`ChromeError`] when the tab is closed.
pub async fn activate(api: &impl Api, tab_id: u32) -> Result<(), ChromeError> {
    api.call("tabs.update", vec![json!(tab_id), json!({"active": true})]).await.map(drop)
}

/// Opens a tab in the last window that was in front. It returns before anything is loaded.
///
/// # Errors
/// [`ChromeError`] when there is no window or the address is not one.
pub async fn create(api: &impl Api, url: &str, active: bool) -> Result<Tab, ChromeError> {
    read("tabs.create", api.call("tabs.create", vec![json!({"url": url, "active": active})]).await?)
}

/// Sends a message to the extension's scripts in a tab and waits for the first answer. `null` means that a script was
/// there and none answered, or that the tab was closed meanwhile.
///
/// # Errors
/// [`ChromeError`]; its kind tells whether the message was delivered. A missing tab or document is `NoReceiver`.
pub async fn send_message(
    api: &impl Api,
    tab_id: u32,
    recipient: &Recipient,
    message: Value,
) -> Result<Value, ChromeError> {
    let options = match recipient {
        Recipient::Document(document_id) => json!({"documentId": document_id}),
        Recipient::Frame(frame_id) => json!({"frameId": frame_id}),
    };
    api.call("tabs.sendMessage", vec![json!(tab_id), message, options]).await
}

pub(crate) fn set(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}
