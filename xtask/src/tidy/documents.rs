//! Rules for what people read: the architecture page, links between documents, and texts in two languages.

use super::{Repository, compare_keys, folder_of};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const WIRE: &str = "docs/protocol.md";
const CONTRACT: &str = "crates/protocol/schema/manifest.json";
/// Folders with one file or folder per language.
const LOCALES: [&str; 2] = ["extension/_locales/", "crates/ui/locales/"];
/// The language that the others are compared with.
const FIRST_LOCALE: &str = "en";
/// Ends of keys that a language has only if its grammar does.
const OTHER_PLURALS: [&str; 5] = [".zero", ".one", ".two", ".few", ".many"];

/// Every crate has its section in the architecture page, with something in it.
pub(super) fn check_architecture(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    if !repository.has(ARCHITECTURE) {
        problems.push(format!("{ARCHITECTURE} is missing"));
        return Ok(());
    }
    let text = repository.read(ARCHITECTURE)?;
    for name in repository.layers.crates() {
        if !has_section(&text, name) {
            problems.push(format!("{ARCHITECTURE} has no section \"### `{name}`\" with a paragraph in it"));
        }
    }
    Ok(())
}

fn has_section(text: &str, name: &str) -> bool {
    let heading = format!("### `{name}`");
    let mut after = text.lines().skip_while(|line| line.trim_end() != heading).skip(1);
    after.find(|line| !line.trim().is_empty()).is_some_and(|line| !line.starts_with('#'))
}

/// Links from one document to a file lead somewhere.
pub(super) fn check_links(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    for file in repository.files.iter().filter(|file| file.ends_with(".md")) {
        for target in links(&repository.read(file)?) {
            let path = target.split('#').next().unwrap_or_default();
            let from = if path.starts_with('/') { "" } else { folder_of(file) };
            if !path.is_empty()
                && !repository.root.join(format!("{from}{}", path.trim_start_matches('/'))).exists()
            {
                problems.push(format!("{file} links to {target}, which does not exist"));
            }
        }
    }
    Ok(())
}

/// The targets of Markdown links and images that stay in this repository. Code blocks and spans have none.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for part in prose.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            if !target.contains(':') {
                found.push(target.to_owned());
            }
        }
    }
    found
}

/// The page about the wire has a row for each operation and event of the recorded contract, and for no other.
pub(super) fn check_wire(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    let contract: Value =
        serde_json::from_str(&repository.read(CONTRACT)?).context("the contract is no JSON")?;
    let kinds = ["ops", "events"].into_iter().filter_map(|kinds| contract.get(kinds)?.as_object());
    let names: BTreeMap<String, ()> =
        kinds.flat_map(|kinds| kinds.keys().cloned()).map(|name| (name, ())).collect();
    let told = rows_of_types(&repository.read(WIRE)?).into_iter().map(|name| (name, ())).collect();
    compare_keys((CONTRACT, WIRE), &names, &told, problems);
    Ok(())
}

