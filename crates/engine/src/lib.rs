//! Panelot: engine.
