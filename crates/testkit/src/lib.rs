//! Panelot: testkit.
