//! Where a provider is, and the rules for what a person may type there.

use panelot_base::{SafeUrl, Secret, WebAddress};
use serde_json::{Map, Value};

use crate::http::{HeaderValue, HttpRequest, Method};
use crate::quirks::Quirks;

/// Characters of a base URL.
const URL_CHARS_MAX: usize = 2048;
/// The ends of full addresses, which people paste instead of the base. What is before them is taken literally.
const FULL: [&str; 3] = ["/chat/completions", "/messages", "/responses"];
/// Headers of one connection. Gateways want one or two.
const HEADERS_MAX: usize = 20;
/// Bytes of one header's value; browsers and servers end at some thousands.
const HEADER_BYTES_MAX: usize = 8192;

/// A provider's address and credential, checked once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    base: Base,
    key: Secret,
    quirks: Quirks,
    headers: Vec<(String, Secret)>,
}

/// How a wire shows the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Auth {
    /// `authorization: Bearer`.
    Bearer,
    /// `x-api-key`, with what Anthropic wants of a browser.
    Anthropic,
}

#[derive(Clone, PartialEq, Eq)]
struct Base {
    origin: String,
    /// Without a closing slash.
    path: String,
    /// With its `?`; empty for none.
    query: String,
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", SafeUrl::new(format!("{}{}{}", self.origin, self.path, self.query)))
    }
}

/// Why an address is refused. The person typed it, so the person is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not an address, or longer than 2,048 characters.
    #[error("not a valid address")]
    NotAnAddress,
    /// Another scheme than `https` or `http`.
    #[error("the address must start with https:// or http://")]
    Scheme,
    /// `http` to another host than this computer would send the key in clear text.
    #[error("http is allowed for localhost, 127.0.0.1 and [::1] only")]
    ClearText,
    /// User name or password before an `@`.
    #[error("the address must not contain a user name or password")]
    UserInfo,
    /// A part after `#`.
    #[error("the address must not contain a fragment")]
    Fragment,
    /// A header's name or value is none that HTTP allows, or there are more than 20.
    #[error("a header's name or value is not valid")]
    Header,
}

impl Endpoint {
    /// Checks what a person typed.
    ///
    /// Without a scheme, this computer gets `http` and everything else `https`. A path without a version segment
    /// (`/v1`, `/v1beta`) gets `/v1`; a full `…/chat/completions` address is taken literally, which is how a server
    /// without version segment is reached. A query stays, since some gateways need one.
    ///
    /// # Errors
    /// [`EndpointError`], in the order of its variants.
    pub fn new(base_url: &str, key: Secret) -> Result<Self, EndpointError> {
        let text = base_url.trim();
        let strange = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
        if text.is_empty() || text.chars().count() > URL_CHARS_MAX || text.contains(strange) {
            return Err(EndpointError::NotAnAddress);
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None if is_loopback(typed_host(text)) => ("http".to_owned(), text),
            None => ("https".to_owned(), text),
        };
        if scheme != "http" && scheme != "https" {
            return Err(EndpointError::Scheme);
        }
        // The host as typed: other spellings of a loopback address are refused rather than understood.
        if scheme == "http" && !is_loopback(typed_host(rest)) {
            return Err(EndpointError::ClearText);
        }
        if authority(rest).contains('@') {
            return Err(EndpointError::UserInfo);
        }
        if rest.contains('#') {
            return Err(EndpointError::Fragment);
        }
        let address =
            WebAddress::parse(&format!("{scheme}://{rest}")).map_err(|_| EndpointError::NotAnAddress)?;
        if address.host().is_empty() {
            return Err(EndpointError::NotAnAddress);
        }
        let base = Base {
            origin: address.origin().to_owned(),
            path: base_path(address.path()),
            query: address.query().to_owned(),
        };
        Ok(Self { base, key, quirks: Quirks::default(), headers: Vec::new() })
    }

