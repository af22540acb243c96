//! What Chrome tells the worker, as the boot script hands it over: a kind and the listener's arguments.

use panelot_base::json::FromJson;
use serde_json::Value;

use crate::permissions::Permissions;

/// Names one connection for as long as this instance of the worker's module lives. Never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId(pub u64);

/// Something that happened in the browser. Addresses, titles and messages are foreign.
#[derive(Clone, Debug, PartialEq)]
pub enum ChromeEvent {
    /// The extension was installed, or it or the browser was updated.
    Installed {
        /// `install`, `update`, `chrome_update` or `shared_module_update`.
        reason: String,
    },
    /// The browser started.
    Startup,
    /// A new version waits until the worker is quiet.
    UpdateAvailable {
        /// The new version.
        version: String,
    },
    /// A document connected.
    PortConnected {
        /// The connection.
        port: PortId,
        /// What it connected for.
        name: String,
    },
    /// A message on a connection.
    PortMessage {
        /// The connection.
        port: PortId,
        /// The message.
        message: Value,
    },
    /// A connection ended at the other end.
    PortDisconnected {
        /// The connection.
        port: PortId,
    },
    /// An alarm is due.
    AlarmFired {
        /// Its name.
        name: String,
    },
    /// A tab was closed.
    TabRemoved {
        /// The tab.
        tab_id: u32,
    },
    /// Something about a tab changed; absent fields did not.
    TabUpdated {
        /// The tab.
        tab_id: u32,
        /// `loading` or `complete`.
        status: Option<String>,
        /// Its new address.
        url: Option<String>,
        /// Its new title.
        title: Option<String>,
    },
    /// A tab took the place of another.
    TabReplaced {
        /// The tab that is there now.
        added: u32,
        /// The tab that was there.
        removed: u32,
    },
    /// A frame shows another document.
    NavigationCommitted {
        /// The tab.
        tab_id: u32,
        /// The frame; 0 is the top frame.
        frame_id: u32,
        /// The new document.
        document_id: String,
        /// Its address, after redirects.
        url: String,
        /// What led to it, such as `link`, `form_submit`, `reload`.
        transition: String,
    },
    /// A document is parsed: its scripts ran, its pictures may be missing.
    NavigationReady {
        /// The tab.
        tab_id: u32,
        /// The frame; 0 is the top frame.
        frame_id: u32,
        /// The document.
        document_id: String,
        /// Its address.
        url: String,
    },
    /// A navigation came to nothing.
    NavigationFailed {
        /// The tab.
        tab_id: u32,
        /// The frame; 0 is the top frame.
        frame_id: u32,
        /// Where it was to go.
        url: String,
        /// Chrome's name for the error, such as `net::ERR_NAME_NOT_RESOLVED`.
        error: String,
    },
    /// The person clicked a notification.
    NotificationClicked {
        /// Its id.
        id: String,
    },
    /// The person granted something.
    PermissionsAdded(Permissions),
    /// The person took something back.
    PermissionsRemoved(Permissions),
    /// Stored values changed, by whomever.
    StorageChanged {
        /// `local`, `session` or another area.
        area: String,
        /// The keys.
        keys: Vec<String>,
    },
    /// The person clicked the toolbar button.
    ActionClicked {
        /// The tab in front.
        tab_id: Option<u32>,
    },
    /// The person pressed a shortcut.
    Command {
        /// The command's name in the manifest.
        name: String,
    },
}

/// An event that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The boot script knows a kind that this module does not.
    #[error("no event {0:?}")]
    UnknownKind(String),
    /// Its arguments are not as documented.
    #[error("{kind}: {detail}")]
    Malformed {
        /// The event.
        kind: String,
        /// What is wrong.
        detail: String,
    },
    /// It belongs to a connection that was never announced.
    #[error("an event of an unknown connection")]
    UnknownPort,
}

#[derive(FromJson)]
#[serde(rename_all = "camelCase")]
struct Navigation {
    tab_id: i64,
    frame_id: u32,
    #[serde(default)]
    document_id: String,
    url: String,
    #[serde(default)]
    transition_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    document_lifecycle: Option<String>,
}

#[derive(FromJson)]
struct TabId {
    id: Option<u32>,
}

#[derive(Default, FromJson)]
#[serde(default)]
struct TabChange {
    status: Option<String>,
    url: Option<String>,
    title: Option<String>,
}

