//! Whole turns over a memory store, a scripted provider, a scripted browser and virtual time.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests may fail as loudly as tests"
)]

mod kills;
mod protocol;
mod turns;
mod world;
