//! The crate map: `layers.toml` against what cargo says of the workspace.

use super::Repository;
use crate::{build, process, toolchain};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// `layers.toml`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Layers {
    layers: Vec<Layer>,
    side: Side,
    /// Edges inside a layer.
    edges: BTreeMap<String, Vec<String>>,
    /// Crates that may use only these of the workspace.
    only: BTreeMap<String, Vec<String>>,
    /// Package to the reason why a pure layer must not reach it.
    forbidden_in_pure_layers: BTreeMap<String, String>,
    /// File to the reason why it may read a secret.
    pub(super) may_expose_a_secret: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    name: String,
    pure: bool,
    crates: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Side {
    crates: Vec<String>,
}

impl Layers {
    pub(super) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("layers.toml is not in the expected form")
    }

    /// Every crate that the file places, in its order.
    pub(super) fn crates(&self) -> impl Iterator<Item = &str> {
        let layered = self.layers.iter().flat_map(|layer| &layer.crates);
        layered.chain(&self.side.crates).map(String::as_str)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.crates.iter().any(|known| known == name))
    }

    fn is_side(&self, name: &str) -> bool {
        self.side.crates.iter().any(|known| known == name)
    }

    /// Why `from` may not use `to`; nothing if it may.
    fn objection(&self, from: &str, to: &str, in_tests: bool) -> Option<String> {
        if self.is_side(from) || (in_tests && (self.is_side(to) || from == to)) {
            return None;
        }
        if let Some(allowed) = self.only.get(from)
            && !allowed.iter().any(|name| name == to)
        {
            return Some(format!("{from} may use only {}", allowed.join(", ")));
        }
        let (Some(here), Some(there)) = (self.position(from), self.position(to)) else {
            return Some(format!("{to} is a side crate, which only tests may use"));
        };
        let named = self.edges.get(from).is_some_and(|edges| edges.iter().any(|name| name == to));
        match here.cmp(&there) {
            std::cmp::Ordering::Greater => None,
            std::cmp::Ordering::Equal if named => None,
            std::cmp::Ordering::Equal => {
                Some("it is in the same layer, and [edges] does not name it".to_owned())
            }
            std::cmp::Ordering::Less => Some("it is in a higher layer".to_owned()),
        }
    }
}

pub(super) fn check(repository: &Repository, problems: &mut Vec<String>) -> Result<()> {
    let layers = &repository.layers;
    let metadata = build::metadata()?;
    let packages = named_packages(&metadata);
    check_places(layers, &packages, problems);
    for (name, package) in &packages {
        for (dependency, in_tests) in workspace_dependencies(package) {
            if let Some(objection) = layers.objection(name, &dependency, in_tests) {
                let kind = if in_tests { " in its tests" } else { "" };
                problems.push(format!("crates/{name} uses {dependency}{kind}: {objection} (layers.toml)"));
            }
        }
    }
    check_purity(layers, problems)
}

fn check_places(layers: &Layers, packages: &BTreeMap<String, &Value>, problems: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for name in layers.crates() {
        if !seen.insert(name) {
            problems.push(format!("layers.toml names {name} twice"));
        }
        if !packages.contains_key(name) {
            problems.push(format!("layers.toml names {name}, which does not exist"));
        }
    }
    for name in packages.keys().filter(|name| !seen.contains(name.as_str())) {
        problems.push(format!("layers.toml gives the crate {name} no layer"));
    }
}

/// The workspace's packages by the name of their folder.
fn named_packages(metadata: &Value) -> BTreeMap<String, &Value> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    packages
        .filter_map(|package| Some((folder_name(package.get("name")?.as_str()?).to_owned(), package)))
        .collect()
}

fn folder_name(package: &str) -> &str {
    package.strip_prefix("panelot-").unwrap_or(package)
}

/// What a package uses of the workspace, and whether only in its tests.
fn workspace_dependencies(package: &Value) -> Vec<(String, bool)> {
    let dependencies = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    dependencies
        .filter(|dependency| dependency.get("path").is_some_and(Value::is_string))
        .filter_map(|dependency| {
            let name = folder_name(dependency.get("name")?.as_str()?).to_owned();
            Some((name, dependency.get("kind").and_then(Value::as_str) == Some("dev")))
        })
        .collect()
}

/// What cargo resolved for the browser: each package's id, name and the ids that it needs to run.
struct Graph {
    names: BTreeMap<String, String>,
    needs: BTreeMap<String, Vec<String>>,
}

impl Graph {
    fn read() -> Result<Self> {
        let mut cargo = process::cargo();
        cargo.args(["metadata", "--format-version", "1", "--filter-platform", toolchain::WASM_TARGET]);
        let metadata: Value = serde_json::from_str(&process::output(&mut cargo)?)?;
        Self::from_metadata(&metadata).context("cargo metadata has an unknown form")
    }

