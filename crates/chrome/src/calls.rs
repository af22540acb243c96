//! The namespaces of `chrome` of which we need a call or two. Each module has the namespace's name.

/// `chrome.action`.
pub mod action {
    use serde_json::json;

    use crate::api::{Api, ChromeError};

    /// Shows a few characters on the toolbar button; an empty text removes them.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn set_badge_text(api: &impl Api, text: &str) -> Result<(), ChromeError> {
        api.call("action.setBadgeText", vec![json!({"text": text})]).await.map(drop)
    }
}

/// `chrome.alarms`: timers that outlive the worker.
pub mod alarms {
    use panelot_base::Timestamp;
    use serde_json::json;

    use crate::api::{Api, ChromeError};

    /// Sets the alarm `name`, replacing an earlier one. Chrome fires it at `when` or up to a minute later, and never
    /// earlier than 30 s from now.
    ///
    /// # Errors
    /// [`ChromeError`] when there are 500 alarms already.
    pub async fn create(api: &impl Api, name: &str, when: Timestamp) -> Result<(), ChromeError> {
        api.call("alarms.create", vec![json!(name), json!({"when": when.0})]).await.map(drop)
    }

    /// Removes an alarm; one that is not set is not missed.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn clear(api: &impl Api, name: &str) -> Result<(), ChromeError> {
        api.call("alarms.clear", vec![json!(name)]).await.map(drop)
    }
}

/// `chrome.i18n`.
pub mod i18n {
    use crate::api::{Api, ChromeError, read};

    /// The language of the browser, such as `zh-CN`.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub fn ui_language(api: &impl Api) -> Result<String, ChromeError> {
        read("i18n.getUILanguage", api.call_now("i18n.getUILanguage", vec![])?)
    }
}

/// `chrome.notifications`.
pub mod notifications {
    use serde_json::json;

    use crate::api::{Api, ChromeError};

    /// What a notification shows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Notification<'a> {
        /// Headline.
        pub title: &'a str,
        /// Text.
        pub message: &'a str,
        /// Picture: a path in the extension.
        pub icon_path: &'a str,
        /// Whether it stays until the person acts.
        pub stays: bool,
    }

    /// Shows the notification `id`, replacing an earlier one.
    ///
    /// # Errors
    /// [`ChromeError`] when the picture cannot be loaded.
    pub async fn create(api: &impl Api, id: &str, notification: Notification<'_>) -> Result<(), ChromeError> {
        let options = json!({
            "type": "basic", "title": notification.title, "message": notification.message,
            "iconUrl": super::runtime::url(api, notification.icon_path)?, "requireInteraction": notification.stays,
        });
        api.call("notifications.create", vec![json!(id), options]).await.map(drop)
    }

    /// Takes the notification `id` away; one that is not there is not missed.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn clear(api: &impl Api, id: &str) -> Result<(), ChromeError> {
        api.call("notifications.clear", vec![json!(id)]).await.map(drop)
    }
}

/// `chrome.runtime`.
pub mod runtime {
    use serde_json::json;

    use crate::api::{Api, ChromeError, read};

    /// The address of a file of the extension.
    ///
    /// # Errors
    /// [`ChromeError`] when the extension was removed or reloaded under this document.
    pub fn url(api: &impl Api, path: &str) -> Result<String, ChromeError> {
        read("runtime.getURL", api.call_now("runtime.getURL", vec![json!(path)])?)
    }

    /// The extension's id.
    ///
    /// # Errors
    /// As for [`url`].
    pub fn id(api: &impl Api) -> Result<String, ChromeError> {
        let url = url(api, "")?;
        let host = url.split_once("://").map(|(_, host)| host.trim_end_matches('/'));
        host.map(str::to_owned).ok_or_else(|| ChromeError::new("runtime.getURL", "not an address"))
    }

    /// A call that does nothing but show Chrome that the worker is busy: it puts off the end of an idle worker by 30 s.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn keep_alive(api: &impl Api) -> Result<(), ChromeError> {
        api.call("runtime.getPlatformInfo", vec![]).await.map(drop)
    }

    /// The extension's version, as its manifest has it.
    ///
    /// # Errors
    /// As for [`url`].
    pub fn version(api: &impl Api) -> Result<String, ChromeError> {
        const METHOD: &str = "runtime.getManifest";
        let mut manifest = api.call_now(METHOD, vec![])?;
        read(METHOD, manifest.get_mut("version").map(serde_json::Value::take).unwrap_or_default())
    }

    /// Shows the options page, which is opened where it is not there yet.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn open_options_page(api: &impl Api) -> Result<(), ChromeError> {
        api.call("runtime.openOptionsPage", vec![]).await.map(drop)
    }

    /// Starts the extension anew, which installs a waiting update. Every page and the worker of it end.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub fn reload(api: &impl Api) -> Result<(), ChromeError> {
        api.call_now("runtime.reload", vec![]).map(drop)
    }
}

