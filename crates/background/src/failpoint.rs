//! Points at which a test parks or traps the driver, named by `panelot_failpoint` in `chrome.storage.local`:
//! `{name, mode: "park"}` or `{name: "engine.enter", mode: "trap", threadId, count}`.
//!
//! The value is read at the start and whenever it changes; `panelot_failpoint_armed` then holds the point's name. A point
//! that is reached says so in `panelot_failpoint_reached` before it parks or traps.

use std::cell::RefCell;

use panelot_base::ThreadId;
use panelot_base::json::FromJson;
use panelot_chrome::Chrome;
use panelot_chrome::storage::{self, Area};
use serde_json::json;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};

use crate::shell;

/// Where tests put the point.
const KEY: &str = "panelot_failpoint";
/// Where they see which one the worker has read.
const ARMED: &str = "panelot_failpoint_armed";
/// Where they see that it was reached.
const REACHED: &str = "panelot_failpoint_reached";

#[derive(Clone, Debug, FromJson)]
#[serde(rename_all = "camelCase")]
struct Failpoint {
    name: String,
    mode: String,
    #[serde(default)]
    thread_id: Option<String>,
    #[serde(default)]
    count: Option<u32>,
}

thread_local! {
    static ACTIVE: RefCell<Option<Failpoint>> = const { RefCell::new(None) };
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = ["chrome", "storage", "onChanged"], js_name = addListener)]
    fn on_storage_changed(listener: &js_sys::Function);
}

/// Reads the value, now and whenever it changes. Only a test build listens: in a shipped one the event would wake the
/// worker for nothing.
pub(crate) async fn start() {
    let listener = Closure::<dyn FnMut(JsValue)>::new(|changes: JsValue| {
        if js_sys::Reflect::has(&changes, &JsValue::from_str(KEY)) == Ok(true) {
            panelot_web::spawn(refresh());
        }
    });
    on_storage_changed(listener.as_ref().unchecked_ref());
    listener.forget();
    refresh().await;
}

async fn refresh() {
    let stored = storage::get(&Chrome, Area::Local, KEY).await.ok().flatten();
    let point = stored.and_then(|value| Failpoint::from_json(value).ok());
    let name = point.as_ref().map(|point| point.name.clone());
    ACTIVE.with(|active| active.replace(point));
    // The engine's start need not wait for it.
    panelot_web::spawn(async move {
        let _ = storage::set(&Chrome, Area::Local, ARMED, json!(name)).await;
    });
}

/// Does nothing, parks for ever, or traps.
pub(crate) async fn reach(name: &'static str, thread: &ThreadId) {
    let point = ACTIVE.with(|active| active.borrow().clone());
    let Some(mut point) = point.filter(|point| point.name == name) else { return };
    if point.thread_id.as_ref().is_some_and(|id| id != thread.as_str()) || point.count == Some(0) {
        return;
    }
    let reached = json!({"name": name, "threadId": thread.as_str(), "at": panelot_web::now().0});
    let _ = storage::set(&Chrome, Area::Local, REACHED, reached).await;
    if point.mode != "trap" {
        return std::future::pending().await;
    }
    if let Some(count) = &mut point.count {
        *count -= 1;
        let rest = json!({"name": point.name, "mode": point.mode, "threadId": point.thread_id, "count": point.count});
        let _ = storage::set(&Chrome, Area::Local, KEY, rest).await;
    }
    shell::entering(Some(thread));
    std::process::abort();
}