    fn from_metadata(metadata: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
        let mut names = BTreeMap::new();
        let mut macros = BTreeSet::new();
        for package in metadata.get("packages")?.as_array()? {
            let id = text(package, "id")?;
            let targets = package.get("targets")?.as_array()?;
            // A macro runs in the compiler: what it needs is not in the program.
            if targets.iter().any(|target| target.pointer("/kind/0").is_some_and(|kind| kind == "proc-macro"))
            {
                macros.insert(id.clone());
            }
            names.insert(id, text(package, "name")?);
        }
        let mut needs = BTreeMap::new();
        for node in metadata.pointer("/resolve/nodes")?.as_array()? {
            let at_run_time = |dependency: &&Value| {
                let kinds = dependency.get("dep_kinds").and_then(Value::as_array).into_iter().flatten();
                kinds.into_iter().any(|kind| kind.get("kind").is_none_or(Value::is_null))
            };
            let ids = node.get("deps")?.as_array()?.iter().filter(at_run_time);
            let ids = ids.filter_map(|dependency| text(dependency, "pkg")).filter(|id| !macros.contains(id));
            needs.insert(text(node, "id")?, ids.collect());
        }
        Some(Self { names, needs })
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }

    /// Every package that `from` needs, each with the chain of names that leads to it.
    fn reach(&self, from: &str) -> Vec<(String, String)> {
        let Some((start, _)) = self.names.iter().find(|(_, name)| *name == from) else { return Vec::new() };
        let mut seen = BTreeSet::from([start.clone()]);
        let mut open = vec![(start.clone(), from.to_owned())];
        let mut found = Vec::new();
        while let Some((id, chain)) = open.pop() {
            for next in self.needs.get(&id).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    let chain = format!("{chain} > {}", self.name(next));
                    found.push((self.name(next).to_owned(), chain.clone()));
                    open.push((next.clone(), chain));
                }
            }
        }
        found
    }
}

fn check_purity(layers: &Layers, problems: &mut Vec<String>) -> Result<()> {
    let graph = Graph::read()?;
    for layer in layers.layers.iter().filter(|layer| layer.pure) {
        for name in &layer.crates {
            for (package, chain) in graph.reach(&format!("panelot-{name}")) {
                if let Some(reason) = layers.forbidden_in_pure_layers.get(&package) {
                    problems.push(format!("{chain}: the layer {} is pure; {reason}", layer.name));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn layers() -> Layers {
        Layers::parse(
            r#"
            layers = [
                { name = "low", pure = true, crates = ["base", "protocol"] },
                { name = "high", pure = false, crates = ["store", "ui"] },
            ]
            side.crates = ["testkit"]
            edges.protocol = ["base"]
            only.ui = ["protocol"]
            forbidden-in-pure-layers.rand = "randomness is an input"
            may-expose-a-secret = {}
            "#,
        )
        .unwrap()
    }

    #[test]
    fn each_kind_of_edge_is_judged_by_the_table() {
        let layers = layers();
        for (from, to, in_tests, allowed) in [
            ("store", "base", false, true),
            ("base", "store", false, false),
            ("protocol", "base", false, true),
            ("base", "protocol", false, false),
            ("ui", "protocol", false, true),
            ("ui", "base", false, false),
            ("base", "testkit", false, false),
            ("base", "testkit", true, true),
            ("base", "store", true, false),
            ("store", "store", true, true),
            ("testkit", "ui", false, true),
        ] {
            assert_eq!(layers.objection(from, to, in_tests).is_none(), allowed, "{from} to {to}");
        }
    }

    #[test]
    fn a_crate_without_a_layer_and_a_layer_without_its_crate_are_both_named() {
        let package = Value::Null;
        let packages =
            ["base", "protocol", "store", "testkit", "new"].map(|name| (name.to_owned(), &package));
        let mut problems = Vec::new();
        check_places(&layers(), &packages.into(), &mut problems);
        let expected =
            ["layers.toml names ui, which does not exist", "layers.toml gives the crate new no layer"];
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_forbidden_package_is_found_through_others_but_not_through_macros_or_builds() {
        let package = |id: &str, kind: &str| json!({ "id": id, "name": id, "targets": [{ "kind": [kind] }] });
        let needs = |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("a", "lib"), package("b", "lib"), package("rand", "lib"), package("m", "proc-macro")],
            "resolve": { "nodes": [
                { "id": "a", "deps": [needs("b", Value::Null), needs("m", Value::Null)] },
                { "id": "b", "deps": [needs("rand", Value::Null)] },
                { "id": "m", "deps": [needs("rand", Value::Null)] },
                { "id": "c", "deps": [needs("rand", json!("build"))] },
                { "id": "rand", "deps": [] },
            ]},
        });
        let graph = Graph::from_metadata(&metadata).unwrap();
        let found = graph.reach("a");
        assert!(found.contains(&("rand".to_owned(), "a > b > rand".to_owned())), "{found:?}");
        assert_eq!(graph.needs["c"], Vec::<String>::new());
        assert!(!found.iter().any(|(name, _)| name == "m"));
    }
}
