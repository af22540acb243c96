//! The list of an endpoint's models, and what the lists of the larger routers and servers tell about each.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{Secret, SortedSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ProviderError;
use crate::http::ResponseHead;
use crate::limits::{BODY_BYTES_MAX, MODELS_MAX, NAME_BYTES_MAX};
use crate::registry::{KnownFacts, Price};
use crate::upstream::{decimal, format_error, http_error};

/// A model of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct ListedModel {
    /// Its name in requests.
    pub id: String,
    /// Its name for people; empty when the list has none. Foreign text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the list says about it.
    #[serde(default)]
    pub facts: KnownFacts,
}

/// The models of an answer: at most 5,000, in the provider's order, without repeats.
///
/// # Errors
/// What the status stands for, or a `protocol` error when the body has no list, or no entry of it has a name.
pub(crate) fn read_list(
    head: &ResponseHead,
    body: &[u8],
    key: &Secret,
) -> Result<Vec<ListedModel>, ProviderError> {
    if !(200..300).contains(&head.status) {
        return Err(http_error(head, body, key));
    }
    if body.len() > BODY_BYTES_MAX {
        return Err(format_error("The list of models is too long.", head, key));
    }
    let no_list = || format_error("The server did not answer with a list of models.", head, key);
    let value: Value = serde_json::from_slice(body).map_err(|_| no_list())?;
    // Some servers answer with the bare list.
    let entries = value.get("data").or(Some(&value)).and_then(Value::as_array).ok_or_else(no_list)?;
    let mut seen = SortedSet::new();
    let models: Vec<ListedModel> = entries
        .iter()
        .filter_map(|entry| Some((entry, entry.get("id")?.as_str()?.trim())))
        .filter(|(_, id)| !id.is_empty() && id.len() <= NAME_BYTES_MAX && seen.insert((*id).to_owned()))
        .take(MODELS_MAX)
        .map(|(entry, id)| ListedModel { id: id.to_owned(), name: name(entry, id), facts: facts(entry) })
        .collect();
    if models.is_empty() && !entries.is_empty() {
        return Err(format_error("No entry of the list of models has a name.", head, key));
    }
    Ok(models)
}

fn name(entry: &Value, id: &str) -> String {
    let shown = ["display_name", "name"].iter().find_map(|key| entry.get(*key)?.as_str());
    shown
        .map(str::trim)
        .filter(|name| name.len() <= NAME_BYTES_MAX && *name != id)
        .unwrap_or_default()
        .to_owned()
}

/// Each router has words of its own; what is missing or strange is not known.
fn facts(entry: &Value) -> KnownFacts {
    let number = |paths: &[&str]| {
        let found =
            paths.iter().find_map(|path| entry.pointer(path)?.as_u64().filter(|number| *number > 0))?;
        u32::try_from(found).ok()
    };
    let has = |list: &str, words: &[&str]| {
        let list = entry.pointer(list)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).any(|word| words.contains(&word)))
    };
    let truth = |path: &str| entry.pointer(path).and_then(Value::as_bool);
    KnownFacts {
        context_tokens: number(&[
            "/context_length",
            "/context_window",
            "/max_context_length",
            "/max_model_len",
            "/max_input_tokens",
            "/meta/n_ctx_train",
        ]),
        max_output_tokens: number(&["/top_provider/max_completion_tokens", "/max_completion_tokens"]),
        tools: has("/supported_parameters", &["tools"]).or_else(|| truth("/capabilities/function_calling")),
        vision: has("/architecture/input_modalities", &["image"]).or_else(|| truth("/capabilities/vision")),
        reasoning: has("/supported_parameters", &["reasoning", "include_reasoning"])
            .or_else(|| truth("/capabilities/reasoning")),
        price: price(entry.get("pricing")),
    }
}

/// Prices as texts of dollars for one token, which is how OpenRouter and its followers tell them.
fn price(pricing: Option<&Value>) -> Option<Price> {
    let of = |name: &str| {
        let dollars = decimal(pricing?.get(name)?.as_str()?)?;
        let is_sound = dollars.is_finite() && (0.0..1.0).contains(&dollars);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be at least 0 and below 1, so that the product fits"
        )]
        is_sound.then(|| (dollars * 1e12).round() as u64)
    };
    Some(Price {
        input: of("prompt")?,
        output: of("completion")?,
        cache_read: of("input_cache_read"),
        cache_write: of("input_cache_write"),
    })
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;
    use serde_json::json;

    use super::{ListedModel, read_list};
    use crate::codec::Wire;
    use crate::endpoint::Endpoint;
    use crate::error::{ErrorKind, Reason};
    use crate::http::{HeaderValue, Method, ResponseHead};
    use crate::registry::{KnownFacts, Price};

    fn list(status: u16, body: &str) -> Result<Vec<ListedModel>, crate::ProviderError> {
        read_list(&ResponseHead { status, headers: vec![] }, body.as_bytes(), &Secret::default())
    }

    fn read(status: u16, body: &str) -> Result<Vec<String>, crate::ProviderError> {
        list(status, body).map(|models| models.into_iter().map(|model| model.id).collect())
    }

    #[test]
    fn the_list_is_asked_for_with_the_key_only_when_there_is_one() {
        let with_key = Endpoint::new("https://a.test", Secret::new(" k ")).unwrap();
        for (wire, name, value) in
            [(Wire::Openai, "authorization", "Bearer k"), (Wire::Anthropic, "x-api-key", "k")]
        {
            let request = wire.list_models(&with_key);
            assert_eq!((request.method, request.url.as_str()), (Method::Get, "https://a.test/v1/models"));
            assert!(request.headers.contains(&(name.into(), HeaderValue::Secret(Secret::new(value)))));
            let request = wire.list_models(&Endpoint::new("localhost:1", Secret::default()).unwrap());
            assert!(request.headers.iter().all(|(known, _)| known != name));
        }
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

    #[test]
    fn what_a_list_tells_about_a_model_is_read_in_each_routers_words() {
        let body = json!({"data": [
            {"id": "a/one", "name": "One", "context_length": 200_000, "architecture": {"input_modalities": ["text", "image"]},
                "supported_parameters": ["tools", "reasoning"], "top_provider": {"max_completion_tokens": 64_000},
                "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "3e-7"}},
            {"id": "two", "max_context_length": 32_768, "capabilities": {"function_calling": false, "vision": true}},
            {"id": "three", "context_length": "x", "pricing": {"prompt": "-1", "completion": "0"}},
        ]});
        let models = list(200, &body.to_string()).unwrap();
        let nothing = KnownFacts::default();
        assert_eq!(models[0].name, "One");
        assert_eq!(
            models[0].facts,
            KnownFacts {
                context_tokens: Some(200_000),
                max_output_tokens: Some(64_000),
                tools: Some(true),
                vision: Some(true),
                reasoning: Some(true),
                price: Some(Price {
                    input: 3_000_000,
                    output: 15_000_000,
                    cache_read: Some(300_000),
                    cache_write: None
                }),
            }
        );
        let two =
            KnownFacts { context_tokens: Some(32_768), tools: Some(false), vision: Some(true), ..nothing };
        assert_eq!((models[1].facts, models[2].facts), (two, nothing));
    }
}
