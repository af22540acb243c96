//! Panelot: snapshot.
