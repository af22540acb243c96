//! Talks to the page executor of one document: puts it there, asks it once, and says honestly what came of it.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use panelot_base::json::ToJson as _;
use panelot_page_protocol::{Action, Answer, Outcome, Request, RequestBody, RequestId, Response};
use panelot_tools::command::{Failure, FailureKind, Reach, Report};
use panelot_tools::target::Target;
use serde_json::Value;

use super::race::{Cancel, Interruption, race};
use super::signal::Listener;
use super::{Gateway, failed, failure, interrupted, refused};
use crate::api::{Api, ChromeError, ErrorKind};
use crate::calls::scripting;
use crate::clock::Clock;
use crate::event::ChromeEvent;
use crate::tabs::{self, Recipient};

/// The executor, as it lies in the extension.
const EXECUTOR_FILE: &str = "page.js";
/// How long it may take until the executor answers a ping, injected or not, in milliseconds. A page that is busy for
/// longer would not carry out an action in time either.
const PRESENCE_MS: u64 = 5_000;
/// The executor's time for one action, in milliseconds (`DESIGN.md` 5). It needs at most 4 s of waiting of its own.
const REQUEST_MS: u64 = panelot_base::limits::PAGE_REQUEST_TIMEOUT_MS;
/// How much longer its answer is waited for, in milliseconds: it knows best how far it got when it gave up.
const LAST_WORD_MS: u64 = 1_000;
/// How long an answer is waited for when its document was left, in milliseconds. The answer to a click that leads away
/// is sent as the document is left, and may come after the news of the next one.
const FAREWELL_MS: u64 = 300;

/// How the wait for an answer ended.
enum End {
    Answered(Result<Value, ChromeError>),
    /// The document was left or its tab closed, and no answer came.
    Left,
    Interrupted(Interruption),
}

impl<A: Api, C: Clock> Gateway<A, C> {
    pub(super) async fn page(&self, target: &Target, action: &Action, cancel: &mut Cancel<'_>) -> Report {
        let Some(document_id) = &target.document_id else {
            return failed(FailureKind::TargetGone, Reach::NotStarted, "the target names no document");
        };
        let document = Document { target, id: document_id };
        let mut attempt = self.attempt(document, action, cancel).await;
        // Only a look may be repeated, and only while the document is still there.
        if action.is_read()
            && matches!(&attempt, Err(failure) if failure.kind == FailureKind::ChannelLost)
            && self.is_there(document).await
        {
            attempt = self.attempt(document, action, cancel).await;
        }
        match attempt {
            Ok(outcome) => Report::Page(outcome),
            Err(failure) => Report::Failed(self.explain(document, action.is_read(), failure).await),
        }
    }

    async fn attempt(
        &self,
        document: Document<'_>,
        action: &Action,
        cancel: &mut Cancel<'_>,
    ) -> Result<Outcome, Failure> {
        self.ensure_executor(document, cancel).await?;
        self.execute(document, action, cancel).await
    }

    /// Sees to it that an executor of our version listens in the document.
    async fn ensure_executor(&self, document: Document<'_>, cancel: &mut Cancel<'_>) -> Result<(), Failure> {
        let presence = async {
            if self.ping(document).await? {
                return Ok(());
            }
            scripting::inject_file(&self.api, document.target.tab_id, document.id, EXECUTOR_FILE)
                .await
                .map_err(|error| before_sending(&error))?;
            if self.ping(document).await? {
                return Ok(());
            }
            Err(failure(FailureKind::Mismatch, Reach::NotStarted, "the page executor does not answer"))
        };
        match race(&self.clock, presence, PRESENCE_MS, cancel).await {
            Ok(result) => result,
            Err(interruption) => {
                Err(interrupted(interruption, Reach::NotStarted, "the page does not respond"))
            }
        }
    }

    /// Whether an executor of our version answers.
    async fn ping(&self, document: Document<'_>) -> Result<bool, Failure> {
        let (id, message) = self.request(document, PRESENCE_MS, RequestBody::Ping {})?;
        match self.deliver(document, message).await {
            Ok(answer) => {
                let answer = Response::decode(answer, &id).map(|response| response.body);
                Ok(matches!(answer, Ok(Answer::Pong { .. })))
            }
            Err(error) if matches!(error.kind(), ErrorKind::NoReceiver | ErrorKind::ChannelClosed) => {
                Ok(false)
            }
            Err(error) => Err(before_sending(&error)),
        }
    }

