//! Finding or installing a Chromium that may load an unpacked extension.

use crate::{process, project, setup};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Set to the browser's program to insist on one.
const CHOICE: &str = "PANELOT_CHROMIUM";
/// Programs in the order in which they serve best: branded Chrome last, it ignores `--load-extension`.
const PROGRAMS: &[&str] = &[
    "chromium",
    "chromium-browser",
    "chrome-for-testing",
    "google-chrome-for-testing",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    "google-chrome-stable",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
const DRIVERS: &[&str] = &["chromedriver", "/usr/lib/chromium-browser/chromedriver"];
/// The font is for screenshots of the Chinese texts.
const DEBIAN_PACKAGES: &[&str] = &["chromium", "chromium-driver", "fonts-noto-cjk"];

/// A browser to test with.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    /// The program.
    pub(crate) chromium: PathBuf,
    /// Its WebDriver, which the wasm tests need.
    pub(crate) driver: Option<PathBuf>,
}

/// The browser of this machine, installed if it is missing and may be installed.
pub(crate) fn ensure() -> Result<Browser> {
    let _lock = project::lock("setup")?;
    if find().is_none_or(|browser| browser.driver.is_none()) && may_complete() {
        setup::apt_install(DEBIAN_PACKAGES).context(
            "no Chromium: install Chromium or Chrome for Testing, or set PANELOT_CHROMIUM to its program",
        )?;
    }
    find().context("no Chromium on PATH: install it, or set PANELOT_CHROMIUM to its program")
}

/// The browser of this machine, if there is one.
pub(crate) fn find() -> Option<Browser> {
    let chosen = std::env::var_os(CHOICE).map(PathBuf::from).filter(|program| program.is_file());
    let chromium = chosen.or_else(|| process::find(PROGRAMS))?;
    let driver = std::env::var_os("CHROMEDRIVER").map(PathBuf::from).or_else(|| process::find(DRIVERS));
    Some(Browser { chromium, driver })
}

/// True where an installation can help: nothing is there yet, or Debian's browser lacks its driver.
fn may_complete() -> bool {
    let Some(browser) = find() else { return true };
    browser.chromium == Path::new("/usr/bin/chromium") && process::find(&["apt-get"]).is_some()
}
