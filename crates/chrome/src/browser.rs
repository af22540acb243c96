//! The real browser: JSON text across the border between wasm and JavaScript, which costs least code of all ways.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Array, Function, JSON, Promise, Reflect};
use serde_json::{Value, json};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::api::{Api, ChromeError};
use crate::event::{ChromeEvent, EventError, PortId, decode};
use crate::port::{Connect, Port};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "chrome.runtime.Port")]
    #[derive(Clone, Debug)]
    type RawPort;

    #[wasm_bindgen(method, catch, js_name = postMessage)]
    fn post_message(this: &RawPort, message: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method)]
    fn disconnect(this: &RawPort);

    #[wasm_bindgen(method, getter)]
    fn name(this: &RawPort) -> String;

    #[wasm_bindgen(method, getter, js_name = onMessage)]
    fn on_message(this: &RawPort) -> RawEvent;

    #[wasm_bindgen(method, getter, js_name = onDisconnect)]
    fn on_disconnect(this: &RawPort) -> RawEvent;

    type RawEvent;

    #[wasm_bindgen(method, js_name = addListener)]
    fn add_listener(this: &RawEvent, listener: &Function);

    #[wasm_bindgen(method, js_name = removeListener)]
    fn remove_listener(this: &RawEvent, listener: &Function);

    #[wasm_bindgen(js_namespace = ["chrome", "runtime"], js_name = connect, catch)]
    fn runtime_connect(info: &JsValue) -> Result<RawPort, JsValue>;

}

/// The browser that this code runs in. On the host every call panics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chrome;

impl Api for Chrome {
    async fn call(&self, method: &'static str, arguments: Vec<Value>) -> Result<Value, ChromeError> {
        let promise = invoke(method, arguments).map_err(|error| refused(method, &error))?;
        let value =
            JsFuture::from(Promise::resolve(&promise)).await.map_err(|error| refused(method, &error))?;
        from_js(&value).map_err(|error| refused(method, &error))
    }

    fn call_now(&self, method: &'static str, arguments: Vec<Value>) -> Result<Value, ChromeError> {
        let value = invoke(method, arguments).and_then(|value| from_js(&value));
        value.map_err(|error| refused(method, &error))
    }
}

impl Chrome {
    /// Calls `heard` at each event `chrome.{event}` (such as `tabs.onActivated`), for the life of the document. What the
    /// event says is not read: a view that hears of a change looks for itself. An event that this browser does not have
    /// is never heard.
    pub fn listen(self, event: &str, heard: impl FnMut() + 'static) {
        if let Ok((_, event)) = find(event)
            && event.is_object()
        {
            let heard = Closure::<dyn FnMut()>::new(heard).into_js_value();
            event.unchecked_into::<RawEvent>().add_listener(heard.unchecked_ref());
        }
    }
}

/// What `chrome.{path}` is, and what it lies in.
fn find(path: &str) -> Result<(JsValue, JsValue), JsValue> {
    let mut space = JsValue::UNDEFINED;
    let mut found = Reflect::get(&js_sys::global(), &"chrome".into())?;
    for part in path.split('.') {
        let inner = Reflect::get(&found, &part.into())?;
        space = std::mem::replace(&mut found, inner);
    }
    Ok((space, found))
}

/// Calls `chrome.{method}` and returns what it returns.
fn invoke(method: &str, arguments: Vec<Value>) -> Result<JsValue, JsValue> {
    let (space, function) = find(method)?;
    if !function.is_function() {
        return Err(JsValue::from_str("there is no such function"));
    }
    let arguments: Array = to_js(&Value::Array(arguments))?.unchecked_into();
    Reflect::apply(function.unchecked_ref::<Function>(), &space, &arguments)
}

fn to_js(value: &Value) -> Result<JsValue, JsValue> {
    JSON::parse(&value.to_string())
}

/// `chrome.runtime.lastError`, which exists inside of a callback only.
fn last_error() -> Result<JsValue, JsValue> {
    let chrome = Reflect::get(&js_sys::global(), &"chrome".into())?;
    Reflect::get(&Reflect::get(&chrome, &"runtime".into())?, &"lastError".into())
}

/// What JSON cannot say (functions, `undefined`) becomes `null`.
fn from_js(value: &JsValue) -> Result<Value, JsValue> {
    let text: JsValue = JSON::stringify(value)?.into();
    let Some(text) = text.as_string() else { return Ok(Value::Null) };
    serde_json::from_str(&text).map_err(|error| JsValue::from_str(&error.to_string()))
}

fn refused(method: &'static str, error: &JsValue) -> ChromeError {
    let message = Reflect::get(error, &"message".into()).ok().and_then(|message| message.as_string());
    ChromeError::new(
        method,
        message.or_else(|| error.as_string()).unwrap_or_else(|| "unknown error".to_owned()),
    )
}

/// The connections of the worker, which the boot script hands over with their events.
#[derive(Debug, Default)]
pub struct Ports {
    open: RefCell<Vec<(PortId, RawPort)>>,
    last: Cell<u64>,
}

