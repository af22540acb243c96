//! `cargo xtask test [unit|wasm|e2e]`: the three kinds of tests, each with what it needs set up first; and
//! `cargo xtask test kill [--repeat N]`, those of the browser tests that kill the worker, N rounds of each.

use crate::build::{self, BuildKind};
use crate::tally::{self, Tally};
use crate::{browser, process, project, setup};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One kind of tests.
struct Suite {
    name: &'static str,
    run: fn() -> Result<Tally>,
}

/// Every kind, quickest first.
const SUITES: &[Suite] = &[
    Suite { name: "unit", run: unit },
    Suite { name: "wasm", run: wasm },
    Suite { name: "e2e", run: end_to_end },
];

/// Where tests that node runs are found: the executor's, the comparisons with packages of npm, and the whole
/// extension's.
const NODE_TESTS: [&str; 3] = ["page/test", "crates/provider/tests/node", "e2e"];
/// What every headless Chromium of ours is started with.
const HEADLESS: &[&str] = &["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];

/// The browser tests that kill the worker at each point; a run of all makes one round of them.
const KILL_TESTS: &str = "e2e/kill.test.mjs";
/// Where they are told the number of rounds.
const ROUNDS: &str = "PANELOT_REPEAT";

/// `cargo xtask test [unit|wasm|e2e]`, `cargo xtask test kill [--repeat N]`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    if let Some(rounds) = rounds(arguments) {
        project::say(format!("tests: kill, rounds: {rounds}"));
        let run = browser_tests(&[KILL_TESTS.into()], |node| {
            node.env(ROUNDS, rounds.to_string());
        });
        return match run {
            Ok(tally) => conclude(tally, &[]),
            Err(error) => conclude(Tally::default(), &[format!("kill: {error:#}")]),
        };
    }
    let suites: Vec<&Suite> = match arguments {
        [] => SUITES.iter().collect(),
        [name] => SUITES.iter().filter(|suite| suite.name == name).collect(),
        _ => Vec::new(),
    };
    if suites.is_empty() {
        bail!("say `cargo xtask test`, or one of unit, wasm, e2e, kill [--repeat N] after it");
    }
    let mut total = Tally::default();
    let mut broken = Vec::new();
    for suite in suites {
        project::say(format!("tests: {}", suite.name));
        match (suite.run)() {
            Ok(tally) => total += tally,
            Err(error) => broken.push(format!("{}: {error:#}", suite.name)),
        }
    }
    conclude(total, &broken)
}

/// The rounds of `kill [--repeat N]`, which are one unless given.
fn rounds(arguments: &[String]) -> Option<u32> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kill"] => Some(1),
        ["kill", "--repeat", rounds] => rounds.parse().ok().filter(|&rounds| rounds > 0),
        _ => None,
    }
}

