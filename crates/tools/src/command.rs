//! What the browser must do for a call, and what it reports back: the line between deciding and acting.

use panelot_page_protocol as page;
use serde::{Deserialize, Serialize};

use crate::target::Target;

/// One thing for the browser driver to do. Built from a call and its resolved target by [`crate::call::Call::command`].
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// List the tabs of all windows.
    ListTabs,
    /// Send a tab (or a new one) to an address and wait for the document that is committed there.
    Navigate {
        /// The tab, or `None` for a new one.
        tab_id: Option<u32>,
        /// Where to.
        url: String,
    },
    /// Ask the page executor of a document.
    Page {
        /// The document; the driver sends to this document only, never to whatever the tab shows by then.
        target: Target,
        /// What to do in it.
        action: page::Action,
    },
}

/// A tab as the model sees it in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabFacts {
    /// `chrome.tabs` id.
    pub tab_id: u32,
    /// `chrome.windows` id.
    pub window_id: u32,
    /// Address. Foreign text.
    pub url: String,
    /// Title. Foreign text.
    pub title: String,
    /// Whether it is in front in its window.
    pub active: bool,
    /// When it was last in front, in Unix milliseconds, when Chrome knows.
    pub last_accessed_ms: u64,
}

/// What the browser driver reports for a [`Command`].
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// The tabs of all windows.
    Tabs(Vec<TabFacts>),
    /// The document that a navigation ended on (through redirects).
    Navigated(Target),
    /// The page executor's answer.
    Page(page::Outcome),
    /// It could not be done, or its end was not seen.
    Failed(Failure),
}

/// Why a command has no proper report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// Whether something may have happened all the same.
    pub reach: Reach,
    /// Detail for the record: Chrome's own words. Foreign text.
    pub detail: String,
}

/// What went wrong between the engine and the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The document is gone: the tab was closed or shows another one.
    TargetGone,
    /// Chrome refused the extension access to the page.
    AccessDenied,
    /// No answer in time.
    Timeout,
    /// The channel to the page broke before an answer came.
    ChannelLost,
    /// The executor in the page is of another version, or answered something that is not an answer.
    Mismatch,
    /// The navigation failed (no network, unknown host).
    NavigationFailed,
    /// The person stopped it.
    Cancelled,
}

/// How far a failed command got: the difference between "try again" and "ask the person".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It surely never reached the page.
    NotStarted,
    /// It may have happened.
    Unknown,
}
