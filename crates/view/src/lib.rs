//! From the engine's events to what a person sees: the client machine of one document, the view model that it keeps,
//! and streaming Markdown.
//!
//! Invariant: nothing here reads a clock, draws a random number or touches a browser; a shell performs the effects.
//! Read next: `client.rs`, `model.rs`, `markdown.rs`.

pub mod client;
pub mod form;
pub mod markdown;
pub mod model;

pub use client::{
    Arrangement, Client, ClientEffect, ClientInput, Command, Focus, Setup, Timer, outbox_key,
    unfinished_clients,
};
pub use model::{Changes, ConnectionState, ThreadView, ViewModel};
