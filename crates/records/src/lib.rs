//! What is stored: every persistent record, the key it is found under, and the commit that changes several at once.
//!
//! Nothing here knows a database. A record knows its table, its key and its JSON; a [`Commit`] is plain data.
//! Read next: `commit.rs`, then `thread.rs` and `run.rs`.

pub mod approval;
pub mod commit;
pub mod key;
pub mod node;
pub mod receipt;
pub mod record;
pub mod run;
pub mod settings;
pub mod thread;

pub use approval::{Approval, ApprovalState, Decision, Response, WaitKind};
pub use commit::{Commit, Durability, Expected, Precondition, Write};
pub use key::{Key, KeyPart, Scan, Table};
pub use node::{Body, Node, NoticeKind, StoredCall};
pub use receipt::{Outcome, Receipt};
pub use record::{RECORD_VERSION, Record, RecordError, Row};
pub use run::{Batch, Call, CallState, Environment, Run, RunState};
pub use settings::{
    Connection, Draft, Grant, ModelEntry, Preset, ProviderWire, Rule, SealedSecret, Settings, StoredHeader,
    StoredKey, Vault,
};
pub use thread::{Chain, Thread, ThreadHead};

/// The version of the database's shape (its tables). Raised with a migration step in the stores.
pub const SCHEMA_VERSION: u32 = 1;
