//! A request whose answer is read as it arrives. It carries no cookies, follows no redirect and leaves no cache entry.
//!
//! Whatever is dropped before its end aborts the request, so that no connection outlives the interest in it.

use std::fmt;

use js_sys::{Array, Reflect, Uint8Array};
use panelot_base::{SafeUrl, Secret};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortController, Headers, ReadableStreamDefaultReader, ReferrerPolicy, RequestCache, RequestCredentials,
    RequestInit, RequestRedirect, ResponseType,
};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = fetch)]
    fn global_fetch(request: &web_sys::Request) -> js_sys::Promise;
}

/// The value of a request header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderValue {
    /// May be logged.
    Plain(String),
    /// A credential; only the network sees it.
    Secret(Secret),
}

/// A request.
#[derive(Clone)]
pub struct Request {
    /// Method, in upper case.
    pub method: &'static str,
    /// Absolute address, without user name and password (the browser refuses those).
    pub url: SafeUrl,
    /// Headers.
    pub headers: Vec<(String, HeaderValue)>,
    /// Body; must be `None` for GET and HEAD.
    pub body: Option<String>,
}

impl fmt::Debug for Request {
    /// Shows the size of the body and not the body: it holds the person's conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.as_ref().map(String::len))
            .finish()
    }
}

/// Why a request or the stream of its answer failed. No variant carries the address: it may hold a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It was aborted by its [`AbortHandle`].
    #[error("the request was aborted")]
    Aborted,
    /// The address cannot be requested: it does not parse, or it has a user name or password in it.
    #[error("the address cannot be requested")]
    BadUrl,
    /// A header's name or value has characters that HTTP does not allow.
    #[error("the header {0:?} is not valid")]
    BadHeader(String),
    /// No connection, unknown host, refused by the server's CORS rules, or cut off: the browser does not say which.
    #[error("network error: {0}")]
    Network(String),
    /// The server answered with a redirect, which is not followed because a credential must not travel on.
    #[error("the server redirects to another address")]
    Redirected,
}

/// Aborts a request, at any point of it; clones abort the same one.
#[derive(Clone, Debug)]
pub struct AbortHandle(AbortController);

impl AbortHandle {
    /// Aborts. What waits for the answer gets [`FetchError::Aborted`]; after the end it does nothing.
    pub fn abort(&self) {
        self.0.abort();
    }
}

/// Aborts on drop, unless the answer was read to its end.
#[derive(Debug)]
struct Guard {
    handle: AbortHandle,
    finished: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.finished {
            self.handle.abort();
        }
    }
}

/// A request under way. Dropping it aborts it.
#[derive(Debug)]
pub struct Fetch {
    promise: js_sys::Promise,
    guard: Guard,
}

/// The head of an answer, and its body to be read.
#[derive(Debug)]
pub struct Response {
    /// HTTP status code.
    pub status: u16,
    /// Headers as far as the browser shows them, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
}

/// A body that is read piece by piece. Dropping it before its end aborts the request.
#[derive(Debug)]
pub struct Body {
    /// `None` once the end or an error was seen, and for an answer without a body.
    reader: Option<ReadableStreamDefaultReader>,
    /// A read that was begun and whose future may have been dropped.
    pending: Option<JsFuture>,
    guard: Guard,
}

/// Sends a request; the connection starts before this returns.
///
/// # Errors
/// [`FetchError::BadUrl`] and [`FetchError::BadHeader`]; everything else comes with the answer.
pub fn fetch(request: &Request) -> Result<Fetch, FetchError> {
    let controller = AbortController::new().map_err(|error| network(&error))?;
    let headers = Headers::new().map_err(|error| network(&error))?;
    for (name, value) in &request.headers {
        let value = match value {
            HeaderValue::Plain(text) => text,
            HeaderValue::Secret(secret) => secret.expose(),
        };
        headers.append(name, value).map_err(|_| FetchError::BadHeader(name.clone()))?;
    }
    let init = RequestInit::new();
    init.set_method(request.method);
    init.set_headers_headers(&headers);
    init.set_signal(Some(&controller.signal()));
    init.set_redirect(RequestRedirect::Manual);
    init.set_credentials(RequestCredentials::Omit);
    init.set_cache(RequestCache::NoStore);
    init.set_referrer_policy(ReferrerPolicy::NoReferrer);
    if let Some(body) = &request.body {
        init.set_body_opt_str(Some(body));
    }
    let js_request = web_sys::Request::new_with_str_and_init(request.url.as_str(), &init)
        .map_err(|_| FetchError::BadUrl)?;
    let promise = global_fetch(&js_request);
    Ok(Fetch { promise, guard: Guard { handle: AbortHandle(controller), finished: false } })
}

