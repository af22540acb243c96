//! What the engine costs by itself: the runtime over a store in memory, without a browser. And the records of long
//! threads for those who measure in one.
//!
//! `cargo xtask bench engine` runs both: `engine-bench native` prints one JSON line of figures, `engine-bench rows` prints
//! the rows of the threads, as `{table, key, row: {v, r, j}}` in a list.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program reports on its streams"
)]

mod memory;
mod native;
mod ports;
mod threads;

use std::process::ExitCode;

use panelot_base::{InvalidId, ThreadId};
use panelot_records::Record;
use serde_json::{Value, json};

/// Sizes of the threads that are measured, in nodes.
const SIZES: [u64; 3] = [200, 2_000, 20_000];
/// From this size on a thread has a summary, as it would have: no model takes that much.
const SUMMARIZED_FROM: u64 = 20_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["native"] => native::measure(),
        ["rows"] => rows(),
        _ => Err("say `engine-bench native` or `engine-bench rows`".to_owned()),
    };
    match done {
        Ok(value) => {
            println!("{value}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("engine-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The records of one thread of each size.
fn rows() -> Result<Value, String> {
    let mut all = Vec::new();
    for size in SIZES {
        let records = thread_of(&format!("bench-{size}"), size).map_err(|error| error.to_string())?;
        for record in records {
            let (key, row) = (record.key(), record.to_row());
            all.push(json!({"table": key.table.name(), "key": key.parts,
                "row": {"v": row.version, "r": row.revision, "j": row.json}}));
        }
    }
    Ok(Value::Array(all))
}

/// The records of a thread of so many nodes, summarised where one of that size would be.
fn thread_of(id: &str, size: u64) -> Result<Vec<Record>, InvalidId> {
    threads::thread(&ThreadId::new(id)?, size, size >= SUMMARIZED_FROM)
}