    async fn execute(
        &self,
        document: Document<'_>,
        action: &Action,
        cancel: &mut Cancel<'_>,
    ) -> Result<Outcome, Failure> {
        let body = RequestBody::Execute { action: action.clone() };
        let (id, message) = self.request(document, REQUEST_MS, body)?;
        if cancel.is_cancelled() {
            return Err(failure(FailureKind::Cancelled, Reach::NotStarted, ""));
        }
        let listener = self.board.listen();
        let mut sent = pin!(self.deliver(document, message));
        let mut end = self.wait(document, &listener, sent.as_mut(), REQUEST_MS + LAST_WORD_MS, cancel).await;
        if let End::Interrupted(interruption) = end {
            self.call_off(document, &id);
            if action.is_read() {
                return Err(interrupted(interruption, Reach::NotStarted, "the page does not respond"));
            }
            // The executor tells how far it got; that is worth a moment even when the person has stopped the task.
            let mut nobody = Cancel::new(std::future::pending());
            let last_word = self.wait(document, &listener, sent.as_mut(), LAST_WORD_MS, &mut nobody).await;
            end = match last_word {
                End::Interrupted(_) => End::Interrupted(interruption),
                other => other,
            };
        }
        match end {
            End::Answered(Ok(Value::Null)) => {
                Err(failure(FailureKind::ChannelLost, Reach::Unknown, "the page gave no answer"))
            }
            End::Answered(Ok(answer)) => Response::decode(answer, &id)
                .and_then(Response::into_outcome)
                .map_err(|error| failure(FailureKind::Mismatch, Reach::Unknown, error.to_string())),
            End::Answered(Err(error)) => Err(refused(&error)),
            End::Left => Err(failure(FailureKind::ChannelLost, Reach::Unknown, "the document was left")),
            End::Interrupted(interruption) => {
                Err(interrupted(interruption, Reach::Unknown, "the page does not respond"))
            }
        }
    }

    /// Waits for an answer, and for the end of the document.
    async fn wait(
        &self,
        document: Document<'_>,
        listener: &Listener,
        sent: Pin<&mut impl Future<Output = Result<Value, ChromeError>>>,
        ms: u64,
        cancel: &mut Cancel<'_>,
    ) -> End {
        let left = async {
            document.left(listener).await;
            self.clock.sleep(FAREWELL_MS).await;
        };
        match race(&self.clock, select(sent, pin!(left)), ms, cancel).await {
            Ok(Either::Left((answer, _))) => End::Answered(answer),
            Ok(Either::Right(_)) => End::Left,
            Err(interruption) => End::Interrupted(interruption),
        }
    }

    /// Tells the executor to give up a request. Whether it heard shows in its answer to that request.
    fn call_off(&self, document: Document<'_>, request: &RequestId) {
        let body = RequestBody::Cancel { cancel_request_id: request.clone() };
        let Ok((_, message)) = self.request(document, LAST_WORD_MS, body) else { return };
        // Polled once, which sends it; its own answer says nothing that matters.
        let _ = self.deliver(document, message).now_or_never();
    }

    /// A request of our version to the document, and its id.
    fn request(
        &self,
        document: Document<'_>,
        ms: u64,
        body: RequestBody,
    ) -> Result<(RequestId, Value), Failure> {
        let unusable = || failure(FailureKind::Mismatch, Reach::NotStarted, "the request cannot be written");
        let id = RequestId::new(self.ids.borrow_mut().next_uuid()).ok_or_else(unusable)?;
        let (document_id, origin) = (Some(document.id.to_owned()), document.target.origin.clone());
        let request = Request::new(id.clone(), document_id, origin, self.clock.now().plus_ms(ms), body);
        let message = request.to_json();
        Ok((id, message))
    }

    async fn deliver(&self, document: Document<'_>, message: Value) -> Result<Value, ChromeError> {
        let recipient = Recipient::Document(document.id.to_owned());
        tabs::send_message(&self.api, document.target.tab_id, &recipient, message).await
    }

    /// Whether the frame still shows the document.
    async fn is_there(&self, document: Document<'_>) -> bool {
        let frame = self.frame(document.target.tab_id, document.target.frame_id).await;
        frame.is_some_and(|frame| frame.document_id.as_deref() == Some(document.id))
    }

    /// Adds what became of the document: where a click led is the best sign of what it did.
    async fn explain(&self, document: Document<'_>, is_read: bool, failure: Failure) -> Failure {
        if !matches!(failure.kind, FailureKind::ChannelLost | FailureKind::Mismatch) {
            return failure;
        }
        let became = match self.frame(document.target.tab_id, document.target.frame_id).await {
            None => "the tab was closed".to_owned(),
            Some(frame) if frame.document_id.as_deref() != Some(document.id) => {
                format!("the tab now shows {}", frame.url)
            }
            Some(_) => return failure,
        };
        if is_read || failure.reach == Reach::NotStarted {
            return Failure { kind: FailureKind::TargetGone, reach: Reach::NotStarted, detail: became };
        }
        Failure { detail: format!("{}; {became}", failure.detail), ..failure }
    }
}

/// The document that a command is for.
#[derive(Clone, Copy)]
struct Document<'a> {
    target: &'a Target,
    id: &'a str,
}

impl Document<'_> {
    /// Completes when the tab shows another document, or is closed.
    async fn left(self, listener: &Listener) {
        loop {
            match listener.next(self.target.tab_id).await {
                ChromeEvent::TabRemoved { .. } | ChromeEvent::TabReplaced { .. } => return,
                ChromeEvent::NavigationCommitted { document_id, .. } if document_id != self.id => return,
                _ => {}
            }
        }
    }
}

/// What a refusal means before the command itself was sent.
fn before_sending(error: &ChromeError) -> Failure {
    Failure { reach: Reach::NotStarted, ..refused(error) }
}