/// Reads an event that needs no live object: all but those of connections. `None` for one that means nothing to us.
///
/// # Errors
/// [`EventError`]
pub fn decode(kind: &str, arguments: &[Value]) -> Result<Option<ChromeEvent>, EventError> {
    let read = Arguments { kind, values: arguments };
    Ok(Some(match kind {
        "runtime.onInstalled" => ChromeEvent::Installed { reason: read.field("reason")? },
        "runtime.onStartup" => ChromeEvent::Startup,
        "runtime.onUpdateAvailable" => ChromeEvent::UpdateAvailable { version: read.field("version")? },
        "alarms.onAlarm" => ChromeEvent::AlarmFired { name: read.field("name")? },
        "tabs.onRemoved" => ChromeEvent::TabRemoved { tab_id: read.at(0)? },
        "tabs.onUpdated" => {
            let TabChange { status, url, title } = read.at(1)?;
            ChromeEvent::TabUpdated { tab_id: read.at(0)?, status, url, title }
        }
        "tabs.onReplaced" => ChromeEvent::TabReplaced { added: read.at(0)?, removed: read.at(1)? },
        "webNavigation.onCommitted"
        | "webNavigation.onDOMContentLoaded"
        | "webNavigation.onErrorOccurred" => {
            return Ok(navigation(kind, read.at(0)?));
        }
        "notifications.onClicked" => ChromeEvent::NotificationClicked { id: read.at(0)? },
        "permissions.onAdded" => ChromeEvent::PermissionsAdded(read.at(0)?),
        "permissions.onRemoved" => ChromeEvent::PermissionsRemoved(read.at(0)?),
        "storage.onChanged" => {
            let changes: serde_json::Map<String, Value> = read.at(0)?;
            ChromeEvent::StorageChanged {
                area: read.at(1)?,
                keys: changes.into_iter().map(|(key, _)| key).collect(),
            }
        }
        "action.onClicked" => {
            ChromeEvent::ActionClicked { tab_id: read.at::<Option<TabId>>(0)?.and_then(|tab| tab.id) }
        }
        "commands.onCommand" => ChromeEvent::Command { name: read.at(0)? },
        // The debugger is not used yet.
        "debugger.onEvent" | "debugger.onDetach" => return Ok(None),
        _ => return Err(EventError::UnknownKind(kind.to_owned())),
    }))
}

/// `None` for a page that is only prerendered (tab -1, or not active), which nobody sees.
fn navigation(kind: &str, navigation: Navigation) -> Option<ChromeEvent> {
    let Navigation { frame_id, document_id, url, error, .. } = navigation;
    let tab_id = u32::try_from(navigation.tab_id).ok()?;
    if navigation.document_lifecycle.as_deref() == Some("prerender") {
        return None;
    }
    Some(match kind {
        "webNavigation.onCommitted" => ChromeEvent::NavigationCommitted {
            tab_id,
            frame_id,
            document_id,
            url,
            transition: navigation.transition_type,
        },
        "webNavigation.onDOMContentLoaded" => {
            ChromeEvent::NavigationReady { tab_id, frame_id, document_id, url }
        }
        _ => ChromeEvent::NavigationFailed { tab_id, frame_id, url, error },
    })
}

struct Arguments<'a> {
    kind: &'a str,
    values: &'a [Value],
}

