//! The browser driver: finds the document that a call is aimed at, and carries out what the engine has decided.
//!
//! Every wait in it ends by a deadline or by the cancellation. A write is sent to a document at most once, and a failure
//! says whether the page may have been reached. Read next: `gateway/page.rs`, then `gateway/navigation.rs`.

mod navigation;
mod page;
mod race;
mod signal;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests;

use std::cell::RefCell;
use std::future::Future;

use panelot_base::IdSource;
use panelot_tools::Call;
use panelot_tools::address::origin_of;
use panelot_tools::command::{Command, Failure, FailureKind, Reach, Report, TabFacts};
use panelot_tools::descriptor::TargetKind;
use panelot_tools::target::{HostAccess, Target, TargetError, TargetFacts};

use crate::api::{Api, ChromeError, ErrorKind};
use crate::clock::Clock;
use crate::event::ChromeEvent;
use crate::permissions::{self, Permissions};
use crate::tabs::{self, Tab};
use crate::web_navigation::{self, Frame};
use race::{Cancel, Interruption};
use signal::Board;

/// How long a document that is on its way is waited for when a target is looked up, in milliseconds. A click that
/// leads to another page is usually followed by a look at that page, not at the one that is being left.
const ARRIVAL_MS: u64 = 5_000;

/// What a call is aimed at, before anybody has looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// What kind of thing.
    pub kind: TargetKind,
    /// The tab that the model named.
    pub tab_id: Option<u32>,
    /// The tab that the task began in.
    pub default_tab: Option<u32>,
    /// Whether the call opens a tab of its own.
    pub opens_tab: bool,
}

impl Lookup {
    /// What a call is aimed at.
    #[must_use]
    pub const fn of(call: &Call, default_tab: Option<u32>) -> Self {
        Self { kind: call.target_kind(), tab_id: call.tab_id(), default_tab, opens_tab: call.opens_tab() }
    }
}

/// Drives the browser. One per worker; all methods may run side by side.
pub struct Gateway<A, C> {
    api: A,
    clock: C,
    ids: RefCell<IdSource>,
    board: Board,
}

impl<A: Api, C: Clock> Gateway<A, C> {
    /// A gateway. `seed` are random bits: the page must not guess the ids of requests.
    #[must_use]
    pub fn new(api: A, clock: C, seed: [u8; 16]) -> Self {
        Self { api, clock, ids: RefCell::new(IdSource::new(seed)), board: Board::default() }
    }

    /// Must be told every event, before anything else is done about it.
    pub fn on_event(&self, event: &ChromeEvent) {
        self.board.publish(event);
    }

    /// Finds what a call is aimed at and whether Chrome lets us in. Takes up to 5 s while the tab is on its way to
    /// another document.
    ///
    /// # Errors
    /// [`TargetError`] when there is no such tab, or no page in it that a script may reach.
    pub async fn resolve(&self, lookup: Lookup) -> Result<TargetFacts, TargetError> {
        let nothing = TargetFacts { target: None, host_access: HostAccess::Granted };
        if lookup.kind == TargetKind::Browser || lookup.opens_tab {
            return Ok(nothing);
        }
        let tab_id = lookup.tab_id.or(lookup.default_tab).ok_or(TargetError::NoDefaultTab)?;
        let gone = |_| TargetError::TabGone { tab_id };
        let mut tab = tabs::get(&self.api, tab_id).await.map_err(gone)?;
        if lookup.kind == TargetKind::Document && tab.pending_url.is_some() {
            self.arrival(tab_id).await;
            tab = tabs::get(&self.api, tab_id).await.map_err(gone)?;
        }
        let frame = self.frame(tab_id, 0).await;
        let url = frame.as_ref().map_or_else(|| tab.url.clone(), |frame| frame.url.clone());
        if lookup.kind == TargetKind::Destination {
            // Whatever the tab shows now is left behind; no access to it is needed.
            let target = target(tab_id, frame.unwrap_or_default(), &tab);
            return Ok(TargetFacts { target: Some(target), ..nothing });
        }
        // The frame of a `view-source:` tab has the address of the page whose source is shown.
        let Some(frame) =
            frame.filter(|frame| is_web(&frame.url) && is_web(&tab.url) && !frame.error_occurred)
        else {
            return Err(TargetError::NotAWebPage { tab_id, url });
        };
        let host_access = self.host_access(&frame.url).await;
        Ok(TargetFacts { target: Some(target(tab_id, frame, &tab)), host_access })
    }

