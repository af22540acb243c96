//! The tools that a model may call: what they are, what their arguments may be, what the browser must do for a call,
//! and what its outcome means. Pure: no tool runs here.
//!
//! Read next: `descriptor.rs`, then `catalogue.rs`.

pub mod address;
pub mod argument;
pub mod call;
pub mod catalogue;
pub mod command;
pub mod descriptor;
pub mod interpret;
pub mod target;
mod watch;

pub use argument::ArgumentError;
pub use call::{Call, CallKind, Condition, PageFilter, Summary};
pub use catalogue::Catalogue;
pub use command::{Command, Failure, FailureKind, Reach, Report, TabFacts};
pub use descriptor::{Descriptor, Effect, Level, Recovery, TargetKind};
pub use interpret::{ToolOutcome, interpret, target_refusal};
pub use panelot_snapshot::{is_secret_field, line_of};
pub use target::{HostAccess, Target, TargetError, TargetFacts};
pub use watch::came_about;
