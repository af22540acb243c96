//! `cargo xtask protocol check|write`: the recorded wire contract against the one of the Rust types.

use crate::{process, project};
use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The recorded contract, and its hash beside it.
const MANIFEST: &str = "crates/protocol/schema/manifest.json";
const HASH: &str = "crates/protocol/schema/hash.txt";

/// What the program `protocol-contract` prints.
#[derive(Deserialize)]
struct Contract {
    manifest: String,
    hash: String,
}

/// `cargo xtask protocol check|write`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    match arguments {
        [action] if action == "check" => check(),
        [action] if action == "write" => write(),
        _ => bail!("say `cargo xtask protocol check` or `cargo xtask protocol write`"),
    }
}

/// Fails when the recorded contract is not that of the types.
pub(crate) fn check() -> Result<()> {
    let contract = contract()?;
    let root = project::root();
    let recorded = project::read(&root.join(MANIFEST)).unwrap_or_default();
    let hash = project::read(&root.join(HASH)).unwrap_or_default();
    if recorded.trim_end() == contract.manifest.trim_end() && hash.trim_end() == contract.hash {
        project::say(format!("the recorded wire contract is current: {}", contract.hash));
        return Ok(());
    }
    if let Some(difference) = first_difference(&recorded, &contract.manifest) {
        project::say(difference);
    }
    bail!(
        "the wire contract is {}, recorded is {}; if the change is meant, run `cargo xtask protocol write` and \
         review the difference of {MANIFEST}",
        contract.hash,
        if hash.is_empty() { "none" } else { hash.trim_end() }
    )
}

fn write() -> Result<()> {
    let contract = contract()?;
    let root = project::root();
    project::write(&root.join(MANIFEST), format!("{}\n", contract.manifest.trim_end()))?;
    project::write(&root.join(HASH), &contract.hash)?;
    project::say(format!("recorded the wire contract {}", contract.hash));
    Ok(())
}

fn contract() -> Result<Contract> {
    let mut cargo = process::cargo();
    cargo.args(["run", "--quiet", "--package", "xtask", "--features", "protocol-contract"]);
    cargo.args(["--bin", "protocol-contract"]);
    let text = process::output(&mut cargo).context("the crate protocol must compile first")?;
    serde_json::from_str(&text).context("protocol-contract printed something else than its contract")
}

fn first_difference(recorded: &str, current: &str) -> Option<String> {
    let mut lines = (1..).zip(recorded.lines().zip(current.lines()));
    let (number, (before, after)) = lines.find(|(_, (before, after))| before != after)?;
    let short = |line: &str| line.trim().chars().take(160).collect::<String>();
    Some(format!("first difference, line {number}: recorded {:?}, now {:?}", short(before), short(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        let found = first_difference("{\n  a\n}", "{\n  b\n}").unwrap();
        assert_eq!(found, "first difference, line 2: recorded \"a\", now \"b\"");
        assert_eq!(first_difference("{}", "{}"), None);
    }
}
