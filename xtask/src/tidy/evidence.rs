//! The pages that name tests as evidence: every test that they name exists, and every line says where it stands.
//!
//! Such a page holds tables whose columns `id`, `state` and `tests` are read: ids like `W-07` (several with a comma
//! between them, when one test covers them all), one of the page's states, and tests in code spans, by the name of the
//! function in Rust and by the title in JavaScript.

use super::Repository;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// A page of evidence.
struct Page {
    file: &'static str,
    /// What a line may say in its column `state`.
    states: &'static [&'static str],
    /// The state that needs a test.
    proven: &'static str,
    /// Lines of one family of ids that may be `open`.
    open_max: usize,
}

const PAGES: [Page; 2] = [
    Page {
        file: "docs/failure-modes.md",
        states: &["prevented", "not applicable", "open"],
        proven: "prevented",
        open_max: 10,
    },
    Page {
        file: "docs/statements.md",
        states: &["holds", "differs", "later", "open"],
        proven: "holds",
        open_max: 10,
    },
];

/// A line of a table.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    ids: Vec<String>,
    state: String,
    tests: Vec<String>,
}

pub(super) fn check(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    let mut tests = BTreeSet::new();
    for file in &repository.files {
        if file.ends_with(".rs") && ["crates/", "xtask/"].iter().any(|folder| file.starts_with(folder)) {
            rust_tests(&repository.read(file)?, &mut tests);
        } else if file.ends_with(".test.mjs") {
            script_tests(&repository.read(file)?, &mut tests);
        }
    }
    for page in &PAGES {
        if repository.has(page.file) {
            judge(page, &lines(&repository.read(page.file)?), &tests, problems);
        } else {
            problems.push(format!("{} is missing", page.file));
        }
    }
    Ok(())
}

fn judge(page: &Page, lines: &[Line], tests: &BTreeSet<String>, problems: &mut Vec<String>) {
    let file = page.file;
    let mut families: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines {
        let name = line.ids.join(", ");
        for test in line.tests.iter().filter(|test| !tests.contains(*test)) {
            problems.push(format!("{file}: {name} names {test:?}, and there is no such test"));
        }
        if !page.states.contains(&line.state.as_str()) {
            problems.push(format!("{file}: {name} is {:?}, which is none of {:?}", line.state, page.states));
        }
        if line.state == page.proven && line.tests.is_empty() {
            problems.push(format!("{file}: {name} is said to be {:?} and names no test", page.proven));
        }
        for id in &line.ids {
            let Some((family, Ok(number))) = id.split_once('-').map(|(name, n)| (name, n.parse())) else {
                problems.push(format!("{file}: {id:?} is no id"));
                continue;
            };
            families.entry(family).or_default().push(number);
            *open.entry(family).or_default() += usize::from(line.state == "open");
        }
    }
    for (family, mut numbers) in families {
        numbers.sort_unstable();
        if numbers.iter().copied().ne(1..=numbers.last().copied().unwrap_or_default()) {
            problems.push(format!("{file}: the ids {family}-nn are not each there once, from 01 on"));
        }
    }
    for (family, count) in open.into_iter().filter(|(_, count)| *count > page.open_max) {
        problems.push(format!("{file}: {count} of {family}-nn are open, at most {}", page.open_max));
    }
}

/// The lines of all tables with the three columns.
fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut columns: Option<[usize; 3]> = None;
    for row in text.lines() {
        let Some(row) = row.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            columns = None;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some([id, state, tests]) = columns else {
            let place = |name| cells.iter().position(|cell| *cell == name);
            // A table of another kind has no such place, and its rows no such cell.
            columns = Some(["id", "state", "tests"].map(|name| place(name).unwrap_or(usize::MAX)));
            continue;
        };
        let (Some(id), Some(state), Some(tests)) = (cells.get(id), cells.get(state), cells.get(tests)) else {
            continue;
        };
        if !id.starts_with("---") {
            found.push(Line {
                ids: id.split(',').map(|id| id.trim().to_owned()).collect(),
                state: (*state).to_owned(),
                tests: tests.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
            });
        }
    }
    found
}

