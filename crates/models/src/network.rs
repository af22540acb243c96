//! The way to providers, over `fetch`.

use panelot_model_client::{Answer, Body, Network, NetworkError};
use panelot_provider::{HeaderValue, HttpRequest, NO_ACCESS, ResponseHead};
use panelot_web as web;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// `fetch`.
pub(crate) struct Fetch;

/// A body that `fetch` brings.
pub(crate) struct FetchBody(web::Body);

#[wasm_bindgen]
extern "C" {
    /// Whether the person lets this extension reach an address: the boot script's.
    #[wasm_bindgen(js_name = panelotMayReach, catch)]
    async fn may_reach(url: &str) -> Result<JsValue, JsValue>;
}

/// Why no answer came. The browser does not say that it was itself that refused.
async fn unanswered(url: &str, error: &web::FetchError) -> NetworkError {
    let refused =
        matches!(error, web::FetchError::Network(_)) && may_reach(url).await.is_ok_and(|may| may.is_falsy());
    if refused { NetworkError(NO_ACCESS.to_owned()) } else { failed(error) }
}

fn failed(error: &web::FetchError) -> NetworkError {
    NetworkError(error.to_string())
}

impl Network for Fetch {
    type Body = FetchBody;

    async fn send(&self, request: HttpRequest) -> Result<Answer<FetchBody>, NetworkError> {
        let header = |(name, value): (String, HeaderValue)| {
            let value = match value {
                HeaderValue::Plain(text) => web::HeaderValue::Plain(text),
                HeaderValue::Secret(secret) => web::HeaderValue::Secret(secret),
            };
            (name, value)
        };
        let request = web::Request {
            method: request.method.as_str(),
            url: request.url,
            headers: request.headers.into_iter().map(header).collect(),
            body: request.body,
        };
        let fetch = web::fetch(&request).map_err(|error| failed(&error))?;
        let response = match fetch.response().await {
            Ok(response) => response,
            Err(error) => return Err(unanswered(request.url.as_str(), &error).await),
        };
        let head = ResponseHead { status: response.status, headers: response.headers };
        Ok(Answer { head, body: FetchBody(response.body) })
    }
}

impl Body for FetchBody {
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetworkError> {
        self.0.chunk().await.map_err(|error| failed(&error))
    }
}
