//! The engine: it decides, and does nothing else. Time, ids and outcomes go in; commits and effects come out.
//!
//! Invariant: an effect is only ever in a [`Step`] whose commit makes it true that the effect was decided. The engine
//! knows no provider's JSON, no database and no browser. Read next: `step.rs`, `engine.rs`, `thread.rs`.

mod branches;
pub mod bugs;
pub mod context;
mod directory;
mod engine;
mod input;
mod project;
mod providers;
mod receipt;
mod step;
mod thread;

pub use engine::{Boot, Engine};
pub use input::{ConnectionHandle, Found, Input, ModelInput, PageSignal, TargetPhase, Wanted};
pub use step::{
    Access, Audience, Credential, Cut, Effect, ModelCall, Purpose, Reminder, Room, Step, TargetLookup, Trial,
};
