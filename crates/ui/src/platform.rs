//! The browser as the pages need it: Port, storage, timers, tabs, permissions.
//!
//! The only module of this crate that calls `chrome.*`. Nothing here decides.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Array, Function, JSON, Object, Promise, Reflect};
use panelot_base::Timestamp;
use panelot_protocol::Text;
use panelot_protocol::op::TabIdentity;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = ["chrome", "runtime"], js_name = connect)]
    fn runtime_connect(info: &JsValue) -> Result<RawPort, JsValue>;
    #[wasm_bindgen(js_namespace = ["chrome", "runtime"], js_name = getManifest)]
    fn runtime_manifest() -> JsValue;
    #[wasm_bindgen(js_namespace = ["chrome", "runtime"], js_name = openOptionsPage)]
    fn runtime_open_options() -> Promise;
    #[wasm_bindgen(js_namespace = ["chrome", "runtime"], js_name = getURL)]
    fn runtime_url(path: &str) -> String;
    #[wasm_bindgen(js_namespace = ["chrome", "i18n"], js_name = getUILanguage)]
    fn ui_language() -> String;
    #[wasm_bindgen(js_namespace = ["chrome", "storage", "session"], js_name = get)]
    fn session_storage_get(key: &JsValue) -> Promise;
    #[wasm_bindgen(js_namespace = ["chrome", "storage", "session"], js_name = set)]
    fn session_storage_set(values: &JsValue) -> Promise;
    #[wasm_bindgen(js_namespace = ["chrome", "storage", "session"], js_name = remove)]
    fn session_storage_remove(key: &str) -> Promise;
    #[wasm_bindgen(js_namespace = ["chrome", "tabs"], js_name = query)]
    fn tabs_query(filter: &JsValue) -> Promise;
    #[wasm_bindgen(js_namespace = ["chrome", "tabs"], js_name = create)]
    fn tabs_create(properties: &JsValue) -> Promise;
    #[wasm_bindgen(js_namespace = ["chrome", "windows"], js_name = getCurrent)]
    fn windows_current() -> Promise;
    #[wasm_bindgen(catch, js_namespace = ["chrome", "permissions"], js_name = request)]
    fn permissions_request(permissions: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(thread_local_v2, js_namespace = chrome, js_name = tabs)]
    static TABS: JsValue;
    #[wasm_bindgen(thread_local_v2, js_namespace = chrome, js_name = windows)]
    static WINDOWS: JsValue;

    #[wasm_bindgen(js_name = Port)]
    type RawPort;
    #[wasm_bindgen(method, catch, js_name = postMessage)]
    fn post_message(this: &RawPort, message: &JsValue) -> Result<(), JsValue>;
    #[wasm_bindgen(method)]
    fn disconnect(this: &RawPort);

    #[wasm_bindgen(catch, js_namespace = ["navigator", "locks"], js_name = request)]
    fn locks_request(name: &str, options: &JsValue, callback: &Function) -> Result<Promise, JsValue>;

    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, ms: f64) -> i32;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(handle: i32);
    #[wasm_bindgen(js_name = requestAnimationFrame)]
    fn request_animation_frame(callback: &Function) -> i32;
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    fn random_values(bytes: &mut [u8]);
}

/// The time now.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "milliseconds since 1970 fit"
    )]
    Timestamp(js_sys::Date::now() as u64)
}

/// 128 random bits.
#[must_use]
pub fn random_seed() -> [u8; 16] {
    let mut bytes = [0; 16];
    random_values(&mut bytes);
    bytes
}

/// The browser's language tag.
#[must_use]
pub fn browser_language() -> String {
    ui_language()
}

/// The extension's version.
#[must_use]
pub fn version() -> String {
    text_of(&runtime_manifest(), "version").unwrap_or_default()
}

fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

fn text_of(object: &JsValue, name: &str) -> Option<String> {
    get(object, name).as_string()
}

fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let made = Object::new();
    for (name, value) in fields {
        // Setting a field of a fresh object cannot fail.
        let _ = Reflect::set(&made, &JsValue::from_str(name), value);
    }
    made.into()
}

fn to_js(value: &Value) -> JsValue {
    JSON::parse(&value.to_string()).unwrap_or(JsValue::NULL)
}

