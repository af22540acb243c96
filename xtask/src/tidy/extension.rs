//! Rules for the extension: a test build differs only where it must, and failpoints are never shipped.

use super::Repository;
use crate::build::{self, BuildKind, FAILPOINT_FEATURE, FAILPOINT_PACKAGE};
use crate::project;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The feature with the engine's deliberate bugs, and who may turn it on.
const BUGS_FEATURE: &str = "bugs";
const BUGS_OF_ENGINE: &str = "panelot-engine/bugs";
const BUGS_USER: &str = "panelot-sim";
/// A text that every build with failpoints contains: the key under which a test says where to park.
const FAILPOINT_MARKER: &str = "panelot_failpoint";
const MANIFEST: &str = "manifest.json";
const BOOT_SCRIPT: &str = "background.js";

pub(super) fn check(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    let shipped = repository.read("extension/manifest.json")?;
    problems.extend(manifest_difference(&shipped, &build::test_manifest(&shipped)?)?);
    problems.extend(late_listeners(&repository.read("extension/background.js")?));
    problems.extend(failpoints_by_default()?);
    problems.extend(bugs_elsewhere(&build::metadata()?));
    problems.extend(problems_of_shipped()?);
    Ok(())
}

/// Fails if the extension that is about to be shipped has failpoints in it.
pub(crate) fn check_shipped() -> Result<()> {
    conclude(&problems_of_shipped()?)
}

/// Fails if the test builds in `dist/` differ from the sources by more than they must. For use right after a build:
/// an older test build differs because it is old.
pub(crate) fn check_test_builds() -> Result<()> {
    let mut problems = Vec::new();
    for kind in [BuildKind::TEST, BuildKind::TEST_RELEASE] {
        if kind.folder().is_dir() {
            problems.extend(problems_of_test_build(&kind.folder())?);
        }
    }
    conclude(&problems)
}

fn conclude(problems: &[String]) -> Result<()> {
    for problem in problems {
        println!("extension: {problem}");
    }
    if problems.is_empty() {
        return Ok(());
    }
    bail!("{} problems with the built extension, named above", problems.len())
}

/// What differs between two manifests besides the one host permission of a test build.
fn manifest_difference(shipped: &str, test: &str) -> Result<Vec<String>> {
    let shipped: Value = serde_json::from_str(shipped).context("the shipped manifest is no JSON")?;
    let mut stripped: Value = serde_json::from_str(test).context("the test manifest is no JSON")?;
    let mut problems = Vec::new();
    let hosts = stripped.get_mut("host_permissions").and_then(Value::as_array_mut);
    match hosts.and_then(|hosts| hosts.pop()) {
        Some(host) if host == json!(build::TEST_HOST) => {}
        other => problems.push(format!("the test manifest's last host permission is {other:?}")),
    }
    if shipped.get("host_permissions").is_none()
        && stripped.get("host_permissions") == Some(&json!([]))
        && let Some(fields) = stripped.as_object_mut()
    {
        fields.remove("host_permissions");
    }
    if stripped != shipped {
        problems.push("the test manifest differs by more than one host permission".to_owned());
    }
    Ok(problems)
}

/// What of the boot script would miss the event that wakes the worker: Chrome delivers that one to listeners that were
/// registered in the script's first turn.
fn late_listeners(script: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut in_table = false;
    for line in script.lines() {
        let is_outside = !line.starts_with([' ', '}']);
        if is_outside {
            in_table = line.starts_with("for (const kind of EVENTS)");
        }
        // A worker that sleeps is updated by Chrome itself, and need not hear of it.
        let wakes =
            line.contains("chrome") && line.contains(".addListener(") && !line.contains("onUpdateAvailable");
        if wakes && !is_outside && !in_table {
            problems.push(format!("{BOOT_SCRIPT} registers a listener late: {}", line.trim()));
        }
        if is_outside && line.contains("await ") && !line.starts_with("//") && !line.starts_with("async ") {
            problems.push(format!("{BOOT_SCRIPT} waits before its first turn is over: {line}"));
        }
    }
    if !script.contains("\nfor (const kind of EVENTS) {\n  const [space, event] = kind.split(\".\");\n  chrome[space][event].addListener(")
        || !script.contains("\nchrome.runtime.onConnect.addListener(")
    {
        problems.push(format!("{BOOT_SCRIPT} does not register the events of its table in its first turn"));
    }
    problems
}

