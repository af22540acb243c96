//! OpenAI's chat completions, as OpenAI and everybody who calls themselves compatible speak it.
//!
//! Sends the common core only; reads with tolerance for what real servers were seen to send (see `tests/`).

mod decode;
mod delta;
mod encode;
mod models;
mod think;

pub use decode::Decoder;
pub use encode::encode;
pub use models::{list_models, read_models};

use crate::endpoint::Endpoint;
use crate::http::HeaderValue;
use panelot_base::Secret;

/// The headers of every request. Without a key there is no `authorization`: local servers refuse an empty one.
fn headers(endpoint: &Endpoint) -> Vec<(String, HeaderValue)> {
    let mut headers =
        vec![("accept".to_owned(), HeaderValue::Plain("text/event-stream, application/json".to_owned()))];
    if !endpoint.key().is_empty() {
        let bearer = Secret::new(format!("Bearer {}", endpoint.key().expose().trim()));
        headers.push(("authorization".to_owned(), HeaderValue::Secret(bearer)));
    }
    headers
}
