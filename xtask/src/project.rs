//! Where things are in the repository, and small file work that several commands share.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The repository's root.
///
/// Cargo names the package's folder at run time; the folder known at compile time serves a program that
/// was started without cargo.
pub(crate) fn root() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask.parent().map_or(xtask.clone(), Path::to_path_buf)
}

/// `dist/`: what the commands produce for people.
pub(crate) fn dist() -> PathBuf {
    root().join("dist")
}

/// `target/xtask/`: stamps, locks and intermediate files of these commands.
pub(crate) fn scratch() -> Result<PathBuf> {
    let folder = root().join("target").join("xtask");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Prints what a command is doing now.
pub(crate) fn say(message: impl std::fmt::Display) {
    println!("xtask: {message}");
}

/// Keeps other `cargo xtask` processes of this checkout out of one piece of work until it is dropped.
#[must_use = "the lock is released when this value is dropped"]
pub(crate) struct WorkLock(#[expect(dead_code, reason = "held for its lock")] File);

/// Waits until no other process holds the lock `name`, then takes it.
pub(crate) fn lock(name: &str) -> Result<WorkLock> {
    let path = scratch()?.join(format!("{name}.lock"));
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        say(format!("waiting for another `cargo xtask` that holds {name}"));
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(WorkLock(file))
}

/// A fingerprint to notice changes by. Not stable between compiler versions, never sent anywhere.
pub(crate) fn fingerprint(parts: &[&[u8]]) -> String {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// True if the file `stamp` holds exactly `value`.
pub(crate) fn stamp_is(stamp: &Path, value: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|found| found == value)
}

/// Reads a text file; the error names it.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a file and the folders above it; the error names it.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Every file below `folder`, as sorted paths relative to it. A missing folder has none.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        let here = folder.join(&relative);
        if !here.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))? {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies every file below `from` to the same place below `to`.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for relative in files_below(from)? {
        let target = to.join(&relative);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::copy(from.join(&relative), &target)
            .with_context(|| format!("cannot copy {} to {}", relative.display(), to.display()))?;
    }
    Ok(())
}

/// Removes a folder with all it holds; a missing one is fine.
pub(crate) fn remove_tree(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Puts the folder `fresh` in the place of `current`, so that nobody sees a half-written one.
pub(crate) fn replace_tree(fresh: &Path, current: &Path) -> Result<()> {
    remove_tree(current)?;
    fs::rename(fresh, current)
        .with_context(|| format!("cannot move {} to {}", fresh.display(), current.display()))
}

/// Splits arguments into which of `known` flags are given; anything else is an error.
pub(crate) fn flags<const N: usize>(arguments: &[String], known: [&str; N]) -> Result<[bool; N]> {
    for argument in arguments {
        if !known.contains(&argument.as_str()) {
            bail!("unknown argument {argument:?}; this command takes {}", list(&known));
        }
    }
    Ok(known.map(|flag| arguments.iter().any(|argument| argument == flag)))
}

fn list(known: &[&str]) -> String {
    if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_flag_is_refused_and_known_ones_are_told_apart() {
        let given = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(flags(&given("--b"), ["--a", "--b"]).unwrap(), [false, true]);
        let error = flags(&given("--c"), ["--a", "--b"]).unwrap_err().to_string();
        assert_eq!(error, "unknown argument \"--c\"; this command takes --a, --b");
    }

    #[test]
    fn fingerprints_keep_parts_apart() {
        assert_ne!(fingerprint(&[b"ab", b"c"]), fingerprint(&[b"a", b"bc"]));
        assert_eq!(fingerprint(&[b"ab", b"c"]), fingerprint(&[b"ab", b"c"]));
    }
}
