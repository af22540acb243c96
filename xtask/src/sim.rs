//! `cargo xtask sim`: builds the simulator with its own profile and runs it.
//!
//! With `--bugs` it is built with the deliberate bugs, and each must be found. docs/simulator.md explains both.

use crate::{process, project};
use anyhow::Result;
use std::process::Command;

/// The profile of Cargo.toml: quick enough for thousands of lives.
const PROFILE: &str = "sim";

/// What every submission must pass: some lives, and every deliberate bug found. The lives come first, and both with the
/// one build that has the bugs in it, all of them switched off in the lives.
const CHECK: [&[&str]; 2] = [&["--seeds", "200"], &["--bugs"]];

/// A short run for `cargo xtask ci`.
pub(crate) fn check() -> Result<()> {
    for arguments in CHECK {
        process::run(
            cargo(true).arg("--").args(arguments),
            "the lines above say what was broken or not found",
        )?;
    }
    Ok(())
}

/// `cargo xtask sim`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let bugs = arguments.iter().any(|argument| argument == "--bugs");
    let mut cargo = cargo(bugs);
    cargo.arg("--").args(arguments);
    project::say("building the simulator");
    process::run(&mut cargo, "the lines above say what was broken and how to see it again")
}

fn cargo(bugs: bool) -> Command {
    let mut cargo = process::cargo();
    cargo.args(["run", "--quiet", "--package", "panelot-sim", "--bin", "panelot-sim", "--profile", PROFILE]);
    if bugs {
        cargo.args(["--features", "bugs"]);
    }
    cargo
}
