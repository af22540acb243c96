//! The client machine against a fake Port and a small model of the engine.

mod arranging;
mod connection;
mod conversation;
mod engine;
mod joining;
mod mirror;
mod rig;