impl Fetch {
    /// A handle that aborts this request, now or while its body is read.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        self.guard.handle.clone()
    }

    /// Waits for the head of the answer.
    ///
    /// # Errors
    /// [`FetchError::Aborted`], [`FetchError::Network`] or [`FetchError::Redirected`]. An HTTP error status is an
    /// answer, not an error.
    pub async fn response(self) -> Result<Response, FetchError> {
        let value = JsFuture::from(self.promise).await.map_err(|error| failure(&error))?;
        let response: web_sys::Response = value.unchecked_into();
        if response.type_() == ResponseType::Opaqueredirect {
            return Err(FetchError::Redirected);
        }
        let headers = header_list(&response.headers());
        let reader = response
            .body()
            .map(|stream| ReadableStreamDefaultReader::new(&stream))
            .transpose()
            .map_err(|error| network(&error))?;
        let body = Body { reader, pending: None, guard: self.guard };
        Ok(Response { status: response.status(), headers, body })
    }
}

impl Body {
    /// The next piece; `None` at the end. A future that is dropped loses nothing: the next call goes on with its read.
    ///
    /// # Errors
    /// [`FetchError::Aborted`] or [`FetchError::Network`]; after an error it is at its end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, FetchError> {
        let Some(reader) = &self.reader else {
            self.guard.finished = true;
            return Ok(None);
        };
        let read = self.pending.get_or_insert_with(|| JsFuture::from(reader.read()));
        let result = read.await;
        self.pending = None;
        match result.and_then(|result| piece(&result)) {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => {
                self.reader = None;
                self.guard.finished = true;
                Ok(None)
            }
            Err(error) => {
                self.reader = None;
                Err(failure(&error))
            }
        }
    }
}

/// The bytes in what `read()` gave; `None` when it is done.
fn piece(result: &JsValue) -> Result<Option<Vec<u8>>, JsValue> {
    if Reflect::get(result, &"done".into())?.is_truthy() {
        return Ok(None);
    }
    let bytes: Uint8Array = Reflect::get(result, &"value".into())?.dyn_into()?;
    Ok(Some(bytes.to_vec()))
}

fn header_list(headers: &Headers) -> Vec<(String, String)> {
    Array::from(&headers.entries())
        .iter()
        .filter_map(|pair| {
            let pair: Array = pair.unchecked_into();
            Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
        })
        .collect()
}

fn failure(error: &JsValue) -> FetchError {
    if text(error, "name").as_deref() == Some("AbortError") { FetchError::Aborted } else { network(error) }
}

/// The browser's own words ("Failed to fetch", "network error"); Chrome puts no address into these.
fn network(error: &JsValue) -> FetchError {
    FetchError::Network(text(error, "message").unwrap_or_else(|| "unknown".to_owned()))
}

fn text(error: &JsValue, field: &str) -> Option<String> {
    Reflect::get(error, &field.into()).ok()?.as_string()
}

#[cfg(test)]
mod tests {
    use panelot_base::{SafeUrl, Secret};

    use super::{HeaderValue, Request};

    #[test]
    fn debug_output_of_a_request_shows_neither_key_nor_conversation() {
        let request = Request {
            method: "POST",
            url: SafeUrl::new("https://a.test/v1?key=hidden"),
            headers: vec![("authorization".to_owned(), HeaderValue::Secret(Secret::new("hidden")))],
            body: Some("hidden".to_owned()),
        };
        let shown = format!("{request:?}");
        assert!(!shown.contains("hidden"), "{shown}");
        assert!(shown.contains("body_bytes: Some(6)"), "{shown}");
    }
}