/// What stands first in the rows of tables whose first column is called `type`.
fn rows_of_types(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let mut in_table = false;
    for line in text.lines() {
        let first = line.strip_prefix("| ").and_then(|row| row.split(" |").next());
        match first {
            None if !line.starts_with('|') => in_table = false,
            Some("type") => in_table = true,
            Some(cell) if in_table => {
                rows.extend(cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`')))
            }
            _ => {}
        }
    }
    rows.into_iter().map(str::to_owned).collect()
}

/// A text's placeholders by its key.
type Texts = BTreeMap<String, BTreeSet<String>>;

/// Every language has the same keys, each with the same placeholders.
pub(super) fn check_locales(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    for folder in LOCALES {
        let mut languages: BTreeMap<String, Texts> = BTreeMap::new();
        for file in repository.files.iter().filter(|file| file.starts_with(folder)) {
            let rest = file.trim_start_matches(folder);
            let language = rest.split(['/', '.']).next().unwrap_or_default();
            let mut texts = parse(file, &repository.read(file)?)?;
            // Languages differ in which forms of a number they have; `.other` is the one that all have.
            texts.retain(|key, _| !OTHER_PLURALS.iter().any(|form| key.ends_with(form)));
            languages.entry(language.to_owned()).or_default().extend(texts);
        }
        let Some(first) = languages.get(FIRST_LOCALE) else {
            if folder == "extension/_locales/" || !languages.is_empty() {
                problems.push(format!("{folder} has no {FIRST_LOCALE}"));
            }
            continue;
        };
        if languages.len() < 2 {
            problems.push(format!("{folder} has only {FIRST_LOCALE}: every text exists in Chinese too"));
        }
        for (name, texts) in languages.iter().filter(|(name, _)| *name != FIRST_LOCALE) {
            let (left, right) = (format!("{folder}{FIRST_LOCALE}"), format!("{folder}{name}"));
            compare_keys((&left, &right), first, texts, problems);
        }
        if folder == "extension/_locales/" {
            check_used_messages(repository, first, problems)?;
        }
    }
    Ok(())
}

/// What the manifest and the boot script ask for exists.
fn check_used_messages(repository: &Repository, texts: &Texts, problems: &mut Vec<String>) -> Result<()> {
    let manifest = repository.read("extension/manifest.json")?;
    let boot = repository.read("extension/background.js")?;
    let named = manifest.split("__MSG_").skip(1).filter_map(|rest| rest.split_once("__"));
    let asked = boot.split("getMessage(\"").skip(1).filter_map(|rest| rest.split_once('"'));
    for (key, _) in named.chain(asked) {
        if !texts.contains_key(key) {
            problems.push(format!("extension/_locales lacks {key:?}, which the extension asks for"));
        }
    }
    Ok(())
}

fn parse(file: &str, text: &str) -> Result<Texts> {
    match Path::new(file).extension().and_then(|extension| extension.to_str()) {
        Some("json") => {
            let value: Value = serde_json::from_str(text).with_context(|| format!("{file} is no JSON"))?;
            let mut texts = Texts::new();
            flatten("", &value, &mut texts);
            Ok(texts)
        }
        Some("ftl") => Ok(parse_fluent(text)),
        _ => Ok(Texts::new()),
    }
}

/// One entry per text of a JSON file. Chrome's own form, `{"key": {"message": ...}}`, counts as one text.
fn flatten(key: &str, value: &Value, texts: &mut Texts) {
    match value {
        Value::String(text) => {
            texts.insert(key.to_owned(), placeholders(text));
        }
        Value::Object(fields) => {
            if let Some(Value::String(message)) = fields.get("message") {
                texts.insert(key.to_owned(), placeholders(message));
                return;
            }
            for (name, inner) in fields {
                let inner_key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&inner_key, inner, texts);
            }
        }
        _ => {}
    }
}

fn parse_fluent(text: &str) -> Texts {
    let mut texts = Texts::new();
    let mut current = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let starts_entry = line.starts_with(|first: char| first.is_ascii_alphabetic() || first == '-');
        if let Some((key, _)) = line.split_once('=').filter(|_| starts_entry) {
            current = Some(key.trim().to_owned());
        }
        if let Some(key) = &current {
            texts.entry(key.clone()).or_default().extend(placeholders(line));
        }
    }
    texts
}

/// The names in `$name`, `$NAME$` and `{name}`.
fn placeholders(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (sign, part) in
        ["$", "{"].into_iter().flat_map(|sign| text.split(sign).skip(1).map(move |part| (sign, part)))
    {
        let end = part.find(|next: char| !next.is_ascii_alphanumeric() && next != '_' && next != '-');
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        if !name.is_empty() && (sign == "$" || rest.starts_with('}')) {
            names.insert(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_needs_its_heading_and_a_paragraph() {
        let text = "## Map\n\n### `base`\n\nWords.\n\n### `empty`\n\n### `last`\n";
        assert!(has_section(text, "base"));
        assert!(!has_section(text, "empty") && !has_section(text, "last") && !has_section(text, "other"));
    }

    #[test]
    fn links_out_of_the_repository_and_in_code_are_no_links_to_files() {
        let text = "[a](docs/a.md#x) ![b](img/b.png \"t\") [c](https://c.example) `[d](d.md)`\n```\n[e](e.md)\n```\n[f](#g)";
        assert_eq!(links(text), ["docs/a.md#x", "img/b.png", "#g"]);
    }

    #[test]
    fn operations_and_events_stand_in_tables_of_types() {
        let text = "| type | what |\n| --- | --- |\n| `a.b` | x |\n| `ping` | y |\n\n| code | what |\n| --- | --- |\n| `c` | z |\n";
        assert_eq!(rows_of_types(text), ["a.b", "ping"]);
    }

    #[test]
    fn texts_are_read_from_each_form_with_their_placeholders() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let chrome = parse("x.json", r#"{"name": {"message": "Hi $WHO$", "description": "$NO$"}}"#).unwrap();
        assert_eq!(chrome, Texts::from([("name".to_owned(), set(&["WHO"]))]));
        let plain = parse("x.json", r#"{"a": {"b": "{count} of {total}"}, "c": "no { hole }"}"#).unwrap();
        assert_eq!(plain["a.b"], set(&["count", "total"]));
        assert_eq!(plain["c"], set(&[]));
        let fluent = parse(
            "x.ftl",
            "# $no\nsend = Send\nleft = { $n ->\n    [one] { $n } left\n   *[other] left\n }\n",
        )
        .unwrap();
        assert_eq!(fluent.keys().collect::<Vec<_>>(), ["left", "send"]);
        assert_eq!(fluent["left"], set(&["n"]));
    }
}
