//! Panelot: chrome.