impl Arguments<'_> {
    fn at<T: FromJson>(&self, index: usize) -> Result<T, EventError> {
        let value = self.values.get(index).cloned().unwrap_or_default();
        T::from_json(value).map_err(|error| self.malformed(error.to_string()))
    }

    /// A text field of the first argument.
    fn field(&self, name: &str) -> Result<String, EventError> {
        let text = self.values.first().and_then(|value| value.get(name)).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| self.malformed(format!("no text {name}")))
    }

    fn malformed(&self, detail: String) -> EventError {
        EventError::Malformed { kind: self.kind.to_owned(), detail }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ChromeEvent, EventError, decode};
    use crate::permissions::Permissions;

    fn event(kind: &str, arguments: Value) -> ChromeEvent {
        decode(kind, arguments.as_array().unwrap()).unwrap().unwrap()
    }

    #[test]
    fn events_as_chromium_sends_them_are_read() {
        let committed = json!([{
            "documentId": "F1", "documentLifecycle": "active", "frameId": 0, "frameType": "outermost_frame",
            "parentFrameId": -1, "processId": 7, "tabId": 5, "timeStamp": 1_796_041_537_089.16_f64,
            "transitionQualifiers": ["server_redirect"], "transitionType": "link", "url": "http://a.test/b",
        }]);
        let (tab_id, frame_id, url) = (5, 0, "http://a.test/b".to_owned());
        assert_eq!(
            event("webNavigation.onCommitted", committed.clone()),
            ChromeEvent::NavigationCommitted {
                tab_id,
                frame_id,
                document_id: "F1".to_owned(),
                url: url.clone(),
                transition: "link".to_owned()
            }
        );
        assert_eq!(
            event("webNavigation.onDOMContentLoaded", committed),
            ChromeEvent::NavigationReady { tab_id, frame_id, document_id: "F1".to_owned(), url: url.clone() }
        );
        assert_eq!(
            event(
                "webNavigation.onErrorOccurred",
                json!([{"tabId": 5, "frameId": 0, "url": url, "error": "net::ERR_ABORTED"}])
            ),
            ChromeEvent::NavigationFailed { tab_id, frame_id, url, error: "net::ERR_ABORTED".to_owned() }
        );
        assert_eq!(
            event("tabs.onUpdated", json!([5, {"status": "loading"}, {"id": 5, "url": "x"}])),
            ChromeEvent::TabUpdated { tab_id: 5, status: Some("loading".to_owned()), url: None, title: None }
        );
        assert_eq!(
            event("tabs.onRemoved", json!([5, {"windowId": 1, "isWindowClosing": false}])),
            ChromeEvent::TabRemoved { tab_id: 5 }
        );
        assert_eq!(
            event("tabs.onReplaced", json!([6, 5])),
            ChromeEvent::TabReplaced { added: 6, removed: 5 }
        );
        assert_eq!(
            event("permissions.onAdded", json!([{"origins": ["https://a.test/*"]}])),
            ChromeEvent::PermissionsAdded(Permissions {
                origins: vec!["https://a.test/*".to_owned()],
                permissions: vec![]
            })
        );
        assert_eq!(
            event("storage.onChanged", json!([{"a": {"newValue": 1}, "b": {"oldValue": 2}}, "session"])),
            ChromeEvent::StorageChanged {
                area: "session".to_owned(),
                keys: vec!["a".to_owned(), "b".to_owned()]
            }
        );
        assert_eq!(
            event("alarms.onAlarm", json!([{"name": "wake", "scheduledTime": 1.5}])),
            ChromeEvent::AlarmFired { name: "wake".to_owned() }
        );
        assert_eq!(event("runtime.onStartup", json!([])), ChromeEvent::Startup);
        assert_eq!(
            event("action.onClicked", json!([{"id": 9}])),
            ChromeEvent::ActionClicked { tab_id: Some(9) }
        );
    }

    #[test]
    fn a_prerendered_page_and_the_debugger_are_passed_over() {
        let prerendered = json!({"tabId": 5, "frameId": 0, "url": "x", "documentLifecycle": "prerender"});
        assert_eq!(decode("webNavigation.onCommitted", &[prerendered]), Ok(None));
        let nowhere = json!({"tabId": -1, "frameId": 0, "url": "x"});
        assert_eq!(decode("webNavigation.onCommitted", &[nowhere]), Ok(None));
        assert_eq!(decode("debugger.onDetach", &[json!({}), json!("x")]), Ok(None));
    }

    #[test]
    fn what_is_not_as_documented_is_an_error_and_not_a_guess() {
        for (kind, arguments) in [
            ("tabs.onRemoved", json!([])),
            ("tabs.onRemoved", json!(["5"])),
            ("alarms.onAlarm", json!([{}])),
            ("webNavigation.onCommitted", json!([{"tabId": 5}])),
            ("notifications.onClicked", json!([null])),
        ] {
            let refused = decode(kind, arguments.as_array().unwrap());
            assert!(matches!(refused, Err(EventError::Malformed { .. })), "{kind} {refused:?}");
        }
        assert_eq!(decode("tabs.onMoved", &[]), Err(EventError::UnknownKind("tabs.onMoved".to_owned())));
    }
}
