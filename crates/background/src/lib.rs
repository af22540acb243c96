//! Panelot: background.
