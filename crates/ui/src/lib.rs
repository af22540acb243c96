//! What the pages share, in Leptos: the session with the engine, the words, the browser, and small parts of a view.
//!
//! Invariant: a page shows what `view` knows and sends what the person does; it keeps no state of a conversation itself.
//! The pages themselves are modules of their own: crates `chat` (side panel and chat tab) and `options`.
//! Read next: `page.rs`, `session.rs`.

pub mod choice;
pub mod failure;
pub mod glyph;
pub mod i18n;
pub mod page;
pub mod platform;
pub mod session;
pub mod words;
