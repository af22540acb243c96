//! HTTP as data: a request for the driver to send, and the head of what came back.

use std::fmt;

use panelot_base::{SafeUrl, Secret};

/// A request that the driver sends as it is, without following redirects (a credential must not travel on).
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method.
    pub method: Method,
    /// Address.
    pub url: SafeUrl,
    /// Headers, names in lower case.
    pub headers: Vec<(String, HeaderValue)>,
    /// JSON text; `None` for a request without a body.
    pub body: Option<String>,
}

impl fmt::Debug for HttpRequest {
    /// Shows the size of the body and not the body: it holds the person's conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.as_ref().map(String::len))
            .finish()
    }
}

/// The methods that providers need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Ask for something.
    Get,
    /// Hand something over.
    Post,
}

impl Method {
    /// The method's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderValue {
    /// May be logged.
    Plain(String),
    /// A credential; only the network sees it.
    Secret(Secret),
}

/// Status and headers of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// HTTP status code.
    pub status: u16,
    /// Headers as far as the browser shows them; names in any case.
    pub headers: Vec<(String, String)>,
}

impl ResponseHead {
    /// The first header called `name`, in whatever case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The identifier by which the provider finds this request in its logs; at most 128 visible ASCII characters.
    pub(crate) fn request_id(&self) -> Option<String> {
        let value = self.header("x-request-id").or_else(|| self.header("request-id"))?;
        let id: String = value.chars().filter(char::is_ascii_graphic).take(128).collect();
        (!id.is_empty()).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use panelot_base::{SafeUrl, Secret};

    use super::{HeaderValue, HttpRequest, Method, ResponseHead};

    #[test]
    fn debug_output_of_a_request_shows_neither_key_nor_conversation() {
        let request = HttpRequest {
            method: Method::Post,
            url: SafeUrl::new("https://a.test/v1?api-key=hidden"),
            headers: vec![("authorization".into(), HeaderValue::Secret(Secret::new("Bearer hidden")))],
            body: Some("hidden".into()),
        };
        let shown = format!("{request:?}");
        assert!(!shown.contains("hidden"), "{shown}");
        assert!(shown.contains("body_bytes: Some(6)"), "{shown}");
    }

    #[test]
    fn request_ids_are_found_in_any_case_and_bounded() {
        let head = |name: &str, value: &str| ResponseHead {
            status: 200,
            headers: vec![(name.to_owned(), value.to_owned())],
        };
        assert_eq!(head("X-Request-ID", "req 1\n2").request_id().as_deref(), Some("req12"));
        assert_eq!(head("request-id", &"x".repeat(500)).request_id().map(|id| id.len()), Some(128));
        assert_eq!(head("x-request-id", " ").request_id(), None);
    }
}
