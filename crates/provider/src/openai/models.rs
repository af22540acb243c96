//! The list of an endpoint's models.

use panelot_base::{Secret, SortedSet};
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::error::ProviderError;
use crate::http::{HttpRequest, Method, ResponseHead};
use crate::limits::{BODY_BYTES_MAX, MODELS_MAX, NAME_BYTES_MAX};
use crate::upstream::{format_error, http_error};

/// The request for the endpoint's models.
#[must_use]
pub fn list_models(endpoint: &Endpoint) -> HttpRequest {
    HttpRequest {
        method: Method::Get,
        url: endpoint.join("/models"),
        headers: super::headers(endpoint),
        body: None,
    }
}

/// The names in the answer to [`list_models`]: at most 5,000, in the provider's order, without repeats.
///
/// # Errors
/// What the status stands for, or a `protocol` error when the body has no list, or no entry of it has a name.
pub fn read_models(head: &ResponseHead, body: &[u8], key: &Secret) -> Result<Vec<String>, ProviderError> {
    if !(200..300).contains(&head.status) {
        return Err(http_error(head, body, key));
    }
    if body.len() > BODY_BYTES_MAX {
        return Err(format_error("The list of models is too long.", head, key));
    }
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| format_error("The server did not answer with a list of models.", head, key))?;
    // Some servers answer with the bare list.
    let Some(entries) = value.get("data").or(Some(&value)).and_then(Value::as_array) else {
        return Err(format_error("The server did not answer with a list of models.", head, key));
    };
    let mut seen = SortedSet::new();
    let names: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry.get("id").and_then(Value::as_str))
        .map(str::trim)
        .filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX && seen.insert((*name).to_owned()))
        .take(MODELS_MAX)
        .map(str::to_owned)
        .collect();
    if names.is_empty() && !entries.is_empty() {
        return Err(format_error("No entry of the list of models has a name.", head, key));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;

    use super::{list_models, read_models};
    use crate::endpoint::Endpoint;
    use crate::error::{ErrorKind, Reason};
    use crate::http::{HeaderValue, Method, ResponseHead};

    fn read(status: u16, body: &str) -> Result<Vec<String>, crate::ProviderError> {
        read_models(&ResponseHead { status, headers: vec![] }, body.as_bytes(), &Secret::default())
    }

    #[test]
    fn the_list_is_asked_for_with_the_key_only_when_there_is_one() {
        let request = list_models(&Endpoint::new("https://a.test", Secret::new(" k ")).unwrap());
        assert_eq!((request.method, request.url.as_str()), (Method::Get, "https://a.test/v1/models"));
        assert!(
            request.headers.contains(&("authorization".into(), HeaderValue::Secret(Secret::new("Bearer k"))))
        );
        let request = list_models(&Endpoint::new("localhost:1", Secret::default()).unwrap());
        assert!(request.headers.iter().all(|(name, _)| name != "authorization"));
    }

    #[test]
    fn names_are_read_in_order_without_repeats_and_without_junk() {
        let body = r#"{"data":[{"id":"b"},{"id":" a "},{"id":"b"},{"id":""},{"id":7},null,"x"]}"#;
        assert_eq!(read(200, body).unwrap(), ["b", "a"]);
        assert_eq!(read(200, r#"[{"id":"a"}]"#).unwrap(), ["a"]);
        assert!(read(200, r#"{"data":[]}"#).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_list_is_a_format_error_and_a_failed_status_its_own() {
        for body in ["", "<html>", "null", r#"{"data":{}}"#, r#"{"data":[{"name":"x"}]}"#] {
            let error = read(200, body).unwrap_err();
            assert_eq!(
                (error.kind, error.reason, error.status),
                (ErrorKind::Protocol, Some(Reason::ResponseFormat), Some(200)),
                "{body}"
            );
        }
        assert_eq!(read(401, "").unwrap_err().kind, ErrorKind::Auth);
    }
}
