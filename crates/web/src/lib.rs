//! Panelot: web.
