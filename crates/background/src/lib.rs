//! The service worker's module: joins the runtime to Chrome, the network and IndexedDB. It decides nothing.
//!
//! The boot script calls `start` once and `deliver` for every event, and replaces the instance when it traps.

#[cfg(feature = "failpoints")]
mod failpoint;
mod models;
mod shell;
mod worker;

use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Starts the engine. `boot` is JSON: `{quarantined: [threadId], epoch, session, language}`; `prefetched` is what
/// `prefetch.js` read from the database, or undefined.
///
/// # Errors
/// When there is no randomness, or `boot` is not as documented. A database that
/// cannot be opened is no error here: it is reported to every view.
#[wasm_bindgen]
pub async fn start(boot: String, prefetched: JsValue) -> Result<(), JsValue> {
    worker::start(&boot, prefetched).await.map_err(|why| js_sys::Error::new(&why).into())
}

/// Hands over an event of the browser, with the arguments of its listener.
///
/// # Errors
/// When the event is not as documented.
#[wasm_bindgen]
pub fn deliver(kind: &str, arguments: &Array) -> Result<(), JsValue> {
    worker::deliver(kind, arguments).map_err(|why| js_sys::Error::new(&why).into())
}
