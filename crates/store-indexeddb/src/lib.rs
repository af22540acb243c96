//! Panelot: store-indexeddb.
