//! Panelot's developer commands. `cargo xtask help` prints the table below.
//!
//! Each command sets up what it needs, says what it does and, when it fails, names the next step.
//! Open `build.rs` for how the extension is put together and `setup.rs` for what a machine needs.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program reports on its streams"
)]

mod bench;
mod browser;
mod build;
mod ci;
mod fuzz;
mod interop;
mod package;
mod process;
mod project;
mod protocol;
mod run;
mod setup;
mod sim;
mod size;
mod tally;
mod test;
mod tidy;
mod toolchain;
mod wasm_module;

use anyhow::{Result, bail};
use std::process::ExitCode;

/// One command of `cargo xtask`.
struct Command {
    name: &'static str,
    arguments: &'static str,
    purpose: &'static str,
    run: fn(&[String]) -> Result<()>,
}

/// Every command. To add one, write a module with a `command(&[String])` function and a row here.
const COMMANDS: &[Command] = &[
    Command {
        name: "setup",
        arguments: "",
        purpose: "install what a build, the tests and a demo need",
        run: setup::command,
    },
    Command {
        name: "build",
        arguments: "[--release] [--test-build]",
        purpose: "build the extension into dist/extension (a test build: dist/extension-test)",
        run: build::command,
    },
    Command {
        name: "run",
        arguments: "[--provider URL --model NAME [--key-env VAR]]",
        purpose: "open a browser with the extension, a sample site and a scripted model",
        run: run::command,
    },
    Command {
        name: "screenshots",
        arguments: "[--all]",
        purpose: "take the pictures in docs/img again, or of every state into target/gallery",
        run: run::screenshots,
    },
    Command {
        name: "test",
        arguments: "[unit|wasm|e2e|kill [--repeat N]]",
        purpose: "run one kind of tests, or all",
        run: test::command,
    },
    Command {
        name: "sim",
        arguments: "--seeds N [--seed S] [--steps K] [--only LIST] [--trace] [--keep-going] | --bugs",
        purpose: "live seeded lives of the engine with every kind of fault, and check what must always hold",
        run: sim::command,
    },
    Command {
        name: "fuzz",
        arguments: "openai|anthropic|responses|built_in|sse [--minutes N]",
        purpose: "feed a decoder whatever libFuzzer finds, and check what must always hold",
        run: fuzz::command,
    },
    Command {
        name: "interop",
        arguments: "[--gguf FILE]",
        purpose: "try the extension against LiteLLM's proxy, and llama.cpp with the model of a file",
        run: interop::command,
    },
    Command {
        name: "bench",
        arguments: "NAME [--json]",
        purpose: "measure and compare with the stated bounds",
        run: bench::command,
    },
    Command {
        name: "ci",
        arguments: "",
        purpose: "all that a submission must pass: format, tidy, clippy, tests, build, size",
        run: ci::command,
    },
    Command {
        name: "tidy",
        arguments: "",
        purpose: "check the rules of this repository that no compiler knows",
        run: tidy::command,
    },
    Command {
        name: "protocol",
        arguments: "check|write",
        purpose: "compare or record the wire contract and its hash",
        run: protocol::command,
    },
    Command {
        name: "size",
        arguments: "",
        purpose: "build the release and compare its modules with size-budget.json",
        run: size::command,
    },
    Command {
        name: "package",
        arguments: "",
        purpose: "write dist/panelot-chrome.zip and dist/panelot-edge.zip",
        run: package::command,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        print_help();
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print_help();
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        bail!("there is no command {name:?}; `cargo xtask help` lists them");
    };
    (command.run)(rest)
}

fn print_help() {
    println!("Usage: cargo xtask COMMAND\n");
    for command in COMMANDS {
        let usage = format!("{} {}", command.name, command.arguments);
        println!("  {usage}\n      {}", command.purpose);
    }
}
