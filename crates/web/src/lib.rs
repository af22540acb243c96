//! What the engine and the views need of the web platform: streaming requests, timers, locks, the clock, random bytes.
//!
//! Works in a service worker and in a page alike. It compiles on the host so that it can be checked and linted there,
//! but a call needs a browser: on the host wasm-bindgen panics. Decisions live elsewhere, behind traits.

mod address;
mod fetch;
mod lock;
mod passphrase;
mod timer;

pub use address::read_address;
pub use fetch::{AbortHandle, Body, Fetch, FetchError, HeaderValue, Request, Response, fetch};
pub use lock::hold_lock;
pub use passphrase::{NoKey, derive_key, to_base64};
pub use timer::{Timer, sleep_ms, yield_to_event_loop};

use js_sys::Date;
use panelot_base::Timestamp;
use std::future::Future;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues, catch)]
    fn get_random_values(bytes: &mut [u8]) -> Result<JsValue, JsValue>;
}

/// The browser's clock.
#[must_use]
pub fn now() -> Timestamp {
    // Date.now() is a whole number of milliseconds far below 2^53; before 1970 it is clamped to zero.
    Timestamp(Date::now() as u64)
}

/// The browser has no randomness to give: more was asked for than its quota, or the page is not a secure context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes to be had")]
pub struct NoRandomness;

/// Cryptographically strong random bytes. `N` is at most 65,536, the quota of `crypto.getRandomValues`.
///
/// # Errors
/// [`NoRandomness`]; the caller must not go on with a weak value.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    get_random_values(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Runs a future on the event loop, from the next microtask on. A panic in it traps the module.
pub fn spawn(future: impl Future<Output = ()> + 'static) {
    wasm_bindgen_futures::spawn_local(future);
}
