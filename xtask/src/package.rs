//! `cargo xtask package`: the two archives for the stores.

use anyhow::{Result, bail};

/// `cargo xtask package`
pub(crate) fn command(_arguments: &[String]) -> Result<()> {
    bail!("not yet")
}
