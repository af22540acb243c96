//! What is asked of a model client, and what it tells.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{Secret, ThreadId};
use panelot_provider::verify::{StepReport, Tried};
use panelot_provider::{ProviderError, Quirks, Request, Response, Wire};
use serde::{Deserialize, Serialize};

/// One request to a model, and where it goes. Its credential travels beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The thread that it is for.
    pub thread: ThreadId,
    /// Where it goes.
    pub place: Place,
    /// Whether the model sees pictures; one that does not is told of them in words.
    pub sees: bool,
    /// What to ask.
    pub request: Request,
}

/// Where a provider is and how it is spoken to. Its credentials travel beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The protocol of the provider.
    pub wire: Wire,
    /// The provider's address as it was saved.
    pub base_url: String,
    /// What its server wants differently.
    #[serde(default)]
    pub quirks: Quirks,
    /// The names of the headers whose values are among the secrets.
    #[serde(default)]
    pub headers: Vec<String>,
}

/// What a provider is shown: never stored, never printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// The keys, in the order of their use; none for a server that needs none.
    pub keys: Vec<Secret>,
    /// The values of [`Place::headers`], in their order.
    pub headers: Vec<Secret>,
}

/// A connection to be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Where it is.
    pub place: Place,
    /// The model to ask; empty for the first one that the provider lists.
    pub model: String,
    /// Whether it is asked for its models and nothing else.
    pub only_lists: bool,
}

/// More of an answer, at most one each [`DELTA_MERGE_MS`](panelot_base::limits::DELTA_MERGE_MS).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// More of the visible text.
    pub text: String,
    /// More of the reasoning.
    pub reasoning: String,
}

impl Delta {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty()
    }
}

/// Why a call brought no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum CallError {
    /// The provider, or the way to it.
    Provider(ProviderError),
    /// Our side: nothing was sent.
    Ours(String),
}

impl From<ProviderError> for CallError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

/// How a call ended, in the form in which it crosses from module to module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The complete answer.
    Answer(Response),
    /// What a try came to.
    Tried(Tried),
    /// There is none.
    Failed(CallError),
}

/// Whoever can call models.
#[expect(
    async_fn_in_trait,
    reason = "the driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Models {
    /// Sends a request and reads its answer to the end. Dropping the future ends the request.
    ///
    /// # Errors
    /// [`CallError`]; what was told through `deltas` until then is the caller's to keep.
    async fn answer(
        &self,
        call: Call,
        secrets: Secrets,
        deltas: Box<dyn FnMut(Delta)>,
    ) -> Result<Response, CallError>;

    /// Tries a connection part by part, and tells of each as it ends: lists the models, asks one for a word, lets it call a
    /// tool, shows it a picture. A provider without a list may still answer. Dropping the future ends the try.
    ///
    /// # Errors
    /// [`CallError::Ours`]; what the provider failed at is in [`Tried::error`].
    async fn verify(
        &self,
        probe: Probe,
        secrets: Secrets,
        told: Box<dyn FnMut(StepReport)>,
    ) -> Result<Tried, CallError>;
}

#[cfg(test)]
mod tests {
    use panelot_base::json::{FromJson, ToJson};
    use panelot_base::{SafeUrl, ThreadId};
    use panelot_provider::verify::Tried;
    use panelot_provider::{
        ErrorKind, KnownFacts, ListedModel, Message, Parameters, Part, ProviderError, Quirks, Reason,
        Request, Response, StopReason, ToolCall, ToolSchema, Usage, Wire,
    };
    use serde_json::json;

    use super::{Call, CallError, Outcome, Place, Probe};

    fn vendor() -> serde_json::Map<String, serde_json::Value> {
        json!({"signature": "s"}).as_object().unwrap().clone()
    }

    fn tool_call() -> ToolCall {
        ToolCall {
            id: "c".into(),
            name: "click".into(),
            arguments: "{\"ref\":\"e1\"}".into(),
            vendor: vendor(),
        }
    }

    #[test]
    fn a_call_crosses_from_module_to_module_and_is_what_it_was() {
        let picture = Part::Image { media_type: "image/png".into(), data: "AA==".into() };
        let call = Call {
            thread: ThreadId::new("t").unwrap(),
            place: Place {
                wire: Wire::Openai,
                base_url: SafeUrl::new("http://localhost:1/v1?key=k").as_str().to_owned(),
                quirks: Quirks { no_system_role: true, ..Quirks::default() },
                headers: vec!["x-team".into()],
            },
            sees: true,
            request: Request {
                model: "m".into(),
                system: "s".into(),
                messages: vec![
                    Message::User { parts: vec![Part::text("\u{1f600}"), picture.clone()] },
                    Message::Assistant {
                        text: "a".into(),
                        reasoning: "r".into(),
                        tool_calls: vec![tool_call()],
                        vendor: vendor(),
                    },
                    Message::ToolResult { call_id: "c".into(), parts: vec![picture], is_error: true },
                ],
                tools: vec![ToolSchema {
                    name: "click".into(),
                    description: "d".into(),
                    parameters: json!({"type": "object"}),
                }],
                parameters: Parameters { temperature: Some(0.5), ..Parameters::default() },
            },
        };
        let text = call.to_json().to_string();
        assert_eq!(Call::from_json(serde_json::from_str(&text).unwrap()).unwrap(), call);
        assert_eq!(serde_json::from_str::<Call>(&text).unwrap(), call, "as serde reads it");
        let place = Place { base_url: "http://localhost:1/v1".into(), ..Place::default() };
        let probe = Probe { place, model: String::new(), only_lists: true };
        assert_eq!(Probe::from_json(probe.to_json()).unwrap(), probe);
    }

    #[test]
    fn every_outcome_crosses_from_module_to_module_and_is_what_it_was() {
        let response = Response {
            text: "t".into(),
            reasoning: "r".into(),
            tool_calls: vec![tool_call()],
            usage: Some(Usage { input: 3, output: 2, cache_read: 1, cache_write: 1 }),
            stop_reason: StopReason::ToolUse,
            vendor: vendor(),
        };
        let mut error = ProviderError::new(ErrorKind::RateLimit, Some(Reason::QuotaExceeded));
        error.retry_after_ms = Some(7);
        for outcome in [
            Outcome::Answer(response),
            Outcome::Tried(Tried {
                model: "m".into(),
                listed: Some(vec![ListedModel {
                    id: "m".into(),
                    name: "M".into(),
                    facts: KnownFacts::default(),
                }]),
                facts: KnownFacts { vision: Some(true), ..KnownFacts::default() },
                error: None,
            }),
            Outcome::Failed(CallError::Provider(error)),
            Outcome::Failed(CallError::Ours("why".into())),
        ] {
            let text = outcome.to_json().to_string();
            assert_eq!(Outcome::from_json(serde_json::from_str(&text).unwrap()).unwrap(), outcome);
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome, "as serde reads it");
        }
    }
}
