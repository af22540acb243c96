//! `#[derive(FromJson, ToJson)]`: reads and writes a type as a JSON value, by the same `serde` attributes as serde's own.
//!
//! serde's derive makes several kilobytes of code for each type and each deserialiser; the worker's module has no room
//! for that (`docs/decisions/0011-size-of-the-worker.md`). What an attribute means is serde's definition, and serde is
//! the oracle of the tests of the crates that use this. An attribute that is not known here does not compile.

mod attributes;
mod case;
mod expand;
mod write;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `panelot_base::json::FromJson`.
#[proc_macro_derive(FromJson, attributes(serde))]
pub fn from_json(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::from_json(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `panelot_base::json::ToJson`.
#[proc_macro_derive(ToJson, attributes(serde))]
pub fn to_json(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    write::to_json(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
