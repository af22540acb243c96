//! The two ways to a wasm compiler: rustup's target, or Debian's `rustc-web` that builds std itself.
//!
//! What is shipped is built with std from source either way (`docs/decisions/0012-panics-of-a-release.md`).

use crate::{process, project};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The target of everything that the browser runs.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";
/// How long rustup may take: the target is about 30 MB, and an unreachable host must not stall a setup.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);
/// Debian's packages with a newer rustc, its cargo, the sources of std and the linker.
const DEBIAN_PACKAGES: &[&str] =
    &["rustc-web", "cargo-web", "rust-web-src", "libstd-rust-web-dev", "rust-web-llvm", "lld-22"];
/// A file of std's sources, below a compiler's own folder.
const STD_SOURCES: &str = "lib/rustlib/src/rust/library/std/Cargo.toml";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
/// rustc's flags beside [`WasmToolchain::cargo`] of a release: a panic is a trap, and none of its words are shipped.
pub(crate) const RELEASE_FLAGS: &[&str] = &["-Zunstable-options", "-Cpanic=immediate-abort"];
/// Set to `rustup` or `debian` to insist on one way.
const CHOICE: &str = "PANELOT_WASM_TOOLCHAIN";

/// A way to compile for the browser.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WasmToolchain {
    /// The host's own cargo, with the target that rustup installed.
    Rustup,
    /// Debian's cargo and rustc, building std from source.
    Debian,
}

impl WasmToolchain {
    /// A name for messages and stamps.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rustup => "rustup's target",
            Self::Debian => "Debian's rustc-web, building std from source",
        }
    }

    /// `cargo SUBCOMMAND --target wasm32-unknown-unknown` of this way, its output in `target/wasm*`.
    ///
    /// `release` builds std from source for its size, too, and takes the flags that go with it from [`RELEASE_FLAGS`].
    /// The folder is apart from the host's, so that neither waits for the other's lock; each way has its
    /// own, because one compiler cannot read the other's files.
    pub(crate) fn cargo(self, subcommand: &str, release: bool) -> Command {
        let mut command = match self {
            Self::Rustup => process::cargo(),
            Self::Debian => debian_cargo(),
        };
        command.arg(subcommand).args(["--target", WASM_TARGET, "--target-dir"]).arg(self.target_folder());
        if self == Self::Debian || release {
            // Called unstable still, which a released compiler admits for the asking.
            command.arg("-Zbuild-std=std,panic_abort").env("RUSTC_BOOTSTRAP", "1");
        }
        if release {
            command.arg("-Zbuild-std-features=optimize_for_size");
        }
        command
    }

    /// Where [`Self::cargo`] puts its output.
    pub(crate) fn target_folder(self) -> PathBuf {
        let name = match self {
            Self::Rustup => "wasm",
            Self::Debian => "wasm-debian",
        };
        project::root().join("target").join(name)
    }
}

/// The way that works on this machine now, without installing anything.
pub(crate) fn present() -> Option<WasmToolchain> {
    let allowed = |way| choice().is_none_or(|wanted| wanted == way);
    if allowed(WasmToolchain::Rustup) && rustup_is_ready() {
        return Some(WasmToolchain::Rustup);
    }
    if allowed(WasmToolchain::Debian) && debian_is_installed() {
        return Some(WasmToolchain::Debian);
    }
    None
}

/// Finds or installs a way to a wasm compiler.
pub(crate) fn ensure() -> Result<WasmToolchain> {
    if let Some(way) = present() {
        return Ok(way);
    }
    if choice() != Some(WasmToolchain::Debian) {
        project::say(format!("adding the target {WASM_TARGET} and std's sources with rustup"));
        let added = [["target", "add", WASM_TARGET], ["component", "add", "rust-src"]]
            .iter()
            .all(|what| process::succeeds_within(process::command("rustup").args(what), RUSTUP_LIMIT));
        if added && rustup_is_ready() {
            return Ok(WasmToolchain::Rustup);
        }
        project::say("rustup cannot add it here");
    }
    if choice() != Some(WasmToolchain::Rustup) {
        crate::setup::apt_install(DEBIAN_PACKAGES).with_context(|| {
            format!("no wasm compiler: run `rustup target add {WASM_TARGET}` and `rustup component add rust-src` where their host can be reached")
        })?;
        if debian_is_installed() {
            return Ok(WasmToolchain::Debian);
        }
    }
    bail!(
        "no wasm compiler: run `rustup target add {WASM_TARGET}` and `rustup component add rust-src`, then this command again"
    )
}

fn choice() -> Option<WasmToolchain> {
    match std::env::var(CHOICE).ok()?.as_str() {
        "rustup" => Some(WasmToolchain::Rustup),
        "debian" => Some(WasmToolchain::Debian),
        _ => None,
    }
}

/// True when rustup's rustc has the target, and the sources of std beside it.
fn rustup_is_ready() -> bool {
    let told = |arguments: &[&str]| {
        let mut rustc = process::command(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        process::forget_own_package(&mut rustc);
        process::output(rustc.args(arguments)).map(|line| PathBuf::from(line.trim()))
    };
    // rustc names the folder whether or not the target is there.
    told(&["--print", "target-libdir", "--target", WASM_TARGET]).is_ok_and(|folder| folder.is_dir())
        && told(&["--print", "sysroot"]).is_ok_and(|root| root.join(STD_SOURCES).is_file())
}

fn debian_is_installed() -> bool {
    let sources = Path::new("/usr").join(STD_SOURCES);
    let linker = process::find(&[
        "rust-lld",
        "wasm-ld",
        "wasm-ld-22",
        "/usr/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld",
    ]);
    Path::new(DEBIAN_CARGO).is_file()
        && Path::new(DEBIAN_RUSTC).is_file()
        && sources.is_file()
        && linker.is_some()
}

fn debian_cargo() -> Command {
    let mut command = process::command(DEBIAN_CARGO);
    process::forget_own_package(&mut command);
    for name in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC"] {
        command.env_remove(name);
    }
    command.env("RUSTC", DEBIAN_RUSTC);
    command
}
