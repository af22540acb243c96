//! What tests and the demo talk to instead of the world: a scripted OpenAI-compatible model server and
//! sample sites, each on a loopback port of its own.
//!
//! Open `scenario.rs` for what a script may say, `model.rs` for the server that plays it and `site.rs` for the
//! sites. Everything is plain threads and sockets: nothing here is shipped, and it must compile quickly.

pub mod http;
pub mod legality;
pub mod model;
mod play;
pub mod scenario;
pub mod site;

/// Milliseconds since 1970 by this machine's clock: comparable with `Date.now()` of a browser on it.
#[must_use]
pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod socket_tests;
