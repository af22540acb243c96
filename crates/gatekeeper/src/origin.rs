//! Origins, and the patterns that rules match them with.

use std::fmt;

use panelot_base::WebAddress;

/// What a call is judged by: where the document comes from that it reads or changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// No document in particular: the call concerns the browser as a whole.
    Browser,
    /// A document without an origin of its own (sandboxed, `data:`), or one that cannot be understood.
    Opaque,
    /// A site.
    Site {
        /// `http`, `https`, or another scheme with a host, in lower case.
        scheme: String,
        /// The host in its ASCII form, in lower case, without a closing dot.
        host: String,
        /// The port; the scheme's usual one where none is written, 0 for a scheme that has none.
        port: u16,
    },
}

impl Origin {
    /// Reads an origin or an address. Whatever has no host is opaque.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        WebAddress::parse(text.trim()).map_or(Self::Opaque, |address| Self::of(&address))
    }

    pub(crate) fn of(address: &WebAddress) -> Self {
        if address.host().is_empty() {
            return Self::Opaque;
        }
        Self::Site {
            scheme: address.scheme().to_owned(),
            host: plain_host(address.host()),
            port: address.port().unwrap_or_else(|| usual_port(address.scheme())),
        }
    }

    /// Whether it is a site that is reached by `http` or `https`.
    #[must_use]
    pub fn is_web(&self) -> bool {
        matches!(self, Self::Site { scheme, .. } if is_web_scheme(scheme))
    }
}

/// The form that is shown, stored and compared: `https://shop.test`, `null` for an opaque one, nothing for the browser.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Browser => Ok(()),
            Self::Opaque => f.write_str("null"),
            Self::Site { scheme, host, port } => {
                write!(f, "{scheme}://{host}")?;
                if *port == usual_port(scheme) { Ok(()) } else { write!(f, ":{port}") }
            }
        }
    }
}

pub(crate) fn is_web_scheme(scheme: &str) -> bool {
    matches!(scheme, "http" | "https")
}

fn usual_port(scheme: &str) -> u16 {
    match scheme {
        "http" | "ws" => 80,
        "https" | "wss" => 443,
        "ftp" => 21,
        _ => 0,
    }
}

fn plain_host(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// A text that is not a pattern for origins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an origin pattern is `*`, `*.domain`, a host, or an origin such as https://shop.test:8443")]
pub struct InvalidPattern;

/// Which origins a rule is about.
///
/// - `*`: every origin, the browser as a whole and opaque ones included.
/// - `https://shop.test:8443`: scheme, host and port are equal; a port that is not written is the scheme's usual one.
/// - `shop.test`: this host, whatever the scheme and port.
/// - `*.shop.test`: `shop.test` and every name below it, whatever the scheme and port.
/// - `https://*.shop.test`: the same with this scheme and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginPattern(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Any,
    Host { scheme_and_port: Option<(String, u16)>, host: String, below: bool },
}