    /// The same endpoint with what its server wants differently.
    #[must_use]
    pub const fn with_quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// The same endpoint with headers of the person's own, which replace ours of the same name.
    ///
    /// # Errors
    /// [`EndpointError::Header`].
    pub fn with_headers(mut self, headers: Vec<(String, Secret)>) -> Result<Self, EndpointError> {
        let is_token = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        };
        let is_value = |value: &str| {
            value.len() <= HEADER_BYTES_MAX && !value.chars().any(|c| c.is_control() || u32::from(c) > 0xff)
        };
        let is_sound = |(name, value): &(String, Secret)| is_token(name) && is_value(value.expose());
        if headers.len() > HEADERS_MAX || !headers.iter().all(is_sound) {
            return Err(EndpointError::Header);
        }
        self.headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        Ok(self)
    }

    /// What its server wants differently.
    #[must_use]
    pub const fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    /// Whether the host is `domain` or below it.
    pub(crate) fn is_at(&self, domain: &str) -> bool {
        let host = self.base.origin.rsplit("://").next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default();
        host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// Whether the server is on this computer.
    #[must_use]
    pub fn is_local(&self) -> bool {
        is_loopback(typed_host(self.base.origin.rsplit("://").next().unwrap_or_default()))
    }

    pub(crate) fn get(&self, path: &str, auth: Auth) -> HttpRequest {
        HttpRequest {
            method: Method::Get,
            url: self.join(path),
            headers: self.request_headers(auth),
            body: None,
        }
    }

    pub(crate) fn post(&self, path: &str, auth: Auth, body: Map<String, Value>) -> HttpRequest {
        let mut headers = self.request_headers(auth);
        if !headers.iter().any(|(name, _)| name == "content-type") {
            headers.push(("content-type".to_owned(), HeaderValue::Plain("application/json".to_owned())));
        }
        let body = Some(Value::Object(body).to_string());
        HttpRequest { method: Method::Post, url: self.join(path), headers, body }
    }

    /// The headers of every request. Without a key there is no credential: local servers refuse an empty one.
    fn request_headers(&self, auth: Auth) -> Vec<(String, HeaderValue)> {
        let plain = |name: &str, value: &str| (name.to_owned(), HeaderValue::Plain(value.to_owned()));
        let mut headers = vec![plain("accept", "text/event-stream, application/json")];
        let key = self.key.expose().trim();
        if auth == Auth::Anthropic {
            headers.push(plain("anthropic-version", "2023-06-01"));
            headers.push(plain("anthropic-dangerous-direct-browser-access", "true"));
        }
        if !key.is_empty() {
            let (name, value) = match auth {
                Auth::Bearer => ("authorization", format!("Bearer {key}")),
                Auth::Anthropic => ("x-api-key", key.to_owned()),
            };
            headers.push((name.to_owned(), HeaderValue::Secret(Secret::new(value))));
        }
        for (name, value) in &self.headers {
            headers.retain(|(known, _)| known != name);
            headers.push((name.clone(), HeaderValue::Secret(value.clone())));
        }
        headers
    }

    /// The credential; empty for a server that needs none.
    #[must_use]
    pub const fn key(&self) -> &Secret {
        &self.key
    }

    /// The origin (`https://host[:port]`), for host permissions and for display.
    #[must_use]
    pub fn origin(&self) -> String {
        self.base.origin.clone()
    }

    /// The address of `path` (such as `/models`) below the base.
    pub(crate) fn join(&self, path: &str) -> SafeUrl {
        let Base { origin, path: base, query } = &self.base;
        SafeUrl::new(format!("{origin}{}{path}{query}", base.trim_end_matches('/')))
    }
}

fn base_path(path: &str) -> String {
    let path = path.trim_end_matches('/');
    if let Some(base) = FULL.iter().find_map(|end| path.strip_suffix(end)) {
        return base.to_owned();
    }
    let path = path.strip_suffix("/models").unwrap_or(path);
    if path.split('/').any(is_version) { path.to_owned() } else { format!("{path}/v1") }
}

