//! The client machine against a fake Port and a small model of the engine.

mod behaviour;
mod engine;
mod joining;
mod mirror;
mod rig;
