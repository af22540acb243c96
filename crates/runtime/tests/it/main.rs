//! Whole turns over a memory store, a scripted provider, a scripted browser and virtual time.

mod kills;
mod protocol;
mod turns;
mod world;