/// `v1`, `v1beta`, `v4`: a `v` and a digit.
fn is_version(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn typed_host(rest: &str) -> &str {
    let authority = authority(rest);
    match authority.split_once(']') {
        Some((inside, _)) => authority.get(..=inside.len()).unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || matches!(host, "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;

    use super::{Endpoint, EndpointError};

    fn url(base: &str) -> Result<String, EndpointError> {
        Endpoint::new(base, Secret::new("k"))
            .map(|endpoint| endpoint.join("/chat/completions").as_str().to_owned())
    }

    #[test]
    fn every_usual_way_to_write_a_base_leads_to_the_same_address() {
        for base in [
            "https://api.example.com",
            "https://api.example.com/",
            "https://api.example.com/v1",
            " https://api.example.com/v1/ ",
            "https://api.example.com/v1//",
            "https://api.example.com/v1/chat/completions",
            "https://api.example.com/v1/chat/completions/",
            "https://api.example.com/v1/models",
            "api.example.com",
            "HTTPS://API.example.com/v1",
        ] {
            assert_eq!(url(base).as_deref(), Ok("https://api.example.com/v1/chat/completions"), "{base}");
        }
    }

    #[test]
    fn other_versions_full_addresses_ports_and_queries_stay_as_written() {
        for (base, expected) in [
            ("https://a.test/api/paas/v4", "https://a.test/api/paas/v4/chat/completions"),
            ("https://a.test/v1beta/openai/", "https://a.test/v1beta/openai/chat/completions"),
            ("https://a.test/inference/chat/completions", "https://a.test/inference/chat/completions"),
            ("https://a.test/chat/completions", "https://a.test/chat/completions"),
            ("https://a.test/openai", "https://a.test/openai/v1/chat/completions"),
            ("https://a.test/v1?api-version=2", "https://a.test/v1/chat/completions?api-version=2"),
            ("localhost:11434", "http://localhost:11434/v1/chat/completions"),
            ("127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1/chat/completions"),
            ("http://[::1]:3000/v1", "http://[::1]:3000/v1/chat/completions"),
            ("https://localhost:8443/v1", "https://localhost:8443/v1/chat/completions"),
        ] {
            assert_eq!(url(base).as_deref(), Ok(expected), "{base}");
        }
    }

    #[test]
    fn unsafe_addresses_are_refused_for_their_reason() {
        use EndpointError::{ClearText, Fragment, NotAnAddress, Scheme, UserInfo};
        for (base, error) in [
            ("", NotAnAddress),
            ("  ", NotAnAddress),
            ("https://", NotAnAddress),
            ("https://a b", NotAnAddress),
            ("https:\\\\a.test", NotAnAddress),
            ("https://a.test:99999", NotAnAddress),
            ("ftp://a.test", Scheme),
            ("javascript://a", Scheme),
            ("http://a.test/v1", ClearText),
            ("http://127.1/v1", ClearText),
            ("http://2130706433", ClearText),
            ("http://0x7f000001", ClearText),
            ("http://127.0.0.2", ClearText),
            ("http://localhost.evil.example", ClearText),
            ("http://localhost@evil.example", ClearText),
            ("https://@a.test", UserInfo),
            ("https://me:pw@a.test", UserInfo),
            ("http://localhost:1@evil.example", UserInfo),
            ("https://a.test/v1#", Fragment),
        ] {
            assert_eq!(url(base), Err(error), "{base}");
        }
        assert_eq!(url(&format!("https://a.test/{}", "x".repeat(3000))), Err(NotAnAddress));
    }

    #[test]
    fn debug_output_shows_neither_key_nor_query() {
        let endpoint = Endpoint::new("https://a.test/v1?key=hidden", Secret::new("hidden")).unwrap();
        assert!(!format!("{endpoint:?}").contains("hidden"));
        assert_eq!(endpoint.origin(), "https://a.test");
    }
}
