//! Calls of models over a network: what to send, how long to wait, what came back while it streamed and at its end.
//!
//! [`Models`] is the face; [`Client`] answers it over any [`World`]. The worker has `Client` in a module of its own, which
//! loads with the first call, so the types of the face have a JSON form. Invariant: dropping a future ends its request.
//! Absent: which model to call when, what to store, whether to try again: the engine decides. Read next: `call.rs`, `client.rs`.

mod call;
mod client;
mod stream;
mod world;

pub use call::{Call, CallError, Delta, Models, Outcome, Place, Probe, Secrets};
pub use client::Client;
pub use world::{Answer, Body, Network, NetworkError, World};