/// Only the simulator may turn the deliberate bugs on, and only when it is asked to.
fn bugs_elsewhere(metadata: &Value) -> Vec<String> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let names = |list: Option<&Value>| -> Vec<String> {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut problems = Vec::new();
    for package in packages {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let dependencies = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        let by_dependency =
            dependencies.flat_map(|it| names(it.get("features"))).any(|feature| feature == BUGS_FEATURE);
        let features = package.get("features").and_then(Value::as_object).into_iter().flatten();
        let by_feature = features.filter(|(own, _)| name != BUGS_USER || *own != BUGS_FEATURE);
        let by_feature = by_feature.flat_map(|(_, enabled)| names(Some(enabled)));
        if by_dependency || by_feature.into_iter().any(|it| it == BUGS_FEATURE || it == BUGS_OF_ENGINE) {
            problems.push(format!("{name} turns the engine's deliberate bugs on; only {BUGS_USER} may"));
        }
    }
    problems
}

/// Failpoints are off unless asked for, and no other feature turns them on.
fn failpoints_by_default() -> Result<Vec<String>> {
    let metadata = build::metadata()?;
    let features = build::package(&metadata, FAILPOINT_PACKAGE)?.get("features").and_then(Value::as_object);
    let Some(features) = features.filter(|features| features.contains_key(FAILPOINT_FEATURE)) else {
        return Ok(vec![format!("{FAILPOINT_PACKAGE} declares no feature `{FAILPOINT_FEATURE}`")]);
    };
    let turns_on = |enabled: &Value| {
        let enabled = enabled.as_array().into_iter().flatten();
        enabled.filter_map(Value::as_str).any(|name| name == FAILPOINT_FEATURE)
    };
    let on = features.iter().filter(|(_, enabled)| turns_on(enabled));
    Ok(on
        .map(|(name, _)| format!("the feature `{name}` of {FAILPOINT_PACKAGE} turns the failpoints on"))
        .collect())
}

fn problems_of_shipped() -> Result<Vec<String>> {
    let shipped = BuildKind::RELEASE.folder();
    if shipped.is_dir() && background_contains(&shipped, FAILPOINT_MARKER)? {
        return Ok(vec!["dist/extension has failpoints in it: build it again without them".to_owned()]);
    }
    Ok(Vec::new())
}

fn problems_of_test_build(test: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    // Without this the look at the shipped module could pass by searching for the wrong text.
    if !background_contains(test, FAILPOINT_MARKER)? {
        problems.push(format!("{} does not contain {FAILPOINT_MARKER:?}", test.display()));
    }
    let sources = project::root().join("extension");
    let built = project::read(&test.join(MANIFEST))?;
    problems.extend(manifest_difference(&project::read(&sources.join(MANIFEST))?, &built)?);
    // The boot script is built: the same sources in each build, with the glue of that build's own module.
    if !project::read(&test.join(BOOT_SCRIPT))?.starts_with(&build::boot_banner(&sources)?) {
        problems.push(format!("{BOOT_SCRIPT} in {} is not built from today's sources", test.display()));
    }
    for file in project::files_below(&sources)? {
        let same = fs::read(sources.join(&file)).ok() == fs::read(test.join(&file)).ok();
        let is_built =
            file == Path::new(MANIFEST) || build::BOOT_SOURCES.iter().any(|source| file == Path::new(source));
        if !is_built && !same {
            problems.push(format!("{} differs in {}", file.display(), test.display()));
        }
    }
    Ok(problems)
}

fn background_contains(extension: &Path, text: &str) -> Result<bool> {
    let module = extension.join("background/panelot_background_bg.wasm");
    let bytes = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
    Ok(bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_script_listens_in_its_first_turn() {
        let script = project::read(&project::root().join("extension/background.js")).unwrap();
        assert_eq!(late_listeners(&script), [""; 0]);
        for (place, instead) in [
            ("\nfor (const kind of EVENTS) {", "\nif (ready) for (const kind of EVENTS) {"),
            (
                "\nchrome.runtime.onConnect.addListener(",
                "\nload().then(() =>\n  chrome.runtime.onConnect.addListener(",
            ),
            ("\nlet state = ", "\nawait load();\nlet state = "),
            (
                "\n    await engine.start",
                "\n    chrome.alarms.onAlarm.addListener(forward);\n    await engine.start",
            ),
        ] {
            assert!(!late_listeners(&script.replace(place, instead)).is_empty(), "{instead}");
        }
    }

    #[test]
    fn only_the_one_host_permission_may_differ() {
        let shipped = r#"{"name":"x","permissions":["tabs"]}"#;
        let test = build::test_manifest(shipped).unwrap();
        assert_eq!(manifest_difference(shipped, &test).unwrap(), Vec::<String>::new());
        for other in [
            test.replace("127.0.0.1", "example.org"),
            test.replace("\"tabs\"", "\"tabs\",\"history\""),
            test.replace("\"x\"", "\"y\""),
            shipped.to_owned(),
        ] {
            assert!(!manifest_difference(shipped, &other).unwrap().is_empty(), "{other}");
        }
        let with_hosts = r#"{"host_permissions":["https://a.example/*"]}"#;
        let test = build::test_manifest(with_hosts).unwrap();
        assert_eq!(manifest_difference(with_hosts, &test).unwrap(), Vec::<String>::new());
    }
}
