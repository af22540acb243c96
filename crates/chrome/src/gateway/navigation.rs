//! Sends a tab to an address and waits for the document that it ends on.
//!
//! What the events mean was looked at in Chromium 156: a failed load is `onErrorOccurred` without `onCommitted`; a download
//! or an empty answer is `net::ERR_ABORTED`, and so is an earlier navigation that ours replaces; a change of the fragment
//! has no navigation event at all, only `tabs.onUpdated` up to `complete`.

use panelot_base::Timestamp;
use panelot_tools::command::{FailureKind, Reach, Report};

use super::race::{Cancel, Interruption, race};
use super::{Gateway, failed, interrupted, target};
use crate::api::{Api, ErrorKind};
use crate::clock::Clock;
use crate::event::ChromeEvent;
use crate::tabs;

/// How long a navigation may take until a document is committed, in milliseconds.
const NAVIGATION_MS: u64 = panelot_base::limits::NAVIGATION_TIMEOUT_MS;
/// How long a committed document is given to be parsed, in milliseconds. After that it is taken as it is.
const PARSE_MS: u64 = 10_000;
/// How long a parsed document is given to send the tab elsewhere by script, in milliseconds.
const REST_MS: u64 = 100;
/// How long an aborted navigation is given to turn out to be the one before ours, in milliseconds.
const DOUBT_MS: u64 = 1_000;
/// Chrome's error for a navigation that was replaced, or led to a download or to nothing.
const ABORTED: &str = "net::ERR_ABORTED";

/// What was seen of a navigation so far.
struct Progress {
    tab_id: u32,
    /// The document that was committed last.
    committed: Option<String>,
    /// Whether a navigation was aborted and nothing was committed since.
    aborted: bool,
    /// When to look what the tab shows, unless something happens before.
    look_at: Timestamp,
}

impl Progress {
    /// Takes in an event; a report when it ends the navigation.
    fn take(&mut self, event: ChromeEvent, now: Timestamp) -> Option<Report> {
        match event {
            ChromeEvent::NavigationCommitted { document_id, .. } => {
                self.committed = Some(document_id);
                self.aborted = false;
                self.look_at = now.plus_ms(PARSE_MS);
            }
            ChromeEvent::NavigationReady { document_id, .. }
                if self.committed.as_ref() == Some(&document_id) =>
            {
                self.look_at = now.plus_ms(REST_MS);
            }
            ChromeEvent::NavigationFailed { error, .. } if error == ABORTED => {
                self.aborted = self.committed.is_none();
                if self.aborted {
                    self.look_at = now.plus_ms(DOUBT_MS);
                }
            }
            ChromeEvent::NavigationFailed { error, url, .. } => {
                return Some(not_opened(&format!("{error} for {url}")));
            }
            ChromeEvent::TabUpdated { status: Some(status), .. } if status == "complete" => {
                self.look_at = self.look_at.min(now.plus_ms(REST_MS));
            }
            ChromeEvent::TabReplaced { added, .. } => self.tab_id = added,
            ChromeEvent::TabRemoved { .. } => return Some(tab_closed()),
            _ => {}
        }
        None
    }
}

/// It is known that no document was opened, so nothing is left to ask the person about.
fn not_opened(detail: &str) -> Report {
    failed(FailureKind::NavigationFailed, Reach::NotStarted, detail)
}

fn tab_closed() -> Report {
    failed(FailureKind::TargetGone, Reach::Unknown, "the tab was closed")
}

impl<A: Api, C: Clock> Gateway<A, C> {
    pub(super) async fn navigate(&self, tab_id: Option<u32>, url: &str, cancel: &mut Cancel<'_>) -> Report {
        let until = self.clock.now().plus_ms(NAVIGATION_MS);
        let listener = self.board.listen();
        let begin = async {
            match tab_id {
                Some(tab_id) => tabs::navigate(&self.api, tab_id, url).await.map(|()| Some(tab_id)),
                None => tabs::create(&self.api, url, true).await.map(|tab| tab.id),
            }
        };
        let tab_id = match race(&self.clock, begin, NAVIGATION_MS, cancel).await {
            Ok(Ok(Some(tab_id))) => tab_id,
            Ok(Ok(None)) => return failed(FailureKind::TargetGone, Reach::Unknown, "the new tab has no id"),
            Ok(Err(error)) if error.kind() == ErrorKind::NoSuchTarget => {
                return failed(FailureKind::TargetGone, Reach::NotStarted, &error.message);
            }
            Ok(Err(error)) => return not_opened(&error.message),
            Err(interruption) => {
                return Report::Failed(interrupted(
                    interruption,
                    Reach::Unknown,
                    "the browser does not respond",
                ));
            }
        };
        let mut progress = Progress { tab_id, committed: None, aborted: false, look_at: until };
        loop {
            let now = self.clock.now();
            // A document that keeps sending the tab elsewhere is looked at in the end, wherever it is by then.
            let limit = progress.look_at.min(until.plus_ms(PARSE_MS));
            let event = listener.next(progress.tab_id);
            let ended = match race(&self.clock, event, limit.ms_since(now), cancel).await {
                Ok(event) => progress.take(event, self.clock.now()),
                Err(Interruption::Late) => self.look(&mut progress, url, until).await,
                Err(Interruption::Cancelled) => Some(failed(FailureKind::Cancelled, Reach::Unknown, "")),
            };
            if let Some(report) = ended {
                return report;
            }
        }
    }

    /// Looks what the tab shows now; `None` when it is still on its way.
    async fn look(&self, progress: &mut Progress, url: &str, until: Timestamp) -> Option<Report> {
        let tab_id = progress.tab_id;
        let (Some(frame), Ok(tab)) = (self.frame(tab_id, 0).await, tabs::get(&self.api, tab_id).await) else {
            return Some(tab_closed());
        };
        let late = self.clock.now() >= until;
        let arrived = progress.committed.is_some() || (frame.url == url && !tab.is_loading());
        if frame.error_occurred && !tab.is_loading() {
            return Some(not_opened("the browser shows an error page"));
        }
        if arrived {
            return Some(Report::Navigated(target(tab_id, frame, &tab)));
        }
        if progress.aborted && !tab.is_loading() {
            return Some(not_opened("the server sent no page: a download, or an empty answer"));
        }
        if late {
            return Some(failed(FailureKind::Timeout, Reach::Unknown, "the site does not answer"));
        }
        progress.look_at = until;
        None
    }
}