impl OriginPattern {
    /// Reads a pattern. Host names are folded as in an address (lower case, punycode, no closing dot).
    ///
    /// # Errors
    /// [`InvalidPattern`] when it is of none of the forms, has a path, or asks for the names below an IP address.
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self(Form::Any));
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, text),
        };
        let (below, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        if rest.is_empty() || rest.contains('*') {
            return Err(InvalidPattern);
        }
        let address = WebAddress::parse(&format!("{}://{rest}", scheme.unwrap_or("https")))
            .map_err(|_| InvalidPattern)?;
        let bare = !address.has_credentials()
            && matches!(address.path(), "" | "/")
            && !rest.contains(['?', '#'])
            && (scheme.is_some() || address.port().is_none());
        let Origin::Site { scheme: folded, host, port } = Origin::of(&address) else {
            return Err(InvalidPattern);
        };
        if !bare || (below && !address.has_domain()) {
            return Err(InvalidPattern);
        }
        Ok(Self(Form::Host { scheme_and_port: scheme.map(|_| (folded, port)), host, below }))
    }

    /// The pattern that matches this origin and no other; `None` where there is no such thing (an opaque origin).
    #[must_use]
    pub fn exactly(origin: &Origin) -> Option<Self> {
        match origin {
            Origin::Site { scheme, host, port } => Some(Self(Form::Host {
                scheme_and_port: Some((scheme.clone(), *port)),
                host: host.clone(),
                below: false,
            })),
            Origin::Browser | Origin::Opaque => None,
        }
    }

    /// Whether an origin is meant.
    #[must_use]
    pub fn matches(&self, origin: &Origin) -> bool {
        let (scheme_and_port, wanted, below) = match &self.0 {
            Form::Any => return true,
            Form::Host { scheme_and_port, host, below } => (scheme_and_port, host, *below),
        };
        let Origin::Site { scheme, host, port } = origin else { return false };
        let site_fits = scheme_and_port.as_ref().is_none_or(|(s, p)| s == scheme && p == port);
        let is_below = || host.strip_suffix(wanted.as_str()).is_some_and(|rest| rest.ends_with('.'));
        site_fits && (host == wanted || (below && is_below()))
    }
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Form::Host { scheme_and_port, host, below } = &self.0 else { return f.write_str("*") };
        if let Some((scheme, _)) = scheme_and_port {
            write!(f, "{scheme}://")?;
        }
        write!(f, "{}{host}", if *below { "*." } else { "" })?;
        match scheme_and_port {
            Some((scheme, port)) if *port != usual_port(scheme) => write!(f, ":{port}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, OriginPattern};

    #[test]
    fn an_origin_is_shown_in_its_ascii_form_without_the_usual_port() {
        let cases = [
            ("https://Shop.Test:443/a?b#c", "https://shop.test"),
            ("http://shop.test:8080", "http://shop.test:8080"),
            ("https://shop.test./", "https://shop.test"),
            ("https://bücher.example/", "https://xn--bcher-kva.example"),
            ("https://a.test@evil.test/", "https://evil.test"),
            ("http://0x7f.1/", "http://127.0.0.1"),
            ("http://[::1]:3000/", "http://[::1]:3000"),
            ("chrome-extension://abcd/x.html", "chrome-extension://abcd"),
            ("null", "null"),
            ("about:blank", "null"),
            ("data:text/html,x", "null"),
            ("file:///etc/passwd", "null"),
            ("", "null"),
        ];
        for (text, shown) in cases {
            assert_eq!(Origin::parse(text).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn a_pattern_matches_at_label_boundaries_and_by_scheme_and_port_only_where_it_names_them() {
        let cases = [
            ("https://shop.test", "https://shop.test", true),
            ("https://shop.test", "http://shop.test", false),
            ("https://shop.test", "https://shop.test:8443", false),
            ("https://shop.test", "https://www.shop.test", false),
            ("https://shop.test:8443", "https://shop.test:8443", true),
            ("HTTPS://SHOP.TEST/", "https://shop.test", true),
            ("shop.test", "http://shop.test:8080", true),
            ("shop.test", "https://a.shop.test", false),
            ("*.shop.test", "https://shop.test", true),
            ("*.shop.test", "http://a.b.shop.test:99", true),
            ("*.shop.test", "https://evilshop.test", false),
            ("*.shop.test", "https://shop.test.evil.example", false),
            ("*.shop.test.", "https://a.shop.test", true),
            ("https://*.shop.test", "https://a.shop.test", true),
            ("https://*.shop.test", "http://a.shop.test", false),
            ("https://*.shop.test:8443", "https://a.shop.test:8443", true),
            ("*.bücher.example", "https://a.xn--bcher-kva.example", true),
            ("127.0.0.1", "http://127.0.0.1:5000", true),
            ("*", "https://any.test", true),
            ("*", "null", true),
            ("shop.test", "null", false),
        ];
        for (pattern, origin, expected) in cases {
            let matches = OriginPattern::parse(pattern).unwrap().matches(&Origin::parse(origin));
            assert_eq!(matches, expected, "{pattern} on {origin}");
        }
        assert!(OriginPattern::parse("*").unwrap().matches(&Origin::Browser));
        assert!(!OriginPattern::parse("*.test").unwrap().matches(&Origin::Browser));
    }

    #[test]
    fn what_is_not_a_pattern_is_refused() {
        let bad = [
            "",
            "*.",
            "**",
            "*.*.test",
            "a*.test",
            "https://a.test/path",
            "*.0.0.1",
            "a.test:80",
            "https://",
            "a b",
        ];
        for text in bad {
            assert!(OriginPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_read_back_from_what_it_shows() {
        for text in ["*", "*.shop.test", "shop.test", "https://shop.test", "http://*.shop.test:8080"] {
            let pattern = OriginPattern::parse(text).unwrap();
            assert_eq!(pattern.to_string(), text);
            assert_eq!(OriginPattern::parse(&pattern.to_string()).unwrap(), pattern);
        }
    }
}
