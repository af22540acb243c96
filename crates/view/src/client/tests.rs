//! The client machine against scripted engines.