fn from_js(value: &JsValue) -> Option<Value> {
    // `undefined`, which an absent stored value is, has no JSON: stringify returns no text then.
    let text = JsValue::from(JSON::stringify(value).ok()?).as_string()?;
    serde_json::from_str(&text).ok()
}

/// Adds a listener to `chrome` event `target[event]` for the life of the page.
fn listen(target: &JsValue, event: &str, callback: impl FnMut(JsValue, JsValue) + 'static) {
    let closure = Closure::<dyn FnMut(JsValue, JsValue)>::new(callback).into_js_value();
    let event = get(target, event);
    if let Ok(add) = get(&event, "addListener").dyn_into::<Function>() {
        let _ = add.call1(&event, &closure);
    }
}

/// The line to the engine.
pub struct Port {
    raw: RawPort,
}

impl Port {
    /// Opens the line; `None` when the extension is gone from under the page.
    pub fn open(
        name: &str,
        on_message: impl Fn(Value) + 'static,
        on_close: impl Fn() + 'static,
    ) -> Option<Self> {
        let raw = runtime_connect(&object(&[("name", JsValue::from_str(name))])).ok()?;
        listen(raw.as_ref(), "onMessage", move |message, _| {
            // What is no JSON cannot be a message; the client reports it as such.
            on_message(from_js(&message).unwrap_or(Value::Null));
        });
        listen(raw.as_ref(), "onDisconnect", move |_, _| on_close());
        Some(Self { raw })
    }

    /// Sends a message; `false` when the line is dead.
    #[must_use]
    pub fn post(&self, message: &Value) -> bool {
        self.raw.post_message(&to_js(message)).is_ok()
    }

    /// Closes the line. Its `on_close` is not called.
    pub fn close(&self) {
        self.raw.disconnect();
    }
}

/// Reads a value of `chrome.storage.session`.
pub async fn session_get(key: &str) -> Option<Value> {
    let all = JsFuture::from(session_storage_get(&JsValue::from_str(key))).await.ok()?;
    from_js(&get(&all, key))
}

/// Reads all of `chrome.storage.session`; null when that failed.
pub async fn session_all() -> Value {
    let all = JsFuture::from(session_storage_get(&JsValue::NULL)).await;
    all.ok().as_ref().and_then(from_js).unwrap_or(Value::Null)
}

/// Writes a value of `chrome.storage.session`, or removes it when it is null; `false` when that failed.
pub async fn session_set(key: &str, value: &Value) -> bool {
    if value.is_null() {
        return JsFuture::from(session_storage_remove(key)).await.is_ok();
    }
    JsFuture::from(session_storage_set(&object(&[(key, to_js(value))]))).await.is_ok()
}

/// Removes a value of `chrome.storage.session`.
pub fn session_remove(key: &str) {
    let _ = session_storage_remove(key);
}

/// Takes a name for the life of this document, waiting at most so long for its holder to go; `false` when another
/// document of the extension keeps it.
pub async fn hold_name(name: &str, wait_ms: u64) -> bool {
    let name = name.to_owned();
    let mut ask = move |resolve: Function, _reject: Function| {
        let open = Rc::new(Cell::new(true));
        let answer = move |given: bool| {
            let _ = resolve.call1(&JsValue::NULL, &given.into());
        };
        let (late, still_open, failed) = (answer.clone(), open.clone(), answer.clone());
        let callback = Closure::once_into_js(move |lock: JsValue| -> JsValue {
            if !open.replace(false) {
                // It came too late: it is let go at once.
                return JsValue::UNDEFINED;
            }
            answer(!lock.is_null());
            // The lock lasts as long as this promise: for ever.
            Promise::new(&mut |_, _| {}).into()
        });
        let options = if wait_ms == 0 {
            object(&[("ifAvailable", JsValue::TRUE)])
        } else {
            Timer::after(wait_ms, move || {
                if still_open.replace(false) {
                    late(false);
                }
            });
            object(&[])
        };
        if locks_request(&name, &options, callback.unchecked_ref()).is_err() {
            failed(true);
        }
    };
    JsFuture::from(Promise::new(&mut ask)).await.is_ok_and(|given| given.is_truthy())
}

