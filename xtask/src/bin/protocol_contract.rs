//! Prints the wire contract of this build as JSON: `{"manifest": ..., "hash": ...}`.
//!
//! A program of its own, so that `cargo xtask` itself compiles while the protocol does not.
#![expect(clippy::print_stdout, reason = "this program's purpose is its output")]

fn main() {
    let manifest = panelot_protocol::manifest::canonical_manifest();
    let hash = panelot_protocol::manifest::schema_hash();
    println!("{}", serde_json::json!({ "manifest": manifest, "hash": hash }));
}
