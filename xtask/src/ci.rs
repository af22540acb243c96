//! `cargo xtask ci`: everything that a submission must pass, quickest first. It runs to the end and names all failures.

use crate::build::{self, BuildKind};
use crate::tally::Tally;
use crate::{process, project, protocol, setup, sim, size, test, tidy};
use anyhow::Result;
use std::time::Instant;

/// One part of the check. Parts without tests add nothing to the count.
struct Part {
    name: &'static str,
    run: fn() -> Result<Tally>,
}

const PARTS: &[Part] = &[
    Part { name: "setup", run: || setup::ensure_setup().map(|_| Tally::default()) },
    Part { name: "format", run: || without_tests(format()) },
    Part { name: "tidy", run: || without_tests(tidy::check()) },
    Part { name: "clippy", run: || without_tests(clippy()) },
    Part { name: "types of the page executor", run: || without_tests(types()) },
    Part { name: "protocol", run: || without_tests(protocol::check()) },
    Part { name: "unit tests", run: test::unit },
    Part { name: "simulator", run: || without_tests(sim::check()) },
    Part { name: "wasm tests", run: test::wasm },
    Part { name: "browser tests", run: test::end_to_end },
    Part { name: "release build and size", run: || without_tests(release()) },
];

/// `cargo xtask ci`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let [] = project::flags(arguments, [])?;
    let mut total = Tally::default();
    let mut broken = Vec::new();
    for part in PARTS {
        project::say(format!("== {}", part.name));
        let started = Instant::now();
        match (part.run)() {
            Ok(tally) => total += tally,
            Err(error) => {
                project::say(format!("{}: {error:#}", part.name));
                broken.push(format!("failed: {}", part.name));
            }
        }
        project::say(format!("== {}: {:.0} s", part.name, started.elapsed().as_secs_f32()));
    }
    test::conclude(total, &broken)
}

fn without_tests(result: Result<()>) -> Result<Tally> {
    result.map(|()| Tally::default())
}

fn format() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]), "run `cargo fmt --all`")
}

fn clippy() -> Result<()> {
    let mut clippy = process::cargo();
    clippy.args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]);
    process::run(&mut clippy, "fix what clippy says above")
}

fn types() -> Result<()> {
    process::run(
        process::command("node_modules/.bin/tsc").args(["--noEmit", "--project", "page"]),
        "fix what the TypeScript compiler says above",
    )
}

fn release() -> Result<()> {
    let folder = build::build_extension(BuildKind::RELEASE)?;
    size::measure(&folder)?;
    tidy::check_shipped()?;
    tidy::check_test_builds()
}
