//! The deliberate bugs: those of the engine, and those of this driver. Without the feature `bugs` none is ever on.

pub(crate) use panelot_engine::bugs::{Bug, is_on};
