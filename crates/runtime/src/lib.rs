//! Drives the engine: takes inputs in a fair order, applies each step's commit, and only then runs its effects.
//!
//! Invariant: no effect runs whose commit did not succeed; a thread whose commit failed is dropped and read anew. The
//! crate decides nothing and touches no browser: everything outside is a [`Ports`]. Read next: `driver.rs`.

mod boot;
mod driver;
#[cfg(feature = "failpoints")]
mod failpoints;
mod mailbox;
mod model;
mod ports;
mod tasks;

pub use boot::{BootFacts, boot_of, read_boot};
pub use driver::Runtime;
pub use ports::{Browser, Ports, StepTask};
