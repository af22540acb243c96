//! A URL as it may be shown or logged.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::{FromJson, ToJson};

/// A URL whose text form has no user info, query or fragment, because those carry passwords, tokens and session ids.
///
/// The full address stays inside for the network; only [`SafeUrl::as_str`] gives it out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(transparent)]
pub struct SafeUrl(String);

impl SafeUrl {
    /// Wraps an address. It is not parsed here: whoever uses it for a decision parses it with `url`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The whole address, for a request and nothing else.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn shown(&self) -> String {
        let end = self.0.find(['?', '#']).unwrap_or(self.0.len());
        let plain = self.0.get(..end).unwrap_or_default();
        let Some((scheme, rest)) = plain.split_once("://") else { return plain.to_owned() };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        format!("{scheme}://{host}{path}")
    }
}

impl fmt::Display for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Debug for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SafeUrl({})", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::SafeUrl;

    #[test]
    fn user_info_query_and_fragment_are_not_shown() {
        let cases = [
            ("https://me:pass@host.test/a/b?key=1#frag", "https://host.test/a/b"),
            ("https://host.test?token=x", "https://host.test"),
            ("https://a@b@host.test/x", "https://host.test/x"),
            ("about:blank", "about:blank"),
            ("", ""),
        ];
        for (full, shown) in cases {
            assert_eq!(SafeUrl::new(full).to_string(), shown);
            assert!(!format!("{:?}", SafeUrl::new(full)).contains("pass"));
        }
    }
}
