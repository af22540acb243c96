//! `cargo xtask run` and `cargo xtask screenshots`: Panelot in a browser, beside a sample site and a scripted model.
//!
//! Here things are built and started; what happens in the browser is told by the scripts in `e2e/demo/`.

use crate::build::{self, BuildKind};
use crate::{browser, process, project, test};
use anyhow::{Result, bail};
use std::process::Command;

/// The options of `run` that take a value; `e2e/demo/run.mjs` reads the same ones.
const OPTIONS: [&str; 3] = ["--provider", "--model", "--key-env"];
/// What a person does when a script fails.
const NEXT_STEP: &str = "read what it printed above; target/e2e holds its logs and screenshots";

/// `cargo xtask run [--provider URL --model NAME [--key-env VAR]]`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    check(arguments)?;
    let mut node = script("e2e/demo/run.mjs")?;
    if has_display() {
        node.arg("--display");
    }
    process::run(node.args(arguments), NEXT_STEP)
}

/// `cargo xtask screenshots [--all]`: the README's pictures, or every surface and state into `target/gallery`.
pub(crate) fn screenshots(arguments: &[String]) -> Result<()> {
    let [all] = project::flags(arguments, ["--all"])?;
    let path = if all { "e2e/demo/gallery.mjs" } else { "e2e/demo/screenshots.mjs" };
    process::run(&mut script(path)?, NEXT_STEP)
}

/// A node script with a browser, a test build and the testkit at hand.
pub(crate) fn script(path: &str) -> Result<Command> {
    let browser = browser::ensure()?;
    let extension = build::build_extension(BuildKind::TEST)?;
    project::say("building the scripted model server and the sample site");
    process::run(
        process::cargo().args(["build", "--quiet", "--package", "panelot-testkit"]),
        "fix what the compiler says above",
    )?;
    let mut node = process::command("node");
    node.arg(path);
    test::environment_of_browser_tests(&mut node, &browser.chromium, &extension)?;
    Ok(node)
}

/// Refuses arguments that make no sense before minutes are spent on a build.
fn check(arguments: &[String]) -> Result<()> {
    let mut given = Vec::new();
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        if !OPTIONS.contains(&name.as_str()) {
            bail!("unknown argument {name:?}; this command takes {}", OPTIONS.join(", "));
        }
        if rest.next().is_none_or(|value| value.starts_with("--")) {
            bail!("{name} needs a value");
        }
        given.push(name.as_str());
    }
    if given.contains(&"--provider") != given.contains(&"--model") {
        bail!("--provider and --model go together");
    }
    if given.contains(&"--key-env") && !given.contains(&"--provider") {
        bail!("--key-env names the key of a --provider");
    }
    Ok(())
}

/// Whether a window can be shown. Elsewhere than on Linux there is always a desktop.
fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        check(&arguments).err().map(|error| error.to_string())
    }

    #[test]
    fn a_provider_needs_its_model_and_a_key_its_provider() {
        assert_eq!(refusal(""), None);
        assert_eq!(refusal("--provider https://a.test/v1 --model m --key-env KEY"), None);
        assert_eq!(
            refusal("--provider https://a.test/v1").as_deref(),
            Some("--provider and --model go together")
        );
        assert_eq!(refusal("--key-env KEY").as_deref(), Some("--key-env names the key of a --provider"));
        assert_eq!(refusal("--model --provider").as_deref(), Some("--model needs a value"));
        assert!(refusal("--headless").is_some_and(|text| text.starts_with("unknown argument")));
    }
}
