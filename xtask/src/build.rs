//! `cargo xtask build`: puts the extension together in `dist/`.
//!
//! A test build differs from the shipped one by one host permission (headless Chromium cannot answer
//! the prompt for it) and by the failpoints in the background module. `tidy` proves the first.

use crate::setup::{self, BuildTools};
use crate::wasm_module::{self, Profile, WasmCrate};
use crate::{process, project};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The host permission that only a test build has.
pub(crate) const TEST_HOST: &str = "http://127.0.0.1/*";
/// The package with the cargo feature that makes a test build stoppable at named points.
pub(crate) const FAILPOINT_PACKAGE: &str = "panelot-background";
/// That feature's name.
pub(crate) const FAILPOINT_FEATURE: &str = "failpoints";
/// What the browser must understand: the manifest's `minimum_chrome_version`.
const ESBUILD_TARGET: &str = "--target=chrome125";
const PAGE_ENTRY: &str = "page/src/main.ts";

/// The crates that become modules of the extension.
pub(crate) const MODULES: &[WasmCrate] = &[
    WasmCrate {
        package: FAILPOINT_PACKAGE,
        module: "panelot_background",
        folder: "background",
        quick_start: true,
    },
    WasmCrate { package: "panelot-models", module: "panelot_models", folder: "models", quick_start: false },
    WasmCrate { package: "panelot-chat", module: "panelot_chat", folder: "chat", quick_start: false },
    WasmCrate {
        package: "panelot-options",
        module: "panelot_options",
        folder: "options",
        quick_start: false,
    },
];

/// Which extension is built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BuildKind {
    /// How the modules are compiled.
    pub(crate) profile: Profile,
    /// True for a build with the test permission and the failpoints.
    pub(crate) test: bool,
}

impl BuildKind {
    /// What is shipped and measured for size.
    pub(crate) const RELEASE: Self = Self { profile: Profile::Release, test: false };
    /// What `run` and the end-to-end tests load.
    pub(crate) const TEST: Self = Self { profile: Profile::Development, test: true };
    /// What the benchmarks load: compiled like the shipped one.
    pub(crate) const TEST_RELEASE: Self = Self { profile: Profile::Release, test: true };

    /// The folder that this kind is built into.
    pub(crate) fn folder(self) -> PathBuf {
        let name = match (self.test, self.profile) {
            (false, _) => "extension",
            (true, Profile::Development) => "extension-test",
            (true, Profile::Release) => "extension-test-release",
        };
        project::dist().join(name)
    }
}

/// `cargo xtask build`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let [release, test] = project::flags(arguments, ["--release", "--test-build"])?;
    let profile = if release { Profile::Release } else { Profile::Development };
    build_extension(BuildKind { profile, test }).map(drop)
}

/// Builds the extension with everything that it needs; returns its folder.
pub(crate) fn build_extension(kind: BuildKind) -> Result<PathBuf> {
    let tools = setup::ensure_build_tools()?;
    let _lock = project::lock("build")?;
    let started = Instant::now();
    let folder = kind.folder();
    let shown = folder.strip_prefix(project::root()).unwrap_or(&folder).display().to_string();
    project::say(format!("building {shown} with {}", tools.wasm.name()));
    let fresh = folder.with_extension("new");
    project::remove_tree(&fresh)?;
    assemble(kind, tools, &fresh)?;
    project::replace_tree(&fresh, &folder)?;
    project::say(format!("{shown} is ready after {:.1} s", started.elapsed().as_secs_f32()));
    Ok(folder)
}

fn assemble(kind: BuildKind, tools: BuildTools, fresh: &Path) -> Result<()> {
    let features = if kind.test { failpoint_features()? } else { Vec::new() };
    wasm_module::build(tools, MODULES, kind.profile, &features, fresh)?;
    bundle_page(kind.profile, fresh)?;
    project::copy_tree(&project::root().join("extension"), fresh)?;
    bundle_boot(kind.profile, fresh)?;
    if kind.test {
        let path = fresh.join("manifest.json");
        project::write(&path, test_manifest(&project::read(&path)?)?)?;
    }
    Ok(())
}

/// Bundles the page executor into one classic script, which is what a content script must be.
fn bundle_page(profile: Profile, fresh: &Path) -> Result<()> {
    let mut esbuild = process::command("node_modules/.bin/esbuild");
    esbuild.args([PAGE_ENTRY, "--bundle", "--format=iife", ESBUILD_TARGET, "--log-level=warning"]);
    esbuild.arg(format!("--outfile={}", fresh.join("page.js").display()));
    match profile {
        Profile::Release => esbuild.arg("--minify"),
        Profile::Development => esbuild.arg("--sourcemap=inline"),
    };
    process::run(&mut esbuild, "fix what esbuild says above, then build again")
}