/// `chrome.scripting`.
pub mod scripting {
    use serde_json::json;

    use crate::api::{Api, ChromeError};

    /// Runs a file of the extension in the isolated world of one document, at once: a page that is still loading is not
    /// waited for. Returns when the file's synchronous part has run.
    ///
    /// # Errors
    /// [`ChromeError`]: no such document, no access, an error page.
    pub async fn inject_file(
        api: &impl Api,
        tab_id: u32,
        document_id: &str,
        file: &str,
    ) -> Result<(), ChromeError> {
        let injection = json!({
            "target": {"tabId": tab_id, "documentIds": [document_id]}, "files": [file], "injectImmediately": true,
        });
        api.call("scripting.executeScript", vec![injection]).await.map(drop)
    }
}

/// `chrome.sidePanel`.
pub mod side_panel {
    use serde_json::json;

    use crate::api::{Api, ChromeError};

    /// Opens the side panel of a window; only in a click's handler.
    ///
    /// # Errors
    /// [`ChromeError`] outside of a click.
    pub async fn open(api: &impl Api, window_id: u32) -> Result<(), ChromeError> {
        api.call("sidePanel.open", vec![json!({"windowId": window_id})]).await.map(drop)
    }

    /// Says which page the side panel shows in every tab, and whether there is one.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn set_options(api: &impl Api, path: &str, enabled: bool) -> Result<(), ChromeError> {
        api.call("sidePanel.setOptions", vec![json!({"path": path, "enabled": enabled})]).await.map(drop)
    }
}

/// `chrome.storage`, of which we use the areas `local` and `session`.
pub mod storage {
    use serde_json::{Map, Value, json};

    use crate::api::{Api, ChromeError, read};

    /// Where a value is kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Area {
        /// On disk.
        Local,
        /// In memory, until the browser ends. About 10 MB.
        Session,
    }

    /// The value of a key; `None` when there is none.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn get(api: &impl Api, area: Area, key: &str) -> Result<Option<Value>, ChromeError> {
        let method = match area {
            Area::Local => "storage.local.get",
            Area::Session => "storage.session.get",
        };
        let mut found: Map<String, Value> = read(method, api.call(method, vec![json!(key)]).await?)?;
        Ok(found.remove(key))
    }

    /// Everything in an area, as one object.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn get_all(api: &impl Api, area: Area) -> Result<Value, ChromeError> {
        let method = match area {
            Area::Local => "storage.local.get",
            Area::Session => "storage.session.get",
        };
        api.call(method, vec![Value::Null]).await
    }

    /// Stores a value under a key.
    ///
    /// # Errors
    /// [`ChromeError`] when the area is full.
    pub async fn set(api: &impl Api, area: Area, key: &str, value: Value) -> Result<(), ChromeError> {
        let method = match area {
            Area::Local => "storage.local.set",
            Area::Session => "storage.session.set",
        };
        api.call(method, vec![json!({key: value})]).await.map(drop)
    }

    /// Removes a key; one that is not there is not missed.
    ///
    /// # Errors
    /// [`ChromeError`] when Chrome refuses.
    pub async fn remove(api: &impl Api, area: Area, key: &str) -> Result<(), ChromeError> {
        let method = match area {
            Area::Local => "storage.local.remove",
            Area::Session => "storage.session.remove",
        };
        api.call(method, vec![json!(key)]).await.map(drop)
    }
}

/// `chrome.windows`.
pub mod windows {
    use panelot_base::json::FromJson;
    use serde_json::json;

    use crate::api::{Api, ChromeError, read};

    /// A window of the browser.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, FromJson)]
    pub struct Window {
        /// Its id.
        pub id: u32,
        /// Whether it has the focus.
        pub focused: bool,
        /// Whether it is an incognito window.
        #[serde(default)]
        pub incognito: bool,
    }

    /// The window that this document is in.
    ///
    /// # Errors
    /// [`ChromeError`] when it is in none, as the worker is.
    pub async fn current(api: &impl Api) -> Result<Window, ChromeError> {
        read("windows.getCurrent", api.call("windows.getCurrent", vec![]).await?)
    }

    /// The ordinary window that was in front last.
    ///
    /// # Errors
    /// [`ChromeError`] when there is none.
    pub async fn last_focused(api: &impl Api) -> Result<Window, ChromeError> {
        const METHOD: &str = "windows.getLastFocused";
        read(METHOD, api.call(METHOD, vec![json!({"windowTypes": ["normal"]})]).await?)
    }
}
