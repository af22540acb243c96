//! Any bytes as an answer of this wire.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| panelot_fuzz::decoder(panelot_provider::Wire::BuiltIn, data));