/// The sources of the boot script: the first imports the others.
pub(crate) const BOOT_SOURCES: [&str; 5] =
    ["background.js", "built-in.js", "models.js", "prefetch.js", "trap.js"];

/// The first line of a built boot script: which sources it was made of.
pub(crate) fn boot_banner(folder: &Path) -> Result<String> {
    let mut sources = Vec::new();
    for name in BOOT_SOURCES {
        sources.push(project::read(&folder.join(name))?);
    }
    let mark = project::fingerprint(&sources.iter().map(String::as_bytes).collect::<Vec<_>>());
    Ok(format!("// Built from extension/{} ({mark})", BOOT_SOURCES.join(" and extension/")))
}

/// Puts the boot script and the glue of the worker's modules into one file: each file that a worker imports costs at every start.
/// The file is a classic script, because Chrome starts a worker of that type some milliseconds sooner than a module.
fn bundle_boot(profile: Profile, fresh: &Path) -> Result<()> {
    let script = fresh.join("background.js");
    let banner = boot_banner(fresh)?;
    let mut esbuild = process::command("node_modules/.bin/esbuild");
    esbuild.arg(&script);
    esbuild.args(["--bundle", "--format=iife", ESBUILD_TARGET, "--log-level=warning", "--allow-overwrite"]);
    esbuild.arg(format!("--banner:js={banner}")).arg(format!("--outfile={}", script.display()));
    if profile == Profile::Release {
        esbuild.arg("--minify");
    }
    process::run(&mut esbuild, "fix what esbuild says above, then build again")?;
    let glue = ["background/panelot_background.js", "models/panelot_models.js"];
    let bundled = glue.iter().chain(BOOT_SOURCES.get(1..).unwrap_or_default());
    for bundled in bundled.map(|name| fresh.join(name)) {
        std::fs::remove_file(&bundled).with_context(|| format!("cannot remove {}", bundled.display()))?;
    }
    Ok(())
}

/// The failpoint feature in cargo's words.
fn failpoint_features() -> Result<Vec<String>> {
    let metadata = metadata()?;
    let package = package(&metadata, FAILPOINT_PACKAGE)?;
    if package.pointer(&format!("/features/{FAILPOINT_FEATURE}")).is_none() {
        bail!("{FAILPOINT_PACKAGE} declares no feature `{FAILPOINT_FEATURE}`, which a test build needs");
    }
    Ok(vec![format!("{FAILPOINT_PACKAGE}/{FAILPOINT_FEATURE}")])
}

/// What `cargo metadata` says about this workspace, without the crates from outside.
pub(crate) fn metadata() -> Result<Value> {
    let text = process::output(process::cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    serde_json::from_str(&text).context("cargo metadata printed something that is no JSON")
}

/// One package of [`metadata`].
pub(crate) fn package<'a>(metadata: &'a Value, name: &str) -> Result<&'a Value> {
    let packages = metadata.get("packages").and_then(Value::as_array);
    packages
        .and_then(|packages| {
            packages.iter().find(|package| package.get("name").is_some_and(|found| found == name))
        })
        .with_context(|| format!("the workspace has no package {name}"))
}

/// The manifest of a test build, from the shipped one.
pub(crate) fn test_manifest(shipped: &str) -> Result<String> {
    let mut manifest: Value = serde_json::from_str(shipped).context("extension/manifest.json is no JSON")?;
    let fields = manifest.as_object_mut().context("extension/manifest.json is no object")?;
    let hosts = fields.entry("host_permissions").or_insert_with(|| json!([]));
    hosts.as_array_mut().context("host_permissions is no list")?.push(json!(TEST_HOST));
    Ok(format!("{manifest:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_manifest_has_one_more_host_permission_and_nothing_else() {
        let shipped = r#"{"name":"x","permissions":["tabs"]}"#;
        let mut made: Value = serde_json::from_str(&test_manifest(shipped).unwrap()).unwrap();
        assert_eq!(made.as_object_mut().unwrap().remove("host_permissions"), Some(json!([TEST_HOST])));
        assert_eq!(made, serde_json::from_str::<Value>(shipped).unwrap());
    }

    #[test]
    fn each_kind_has_a_folder_of_its_own_but_for_the_two_that_ship() {
        let development = BuildKind { profile: Profile::Development, test: false };
        assert_ne!(BuildKind::TEST.folder(), development.folder());
        assert_ne!(BuildKind::TEST.folder(), BuildKind::TEST_RELEASE.folder());
        assert_eq!(BuildKind::RELEASE.folder(), development.folder());
    }
}
