//! The one door to the browser, and what Chrome's refusals mean.

use std::future::Future;

use panelot_base::json::FromJson;
use serde_json::Value;

/// Calls functions of `chrome`.
///
/// A call starts when its future is first polled, in the same task: a call that needs a click must be polled in the
/// click's handler or in a microtask of it.
pub trait Api {
    /// Calls `chrome.{method}` (such as `tabs.get`) and waits for its promise. `undefined` comes back as `null`.
    ///
    /// # Errors
    /// What Chrome says when it refuses.
    fn call(
        &self,
        method: &'static str,
        arguments: Vec<Value>,
    ) -> impl Future<Output = Result<Value, ChromeError>>;

    /// Calls a function that answers at once, without a promise.
    ///
    /// # Errors
    /// What Chrome says when it refuses.
    fn call_now(&self, method: &'static str, arguments: Vec<Value>) -> Result<Value, ChromeError>;
}

/// Chrome refused a call, or answered something else than documented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chrome.{method}: {message}")]
pub struct ChromeError {
    /// The function, without `chrome.`.
    pub method: &'static str,
    /// Chrome's own words. They may hold an address.
    pub message: String,
}

/// What an error means, as far as Chrome's words tell. Seen in Chromium 156; the words are old and rarely change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no such tab, or no such document in it any more.
    NoSuchTarget,
    /// Nobody listens there: the document is gone or has no executor. The message was surely not delivered.
    NoReceiver,
    /// The message was delivered, and the channel closed before an answer came.
    ChannelClosed,
    /// Chrome does not let the extension into the page.
    AccessDenied,
    /// The tab shows one of Chrome's own error pages.
    ErrorPage,
    /// Anything else.
    Other,
}

impl ChromeError {
    /// An error of `method`.
    #[must_use]
    pub fn new(method: &'static str, message: impl Into<String>) -> Self {
        Self { method, message: message.into() }
    }

    /// What the error means.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        const WORDS: [(&str, ErrorKind); 18] = [
            ("receiving end does not exist", ErrorKind::NoReceiver),
            ("could not establish connection", ErrorKind::NoReceiver),
            ("message channel closed", ErrorKind::ChannelClosed),
            ("message channel is closed", ErrorKind::ChannelClosed),
            ("message port closed", ErrorKind::ChannelClosed),
            ("back/forward cache", ErrorKind::ChannelClosed),
            ("no tab with id", ErrorKind::NoSuchTarget),
            ("no document with id", ErrorKind::NoSuchTarget),
            ("no frame with id", ErrorKind::NoSuchTarget),
            ("frame was removed", ErrorKind::NoSuchTarget),
            ("was removed", ErrorKind::NoSuchTarget),
            ("tab was closed", ErrorKind::NoSuchTarget),
            ("showing error page", ErrorKind::ErrorPage),
            ("cannot access", ErrorKind::AccessDenied),
            ("cannot be scripted", ErrorKind::AccessDenied),
            ("must request permission", ErrorKind::AccessDenied),
            ("missing host permission", ErrorKind::AccessDenied),
            ("extensionssettings policy", ErrorKind::AccessDenied),
        ];
        let message = self.message.to_lowercase();
        WORDS.iter().find(|(words, _)| message.contains(words)).map_or(ErrorKind::Other, |(_, kind)| *kind)
    }
}

/// Reads a value that Chrome answered; fields we do not know are ignored.
pub(crate) fn read<T: FromJson>(method: &'static str, value: Value) -> Result<T, ChromeError> {
    T::from_json(value).map_err(|error| ChromeError::new(method, format!("unexpected answer: {error}")))
}

#[cfg(test)]
mod tests {
    use super::{ChromeError, ErrorKind};

    #[test]
    fn chromes_words_are_understood() {
        let cases = [
            ("Could not establish connection. Receiving end does not exist.", ErrorKind::NoReceiver),
            (
                "A listener indicated an asynchronous response by returning true, but the message channel closed \
                 before a response was received",
                ErrorKind::ChannelClosed,
            ),
            ("The message port closed before a response was received.", ErrorKind::ChannelClosed),
            (
                "The page keeping the extension port is moved into back/forward cache, so the message channel is \
                 closed.",
                ErrorKind::ChannelClosed,
            ),
            ("No tab with id: 99999.", ErrorKind::NoSuchTarget),
            ("No document with id D6E3 in tab with id 18", ErrorKind::NoSuchTarget),
            ("Frame with ID 0 was removed.", ErrorKind::NoSuchTarget),
            ("Frame with ID 0 is showing error page", ErrorKind::ErrorPage),
            ("Cannot access a chrome:// URL", ErrorKind::AccessDenied),
            (
                "Cannot access contents of url \"http://localhost/a\". Extension manifest must request permission \
                 to access this host.",
                ErrorKind::AccessDenied,
            ),
            ("The extensions gallery cannot be scripted.", ErrorKind::AccessDenied),
            ("This page cannot be scripted due to an ExtensionsSettings policy.", ErrorKind::AccessDenied),
            ("Invalid url: \"http://[bad\".", ErrorKind::Other),
        ];
        for (message, kind) in cases {
            assert_eq!(ChromeError::new("tabs.get", message).kind(), kind, "{message}");
        }
    }
}
