//! Any bytes as an event stream: chunks change nothing, and no event holds a line end that its line had.
#![no_main]

use panelot_provider::sse::{Event, Parser};

fn parse<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut events).expect("the fuzzer's inputs are far below the limits");
    }
    events.extend(parser.finish());
    events
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((cut, body)) = data.split_first() else { return };
    let whole = parse([body].into_iter());
    assert_eq!(whole, parse(body.chunks(usize::from(*cut % 67) + 1)));
    for event in whole {
        assert!(!event.name.contains(['\n', '\r']) && !event.data.contains('\r'));
    }
});
