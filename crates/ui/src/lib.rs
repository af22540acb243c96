//! The pages: side panel, chat tab and options, in Leptos. One wasm for all three; `data-page` of the body says which.
//!
//! Invariant: a page shows what `view` knows and sends what the person does; it keeps no state of a conversation itself.
//! Read next: `session.rs`, `app.rs`, `stream.rs`, `composer.rs`.

#![expect(
    unreachable_pub,
    reason = "the component macro writes `pub` items; the modules are private to this crate"
)]

mod app;
mod approval;
mod chats;
mod composer;
mod connection;
mod entry;
mod failure;
mod glyph;
pub mod i18n;
mod interaction;
mod options;
mod platform;
mod prose;
mod recovery;
mod session;
mod stream;
mod templates;
mod thread;
pub mod words;

use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the generated glue once the module is loaded.
#[wasm_bindgen(start)]
pub fn start() {
    app::mount();
}
