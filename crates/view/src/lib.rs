//! Panelot: view.