/// The functions that a test attribute stands over, those in `proptest!` included, and the cases of the conformance
/// suite of stores, each of which is a test of every store.
fn rust_tests(text: &str, found: &mut BTreeSet<String>) {
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if let Some(attribute) = line.strip_prefix("#[") {
            let path = attribute.split([']', '(', ' ']).next().unwrap_or_default();
            is_test |=
                path.rsplit("::").next().is_some_and(|name| name == "test" || name == "wasm_bindgen_test");
        } else if let Some((before, after)) = line.split_once("fn ") {
            let name = after.split(['(', '<']).next().unwrap_or_default();
            let is_case = before == "pub(super) async " && after.contains("<H: Harness>(");
            if is_test || is_case {
                found.insert(name.to_owned());
            }
            is_test = false;
        } else if !line.is_empty() && !line.starts_with("//") {
            is_test = false;
        }
    }
}

/// The titles in `test("…"`, whatever their quotes.
fn script_tests(text: &str, found: &mut BTreeSet<String>) {
    for part in text.split("test(").skip(1) {
        let mut letters = part.trim_start().chars();
        let Some(quote) = letters.next().filter(|first| ['"', '\'', '`'].contains(first)) else { continue };
        let mut title = String::new();
        while let Some(letter) = letters.next().filter(|letter| *letter != quote) {
            title.extend(if letter == '\\' { letters.next() } else { Some(letter) });
        }
        found.insert(title);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn tests_are_found_by_name_and_by_title() {
        let mut found = BTreeSet::new();
        rust_tests(
            concat!(
                "#[test]\nfn one() {}\n\nfn helper() {}\n",
                "#[wasm_bindgen_test]\n#[expect(x)]\nasync fn two() {}\n#[cfg(test)]\nmod tests {\n    fn other() {}\n",
                "    proptest! {\n        #[test]\n        /// Why.\n        fn three(x in 0..1) {}\n    }\n",
                "pub(super) async fn four<H: Harness>(harness: &H) {}\npub(super) async fn no_case(harness: u8) {}\n",
            ),
            &mut found,
        );
        script_tests(
            "test(\"the person's \\\"yes\\\"\", async () => {});\n  test(\n    `after ${n} s`, f);\ntest(name, f)",
            &mut found,
        );
        assert_eq!(found, set(&["one", "two", "three", "four", "the person's \"yes\"", "after ${n} s"]));
    }

    #[test]
    fn lines_are_read_from_tables_with_the_three_columns_only() {
        let text = "| id | what | state | tests |\n| --- | --- | --- | --- |\n\
            | A-01, A-02 | `x` | holds | `one`, `the other one` |\n\n| id | what |\n| --- | --- |\n| B-01 | y |\n";
        let line = Line {
            ids: vec!["A-01".into(), "A-02".into()],
            state: "holds".into(),
            tests: vec!["one".into(), "the other one".into()],
        };
        assert_eq!(lines(text), [line]);
    }

    #[test]
    fn a_test_that_does_not_exist_and_a_line_without_its_due_are_named() {
        let page = Page { file: "p.md", states: &["prevented", "open"], proven: "prevented", open_max: 1 };
        let check = |rows: &[&str]| {
            let text = format!("| id | state | tests |\n| --- | --- | --- |\n{}", rows.join("\n"));
            let mut problems = Vec::new();
            judge(&page, &lines(&text), &set(&["one", "an e2e title"]), &mut problems);
            problems
        };
        assert_eq!(check(&["| W-01 | prevented | `one`, `an e2e title` |", "| W-02 | open | |"]), [""; 0]);
        for (rows, problem) in [
            (&["| W-01 | prevented | `two` |"][..], "p.md: W-01 names \"two\", and there is no such test"),
            (&["| W-01 | prevented | |"], "p.md: W-01 is said to be \"prevented\" and names no test"),
            (
                &["| W-01 | fine | `one` |"],
                "p.md: W-01 is \"fine\", which is none of [\"prevented\", \"open\"]",
            ),
            (&["| W1 | open | |"], "p.md: \"W1\" is no id"),
            (&["| W-02 | open | |"], "p.md: the ids W-nn are not each there once, from 01 on"),
            (&["| W-01, W-02 | open | |"], "p.md: 2 of W-nn are open, at most 1"),
        ] {
            assert_eq!(check(rows), [problem]);
        }
    }
}