/// A timer that can be taken back.
#[derive(Clone, Copy, Debug)]
pub struct Timer(i32);

impl Timer {
    /// Calls `callback` once, `ms` milliseconds from now.
    pub fn after(ms: u64, callback: impl FnOnce() + 'static) -> Self {
        let callback = Closure::once_into_js(callback);
        #[expect(clippy::cast_precision_loss, reason = "delays are far below 2^53")]
        Self(set_timeout(callback.unchecked_ref(), ms as f64))
    }

    /// Takes it back.
    pub fn cancel(self) {
        clear_timeout(self.0);
    }
}

/// Calls `callback` once, before the next frame is drawn.
pub fn next_frame(callback: impl FnOnce() + 'static) {
    let callback = Closure::once_into_js(callback);
    request_animation_frame(callback.unchecked_ref());
}

/// Opens the options page.
pub fn open_options() {
    let _ = runtime_open_options();
}

/// Opens a page of the extension in a new tab.
pub fn open_page(path: &str) {
    let _ = tabs_create(&object(&[("url", JsValue::from_str(&runtime_url(path)))]));
}

/// The browser window that this page stands in.
pub async fn window_id() -> Option<u32> {
    let window = JsFuture::from(windows_current()).await.ok()?;
    whole(&get(&window, "id"))
}

fn whole(value: &JsValue) -> Option<u32> {
    let number = value.as_f64()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "range checked")]
    (number >= 0.0 && number <= f64::from(u32::MAX)).then_some(number as u32)
}

/// Asks the person for access to the pages of a match pattern. Must be called inside a click, before anything is awaited.
pub fn request_host(pattern: &str) -> impl Future<Output = bool> + use<> {
    let origins = Array::of1(&JsValue::from_str(pattern));
    let asked = permissions_request(&object(&[("origins", origins.into())]));
    async move {
        match asked {
            Ok(promise) => JsFuture::from(promise).await.is_ok_and(|answer| answer.is_truthy()),
            Err(_) => false,
        }
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
        let refresh = {
            let watch = watch.clone();
            move || {
                let watch = watch.clone();
                wasm_bindgen_futures::spawn_local(async move {
                    let found = front_page(watch.window).await;
                    *watch.current.borrow_mut() = found;
                });
            }
        };
        for event in ["onActivated", "onUpdated", "onRemoved", "onReplaced"] {
            let refresh = refresh.clone();
            TABS.with(|tabs| listen(tabs, event, move |_, _| refresh()));
        }
        {
            let refresh = refresh.clone();
            WINDOWS.with(|windows| listen(windows, "onFocusChanged", move |_, _| refresh()));
        }
        refresh();
        watch
    }

    /// The page now in front.
    #[must_use]
    pub fn current(&self) -> Option<TabIdentity> {
        self.current.borrow().clone()
    }
}

/// The active web page of `window`; where that shows none (a page of the extension is in front), the one used last.
async fn front_page(window: Option<u32>) -> Option<TabIdentity> {
    let filter = object(&[("active", JsValue::TRUE)]);
    let tabs: Array = JsFuture::from(tabs_query(&filter)).await.ok()?.dyn_into().ok()?;
    let mut best: Option<(bool, f64, TabIdentity)> = None;
    for tab in tabs.iter() {
        let url = text_of(&tab, "url").unwrap_or_default();
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            continue;
        }
        let own = window.is_some() && whole(&get(&tab, "windowId")) == window;
        let used = get(&tab, "lastAccessed").as_f64().unwrap_or_default();
        if best.as_ref().is_some_and(|(was_own, was_used, _)| (*was_own, *was_used) >= (own, used)) {
            continue;
        }
        if let Some(tab_id) = whole(&get(&tab, "id")) {
            let title = text_of(&tab, "title").unwrap_or_default();
            best = Some((
                own,
                used,
                TabIdentity { tab_id, url: Text::clipped(&url), title: Text::clipped(&title) },
            ));
        }
    }
    best.map(|(_, _, identity)| identity)
}

/// Puts a text on the clipboard; `false` when that failed.
pub async fn copy(text: &str) -> bool {
    let clipboard = leptos::prelude::window().navigator().clipboard();
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}
