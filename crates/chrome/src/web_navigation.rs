//! `chrome.webNavigation`.

use panelot_base::json::FromJson;
use serde_json::json;

use crate::api::{Api, ChromeError, read};

/// A document in a frame. The address is foreign text.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Frame {
    /// The frame; 0 is the top frame. Absent from `getFrame`, where it was asked for.
    pub frame_id: u32,
    /// The frame around it; -1 for the top frame.
    pub parent_frame_id: i64,
    /// Chrome's id of the document.
    pub document_id: Option<String>,
    /// The document's address.
    pub url: String,
    /// Whether Chrome shows an error page instead.
    pub error_occurred: bool,
}

/// The document that a frame shows; `None` when there is no such tab or frame.
///
/// # Errors
/// [`ChromeError`] when Chrome refuses.
pub async fn get_frame(api: &impl Api, tab_id: u32, frame_id: u32) -> Result<Option<Frame>, ChromeError> {
    const METHOD: &str = "webNavigation.getFrame";
    let frame = api.call(METHOD, vec![json!({"tabId": tab_id, "frameId": frame_id})]).await?;
    let frame: Option<Frame> = read(METHOD, frame)?;
    Ok(frame.map(|frame| Frame { frame_id, ..frame }))
}

/// The documents of all frames of a tab; empty when the tab is closed.
///
/// # Errors
/// [`ChromeError`] when Chrome refuses.
pub async fn get_all_frames(api: &impl Api, tab_id: u32) -> Result<Vec<Frame>, ChromeError> {
    const METHOD: &str = "webNavigation.getAllFrames";
    let frames = api.call(METHOD, vec![json!({"tabId": tab_id})]).await?;
    Ok(read::<Option<Vec<Frame>>>(METHOD, frames)?.unwrap_or_default())
}
