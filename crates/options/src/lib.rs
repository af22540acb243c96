//! The options page, in Leptos: connections, permissions, language and theme.
//!
//! It is a module of its own, so that no chat loads the code of settings.
//! Read next: `page.rs`, `welcome.rs`, `connection.rs`, `form.rs`; what the other pages have as well is in crate `ui`.

#![expect(
    unreachable_pub,
    reason = "the component macro writes `pub` items; the modules are private to this crate"
)]

mod built_in;
mod connection;
mod form;
mod page;
mod passphrase;
mod templates;
mod trial;
mod welcome;

use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the generated glue once the module is loaded.
#[wasm_bindgen(start)]
pub fn start() {
    page::mount();
}
