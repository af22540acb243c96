//! The gateway against a scripted browser and a virtual clock.

mod navigation;
mod page;
mod resolve;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::rc::Rc;

use panelot_base::Timestamp;
use panelot_page_protocol::{PROTOCOL_ID, SCHEMA_HASH};
use panelot_tools::command::{Command, Failure, FailureKind, Reach, Report, TabFacts};
use panelot_tools::target::Target;
use serde_json::{Value, json};

use super::Gateway;
use crate::clock::Clock as _;
use crate::event::ChromeEvent;
use crate::fake::{FakeChrome, FakeClock, Reply};

const TAB: u32 = 5;
const GONE: &str = "Could not establish connection. Receiving end does not exist.";
const CLOSED: &str = "A listener indicated an asynchronous response by returning true, but the message channel \
                      closed before a response was received";

/// A browser with one tab, a gateway on it, and a clock.
struct Scene {
    chrome: FakeChrome,
    clock: FakeClock,
    gateway: Rc<Gateway<FakeChrome, FakeClock>>,
    /// What `tabs.get` and `webNavigation.getFrame` answer; tests change it as the browser would.
    tab: Rc<RefCell<Value>>,
    frame: Rc<RefCell<Value>>,
}

impl Scene {
    fn new() -> Self {
        let clock = FakeClock::starting_at(Timestamp(1_000_000));
        let chrome = FakeChrome::new(&clock);
        let gateway = Rc::new(Gateway::new(chrome.clone(), clock.clone(), [7; 16]));
        let tab = Rc::new(RefCell::new(json!({
            "id": TAB, "windowId": 1, "url": "https://shop.test/order", "title": "Order", "active": true,
            "status": "complete", "lastAccessed": 17.9,
        })));
        let frame = Rc::new(RefCell::new(frame("D1", "https://shop.test/order")));
        let scene = Self { chrome, clock, gateway, tab, frame };
        scene.answer_from("tabs.get", &scene.tab, "No tab with id: 5.");
        let shown = Rc::clone(&scene.frame);
        scene.chrome.on("webNavigation.getFrame", move |_| Reply::ok(shown.borrow().clone()));
        scene.chrome.on("permissions.contains", |_| Reply::ok(true));
        scene
    }

    /// Lets a function answer what a cell holds, or refuse when that is null.
    fn answer_from(&self, method: &'static str, cell: &Rc<RefCell<Value>>, refusal: &'static str) {
        let cell = Rc::clone(cell);
        self.chrome.on(method, move |_| match cell.borrow().clone() {
            Value::Null => Reply::err(refusal),
            value => Reply::ok(value),
        });
    }

    /// Lets an event happen `ms` milliseconds from now, and whatever else changes with it.
    fn event(&self, ms: u64, event: ChromeEvent, change: impl FnOnce() + 'static) {
        let gateway = Rc::clone(&self.gateway);
        self.clock.after(ms, move || {
            change();
            gateway.on_event(&event);
        });
    }

    fn run(&self, command: Command) -> Report {
        self.run_until(command, pending())
    }

    fn run_until(&self, command: Command, cancel: impl Future<Output = ()>) -> Report {
        self.clock.run(self.gateway.run(command, cancel)).expect("the gateway waits forever")
    }

    fn elapsed_ms(&self) -> u64 {
        self.clock.now().ms_since(Timestamp(1_000_000))
    }
}

fn frame(document_id: &str, url: &str) -> Value {
    json!({
        "documentId": document_id, "documentLifecycle": "active", "errorOccurred": false,
        "frameType": "outermost_frame", "parentFrameId": -1, "url": url,
    })
}

fn target() -> Target {
    Target {
        tab_id: TAB,
        frame_id: 0,
        document_id: Some("D1".to_owned()),
        url: "https://shop.test/order".to_owned(),
        origin: "https://shop.test".to_owned(),
        title: "Order".to_owned(),
    }
}

fn committed(document_id: &str, url: &str) -> ChromeEvent {
    ChromeEvent::NavigationCommitted {
        tab_id: TAB,
        frame_id: 0,
        document_id: document_id.to_owned(),
        url: url.to_owned(),
        transition: "link".to_owned(),
    }
}

fn ready(document_id: &str, url: &str) -> ChromeEvent {
    let (document_id, url) = (document_id.to_owned(), url.to_owned());
    ChromeEvent::NavigationReady { tab_id: TAB, frame_id: 0, document_id, url }
}

fn navigation_failed(error: &str, url: &str) -> ChromeEvent {
    ChromeEvent::NavigationFailed { tab_id: TAB, frame_id: 0, url: url.to_owned(), error: error.to_owned() }
}

fn tab_status(status: &str) -> ChromeEvent {
    ChromeEvent::TabUpdated { tab_id: TAB, status: Some(status.to_owned()), url: None, title: None }
}

fn failure_of(report: Report) -> Failure {
    match report {
        Report::Failed(failure) => failure,
        other => panic!("not a failure: {other:?}"),
    }
}

fn kind_of(report: Report) -> (FailureKind, Reach) {
    let failure = failure_of(report);
    (failure.kind, failure.reach)
}

/// The executor's answer to a request.
fn answer(request: &Value, body: Value) -> Value {
    json!({
        "protocol": PROTOCOL_ID, "schemaHash": SCHEMA_HASH, "requestId": request["requestId"], "body": body,
    })
}

fn clicked() -> Value {
    json!({"kind": "done", "result": {"type": "clicked", "observed": {
        "subject": {"role": "button", "name": "Send"}, "effects": ["navigationStarted"],
        "url": "https://shop.test/order", "settled": true,
    }}})
}

#[test]
fn the_tabs_of_all_windows_are_listed() {
    let scene = Scene::new();
    scene.chrome.on("tabs.query", |_| {
        Reply::ok(json!([
            {"id": 3, "windowId": 1, "url": "https://a.test/", "title": "A", "active": true, "lastAccessed": 17.9},
            {"id": 4, "windowId": 2, "url": "", "pendingUrl": "https://b.test/", "title": "", "active": false},
            {"windowId": 3, "url": "devtools://devtools", "title": "Developer tools"},
        ]))
    });
    let tab = |tab_id, window_id, url: &str, title: &str, active, last_accessed_ms| TabFacts {
        tab_id,
        window_id,
        url: url.to_owned(),
        title: title.to_owned(),
        active,
        last_accessed_ms,
    };
    let tabs = vec![tab(3, 1, "https://a.test/", "A", true, 17), tab(4, 2, "https://b.test/", "", false, 0)];
    assert_eq!(scene.run(Command::ListTabs), Report::Tabs(tabs));
}

#[test]
fn nothing_is_begun_after_a_stop() {
    let scene = Scene::new();
    for command in [
        Command::ListTabs,
        Command::Navigate { tab_id: Some(TAB), url: "https://a.test/".to_owned() },
        Command::Page { target: target(), action: panelot_page_protocol::Action::ReadPage {} },
    ] {
        let report = scene.run_until(command, std::future::ready(()));
        assert_eq!(kind_of(report), (FailureKind::Cancelled, Reach::NotStarted));
    }
    assert_eq!(scene.chrome.calls(), []);
}

/// Counts up, for handlers that answer differently each time.
#[derive(Clone, Default)]
struct Counter(Rc<Cell<u32>>);

impl Counter {
    fn next(&self) -> u32 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    fn get(&self) -> u32 {
        self.0.get()
    }
}
