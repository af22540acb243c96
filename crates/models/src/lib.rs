//! The worker's second module: calls of models, by the browser's own `fetch`. It decides nothing.
//!
//! It loads with the first call (`extension/models.js`), so that no start of the worker waits for the wires of providers.
//! The engine's module reaches it through that script (`models.rs` in crate `background`): what crosses is JSON,
//! in the types of `model-client`.

mod network;

use std::cell::RefCell;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use futures_util::pin_mut;
use js_sys::Function;
use panelot_base::json::{FromJson, ToJson};
use panelot_base::{Secret, SortedMap, ThreadId, Timestamp};
use panelot_model_client::{Call, CallError, Client, Delta, Models as _, Outcome, Probe, Secrets, World};
use panelot_provider::verify::StepReport;
use panelot_web as web;
use serde_json::Value;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::network::Fetch;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = panelotEntering)]
    fn panelot_entering(thread: Option<&str>);
}

thread_local! {
    /// The ways to stop what is under way, by the caller's number.
    static CANCELS: RefCell<SortedMap<u32, oneshot::Sender<()>>> = const { RefCell::new(SortedMap::new()) };
}

/// The browser.
struct Browser(Fetch);

impl World for Browser {
    type Network = Fetch;

    fn network(&self) -> &Fetch {
        &self.0
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

    fn entering(&self, thread: Option<&ThreadId>) {
        panelot_entering(thread.map(ThreadId::as_str));
    }
}

const CLIENT: Client<Browser> = Client::new(Browser(Fetch));

/// Calls a model. `call` is the JSON of a [`Call`]; `deltas` is called with more text and more reasoning. The promise
/// resolves with the JSON of an [`Outcome`]; when [`cancel`] ended it, that says so.
#[wasm_bindgen]
pub async fn answer(number: u32, call: String, secrets: Vec<String>, deltas: Function) -> String {
    let told = Box::new(move |Delta { text, reasoning }| {
        // The engine may be gone by now; then nobody wants the rest.
        let _ = deltas.call2(&JsValue::NULL, &JsValue::from_str(&text), &JsValue::from_str(&reasoning));
    });
    ending(number, async {
        let call: Call = read(&call)?;
        let secrets = secrets_of(call.place.headers.len(), secrets);
        CLIENT.answer(call, secrets, told).await.map(Outcome::Answer)
    })
    .await
}

/// Tries a connection. `probe` is the JSON of a [`Probe`]; `told` is called with the JSON of each part's report; otherwise
/// as [`answer`].
#[wasm_bindgen]
pub async fn verify(number: u32, probe: String, secrets: Vec<String>, told: Function) -> String {
    let told = Box::new(move |report: StepReport| {
        let _ = told.call1(&JsValue::NULL, &JsValue::from_str(&report.to_json().to_string()));
    });
    ending(number, async {
        let probe: Probe = read(&probe)?;
        let secrets = secrets_of(probe.place.headers.len(), secrets);
        CLIENT.verify(probe, secrets, told).await.map(Outcome::Tried)
    })
    .await
}

/// Ends the request of a call; after its end it does nothing.
#[wasm_bindgen]
pub fn cancel(number: u32) {
    CANCELS.with_borrow_mut(|cancels| cancels.remove(&number));
}

/// Ends every request: the engine that made them is no more.
#[wasm_bindgen]
pub fn cancel_all() {
    CANCELS.take();
}

/// What crosses as one list: the values of so many headers, then the keys.
fn secrets_of(headers: usize, all: Vec<String>) -> Secrets {
    let mut headers_first: Vec<Secret> = all.into_iter().map(Secret::new).collect();
    let keys = headers_first.split_off(headers.min(headers_first.len()));
    Secrets { keys, headers: headers_first }
}

fn read<T: FromJson>(text: &str) -> Result<T, CallError> {
    let ours = |error: String| CallError::Ours(format!("the call cannot be read: {error}"));
    let value: Value = serde_json::from_str(text).map_err(|error| ours(error.to_string()))?;
    T::from_json(value).map_err(|error| ours(error.to_string()))
}

/// Runs a call to its end, unless it is cancelled.
async fn ending(number: u32, call: impl Future<Output = Result<Outcome, CallError>>) -> String {
    #[cfg(target_family = "wasm")]
    panelot_base::set_address_reader(web::read_address);
    let (sender, cancelled) = oneshot::channel();
    CANCELS.with_borrow_mut(|cancels| cancels.insert(number, sender));
    let ended = {
        pin_mut!(call);
        match select(call, cancelled).await {
            Either::Left((outcome, _)) => outcome.unwrap_or_else(Outcome::Failed),
            // Dropping the call ended its request. Whoever asked is no longer there.
            Either::Right(_) => Outcome::Failed(CallError::Ours("cancelled".to_owned())),
        }
    };
    cancel(number);
    ended.to_json().to_string()
}
