//! Panelot: prompts.
