//! The store on IndexedDB: a thin layer that turns one commit into one transaction.
//!
//! IndexedDB commits a transaction as soon as control returns with no request pending. So everything that can wait or
//! fail is done before, and then all requests are made in one go. Read next: `store.rs`, then `open.rs`.

mod event;
mod open;
mod row;
mod seal;
mod store;

#[cfg(all(test, target_arch = "wasm32"))]
mod tests;

pub use seal::WebCipher;
pub use store::{IndexedDbStore, TableReads};

/// The name of the database in the extension's origin.
pub const DATABASE: &str = "panelot";
