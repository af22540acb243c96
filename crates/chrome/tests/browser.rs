//! The border to JavaScript, with a `chrome` object made of plain functions. `cargo xtask test wasm` runs it; on the
//! host this file is empty.
#![cfg(target_family = "wasm")]

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Reflect, eval};
use panelot_chrome::storage::{self, Area};
use panelot_chrome::{
    Chrome, ChromeEvent, Connect, ErrorKind, EventError, Port, PortId, Ports, runtime, tabs,
};
use serde_json::{Value, json};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// Stands in for the extension's `chrome`.
const FAKE: &str = "
globalThis.makePort = (name) => {
  const event = () => ({
    all: [], addListener(f) { this.all.push(f); }, removeListener(f) { this.all = this.all.filter((g) => g !== f); },
  });
  return {
    name, sent: [], closed: false, onMessage: event(), onDisconnect: event(),
    postMessage(message) { if (this.closed) throw new Error('Attempting to use a disconnected port object'); this.sent.push(message); },
    disconnect() { this.closed = true; },
  };
};
globalThis.chrome = {
  tabs: {
    get: async (id) => { if (id !== 5) throw new Error(`No tab with id: ${id}.`); return {id, windowId: 1, url: 'https://a.test/ü'}; },
    sendMessage: async (id, message, options) => message === null ? undefined : [id, message, options],
  },
  storage: {session: {area: 's', get(key) { return Promise.resolve({[key]: this.area}); }}},
  runtime: {
    getURL: (path) => 'chrome-extension://abc/' + path,
    connect: ({name}) => (globalThis.lastPort = makePort(name)),
  },
};
";

fn setup() {
    eval(FAKE).unwrap();
}

fn script(text: &str) -> Value {
    let value = eval(text).unwrap();
    let text = js_sys::JSON::stringify(&value).unwrap();
    serde_json::from_str(&String::from(text)).unwrap()
}

#[wasm_bindgen_test]
async fn calls_reach_the_function_with_its_own_this_and_come_back() {
    setup();
    assert_eq!(tabs::get(&Chrome, 5).await.unwrap().url, "https://a.test/ü");
    let refused = tabs::get(&Chrome, 6).await.unwrap_err();
    assert_eq!((refused.kind(), refused.message.as_str()), (ErrorKind::NoSuchTarget, "No tab with id: 6."));
    assert_eq!(storage::get(&Chrome, Area::Session, "k").await, Ok(Some(json!("s"))));
    assert_eq!(runtime::id(&Chrome).as_deref(), Ok("abc"));
    let recipient = tabs::Recipient::Document("D1".to_owned());
    let echo = tabs::send_message(&Chrome, 5, &recipient, json!({"a": [1, null]})).await;
    assert_eq!(echo, Ok(json!([5, {"a": [1, null]}, {"documentId": "D1"}])));
    assert_eq!(tabs::send_message(&Chrome, 5, &recipient, Value::Null).await, Ok(Value::Null));
    let missing = panelot_chrome::windows::current(&Chrome).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Other);
}

#[wasm_bindgen_test]
fn a_view_talks_over_its_port_and_takes_its_listeners_away() {
    setup();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (messages, ends) = (Rc::clone(&seen), Rc::clone(&seen));
    let port = Chrome
        .connect(
            "panelot-engine",
            move |message| messages.borrow_mut().push(message),
            move || ends.borrow_mut().push(json!("gone")),
        )
        .unwrap();
    port.post(&json!({"type": "ping"})).unwrap();
    assert_eq!(script("[lastPort.name, lastPort.sent]"), json!(["panelot-engine", [{"type": "ping"}]]));
    eval("lastPort.onMessage.all.forEach((f) => { f({n: 1}); f(undefined); })").unwrap();
    eval("lastPort.onDisconnect.all.forEach((f) => f())").unwrap();
    assert_eq!(*seen.borrow(), [json!({"n": 1}), Value::Null, json!("gone")]);
    assert!(port.post(&json!(2)).is_err());
    drop(port);
    assert_eq!(script("[lastPort.onMessage.all.length, lastPort.onDisconnect.all.length]"), json!([0, 0]));

    let port = Chrome.connect("x", |_| {}, || {}).unwrap();
    drop(port);
    assert_eq!(script("lastPort.closed"), json!(true));
}

#[wasm_bindgen_test]
fn the_workers_connections_are_told_apart_by_identity() {
    setup();
    let ports = Ports::default();
    let raw = |name: &str| eval(&format!("globalThis.{name} = makePort('{name}')")).unwrap();
    let (one, two) = (raw("one"), raw("two"));
    let connect = |port: &JsValue| ports.receive("runtime.onConnect", &Array::of1(port)).unwrap().unwrap();
    let ChromeEvent::PortConnected { port: first, name } = connect(&one) else { panic!() };
    assert_eq!((first, name.as_str()), (PortId(1), "one"));
    connect(&two);
    let message = Array::of2(&two, &eval("({type: 'ping'})").unwrap());
    assert_eq!(
        ports.receive("port.onMessage", &message),
        Ok(Some(ChromeEvent::PortMessage { port: PortId(2), message: json!({"type": "ping"}) }))
    );
    ports.post(PortId(1), &json!({"type": "pong"})).unwrap();
    assert_eq!(script("[one.sent, two.sent]"), json!([[{"type": "pong"}], []]));
    assert_eq!(
        ports.receive("port.onDisconnect", &Array::of1(&one)),
        Ok(Some(ChromeEvent::PortDisconnected { port: PortId(1) }))
    );
    assert!(ports.post(PortId(1), &json!(1)).is_err());
    assert_eq!(ports.receive("port.onDisconnect", &Array::of1(&one)), Err(EventError::UnknownPort));
    ports.disconnect(PortId(2));
    assert_eq!(script("two.closed"), json!(true));
}

#[wasm_bindgen_test]
fn other_events_are_read_and_stray_messages_are_answered() {
    setup();
    let ports = Ports::default();
    let arguments: Array = eval("[5, {status: 'loading'}, {id: 5, f() {}}]").unwrap().unchecked_into();
    assert_eq!(
        ports.receive("tabs.onUpdated", &arguments),
        Ok(Some(ChromeEvent::TabUpdated {
            tab_id: 5,
            status: Some("loading".to_owned()),
            url: None,
            title: None
        }))
    );
    let stray: Array =
        eval("globalThis.answered = 0; ['x', {}, () => { answered += 1; }]").unwrap().unchecked_into();
    assert_eq!(ports.receive("runtime.onMessage", &stray), Ok(None));
    let answered = Reflect::get(&js_sys::global(), &"answered".into()).unwrap();
    assert_eq!(answered.as_f64(), Some(1.0));
}