impl Ports {
    /// Reads what the boot script delivers: the kind of an event and its listener's arguments. A `runtime.onMessage` is
    /// answered at once with nothing, since nobody sends us any, and is no event.
    ///
    /// # Errors
    /// [`EventError`] when it is not as documented.
    pub fn receive(&self, kind: &str, arguments: &Array) -> Result<Option<ChromeEvent>, EventError> {
        match kind {
            "runtime.onConnect" => Ok(Some(self.connected(arguments))),
            "port.onMessage" => {
                let port = self.find(arguments)?;
                let message = from_js(&arguments.get(1)).map_err(|error| malformed(kind, &error))?;
                Ok(Some(ChromeEvent::PortMessage { port, message }))
            }
            "port.onDisconnect" => {
                let port = self.find(arguments)?;
                self.open.borrow_mut().retain(|(id, _)| *id != port);
                Ok(Some(ChromeEvent::PortDisconnected { port }))
            }
            "runtime.onMessage" => {
                if let Some(respond) = arguments.get(2).dyn_ref::<Function>() {
                    // Its sender may be gone; then there is nobody to tell.
                    let _ = respond.call0(&JsValue::NULL);
                }
                Ok(None)
            }
            _ => {
                let values = from_js(arguments).map_err(|error| malformed(kind, &error))?;
                decode(kind, values.as_array().map(Vec::as_slice).unwrap_or_default())
            }
        }
    }

    fn connected(&self, arguments: &Array) -> ChromeEvent {
        let raw: RawPort = arguments.get(0).unchecked_into();
        let port = PortId(self.last.get().saturating_add(1));
        self.last.set(port.0);
        let name = raw.name();
        self.open.borrow_mut().push((port, raw));
        ChromeEvent::PortConnected { port, name }
    }

    fn find(&self, arguments: &Array) -> Result<PortId, EventError> {
        let raw = arguments.get(0);
        let open = self.open.borrow();
        let found = open.iter().find(|(_, port)| *AsRef::<JsValue>::as_ref(port) == raw);
        found.map(|(id, _)| *id).ok_or(EventError::UnknownPort)
    }

    fn get(&self, port: PortId) -> Option<RawPort> {
        self.open.borrow().iter().find(|(id, _)| *id == port).map(|(_, raw)| raw.clone())
    }

    /// Sends a message to the other end.
    ///
    /// # Errors
    /// [`ChromeError`] when the connection is no more, which its `PortDisconnected` may yet have to say.
    pub fn post(&self, port: PortId, message: &Value) -> Result<(), ChromeError> {
        let raw = self.get(port).ok_or_else(|| ChromeError::new("Port.postMessage", "no such connection"))?;
        post(&raw, message)
    }

    /// Ends a connection; no `PortDisconnected` follows. One that is no more is not missed.
    pub fn disconnect(&self, port: PortId) {
        if let Some(raw) = self.get(port) {
            self.open.borrow_mut().retain(|(id, _)| *id != port);
            raw.disconnect();
        }
    }
}

fn malformed(kind: &str, error: &JsValue) -> EventError {
    EventError::Malformed { kind: kind.to_owned(), detail: refused("event", error).message }
}

fn post(raw: &RawPort, message: &Value) -> Result<(), ChromeError> {
    let sent = to_js(message).and_then(|message| raw.post_message(&message));
    sent.map_err(|error| refused("Port.postMessage", &error))
}

/// A view's connection to the worker.
#[derive(Debug)]
pub struct JsPort {
    raw: RawPort,
    // Shared with the listener, which takes it off when the other end disconnects.
    open: Rc<Cell<bool>>,
    message_listener: Closure<dyn FnMut(JsValue)>,
    disconnect_listener: Closure<dyn FnMut()>,
}

impl Port for JsPort {
    fn post(&self, message: &Value) -> Result<(), ChromeError> {
        if !self.open.get() {
            return Err(ChromeError::new("Port.postMessage", "the port is disconnected"));
        }
        post(&self.raw, message)
    }

    fn disconnect(&self) {
        if self.open.replace(false) {
            self.raw.disconnect();
        }
    }
}

impl Drop for JsPort {
    fn drop(&mut self) {
        self.disconnect();
        self.raw.on_message().remove_listener(self.message_listener.as_ref().unchecked_ref());
        self.raw.on_disconnect().remove_listener(self.disconnect_listener.as_ref().unchecked_ref());
    }
}

impl Connect for Chrome {
    type Port = JsPort;

    fn connect(
        &self,
        name: &str,
        mut on_message: impl FnMut(Value) + 'static,
        mut on_disconnect: impl FnMut() + 'static,
    ) -> Result<JsPort, ChromeError> {
        const METHOD: &str = "runtime.connect";
        let raw = to_js(&json!({"name": name})).and_then(|info| runtime_connect(&info));
        let raw = raw.map_err(|error| refused(METHOD, &error))?;
        let open = Rc::new(Cell::new(true));
        let message_listener = Closure::new(move |message: JsValue| {
            // What cannot be read is passed on as `null`, which no decoder takes for a message.
            on_message(from_js(&message).unwrap_or_default());
        });
        let disconnect_listener = Closure::new({
            let open = Rc::clone(&open);
            move || {
                // Reading it tells Chrome that we know, or it logs an error.
                let _ = last_error();
                if open.replace(false) {
                    on_disconnect();
                }
            }
        });
        raw.on_message().add_listener(message_listener.as_ref().unchecked_ref());
        raw.on_disconnect().add_listener(disconnect_listener.as_ref().unchecked_ref());
        Ok(JsPort { raw, open, message_listener, disconnect_listener })
    }
}
