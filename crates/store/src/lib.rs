//! Where records are kept: the [`Store`] trait, what a store refuses, and a store in memory.
//!
//! A store applies one [`panelot_records::Commit`] at a time, all or nothing, and decides nothing else.
//! Read next: `store.rs`, then `head.rs`; `conformance.rs` says what every store must do.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod head;
mod memory;
mod prepare;
mod seal;
mod store;

pub use error::{CommitError, HeadError, SealError, StoreError};
pub use head::PathPage;
pub use memory::MemoryStore;
pub use prepare::{Change, Prepared, prepare};
pub use seal::{Cipher, KEY_BYTES, Sealed, Sealer, TestCipher};
pub use store::{ReadRecord, Store};
