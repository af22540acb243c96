//! The way to providers, over `fetch`.

use panelot_model_client::{Answer, Body, Network, NetworkError};
use panelot_provider::{HeaderValue, HttpRequest, ResponseHead};
use panelot_web as web;

/// `fetch`.
pub(crate) struct Fetch;

/// A body that `fetch` brings.
pub(crate) struct FetchBody(web::Body);

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
        let response = fetch.response().await.map_err(|error| failed(&error))?;
        let head = ResponseHead { status: response.status, headers: response.headers };
        Ok(Answer { head, body: FetchBody(response.body) })
    }
}

impl Body for FetchBody {
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetworkError> {
        self.0.chunk().await.map_err(|error| failed(&error))
    }
}
