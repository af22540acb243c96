//! Streaming Markdown: text in, a tree of blocks out, so that a renderer builds nodes and never needs `innerHTML`.
//!
//! Appending parses only what can still change. Read next: `tree.rs` for what comes out, `document.rs` for how.

mod build;
mod document;
mod fence;
mod link;
mod tree;

pub use document::{Document, Node};
pub use link::safe_link;
pub use tree::{Align, Block, Inline, Item};
