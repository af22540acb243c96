//! The runtime's ports, joined to the browser.

use std::rc::Rc;

use panelot_base::limits::ALARM_MIN_MS;
use panelot_base::{Secret, ThreadId, Timestamp};
use panelot_chrome::PortId;
use panelot_chrome::{Chrome, Clock, Ports as ChromePorts, alarms, runtime, storage};
use panelot_chrome::{Gateway, Lookup};
use panelot_engine::{ConnectionHandle, TargetLookup};
use panelot_runtime::{Browser, Ports, StepTask};
use panelot_store_indexeddb::IndexedDbStore;
use panelot_tools::{Command, Report, TargetError, TargetFacts};
use panelot_web as web;
use serde_json::Value;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::models::ModelsModule;

/// The alarm that wakes a sleeping worker for the next deadline.
pub(crate) const ALARM: &str = "panelot-wake";

/// In `storage.session`, which is memory and closed to content scripts: what unlocks the credentials. `prefetch.js` reads it.
const UNLOCKED_KEY: &str = "panelot_unlocked";

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = panelotEntering)]
    fn panelot_entering(thread: Option<&str>);

    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(message: &JsValue);
}

/// Notes which thread is being worked on, where a trap cannot erase it.
pub(crate) fn entering(thread: Option<&ThreadId>) {
    panelot_entering(thread.map(ThreadId::as_str));
}

/// Writes to the worker's console.
pub(crate) fn log(message: &str) {
    console_error(&JsValue::from_str(&format!("Panelot: {message}")));
}

/// The browser's own clock.
pub(crate) struct WebClock;

impl Clock for WebClock {
    fn now(&self) -> Timestamp {
        web::now()
    }

    async fn sleep(&self, ms: u64) {
        web::sleep_ms(ms).await;
    }
}

/// The gateway to tabs and pages, shared with whoever delivers the browser's events.
pub(crate) type Tabs = Gateway<Chrome, WebClock>;

/// The runtime's way to tabs and pages.
pub(crate) struct TabsBrowser(pub(crate) Rc<Tabs>);

impl Browser for TabsBrowser {
    async fn resolve(&self, lookup: &TargetLookup) -> Result<TargetFacts, TargetError> {
        self.0
            .resolve(Lookup {
                kind: lookup.call.target_kind(),
                tab_id: lookup.call.tab_id(),
                default_tab: lookup.default_tab,
                opens_tab: lookup.call.opens_tab(),
            })
            .await
    }

    async fn run(&self, command: Command, cancelled: impl Future<Output = ()>) -> Report {
        self.0.run(command, cancelled).await
    }
}

/// Everything outside of the runtime.
pub(crate) struct Shell {
    pub(crate) store: IndexedDbStore,
    pub(crate) models: ModelsModule,
    pub(crate) browser: TabsBrowser,
    pub(crate) ports: Rc<ChromePorts>,
}

impl Ports for Shell {
    type Store = IndexedDbStore;
    type Models = ModelsModule;
    type Browser = TabsBrowser;

    fn store(&self) -> &IndexedDbStore {
        &self.store
    }

    fn models(&self) -> &ModelsModule {
        &self.models
    }

    fn browser(&self) -> &TabsBrowser {
        &self.browser
    }

    fn now(&self) -> Timestamp {
        web::now()
    }

    async fn sleep(&self, ms: u64) {
        web::sleep_ms(ms).await;
    }

    async fn yield_now(&self) {
        web::yield_to_event_loop().await;
    }

    fn spawn(&self, task: StepTask) {
        web::spawn(task);
    }

    fn post(&self, to: ConnectionHandle, message: &Value) {
        // A view that is gone cannot be told; its disconnect is on its way.
        let _ = self.ports.post(PortId(to.0), message);
    }

    fn close(&self, to: ConnectionHandle) {
        self.ports.disconnect(PortId(to.0));
    }

    fn set_alarm(&self, at: Option<Timestamp>) {
        web::spawn(async move {
            let set = match at {
                // Chrome rounds an earlier alarm up; below that a timer of the living worker does.
                Some(at) => {
                    let earliest = web::now().plus_ms(ALARM_MIN_MS);
                    alarms::create(&Chrome, ALARM, at.max(earliest)).await
                }
                None => alarms::clear(&Chrome, ALARM).await,
            };
            if let Err(error) = set {
                log(&format!("the wake-up cannot be set: {error}"));
            }
        });
    }

    fn keep_session_key(&self, key: Option<Secret>) {
        web::spawn(async move {
            let kept = match key {
                Some(key) => {
                    storage::set(&Chrome, storage::Area::Session, UNLOCKED_KEY, key.expose().into()).await
                }
                None => storage::remove(&Chrome, storage::Area::Session, UNLOCKED_KEY).await,
            };
            if let Err(error) = kept {
                log(&format!("whether the keys are unlocked cannot be kept: {error}"));
            }
        });
    }

    fn keep_alive(&self) {
        web::spawn(async {
            let _ = runtime::keep_alive(&Chrome).await;
        });
    }

    fn reload(&self) {
        if let Err(error) = runtime::reload(&Chrome) {
            log(&format!("the update cannot be installed: {error}"));
        }
    }

    fn entering(&self, thread: Option<&ThreadId>) {
        entering(thread);
    }

    fn log(&self, message: &str) {
        log(message);
    }

    #[cfg(feature = "failpoints")]
    async fn failpoint(&self, name: &'static str, thread: &ThreadId) {
        crate::failpoint::reach(name, thread).await;
    }
}
