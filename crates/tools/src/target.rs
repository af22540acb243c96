//! What a call is aimed at, as the browser reported it at one moment.

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};

/// A document in a frame of a tab. A tab that navigates has another document, and so is another target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The tab (`chrome.tabs` id).
    pub tab_id: u32,
    /// The frame in it; 0 is the top frame.
    pub frame_id: u32,
    /// Chrome's id of the document (`documentId`), when the tab shows one that a script may reach.
    pub document_id: Option<String>,
    /// The document's address.
    pub url: String,
    /// The document's origin in its ASCII form (`https://host:port`), or `null` for an opaque one.
    pub origin: String,
    /// Its title, for people. Foreign text.
    pub title: String,
}

/// What the browser reported when a call's target was looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct TargetFacts {
    /// The document, when the call has one; `None` for a call that concerns the browser as a whole.
    pub target: Option<Target>,
    /// Whether the extension may reach the origin that the call is judged by.
    pub host_access: HostAccess,
}

/// Whether Chrome lets the extension reach an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub enum HostAccess {
    /// It does, or none is needed.
    Granted,
    /// The person can grant it.
    Missing,
    /// Chrome never lets an extension in (its own pages, the web store).
    Impossible,
}

/// Why no target could be found. The text for the model is made in `interpret`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum TargetError {
    /// The call named no tab and none was in front when the person wrote.
    NoDefaultTab,
    /// The tab is closed.
    #[serde(rename_all = "camelCase")]
    TabGone {
        /// The tab that was asked for.
        tab_id: u32,
    },
    /// The tab shows something that no extension can work on.
    #[serde(rename_all = "camelCase")]
    NotAWebPage {
        /// The tab that was asked for.
        tab_id: u32,
        /// What it shows.
        url: String,
    },
}
