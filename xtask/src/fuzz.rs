//! `cargo xtask fuzz NAME [--minutes N]`: one fuzz target of `fuzz/`, from the streams of the provider's corpus on.
//!
//! The layout is that of cargo-fuzz, which works as well; this needs no further tool and no nightly compiler.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{process, project};

/// The targets, and the folder of the corpus that each begins with.
const TARGETS: [(&str, &str); 5] = [
    ("openai", "openai"),
    ("anthropic", "anthropic"),
    ("responses", "responses"),
    ("built_in", "built_in"),
    ("sse", "openai"),
];
/// What libFuzzer needs to see which code an input reaches; the flags of cargo-fuzz, without a sanitizer.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";
/// The flags are for this machine's programs only, so that the target is named and build scripts are built without.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// `cargo xtask fuzz`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let (name, minutes) = match arguments {
        [name] => (name, 1),
        [name, flag, minutes] if flag == "--minutes" => {
            (name, minutes.parse::<u64>().context("--minutes wants a whole number")?)
        }
        _ => bail!(
            "say `cargo xtask fuzz NAME [--minutes N]`; NAME is openai, anthropic, responses, built_in or sse"
        ),
    };
    let Some((name, seeds)) = TARGETS.iter().find(|(target, _)| target == name) else {
        bail!("there is no target {name}; there are openai, anthropic, responses, built_in and sse");
    };
    let root = project::root();
    let folder = root.join("fuzz");
    let target = root.join("target/fuzz");
    let corpus = target.join("corpus").join(name);
    let artifacts = target.join("artifacts").join(name);
    std::fs::create_dir_all(&corpus).context("cannot make the folder of inputs")?;
    std::fs::create_dir_all(&artifacts).context("cannot make the folder of findings")?;
    let mut build = process::cargo();
    build.args(["build", "--quiet", "--release", "--target", HOST, "--bin", name]);
    build.arg("--manifest-path").arg(folder.join("Cargo.toml"));
    build.arg("--target-dir").arg(&target).env("RUSTFLAGS", FLAGS);
    process::run(&mut build, "fix what the compiler says above")?;
    let program = target.join(HOST).join("release").join(name);
    project::say(format!("fuzzing {name} for {minutes} min"));
    let mut fuzzer = process::command(&program);
    fuzzer.arg(&corpus).arg(root.join("crates/provider/tests/corpus").join(seeds));
    fuzzer.arg(format!("-max_total_time={}", minutes * 60)).arg("-timeout=10").arg("-max_len=4096");
    fuzzer
        .arg(format!("-artifact_prefix={}/", shown(&artifacts)))
        .arg("-print_final_stats=1")
        .arg("-verbosity=0");
    process::run(
        &mut fuzzer,
        "the input is in target/fuzz/artifacts; give it to the program alone to see it again",
    )
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
