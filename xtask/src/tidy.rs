//! `cargo xtask tidy`: the rules of this repository that no compiler knows.
//!
//! Each rule looks at the tracked files (or at what cargo knows of them) and adds a line per problem: the place,
//! what is wrong, and what to do.

mod documents;
mod evidence;
mod extension;
mod layers;
mod sources;

use crate::{process, project};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use extension::{check_shipped, check_test_builds};

/// What the rules look at.
struct Repository {
    root: PathBuf,
    /// Every tracked or new file that git does not ignore, relative to the root, with `/`, sorted.
    files: Vec<String>,
    layers: layers::Layers,
}

impl Repository {
    fn read(&self, file: &str) -> Result<String> {
        project::read(&self.root.join(file))
    }

    fn has(&self, file: &str) -> bool {
        self.files.binary_search_by(|known| known.as_str().cmp(file)).is_ok()
    }
}

/// A rule: a name for people, and the check.
type Rule = (&'static str, fn(&Repository, &mut Vec<String>) -> Result<()>);

const RULES: &[Rule] = &[
    ("layers", layers::check),
    ("source files", sources::check),
    ("secrets", sources::check_secrets),
    ("architecture", documents::check_architecture),
    ("links", documents::check_links),
    ("wire", documents::check_wire),
    ("locales", documents::check_locales),
    ("evidence", evidence::check),
    ("extension", extension::check),
];

/// `cargo xtask tidy`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let [] = project::flags(arguments, [])?;
    check()
}

/// Runs every rule; fails with the number of problems after naming each.
pub(crate) fn check() -> Result<()> {
    let repository = repository()?;
    let mut count = 0;
    for (name, rule) in RULES {
        let mut problems = Vec::new();
        rule(&repository, &mut problems).with_context(|| format!("tidy cannot check {name}"))?;
        for problem in &problems {
            println!("{name}: {problem}");
        }
        count += problems.len();
    }
    if count > 0 {
        bail!("tidy found {count} problems, named above");
    }
    project::say(format!("tidy: {} files keep {} rules", repository.files.len(), RULES.len()));
    Ok(())
}

fn repository() -> Result<Repository> {
    let root = project::root();
    let mut git = process::command("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let listed = process::output(&mut git).context("tidy needs git to know which files are ours")?;
    let mut files: Vec<String> =
        listed.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
    files.retain(|file| root.join(file).is_file());
    files.sort();
    files.dedup();
    let layers = layers::Layers::parse(&project::read(&root.join("layers.toml"))?)?;
    Ok(Repository { root, files, layers })
}

/// The folder of a file, with `/` at its end, or nothing for the root.
fn folder_of(file: &str) -> &str {
    file.rfind('/').and_then(|end| file.get(..=end)).unwrap_or("")
}

/// Compares two lists of keys; names what each lacks.
fn compare_keys<T: PartialEq>(
    names: (&str, &str),
    left: &BTreeMap<String, T>,
    right: &BTreeMap<String, T>,
    problems: &mut Vec<String>,
) {
    let lacks = |here: &BTreeMap<String, T>, there: &BTreeMap<String, T>| {
        there.keys().filter(|key| !here.contains_key(*key)).cloned().collect::<Vec<_>>()
    };
    for (name, missing) in [(names.0, lacks(left, right)), (names.1, lacks(right, left))] {
        for key in missing {
            problems.push(format!("{name} lacks {key:?}"));
        }
    }
    for (key, value) in left {
        if right.get(key).is_some_and(|other| other != value) {
            problems.push(format!("{key:?} differs between {} and {}", names.0, names.1));
        }
    }
}

/// True for Rust files that only tests compile.
fn is_test_file(file: &str) -> bool {
    let path = Path::new(file);
    file.ends_with("/tests.rs")
        || file.ends_with("_tests.rs")
        || path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "benches")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_one_side_lacks_or_that_differ_are_named() {
        let map =
            |pairs: &[(&str, u8)]| pairs.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        let mut problems = Vec::new();
        compare_keys(("en", "zh"), &map(&[("a", 1), ("b", 1)]), &map(&[("b", 2), ("c", 1)]), &mut problems);
        assert_eq!(problems, ["en lacks \"c\"", "zh lacks \"a\"", "\"b\" differs between en and zh"]);
    }

    #[test]
    fn test_files_are_told_from_others() {
        assert!(is_test_file("crates/a/src/run/tests.rs") && is_test_file("crates/a/src/run_tests.rs"));
        assert!(is_test_file("crates/a/tests/it/main.rs"));
        assert!(!is_test_file("crates/testkit/src/lib.rs") && !is_test_file("xtask/src/test.rs"));
    }
}
