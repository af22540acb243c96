//! Rules for source files: how long, how they open, what they never contain, who may read a secret.

use super::{Repository, is_test_file};
use anyhow::Result;

/// Lines that a file may have without its tests.
const LINES_MAX: usize = 800;
/// Lines that the boot script may have: what grows past this belongs into the engine.
const BOOT_LINES_MAX: usize = 120;
const BOOT: &str = "extension/background.js";
/// Written by a program, so nobody reads them as a whole.
const GENERATED: &[&str] = &["page/src/generated.ts"];

/// What no file of ours contains, tests included, and what to do instead. Written in two pieces, so that this table
/// does not find itself.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("todo", "!("), "write it, or file an issue"),
    (concat!("unimplemented", "!("), "write it, or file an issue"),
    (concat!("dbg", "!("), "remove it"),
    (concat!("#[ign", "ore"), "a test that does not run proves nothing: repair or remove it"),
    (concat!("should", "_panic"), "assert on an error value"),
    (concat!("#[all", "ow("), "use `#[expect(..., reason = \"...\")]`"),
    (concat!("#![all", "ow("), "use `#![expect(..., reason = \"...\")]`"),
];
const EXPOSE: &str = concat!(".expo", "se()");

pub(super) fn check(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    for file in &repository.files {
        let rust = file.ends_with(".rs");
        let page = file.starts_with("page/src/") && file.ends_with(".ts");
        if !(rust || page || file == BOOT) || GENERATED.contains(&file.as_str()) {
            continue;
        }
        let text = repository.read(file)?;
        let limit = if file == BOOT { BOOT_LINES_MAX } else { LINES_MAX };
        check_length(file, &text, limit, problems);
        check_opening(file, &text, problems);
        if rust {
            check_words(file, &text, problems);
        }
    }
    Ok(())
}

fn check_length(file: &str, text: &str, limit: usize, problems: &mut Vec<String>) {
    let lines = if is_test_file(file) { 0 } else { without_test_modules(text).len() };
    if lines > limit {
        problems
            .push(format!("{file} has {lines} lines without its tests, at most {limit}: split off a noun"));
    }
}

fn check_opening(file: &str, text: &str, problems: &mut Vec<String>) {
    let opens_well = if file.ends_with(".rs") {
        text.starts_with("//!")
    } else {
        text.starts_with("//") || text.starts_with("/*")
    };
    if !opens_well {
        problems.push(format!("{file} must open with a comment that says what it is"));
    }
}

fn check_words(file: &str, text: &str, problems: &mut Vec<String>) {
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for (word, instead) in FORBIDDEN {
            if line.contains(word) {
                problems.push(format!("{file}:{number} contains `{word}`: {instead}"));
            }
        }
    }
}

/// The lines of a Rust file without its `#[cfg(test)]` modules. Relies on rustfmt: a block ends at a closing brace
/// that is indented like the line that opened it.
fn without_test_modules(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next_is_module = lines.peek().is_some_and(|next| next.trim_start().starts_with("mod "));
        if line.trim() != "#[cfg(test)]" || !next_is_module {
            kept.push(line);
            continue;
        }
        let Some(opening) = lines.next() else { break };
        if opening.trim_end().ends_with('{') {
            let indent = opening.len() - opening.trim_start().len();
            let end = format!("{}}}", " ".repeat(indent));
            for inside in lines.by_ref() {
                if inside == end {
                    break;
                }
            }
        }
    }
    kept
}

/// Only the places that `layers.toml` lists may read a secret.
pub(super) fn check_secrets(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    let allowed = &repository.layers.may_expose_a_secret;
    let mut used = Vec::new();
    for file in &repository.files {
        if !file.ends_with(".rs") || is_test_file(file) {
            continue;
        }
        let text = repository.read(file)?;
        if !without_test_modules(&text).iter().any(|line| line.contains(EXPOSE)) {
            continue;
        }
        used.push(file);
        if !allowed.contains_key(file) {
            problems.push(format!(
                "{file} reads a secret with `{EXPOSE}`: pass the Secret on, or list the file with its reason in \
                 layers.toml under [may-expose-a-secret]"
            ));
        }
    }
    for listed in allowed.keys().filter(|listed| !used.contains(listed)) {
        problems.push(format!("layers.toml lets {listed} read a secret, which it does not: remove the line"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_modules_do_not_count_and_other_code_after_them_does() {
        let text = "//! x\n#[cfg(test)]\nmod tests {\n    fn a() {\n    }\n}\nfn b() {}\n#[cfg(test)]\nmod more;\nfn c() {}";
        assert_eq!(without_test_modules(text), ["//! x", "fn b() {}", "fn c() {}"]);
        let text = "#[cfg(test)]\nfn only_in_tests() {}";
        assert_eq!(without_test_modules(text).len(), 2);
    }

    #[test]
    fn a_file_over_its_limit_is_named_with_its_length() {
        let mut problems = Vec::new();
        check_length("a.rs", &"x\n".repeat(11), 11, &mut problems);
        assert!(problems.is_empty());
        check_length("a.rs", &"x\n".repeat(12), 11, &mut problems);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("a.rs has 12 lines"));
    }

    #[test]
    fn forbidden_words_are_found_in_code_and_not_in_comments() {
        let mut problems = Vec::new();
        let word = FORBIDDEN[0].0;
        check_words("a.rs", &format!("// {word})\n    {word});\n"), &mut problems);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("a.rs:2 contains"), "{problems:?}");
    }

    #[test]
    fn a_file_must_say_what_it_is() {
        let mut problems = Vec::new();
        check_opening("a.rs", "//! A thing.\n", &mut problems);
        check_opening("a.ts", "/** A thing. */\n", &mut problems);
        assert!(problems.is_empty());
        check_opening("a.rs", "// no\n", &mut problems);
        check_opening("a.ts", "export {};\n", &mut problems);
        assert_eq!(problems.len(), 2);
    }
}
