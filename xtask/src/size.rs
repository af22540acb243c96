//! `cargo xtask size`: the bytes of each shipped module against `size-budget.json`.

use crate::build::{self, BuildKind};
use crate::project;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The committed budget: a path in the extension, and the bytes it may have before compression.
const BUDGET: &str = "size-budget.json";

/// `cargo xtask size`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let [] = project::flags(arguments, [])?;
    measure(&build::build_extension(BuildKind::RELEASE)?)
}

/// Prints and checks the sizes of a built extension.
pub(crate) fn measure(folder: &Path) -> Result<()> {
    let budget: BTreeMap<String, u64> = serde_json::from_str(&project::read(&project::root().join(BUDGET))?)
        .with_context(|| format!("{BUDGET} is no map of paths to bytes"))?;
    let mut too_big = Vec::new();
    for (path, allowed) in &budget {
        let bytes = fs::metadata(folder.join(path))
            .with_context(|| format!("{BUDGET} names {path}, which the build did not make"))?
            .len();
        println!("{path:<42} {bytes:>9} of {allowed:>9} bytes ({:>3} %)", bytes * 100 / allowed.max(&1));
        if bytes > *allowed {
            too_big.push(path.as_str());
        }
    }
    if !too_big.is_empty() {
        bail!(
            "over budget: {}; find what grew with `cargo tree` and `twiggy`, or argue for a new number in {BUDGET}",
            too_big.join(", ")
        );
    }
    Ok(())
}
