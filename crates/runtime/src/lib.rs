//! Panelot: runtime.
