//! Turns `locales/*.ftl` into the typed `Messages`: one method a key, its arguments as parameters.
//!
//! A key or an argument that one language lacks fails the build, so no text can be missing at run time.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

type Texts = BTreeMap<String, String>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut languages = Vec::new();
    for (variant, file) in [("En", "locales/en.ftl"), ("ZhCn", "locales/zh-CN.ftl")] {
        println!("cargo::rerun-if-changed={file}");
        languages.push((variant, read(file)?));
    }
    println!("cargo::rerun-if-changed=build.rs");
    let keys: BTreeSet<&str> = languages
        .iter()
        .flat_map(|(_, texts)| texts.keys())
        .filter(|key| !key.contains('.'))
        .map(String::as_str)
        .collect();
    let mut code = String::from("impl Messages {\n");
    for key in keys {
        method(&mut code, key, &languages)?;
    }
    code.push_str("}\n");
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("messages.rs"), code)?;
    Ok(())
}

fn read(file: &str) -> Result<Texts, Box<dyn Error>> {
    let mut texts = Texts::new();
    for (index, line) in fs::read_to_string(file)?.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, text) =
            line.split_once(" = ").ok_or(format!("{file}:{}: `key = text` expected", index + 1))?;
        if texts.insert(key.to_owned(), text.to_owned()).is_some() {
            return Err(format!("{file}:{}: {key} is there twice", index + 1).into());
        }
    }
    Ok(texts)
}

/// The arguments of a text, in the order of their names.
fn arguments(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

fn method(code: &mut String, key: &str, languages: &[(&str, Texts)]) -> Result<(), Box<dyn Error>> {
    let mut wanted = None;
    let mut arms = String::new();
    let mut doc = "";
    for (variant, texts) in languages {
        let text = texts.get(key).ok_or(format!("{variant} has no text for {key}"))?;
        let found = arguments(text);
        if *wanted.get_or_insert(found.clone()) != found {
            return Err(format!("the languages differ in the arguments of {key}").into());
        }
        if doc.is_empty() {
            doc = text;
        }
        if found.is_empty() {
            writeln!(arms, "            Lang::{variant} => {text:?},")?;
            continue;
        }
        if let Some(one) = texts.get(&format!("{key}.one")) {
            writeln!(arms, "            Lang::{variant} if count == 1 => format!({one:?}),")?;
        }
        writeln!(arms, "            Lang::{variant} => format!({text:?}),")?;
    }
    let wanted = wanted.unwrap_or_default();
    let mut parameters = String::new();
    for name in &wanted {
        write!(parameters, ", {name}: {}", if *name == "count" { "u64" } else { "&str" })?;
    }
    let result = if wanted.is_empty() { "&'static str" } else { "String" };
    let name = key.replace('-', "_");
    writeln!(
        code,
        "    #[doc = {doc:?}]\n    #[must_use]\n    pub fn {name}(self{parameters}) -> {result} {{"
    )?;
    writeln!(code, "        match self.lang {{\n{arms}        }}\n    }}")?;
    Ok(())
}
