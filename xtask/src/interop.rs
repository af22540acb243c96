//! `cargo xtask interop [--gguf FILE]`: the extension against servers of others. No part of `ci`: it installs packages of
//! Python, and a model is many megabytes.
//!
//! Here the environment is made; what is tried is told by `e2e/interop/run.mjs`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::{process, project, run};

/// LiteLLM's proxy and llama.cpp's server, at the versions that were looked at.
const PACKAGES: [&str; 2] = ["litellm[proxy]==1.104.8", "xllamacpp==2026.10.11549"];
/// What a person does when a script fails.
const NEXT_STEP: &str = "read the table above; target/interop has the servers' logs, target/e2e the pages";

/// `cargo xtask interop`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let model = model(arguments)?;
    let environment = environment()?;
    let mut node = run::script("e2e/interop/run.mjs")?;
    node.env("PANELOT_VENV", &environment);
    if let Some(model) = model {
        node.env("PANELOT_GGUF", model);
    }
    process::run(&mut node, NEXT_STEP)
}

/// The file of `--gguf`, as a path that holds in every folder.
fn model(arguments: &[String]) -> Result<Option<PathBuf>> {
    let file = match arguments {
        [] => return Ok(None),
        [flag, file] if flag == "--gguf" => Path::new(file),
        _ => bail!(
            "say `cargo xtask interop`, or `cargo xtask interop --gguf FILE` for llama.cpp with that model"
        ),
    };
    let found = file.canonicalize().ok().filter(|file| file.is_file());
    match found {
        Some(file) => Ok(Some(file)),
        None => bail!("there is no file {}; --gguf wants a model in the format of llama.cpp", file.display()),
    }
}

/// The environment of Python with the packages; made anew only when they change.
fn environment() -> Result<PathBuf> {
    let folder = project::root().join("target/interop/venv");
    let stamp = folder.join("panelot-packages");
    let wanted = PACKAGES.join("\n");
    if !project::stamp_is(&stamp, &wanted) {
        let Some(python) = process::find(&["python3", "python"]) else {
            bail!("LiteLLM and llama.cpp run in Python: install Python 3.10 or later with its module venv");
        };
        project::say("installing LiteLLM and llama.cpp into target/interop/venv; this takes minutes");
        process::run(
            process::command(python).args(["-m", "venv"]).arg(&folder),
            "install Python's module venv (Debian: python3-venv)",
        )?;
        let mut pip = process::command(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES);
        process::run(&mut pip, "look whether the package registry can be reached")?;
        project::write(&stamp, &wanted)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::model;

    #[test]
    fn a_model_is_a_file_that_is_there() {
        let of = |words: &[&str]| model(&words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]).unwrap(), None);
        assert!(of(&["--gguf", "no/such/file"]).unwrap_err().to_string().contains("no/such/file"));
        assert!(of(&["--gguf"]).is_err() && of(&["--model", "x"]).is_err());
        let here = format!("{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        assert!(of(&["--gguf", &here]).unwrap().is_some_and(|file| file.is_absolute()));
    }
}
