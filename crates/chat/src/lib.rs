//! Side panel and chat tab, in Leptos: one module for both; `data-page` of the body says which.
//!
//! Invariant: a page shows what `view` knows and sends what the person does; it keeps no state of a conversation itself.
//! Read next: `app.rs`, `thread.rs`, `stream.rs`, `composer.rs`; what the options page has as well is in crate `ui`.

#![expect(
    unreachable_pub,
    reason = "the component macro writes `pub` items; the modules are private to this crate"
)]

mod app;
mod approval;
mod chats;
mod composer;
mod entry;
mod interaction;
mod prose;
mod recovery;
mod stream;
mod thread;

use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the generated glue once the module is loaded.
#[wasm_bindgen(start)]
pub fn start() {
    app::mount();
}
