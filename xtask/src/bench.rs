//! `cargo xtask bench NAME [--json]`: measurements in a real browser, each beside its control in the same run.
//!
//! What is measured is the shipped build, failpoints absent. The measuring is told by the scripts in `e2e/bench/`;
//! a script ends with 0 only where its bounds hold.

use crate::build::{self, BuildKind};
use crate::{browser, process, project, test};
use anyhow::{Context as _, Result, bail};
use std::process::Command;

/// One benchmark.
struct Bench {
    name: &'static str,
    script: &'static str,
    measures: &'static str,
    /// Makes what the script needs beside a browser and the extension, and tells it where that is.
    prepare: fn(&mut Command) -> Result<()>,
}

/// Every benchmark.
const BENCHES: &[Bench] = &[
    Bench {
        name: "start",
        script: "e2e/bench/start.mjs",
        measures: "a cold worker to its first answer, and a message to its first delta",
        prepare: |_| Ok(()),
    },
    Bench {
        name: "stream",
        script: "e2e/bench/stream.mjs",
        measures: "frames, long tasks and delay while a long answer streams",
        prepare: |_| Ok(()),
    },
    Bench {
        name: "engine",
        script: "e2e/bench/engine.mjs",
        measures: "opening and continuing threads of 200 to 20,000 nodes, by the engine alone and in the worker",
        prepare: engine_alone,
    },
];

/// `cargo xtask bench NAME [--json]`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let options: Vec<&String> = arguments.iter().filter(|argument| argument.starts_with("--")).collect();
    let found = BENCHES.iter().find(|bench| names == [bench.name]);
    let (Some(bench), true) = (found, options.iter().all(|option| *option == "--json")) else {
        bail!("say `cargo xtask bench NAME [--json]` with one of:{}", list());
    };
    let browser = browser::ensure()?;
    let extension = build::build_extension(BuildKind::RELEASE)?;
    process::run(
        process::cargo().args(["build", "--quiet", "--package", "panelot-testkit"]),
        "fix what the compiler says above",
    )?;
    project::say(format!("measuring {}", bench.measures));
    let mut node = process::command("node");
    node.arg(bench.script).args(options);
    test::environment_of_browser_tests(&mut node, &browser.chromium, &extension)?;
    (bench.prepare)(&mut node)?;
    process::run(&mut node, "a bound marked BROKEN above does not hold, or the script says what failed")
}

/// Measures the engine without a browser, and writes the rows of the threads that are measured in one.
fn engine_alone(node: &mut Command) -> Result<()> {
    for (what, variable) in [("native", "PANELOT_ENGINE_NATIVE"), ("rows", "PANELOT_ENGINE_ROWS")] {
        let mut cargo = process::cargo();
        cargo.args("run --quiet --package panelot-sim --bin engine-bench --profile sim".split(' '));
        let output = cargo.args(["--", what]).output().context("cargo cannot be started")?;
        if !output.status.success() {
            bail!("engine-bench {what}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let file = project::scratch()?.join(format!("engine-{what}.json"));
        project::write(&file, output.stdout)?;
        node.env(variable, file);
    }
    Ok(())
}

fn list() -> String {
    BENCHES.iter().map(|bench| format!("\n  {}: {}", bench.name, bench.measures)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_benchmark_or_option_is_answered_with_the_list() {
        for wrong in [&["x"][..], &[], &["start", "--fast"], &["start", "stream"]] {
            let arguments: Vec<String> = wrong.iter().map(|it| (*it).to_owned()).collect();
            let error = command(&arguments).unwrap_err().to_string();
            assert!(error.contains("\n  start: ") && error.contains("\n  stream: "), "{error}");
        }
    }

    #[test]
    fn every_benchmark_has_its_script() {
        for bench in BENCHES {
            assert!(project::root().join(bench.script).is_file(), "{}", bench.script);
        }
    }
}