/// Prints the closing line and fails if anything did.
pub(crate) fn conclude(total: Tally, broken: &[String]) -> Result<()> {
    for problem in broken {
        project::say(problem);
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed > 0 || !broken.is_empty() {
        bail!("not everything passed; each failure is named above");
    }
    if total.passed == 0 {
        bail!("no test ran");
    }
    Ok(())
}

/// Everything that runs on the host.
pub(crate) fn unit() -> Result<Tally> {
    let mut tests = process::cargo();
    if process::succeeds_within(process::cargo().args(["nextest", "--version"]), setup::QUICK) {
        tests.args(["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "fail"]);
        tests.args(["--final-status-level", "fail", "--cargo-quiet"]);
    } else {
        tests.args(["test", "--quiet", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    }
    let mut total = tally::run(&mut tests)?;
    // nextest runs no examples in documentation.
    total +=
        tally::run(process::cargo().args(["test", "--quiet", "--workspace", "--no-fail-fast", "--doc"]))?;
    Ok(total)
}

/// What only a browser has: the crates with `wasm-tests = true` in `[package.metadata.panelot]`.
pub(crate) fn wasm() -> Result<Tally> {
    let (tools, browser) = setup::ensure_setup()?;
    let driver = browser.driver.context(
        "the wasm tests need a WebDriver that fits the browser: install chromium-driver, or set CHROMEDRIVER",
    )?;
    let packages = packages_with_wasm_tests(&build::metadata()?);
    if packages.is_empty() {
        project::say("no crate has wasm tests");
        return Ok(Tally::default());
    }
    let runner = build_runner()?;
    let capabilities = project::scratch()?.join("webdriver.json");
    let chrome = json!({ "binary": browser.chromium, "args": HEADLESS });
    project::write(&capabilities, json!({ "goog:chromeOptions": chrome }).to_string())?;
    let mut total = Tally::default();
    for package in packages {
        let mut tests = tools.wasm.cargo("test", false);
        // Not --quiet: cargo would hand that on to the runner, which does not know it.
        tests.args(["--package", &package, "--lib", "--tests", "--no-fail-fast"]);
        tests.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", &runner);
        tests.env("CHROMEDRIVER", &driver);
        tests.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &capabilities);
        total += tally::run(&mut tests)?;
    }
    Ok(total)
}

fn packages_with_wasm_tests(metadata: &Value) -> Vec<String> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    packages
        .filter(|package| package.pointer("/metadata/panelot/wasm-tests") == Some(&Value::Bool(true)))
        .filter_map(|package| package.get("name")?.as_str().map(str::to_owned))
        .collect()
}

fn build_runner() -> Result<PathBuf> {
    let mut cargo = process::cargo();
    cargo.args(["build", "--quiet", "--package", "xtask", "--features", "wasm-test-runner"]);
    process::run(cargo.args(["--bin", "wasm-test-runner"]), "fix what the compiler says above")?;
    beside_this_program("wasm-test-runner")
}

/// A program of this workspace that cargo built with the profile of this one.
fn beside_this_program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know its own path")?;
    let folder = own.parent().unwrap_or(Path::new("."));
    Ok(folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// The built extension in a real browser, and the page executor in one.
pub(crate) fn end_to_end() -> Result<Tally> {
    process::run(
        process::cargo().args(["build", "--quiet", "--package", "panelot-provider", "--examples"]),
        "fix what the compiler says above",
    )?;
    let root = project::root();
    let mut files = Vec::new();
    for folder in NODE_TESTS {
        let found = project::files_below(&root.join(folder))?;
        let tests = found.into_iter().filter(|file| file.to_string_lossy().ends_with(".test.mjs"));
        files.extend(tests.map(|file| Path::new(folder).join(file)));
    }
    if files.is_empty() {
        project::say("there are no browser tests");
        return Ok(Tally::default());
    }
    browser_tests(&files, |_| {})
}

/// Runs these files with node, beside a test build. `more` says what they need beyond what all do.
fn browser_tests(files: &[PathBuf], more: impl FnOnce(&mut Command)) -> Result<Tally> {
    let browser = browser::ensure()?;
    let extension = build::build_extension(BuildKind::TEST)?;
    process::run(
        process::cargo().args(["build", "--quiet", "--package", "panelot-testkit"]),
        "fix what the compiler says above",
    )?;
    let mut node = process::command("node");
    node.args(["--test", "--test-reporter=spec", "--test-concurrency=1"]).args(files);
    environment_of_browser_tests(&mut node, &browser.chromium, &extension)?;
    more(&mut node);
    tally::run(&mut node)
}

/// What the specs need to know: the browser, the extension, and where the programs of the testkit are.
pub(crate) fn environment_of_browser_tests(
    node: &mut Command,
    chromium: &Path,
    extension: &Path,
) -> Result<()> {
    let programs = beside_this_program("testkit")?;
    node.env("PANELOT_CHROMIUM", chromium)
        .env("PANELOT_EXTENSION", extension)
        .env("PANELOT_PROGRAMS", programs.parent().unwrap_or(Path::new(".")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_those_of_the_kill_tests_alone() {
        let of = |words: &[&str]| rounds(&words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["kill"]), Some(1));
        assert_eq!(of(&["kill", "--repeat", "20"]), Some(20));
        for wrong in [&["kill", "--repeat", "0"][..], &["kill", "--repeat"], &["e2e", "--repeat", "2"], &[]] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
        assert!(project::root().join(KILL_TESTS).is_file());
    }

    #[test]
    fn only_crates_that_say_so_have_wasm_tests() {
        let metadata = json!({ "packages": [
            { "name": "a", "metadata": { "panelot": { "wasm-tests": true } } },
            { "name": "b", "metadata": { "panelot": { "wasm-tests": false } } },
            { "name": "c", "metadata": null },
        ]});
        assert_eq!(packages_with_wasm_tests(&metadata), ["a"]);
    }
}
