//! `cargo xtask setup`: what a machine needs, in the order in which a bare one can get it.
//!
//! Everything here is checked first and installed only when missing, so the second run takes no time.

use crate::browser::{self, Browser};
use crate::toolchain::{self, WasmToolchain};
use crate::{process, project};
use anyhow::{Context, Result, bail};
use std::time::Duration;

/// Playwright and the test runner need this version of Node.
const NODE_MAJOR: u32 = 20;
/// A look at a version is quick; this is for a machine under load.
pub(crate) const QUICK: Duration = Duration::from_secs(30);

/// What a build needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuildTools {
    /// The way to the wasm compiler.
    pub(crate) wasm: WasmToolchain,
}

/// `cargo xtask setup`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let [] = project::flags(arguments, [])?;
    let (tools, browser) = ensure_setup()?;
    project::say(format!("wasm compiler: {}", tools.wasm.name()));
    project::say(format!("browser: {}", browser.chromium.display()));
    match &browser.driver {
        Some(driver) => project::say(format!("WebDriver: {}", driver.display())),
        None => project::say("WebDriver: none; `cargo xtask test wasm` needs one that fits the browser"),
    }
    project::say("everything is in place; next: cargo xtask run");
    Ok(())
}

/// Sets up everything: what a build, the browser tests and the demo need.
pub(crate) fn ensure_setup() -> Result<(BuildTools, Browser)> {
    Ok((ensure_build_tools()?, browser::ensure()?))
}

/// Sets up what a build needs: Node, the npm packages and a wasm compiler.
pub(crate) fn ensure_build_tools() -> Result<BuildTools> {
    let _lock = project::lock("setup")?;
    ensure_node()?;
    ensure_npm_packages()?;
    Ok(BuildTools { wasm: toolchain::ensure()? })
}

/// Installs Debian packages, where this user may.
pub(crate) fn apt_install(packages: &[&str]) -> Result<()> {
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if process::find(&["apt-get"]).is_none() {
        bail!("this machine has no apt-get; install what these Debian packages hold: {}", packages.join(" "));
    }
    if process::output(process::command("id").arg("-u"))?.trim() != "0" {
        bail!("only root may install packages; run: sudo {by_hand}");
    }
    project::say(format!("installing {}", packages.join(" ")));
    let next_step = format!("try it by hand: apt-get update && {by_hand}");
    let apt = || {
        let mut command = process::command("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    process::run(apt().args(["--quiet", "--quiet", "update"]), &next_step)?;
    process::run(
        apt().args(["--quiet", "--quiet", "install", "--yes", "--no-install-recommends"]).args(packages),
        &next_step,
    )
}

fn ensure_node() -> Result<()> {
    if process::find(&["node"]).is_none() || process::find(&["npm"]).is_none() {
        apt_install(&["nodejs", "npm"])
            .with_context(|| format!("Node {NODE_MAJOR} or newer, with npm, is needed"))?;
    }
    let version = process::output(process::command("node").arg("--version"))?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    if major.is_none_or(|major: u32| major < NODE_MAJOR) {
        bail!("node is {}, and {NODE_MAJOR} or newer is needed: install a newer Node", version.trim());
    }
    Ok(())
}

/// Installs exactly what `package-lock.json` records, when it changed or the folder is gone.
fn ensure_npm_packages() -> Result<()> {
    let root = project::root();
    let lock = project::read(&root.join("package-lock.json"))?;
    let wanted = project::fingerprint(&[lock.as_bytes()]);
    // Inside the folder that it vouches for: whoever removes the one removes the other.
    let stamp = root.join("node_modules").join(".panelot-stamp");
    if project::stamp_is(&stamp, &wanted) && esbuild_works() {
        return Ok(());
    }
    project::say("installing the npm packages of package-lock.json");
    // No package here needs its install script; not running any keeps the step short and safe.
    process::run(
        process::command("npm").args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]),
        "check that the npm registry can be reached",
    )?;
    if !esbuild_works() {
        bail!("esbuild does not start after `npm ci`; look at `npm ls esbuild`");
    }
    project::write(&stamp, wanted)
}

fn esbuild_works() -> bool {
    process::succeeds_within(process::command("node_modules/.bin/esbuild").arg("--version"), QUICK)
}
