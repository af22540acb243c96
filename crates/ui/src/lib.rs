//! Panelot: ui.
