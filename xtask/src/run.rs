//! `cargo xtask run`.

use anyhow::{Result, bail};

/// `cargo xtask run`
pub(crate) fn command(_arguments: &[String]) -> Result<()> {
    bail!("`run` is not built yet")
}
