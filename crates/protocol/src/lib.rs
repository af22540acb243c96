//! The wire between the engine and its views: operations in, events out, JSON over a Port.
//!
//! Invariant: a value of these types is valid; what cannot be valid does not decode. The crate knows nothing of how
//! the engine stores or a view draws. Read next: `op.rs`, `event.rs`, `codec.rs`.

pub mod budget;
mod codec;
pub mod connection;
pub mod event;
pub mod manifest;
pub mod op;
pub mod settings;
pub mod snapshot;
mod text;

pub use codec::{
    DecodeError, DirectoryCursor, EventDecode, EventMessage, OpMessage, RejectedOp, StreamCursor,
    decode_event, decode_op,
};
pub use event::Event;
pub use op::{Op, Receipting, Scope};
pub use text::Text;

/// Iterations of PBKDF2-SHA-256 by which a passphrase gives a key of 32 bytes, with a salt of 16 (OWASP, 2023).
pub const KDF_ITERATIONS: u32 = 600_000;

/// The protocol's name. It changes only when the frozen `fatal.reload_required` could no longer be understood.
pub const PROTOCOL: &str = "panelot/engine-v1";
/// The name of the Port.
pub const PORT_NAME: &str = "panelot-engine";
/// SHA-256 of the [`manifest::canonical_manifest`], as `cargo xtask protocol write` recorded it.
pub const SCHEMA_HASH: &str = include_str!("../schema/hash.txt");
