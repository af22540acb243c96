//! From a crate to a module that a page can import: cargo, wasm-bindgen and, for a release, wasm-opt.

use crate::setup::BuildTools;
use crate::toolchain::{self, WASM_TARGET};
use crate::{process, project};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wasm_bindgen_cli_support::Bindgen;

/// The optimiser's switches: the features that rustc uses and every browser of ours has (Chrome 125).
const WASM_OPT: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
    "--strip-debug",
    "--strip-producers",
    "--strip-target-features",
];

/// A function with one caller is not made part of it, unless it is small: a browser compiles a function whole when it is first
/// called, and a worker's start calls little of what its functions can do.
const FEW_INLINED: &str = "--one-caller-inline-max-function-size=60";

/// The optimiser's runs, one after the other. On what the first one made, building the control flow anew and optimising
/// again takes off another 1 to 2 %; in one run with the first it takes off nothing.
const RUNS: &[&[&str]] = &[&["-Oz", FEW_INLINED], &["--flatten", "--rereloop", "-Oz", "-Oz", FEW_INLINED]];
/// The last run, for a module whose size counts for more than its start: 1.5 % less. In place of the others it makes more.
const LAST_RUN: &[&str] = &["-Oz"];

/// A crate that becomes a wasm module.
pub(crate) struct WasmCrate {
    /// The cargo package.
    pub(crate) package: &'static str,
    /// The module's name: `NAME.js` beside `NAME_bg.wasm`.
    pub(crate) module: &'static str,
    /// The folder of the extension that gets both.
    pub(crate) folder: &'static str,
    /// Whether its start counts for more than its size.
    pub(crate) quick_start: bool,
}

/// How the modules are compiled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Profile {
    /// Quick to build.
    Development,
    /// Small and quick to run: what is shipped.
    Release,
}

impl Profile {
    /// The profile's name in the root `Cargo.toml`.
    fn cargo_name(self) -> &'static str {
        match self {
            Self::Development => "wasm-dev",
            Self::Release => "wasm-release",
        }
    }
}

/// Compiles `crates` in one go and writes each module into its folder below `output`.
///
/// `features` are cargo's, written `package/feature`.
pub(crate) fn build(
    tools: BuildTools,
    crates: &[WasmCrate],
    profile: Profile,
    features: &[String],
    output: &Path,
) -> Result<()> {
    compile(tools, crates, profile, features)?;
    for wasm_crate in crates {
        let compiled = tools
            .wasm
            .target_folder()
            .join(WASM_TARGET)
            .join(profile.cargo_name())
            .join(format!("{}.wasm", wasm_crate.module));
        let finished = finish(wasm_crate, &compiled, profile)?;
        project::copy_tree(&finished, &output.join(wasm_crate.folder))?;
    }
    Ok(())
}

fn compile(tools: BuildTools, crates: &[WasmCrate], profile: Profile, features: &[String]) -> Result<()> {
    let mut cargo = tools.wasm.cargo("build", profile == Profile::Release);
    cargo.args(["--quiet", "--lib", "--profile", profile.cargo_name()]);
    for wasm_crate in crates {
        cargo.args(["--package", wasm_crate.package]);
    }
    if !features.is_empty() {
        cargo.args(["--features", &features.join(",")]);
    }
    if profile == Profile::Release {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", release_flags());
    }
    process::run(&mut cargo, "fix what the compiler says above, then build again")
}

/// Keeps this machine's paths out of what is shipped (panic messages name the source file), and takes the small SHA-256.
fn release_flags() -> String {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=panelot", project::root().display())];
    if let Some(home) = home {
        flags.push(format!("--remap-path-prefix={}=cargo", home.display()));
    }
    // Loops instead of 64 rounds written out: seven kilobytes less, and what is digested is short.
    flags.push("--cfg=sha2_backend_soft=\"compact\"".to_owned());
    flags.extend(toolchain::RELEASE_FLAGS.iter().map(|&flag| flag.to_owned()));
    flags.join("\u{1f}")
}

/// Runs wasm-bindgen and wasm-opt unless their input is what it was last time; returns the folder with the result.
fn finish(wasm_crate: &WasmCrate, compiled: &Path, profile: Profile) -> Result<PathBuf> {
    let bytes = fs::read(compiled).with_context(|| format!("cargo left no {}", compiled.display()))?;
    let folder = project::scratch()?.join("modules").join(profile.cargo_name()).join(wasm_crate.module);
    // Beside the folder and not in it: the folder's content is copied as it is.
    let stamp = folder.with_extension("stamp");
    let recipe = format!(
        "{profile:?} {WASM_OPT:?} {RUNS:?} {LAST_RUN:?} {} {}",
        wasm_crate.quick_start,
        env!("CARGO_PKG_VERSION")
    );
    let wanted = project::fingerprint(&[&bytes, recipe.as_bytes(), GENERATOR.as_bytes()]);
    if project::stamp_is(&stamp, &wanted) && folder.is_dir() {
        return Ok(folder);
    }
    let started = Instant::now();
    project::remove_tree(&folder)?;
    bind(wasm_crate, bytes, profile, &folder)?;
    let wasm = folder.join(format!("{}_bg.wasm", wasm_crate.module));
    if profile == Profile::Release {
        optimise(&wasm, wasm_crate.quick_start)?;
    }
    project::write(&stamp, wanted)?;
    let size = fs::metadata(&wasm)?.len();
    project::say(format!(
        "{}: {size} bytes, bound in {:.1} s",
        wasm_crate.module,
        started.elapsed().as_secs_f32()
    ));
    Ok(folder)
}

/// Changes when the generator's version does: it is pinned in `Cargo.toml`.
const GENERATOR: &str = include_str!("../Cargo.toml");

fn bind(wasm_crate: &WasmCrate, bytes: Vec<u8>, profile: Profile, folder: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen
        .web(true)?
        .input_bytes(wasm_crate.module, bytes)
        .typescript(false)
        // The names make a trap in development readable; a release is smaller without them.
        .remove_name_section(profile == Profile::Release)
        .remove_producers_section(true)
        // The module's address is always given by the page: `import.meta.url` would be a second truth.
        .omit_default_module_path(true)
        // What boots a fresh instance after a trap.
        .reset_state_function(true);
    bindgen.generate(folder).with_context(|| format!("wasm-bindgen cannot process {}", wasm_crate.package))
}

fn optimise(wasm: &Path, quick_start: bool) -> Result<()> {
    let optimised = wasm.with_extension("opt");
    let last = (!quick_start).then_some(&LAST_RUN);
    for run in RUNS.iter().chain(last) {
        process::run(
            process::command("node")
                .arg("node_modules/binaryen/bin/wasm-opt")
                .args(WASM_OPT)
                .args(*run)
                .arg(wasm)
                .arg("-o")
                .arg(&optimised),
            "if it names a feature, add its switch to WASM_OPT in xtask/src/wasm_module.rs",
        )?;
        fs::rename(&optimised, wasm).with_context(|| format!("cannot replace {}", wasm.display()))?;
    }
    Ok(())
}
