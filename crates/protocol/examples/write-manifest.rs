//! Records the contract; `cargo xtask protocol write` does the same.
fn main() -> std::io::Result<()> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    std::fs::write(folder.join("manifest.json"), panelot_protocol::manifest::canonical_manifest() + "\n")?;
    std::fs::write(folder.join("hash.txt"), panelot_protocol::manifest::schema_hash())
}
