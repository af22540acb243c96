//! The vocabulary that every other crate shares: identifiers, time, limits, digests, and values that must not leak.
//!
//! Nothing here reads a clock, draws a random number or touches a browser. Read next: `id.rs`.

// The derive names this crate from outside, in its own tests too.
extern crate self as panelot_base;

pub mod digest;
pub mod id;
pub mod json;
pub mod limits;
mod safe_url;
mod secret;
mod sorted;
mod time;
mod web_address;

pub use id::{
    ApprovalId, ClientId, ConnectionId, EnvironmentDigest, IdSource, InvalidId, ItemId, ModelCallId, RuleId,
    RunId, SessionId, SubmissionId, ThreadId, TurnId,
};
pub use safe_url::SafeUrl;
pub use secret::Secret;
pub use sorted::{SortedMap, SortedSet};
pub use time::Timestamp;
pub use web_address::{AddressParts, NotAnAddress, WebAddress};
#[cfg(target_family = "wasm")]
pub use web_address::{AddressReader, set_address_reader};
