//! Running other programs: what ran is in the error, and so is the next step.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a program with a deadline is looked at.
const POLL: Duration = Duration::from_millis(50);

/// A command that starts in the repository's root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(crate::project::root());
    command
}

/// The cargo that runs this program, without the variables that it set for this package alone.
pub(crate) fn cargo() -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_own_package(&mut command);
    command
}

/// Removes what cargo set for `xtask` itself and what would be wrong for another package.
pub(crate) fn forget_own_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "LD_LIBRARY_PATH"
        {
            command.env_remove(&name);
        }
    }
}

/// Runs a program to its end, its output on our streams. `next_step` is what a person does if it fails.
pub(crate) fn run(command: &mut Command, next_step: &str) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`; {next_step}"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status}); {next_step}");
    }
    Ok(())
}

/// Runs a program to its end and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed something that is no text"))
}

/// Runs a program quietly, at most for `limit`. False if it failed, is missing or was stopped at the limit.
pub(crate) fn succeeds_within(command: &mut Command, limit: Duration) -> bool {
    let started = Instant::now();
    let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    else {
        return false;
    };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if started.elapsed() < limit => std::thread::sleep(POLL),
            Ok(None) | Err(_) => {
                // A program that ended by itself in this instant cannot be killed: both are fine.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

/// The first of `names` that PATH knows, or that is an absolute path to a file.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| {
        if Path::new(name).is_absolute() {
            return Some(PathBuf::from(name)).filter(|file| file.is_file());
        }
        folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file())
    })
}

fn show(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_outlives_its_limit_is_stopped() {
        let started = Instant::now();
        assert!(!succeeds_within(Command::new("sleep").arg("30"), Duration::from_millis(200)));
        assert!(started.elapsed() < Duration::from_secs(10));
        assert!(succeeds_within(&mut Command::new("true"), Duration::from_secs(10)));
    }

    #[test]
    fn a_failure_names_the_command_and_the_next_step() {
        let error = run(Command::new("false").arg("x"), "try again").unwrap_err().to_string();
        assert!(error.contains("`false x` failed") && error.ends_with("try again"), "{error}");
    }
}
