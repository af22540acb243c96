//! Whole turns over a memory store, a scripted provider, a scripted browser and virtual time.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the helpers of tests may fail as loudly as tests"
)]

mod compaction;
mod course;
mod faults;
mod kills;
mod mirror;
mod pace;
mod promises;
mod protocol;
mod providers;
mod queue;
mod random;
mod secrets;
mod title;
mod tree;
mod turns;
mod waits;
mod world;
