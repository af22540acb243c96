//! Streams as servers were seen to send them, one file each, with what they must be read as: at every size of chunks
//! from 1 to 64 bytes, and whole. `corpus/README.md` says what is where.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a whole file of tests: a failure here is the report")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use panelot_base::Secret;
use panelot_provider::{
    Decoder, Endpoint, Message, Parameters, Part, Progress, ProviderError, Request, Response, ResponseHead,
    StreamEvent, ToolSchema, Wire,
};
use serde::Deserialize;
use serde_json::Value;

use common::merged;

/// What a stream must be read as.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// Rows of the field reports (`P4`, `11`), weaknesses (`G-12`) and statements (`T095`) that it stands for.
    rows: Vec<String>,
    #[serde(default)]
    tools: Vec<ToolSchema>,
    events: Vec<StreamEvent>,
    response: Option<Response>,
    error: Option<ExpectedError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedError {
    kind: String,
    reason: Option<String>,
    retryable: Option<bool>,
    message: Option<String>,
}

struct Case {
    name: String,
    wire: Wire,
    body: Vec<u8>,
    expected: Expected,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut cases = Vec::new();
    for (folder, wire) in [
        ("openai", Wire::Openai),
        ("anthropic", Wire::Anthropic),
        ("responses", Wire::Responses),
        ("built_in", Wire::BuiltIn),
    ] {
        let mut files: Vec<PathBuf> =
            fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "sse"));
        files.sort();
        for path in files {
            let name = format!("{folder}/{}", path.file_stem().unwrap().to_string_lossy());
            let told = fs::read_to_string(path.with_extension("json")).unwrap();
            let expected = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{name}: {error}"));
            cases.push(Case { body: fs::read(&path).unwrap(), name, wire, expected });
        }
    }
    cases
}

fn decoder(case: &Case) -> Decoder {
    let endpoint = Endpoint::new("https://a.test", Secret::new("the-key")).unwrap();
    let request = Request {
        model: "m".into(),
        system: String::new(),
        messages: vec![Message::User { parts: vec![Part::text("x")] }],
        tools: case.expected.tools.clone(),
        parameters: Parameters::default(),
    };
    case.wire.decoder(&ResponseHead { status: 200, headers: vec![] }, &endpoint).for_request(&request)
}

type Decoded = (Vec<StreamEvent>, Result<Response, ProviderError>);

fn decode<'a>(case: &Case, chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = decoder(case);
    let mut events = Vec::new();
    for chunk in chunks {
        match decoder.push(chunk, &mut events) {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => break,
            Err(error) => return (merged(events), Err(error)),
        }
    }
    let outcome = decoder.finish();
    (merged(events), outcome)
}

#[test]
fn every_stream_is_read_as_it_is_meant_at_every_size_of_chunks() {
    for case in cases() {
        let Case { name, body, expected, .. } = &case;
        let whole = decode(&case, [body.as_slice()]);
        assert_eq!(whole.0, expected.events, "{name}");
        match (&whole.1, &expected.response, &expected.error) {
            (Ok(response), Some(told), None) => assert_eq!(response, told, "{name}"),
            (Err(error), None, Some(told)) => {
                let got = serde_json::to_value(error).unwrap();
                assert_eq!(got["kind"], told.kind.as_str(), "{name}: {error:?}");
                assert_eq!(got["reason"].as_str(), told.reason.as_deref(), "{name}: {error:?}");
                assert!(told.retryable.is_none_or(|told| told == error.retryable), "{name}: {error:?}");
                if told.message.is_some() {
                    assert_eq!(error.upstream_message, told.message, "{name}");
                }
                assert!(!format!("{error:?}").contains("the-key"), "{name}");
            }
            (got, ..) => panic!("{name}: {got:?}"),
        }
        for size in 1..=64 {
            assert_eq!(decode(&case, body.chunks(size)), whole, "{name} in chunks of {size}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_never_brings_a_call_that_was_not_meant() {
    for case in cases() {
        let meant: Vec<Value> = match &case.expected.response {
            Some(response) => response.tool_calls.iter().map(|call| call.arguments.as_str().into()).collect(),
            None => Vec::new(),
        };
        let mut so_far = decoder(&case);
        for (end, byte) in case.body.chunks(1).enumerate() {
            let outcome = so_far.clone().finish();
            for call in outcome.map(|response| response.tool_calls).unwrap_or_default() {
                let arguments = Value::from(call.arguments.as_str());
                assert!(meant.contains(&arguments), "{} cut at {end}: {call:?}", case.name);
            }
            if so_far.push(byte, &mut Vec::new()).is_err() {
                break;
            }
        }
    }
}

#[test]
fn every_row_has_a_stream() {
    let named: BTreeSet<String> = cases().into_iter().flat_map(|case| case.expected.rows).collect();
    let probe = "P1 P3 P4 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P18";
    let reports = "2 4 5 7 8 9 11 12 14 15 23 24 27";
    let weaknesses = "G-06 G-07 G-10 G-12 G-13 G-16 G-17";
    for row in [probe, reports, weaknesses].iter().flat_map(|rows| rows.split(' ')) {
        assert!(named.contains(row), "{row}");
    }
}