    /// Carries out a command. When `cancel` completes first, a write that is under way is called off and its end is
    /// waited for briefly. Dropping the future instead leaves the page to finish by itself.
    pub async fn run(&self, command: Command, cancel: impl Future<Output = ()>) -> Report {
        let mut cancel = Cancel::new(cancel);
        if cancel.is_cancelled() {
            return failed(FailureKind::Cancelled, Reach::NotStarted, "");
        }
        match command {
            Command::ListTabs => self.list_tabs().await,
            Command::Navigate { tab_id, url } => self.navigate(tab_id, &url, &mut cancel).await,
            Command::Page { target, action } => self.page(&target, &action, &mut cancel).await,
        }
    }

    async fn list_tabs(&self) -> Report {
        match tabs::query(&self.api, tabs::Query::default()).await {
            Ok(tabs) => Report::Tabs(tabs.into_iter().filter_map(facts).collect()),
            Err(error) => failed(FailureKind::AccessDenied, Reach::NotStarted, &error.message),
        }
    }

    /// Waits until the document that a tab is on its way to can be looked at.
    async fn arrival(&self, tab_id: u32) {
        let listener = self.board.listen();
        let arrived = async {
            loop {
                match listener.next(tab_id).await {
                    ChromeEvent::TabUpdated { status: Some(status), .. } if status != "complete" => {}
                    ChromeEvent::NavigationCommitted { .. }
                    | ChromeEvent::TabUpdated { status: None, .. } => {}
                    _ => return,
                }
            }
        };
        let mut nobody = Cancel::new(std::future::pending());
        // When it takes longer, what the tab shows by then is the target.
        let _ = race::race(&self.clock, arrived, ARRIVAL_MS, &mut nobody).await;
    }

    async fn host_access(&self, url: &str) -> HostAccess {
        if is_gallery(url) {
            return HostAccess::Impossible;
        }
        let Some(wanted) = Permissions::of_origin(&origin_of(url)) else { return HostAccess::Impossible };
        // A failed question is a no.
        match permissions::contains(&self.api, &wanted).await {
            Ok(true) => HostAccess::Granted,
            Ok(false) | Err(_) => HostAccess::Missing,
        }
    }

    /// What a frame shows; `None` when it is gone.
    async fn frame(&self, tab_id: u32, frame_id: u32) -> Option<Frame> {
        web_navigation::get_frame(&self.api, tab_id, frame_id).await.ok().flatten()
    }
}

fn target(tab_id: u32, frame: Frame, tab: &Tab) -> Target {
    Target {
        tab_id,
        frame_id: frame.frame_id,
        origin: origin_of(&frame.url),
        document_id: frame.document_id,
        url: frame.url,
        title: tab.title.clone(),
    }
}

fn facts(tab: Tab) -> Option<TabFacts> {
    Some(TabFacts {
        tab_id: tab.id?,
        window_id: tab.window_id,
        url: if tab.url.is_empty() { tab.pending_url.unwrap_or_default() } else { tab.url },
        title: tab.title,
        active: tab.active,
        // Chrome gives a fraction of a millisecond too.
        last_accessed_ms: tab.last_accessed as u64,
    })
}

fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// Whether it belongs to a store of extensions, where Chrome and Edge let no extension in.
fn is_gallery(url: &str) -> bool {
    const GALLERIES: [(&str, &str); 3] = [
        ("https://chromewebstore.google.com", "/"),
        ("https://chrome.google.com", "/webstore"),
        ("https://microsoftedge.microsoft.com", "/addons"),
    ];
    GALLERIES.iter().any(|(origin, path)| url.strip_prefix(origin).is_some_and(|rest| rest.starts_with(path)))
}

fn failure(kind: FailureKind, reach: Reach, detail: impl Into<String>) -> Failure {
    Failure { kind, reach, detail: detail.into() }
}

fn failed(kind: FailureKind, reach: Reach, detail: &str) -> Report {
    Report::Failed(failure(kind, reach, detail))
}

/// What an interrupted wait means.
fn interrupted(interruption: Interruption, reach: Reach, what: &str) -> Failure {
    match interruption {
        Interruption::Late => failure(FailureKind::Timeout, reach, what),
        Interruption::Cancelled => failure(FailureKind::Cancelled, reach, ""),
    }
}

/// What Chrome's refusal means for a command that is sent to a document.
fn refused(error: &ChromeError) -> Failure {
    let (kind, reach) = match error.kind() {
        ErrorKind::NoReceiver => (FailureKind::ChannelLost, Reach::NotStarted),
        ErrorKind::ChannelClosed | ErrorKind::Other => (FailureKind::ChannelLost, Reach::Unknown),
        ErrorKind::NoSuchTarget => (FailureKind::TargetGone, Reach::NotStarted),
        ErrorKind::AccessDenied | ErrorKind::ErrorPage => (FailureKind::AccessDenied, Reach::NotStarted),
    };
    failure(kind, reach, error.message.clone())
}
