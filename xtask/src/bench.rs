//! `cargo xtask bench`.

use anyhow::{Result, bail};

/// `cargo xtask bench`
pub(crate) fn command(_arguments: &[String]) -> Result<()> {
    bail!("`bench` is not built yet")
}
