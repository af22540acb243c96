//! `cargo xtask sim`: builds the simulator with its own profile and runs it.
//!
//! With `--bugs` it is built with the deliberate bugs, and each must be found. docs/simulator.md explains both.

use crate::{process, project};
use anyhow::Result;
use std::process::Command;

/// The profile of Cargo.toml: quick enough for thousands of lives.
const PROFILE: &str = "sim";

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
