//! Runs a compiled wasm test in a headless browser, as cargo's runner for the wasm target.
//!
//! It is wasm-bindgen's own runner, linked here so that its version always fits the crate's.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}
