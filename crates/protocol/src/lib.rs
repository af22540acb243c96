//! Panelot: protocol.
