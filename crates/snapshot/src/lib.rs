//! Turns the facts of a page into text for a model: an outline under a hard token cap, the most relevant part first.
//!
//! Nothing on a page can forge a line, a reference or a quote of the outline. Read next: `outline.rs`, then `paging.rs`.

pub mod escape;
mod line;
mod outline;
mod paging;

pub use line::{is_secret_field, line_of};
pub use outline::Filter;
pub use paging::{Snapshot, TOKENS_MAX_DEFAULT, TOKENS_MIN, View, render};
