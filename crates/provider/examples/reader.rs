//! What the crate makes of lines from the standard input, for tests that compare it with packages of npm:
//! `reader sse` answers each line of chunks (hexadecimal, parted by commas) with its events as JSON, `reader tokens`
//! each JSON text with its number of tokens.

use std::io::{self, BufRead, Write};

use panelot_provider::{sse, tokens};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = if mode == "sse" { events(&line) } else { count(&line) };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn events(line: &str) -> Value {
    let mut parser = sse::Parser::default();
    let mut events = Vec::new();
    for chunk in line.split(',') {
        let digits: Vec<u8> = chunk.bytes().collect();
        let bytes: Vec<u8> = digits
            .chunks(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        if parser.push(&bytes, &mut events).is_err() {
            return Value::Null;
        }
    }
    // The end of a stream gives out what has no blank line after it; the other reader does not, so it is not asked.
    events.into_iter().map(|event| json!({"name": event.name, "data": event.data})).collect()
}

fn count(line: &str) -> Value {
    let text: String = serde_json::from_str(line).unwrap_or_default();
    tokens::count(&text).into()
}
