//! Writes the recorded schema hash and `page/src/generated.ts` from the types, after a change was reviewed.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::write(own.join("schema-hash.txt"), panelot_page_protocol::computed_schema_hash() + "\n")?;
    let page = own.join("../../page/src");
    std::fs::create_dir_all(&page)?;
    std::fs::write(page.join("generated.ts"), panelot_page_protocol::typescript())
}
