//! Panelot: gatekeeper.
