//! `cargo xtask package`: the two archives for the stores, byte for byte the same for the same sources.

use crate::build::{self, BuildKind};
use crate::{project, size, tidy};
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// One archive for each store. Both get the same extension: the manifest serves both browsers.
const ARCHIVES: [&str; 2] = ["panelot-chrome.zip", "panelot-edge.zip"];
/// What everyone may read and the owner may write, on every machine alike.
const MODE: u32 = 0o644;

/// `cargo xtask package`
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let [] = project::flags(arguments, [])?;
    let folder = build::build_extension(BuildKind::RELEASE)?;
    size::measure(&folder)?;
    tidy::check_shipped()?;
    for name in ARCHIVES {
        let archive = project::dist().join(name);
        write_archive(&folder, &archive)?;
        project::say(format!("dist/{name}: {} bytes", fs::metadata(&archive)?.len()));
    }
    Ok(())
}

/// Packs `folder`: sorted paths, one fixed time and mode.
fn write_archive(folder: &Path, archive: &Path) -> Result<()> {
    let file = File::create(archive).with_context(|| format!("cannot create {}", archive.display()))?;
    let mut zip = ZipWriter::new(BufWriter::new(file));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default())
        .unix_permissions(MODE);
    for relative in project::files_below(folder)? {
        // Archives use `/` on every system.
        let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
        zip.start_file(parts.join("/"), options)?;
        let content = fs::read(folder.join(&relative))
            .with_context(|| format!("cannot read {}", relative.display()))?;
        zip.write_all(&content)?;
    }
    zip.finish()?.flush().with_context(|| format!("cannot write {}", archive.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_folder_gives_the_same_bytes_whenever_it_is_packed() {
        let base = std::env::temp_dir().join(format!("panelot-package-{}", std::process::id()));
        let folder = base.join("extension");
        project::write(&folder.join("b/c.txt"), "deep").unwrap();
        project::write(&folder.join("a.txt"), "first").unwrap();
        write_archive(&folder, &base.join("one.zip")).unwrap();
        let later = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
        File::options().write(true).open(folder.join("a.txt")).unwrap().set_modified(later).unwrap();
        write_archive(&folder, &base.join("two.zip")).unwrap();
        let (one, two) = (fs::read(base.join("one.zip")).unwrap(), fs::read(base.join("two.zip")).unwrap());
        let names: Vec<String> = zip::ZipArchive::new(std::io::Cursor::new(&one))
            .unwrap()
            .file_names()
            .map(|name| name.unwrap().into_owned())
            .collect();
        project::remove_tree(&base).unwrap();
        assert_eq!(one, two);
        assert_eq!(names, ["a.txt", "b/c.txt"]);
    }
}
