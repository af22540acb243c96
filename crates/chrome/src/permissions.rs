//! `chrome.permissions`: which origins and optional interfaces the person has allowed.

use panelot_base::json::{FromJson, ToJson};
use serde::Serialize;
use serde_json::json;

use crate::api::{Api, ChromeError, read};

/// Host patterns and names of permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, FromJson, ToJson)]
#[serde(default)]
pub struct Permissions {
    /// Match patterns such as `https://example.com/*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Names such as `history`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
}

impl Permissions {
    /// Access to one origin (`https://example.com:8443`); `None` when no pattern can name it. A match pattern without a
    /// port means every port, which is how Chrome shows and grants it.
    #[must_use]
    pub fn of_origin(origin: &str) -> Option<Self> {
        origin_pattern(origin).map(|pattern| Self { origins: vec![pattern], permissions: Vec::new() })
    }
}

/// The match pattern of a web origin: `https://example.com:8443` gives `https://example.com/*`.
#[must_use]
pub fn origin_pattern(origin: &str) -> Option<String> {
    let (scheme, authority) = origin.split_once("://")?;
    if !matches!(scheme, "http" | "https") || authority.contains(['/', '@', '*', '?', '#']) {
        return None;
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    (!host.is_empty()).then(|| format!("{scheme}://{host}/*"))
}

/// Whether all of these are granted.
///
/// # Errors
/// [`ChromeError`] when a pattern or name is not one.
pub async fn contains(api: &impl Api, wanted: &Permissions) -> Result<bool, ChromeError> {
    read("permissions.contains", api.call("permissions.contains", vec![json!(wanted)]).await?)
}

/// Asks the person; only in a click's handler. False when the person declines.
///
/// # Errors
/// [`ChromeError`] outside of a click, or when the manifest does not name these as optional.
pub async fn request(api: &impl Api, wanted: &Permissions) -> Result<bool, ChromeError> {
    read("permissions.request", api.call("permissions.request", vec![json!(wanted)]).await?)
}

/// Gives these back.
///
/// # Errors
/// [`ChromeError`] when they are required ones.
pub async fn remove(api: &impl Api, unwanted: &Permissions) -> Result<bool, ChromeError> {
    read("permissions.remove", api.call("permissions.remove", vec![json!(unwanted)]).await?)
}

/// All that are granted.
///
/// # Errors
/// [`ChromeError`] when Chrome refuses.
pub async fn get_all(api: &impl Api) -> Result<Permissions, ChromeError> {
    read("permissions.getAll", api.call("permissions.getAll", vec![]).await?)
}

#[cfg(test)]
mod tests {
    use super::origin_pattern;

    #[test]
    fn only_web_origins_have_a_pattern_and_it_has_no_port() {
        let cases = [
            ("https://example.com", Some("https://example.com/*")),
            ("http://127.0.0.1:8080", Some("http://127.0.0.1/*")),
            ("http://[::1]:8080", Some("http://[::1]/*")),
            ("http://[::1]", Some("http://[::1]/*")),
            ("null", None),
            ("chrome://version", None),
            ("https://*", None),
            ("https://a.test/x", None),
            ("https://", None),
        ];
        for (origin, pattern) in cases {
            assert_eq!(origin_pattern(origin).as_deref(), pattern, "{origin}");
        }
    }
}
