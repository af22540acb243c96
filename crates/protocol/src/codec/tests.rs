//! Messages that survive the way out and in, and messages that are refused.

use serde_json::{Value, json};

use crate::event::{Event, ItemDelta, Pong};
use crate::{
    DecodeError, EventDecode, EventMessage, Op, OpMessage, SCHEMA_HASH, StreamCursor, decode_event, decode_op,
};
use panelot_base::{ItemId, SubmissionId, ThreadId};

fn submit() -> Value {
    json!({"type": "turn.submit", "submissionId": "s1", "threadId": "t1", "input": {"text": "hello"}})
}

#[test]
fn an_operation_survives_the_way_out_and_in() {
    let message = decode_op(&submit()).unwrap();
    assert_eq!(message.op.name(), "turn.submit");
    assert_eq!(decode_op(&message.to_json()).unwrap(), message);
}

#[test]
fn extra_fields_are_tolerated() {
    let mut value = submit();
    value["later"] = json!({"x": 1});
    assert!(decode_op(&value).is_ok());
}

#[test]
fn a_broken_operation_is_refused_with_its_id_and_the_path_of_the_fault() {
    let cases = [
        (
            json!({"type": "turn.submit", "submissionId": "s1", "threadId": "t1", "input": {"text": 5}}),
            "turn.submit.input.text",
        ),
        (
            json!({"type": "turn.submit", "submissionId": "s1", "threadId": "", "input": {"text": "x"}}),
            "turn.submit.threadId",
        ),
        (
            json!({"type": "turn.submit", "submissionId": "s1", "threadId": "t1", "input": {"text": " \n"}}),
            "turn.submit.input.text",
        ),
        (json!({"type": "turn.submit", "submissionId": "s1", "threadId": "t1"}), "turn.submit."),
        (
            json!({"type": "turn.submit", "submissionId": "s1", "threadId": "t1",
                "input": {"text": "x", "browserContext": {"capturedAt": -1}}}),
            "turn.submit.input.browserContext.capturedAt",
        ),
        (
            json!({"type": "approval.response", "submissionId": "s1", "threadId": "t1", "approvalId": "a",
                "decision": {"kind": "perhaps"}}),
            "approval.response.decision",
        ),
        (
            json!({"type": "interaction.response", "submissionId": "s1", "threadId": "t1", "interactionId": "i",
                "response": {"kind": "timeout"}}),
            "interaction.response.response",
        ),
        (json!({"type": "settings.update", "submissionId": "s1", "changes": []}), "settings.update.changes"),
    ];
    for (value, path) in cases {
        let rejected = decode_op(&value).unwrap_err();
        assert_eq!(rejected.submission_id.as_ref().map(SubmissionId::as_str), Some("s1"), "{value}");
        assert!(rejected.error.to_string().starts_with(path), "{value}: {}", rejected.error);
    }
}

#[test]
fn what_is_no_operation_is_named() {
    let unknown = decode_op(&json!({"type": "turn.dance", "submissionId": "s"})).unwrap_err();
    assert_eq!(unknown.error, DecodeError::UnknownOp("turn.dance".into()));
    for value in [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({"type": 5}),
        json!({"type": "turn..submit"}),
        json!({"type": ""}),
    ] {
        assert_eq!(decode_op(&value).unwrap_err().error, DecodeError::NotAMessage, "{value}");
    }
}

#[test]
fn an_operation_without_an_id_is_refused() {
    let mut value = submit();
    value.as_object_mut().unwrap().remove("submissionId");
    assert!(decode_op(&value).unwrap_err().error.to_string().contains("submissionId"));
}

#[test]
fn an_oversized_operation_is_refused_before_its_fields_are_read() {
    let mut value = submit();
    value["input"]["text"] = Value::String("x".repeat(panelot_base::limits::OP_BYTES_MAX));
    let rejected = decode_op(&value).unwrap_err();
    assert!(matches!(rejected.error, DecodeError::OverBudget(_)));
    assert!(rejected.submission_id.is_some());
}

#[test]
fn every_operation_of_the_table_is_read_by_its_name() {
    for name in Op::NAMES {
        let error = decode_op(&json!({"type": name, "submissionId": "s"}));
        assert!(!matches!(error, Err(crate::RejectedOp { error: DecodeError::UnknownOp(_), .. })), "{name}");
    }
}

fn delta() -> EventMessage {
    let thread_id = ThreadId::new("t1").unwrap();
    EventMessage {
        stream: Some(StreamCursor { thread_id: thread_id.clone(), epoch: 1, sequence: 4 }),
        directory: None,
        event: Event::ItemDelta(ItemDelta {
            thread_id,
            item_id: ItemId::new("i").unwrap(),
            text: "héllo\n".into(),
            reasoning: String::new(),
        }),
    }
}

#[test]
fn an_event_survives_the_way_out_and_in() {
    assert_eq!(decode_event(&delta().to_json()), EventDecode::Known(delta()));
}

#[test]
fn an_event_of_a_later_version_is_ignored() {
    assert_eq!(decode_event(&json!({"type": "thread.sang", "song": 1})), EventDecode::Unknown);
}

#[test]
fn a_known_event_that_is_wrong_is_a_mismatch() {
    let good = delta().to_json();
    let spoil = |path: &str, with: Value| {
        let mut value = good.clone();
        *value.pointer_mut(path).unwrap() = with;
        value
    };
    let mut no_cursor = good.clone();
    no_cursor.as_object_mut().unwrap().remove("stream");
    let cases = [
        no_cursor,
        spoil("/stream/threadId", json!("t2")),
        spoil("/stream/sequence", json!(0)),
        spoil("/stream/epoch", json!(-1)),
        spoil("/text", json!(5)),
        spoil("/itemId", json!("")),
        spoil("/stream/epoch", json!(0)),
        json!({"type": "turn.complete", "threadId": "t1", "turnId": "u", "stopReason": "tool_use",
            "stream": {"threadId": "t1", "epoch": 1, "sequence": 4}}),
        json!({"type": "thread.deleted", "deletedThreadId": "t1"}),
        json!({"type": "approval.request", "threadId": "t1", "approval": null,
            "stream": {"threadId": "t1", "epoch": 1, "sequence": 4}}),
        json!({"type": "run.updated", "threadId": "t1", "run": {"runId": "r"},
            "stream": {"threadId": "t1", "epoch": 1, "sequence": 4}}),
        json!({"type": "item..delta"}),
        json!({"type": " "}),
        json!({"type": ".pong"}),
        json!({"type": "pong"}),
        json!({"type": 1}),
        json!([1]),
    ];
    for value in cases {
        assert!(matches!(decode_event(&value), EventDecode::Malformed { .. }), "{value}");
    }
}

#[test]
fn an_answer_of_another_protocol_is_a_mismatch_but_a_reload_request_is_always_read() {
    let initialized = json!({
        "type": "initialized", "submissionId": "s", "protocol": crate::PROTOCOL, "schemaHash": "other",
        "directory": {"threads": [], "activity": []}, "settings": crate::settings::SettingsView::default(),
        "directoryStream": {"epoch": 1, "sequence": 1}
    });
    assert!(matches!(decode_event(&initialized), EventDecode::Malformed { .. }));
    let mut same = initialized;
    same["schemaHash"] = json!(SCHEMA_HASH);
    assert!(matches!(decode_event(&same), EventDecode::Known(_)));
    let reload = json!({"type": "fatal.reload_required", "submissionId": "s", "protocol": "x", "schemaHash": "y", "message": "z", "more": 1});
    assert!(matches!(decode_event(&reload), EventDecode::Known(_)));
}

#[test]
fn a_private_answer_needs_no_cursor() {
    let pong = EventMessage::private(Event::Pong(Pong { submission_id: SubmissionId::new("s").unwrap() }));
    assert_eq!(decode_event(&pong.to_json()), EventDecode::Known(pong));
    let op =
        OpMessage { submission_id: SubmissionId::new("p").unwrap(), op: Op::Ping(crate::op::Nothing {}) };
    assert_eq!(decode_op(&op.to_json()).unwrap(), op);
}

/// Values of every kind of message, good ones and such that were spoiled in one place.
fn spoiled(corpus: &str) -> Vec<Value> {
    let corpus: Value = serde_json::from_str(corpus).unwrap();
    let mut values = Vec::new();
    for value in corpus["ops"].as_array().unwrap().iter().chain(corpus["events"].as_array().unwrap()) {
        values.push(value.clone());
        for pointer in pointers(value, String::new()) {
            for spoil in [
                json!(null),
                json!(-1),
                json!(1.5),
                json!(""),
                json!("x"),
                json!(true),
                json!({}),
                json!({"kind": "accept"}),
            ] {
                let mut spoiled = value.clone();
                *spoiled.pointer_mut(&pointer).unwrap() = spoil;
                values.push(spoiled);
            }
        }
    }
    values
}

fn pointers(value: &Value, at: String) -> Vec<String> {
    let mut all = Vec::new();
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (format!("{at}/{key}"), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (format!("{at}/{index}"), value)).collect()
        }
        _ => Vec::new(),
    };
    for (pointer, child) in children {
        all.push(pointer.clone());
        all.extend(pointers(child, pointer));
    }
    all
}

#[test]
fn messages_are_read_as_serde_reads_them() {
    let mut read = 0;
    for value in spoiled(include_str!("../../schema/corpus.json")) {
        let Some(name) = value["type"].as_str() else { continue };
        if let Some(by_us) = Op::from_params(name, &value) {
            assert_eq!(by_us.as_ref().ok(), Op::by_serde(name, &value).unwrap().as_ref(), "{value}");
            by_us.iter().for_each(|op| assert_eq!(op.params(), op.params_by_serde()));
            read += 1;
        }
        if let Some(by_us) = Event::from_payload(name, &value) {
            assert_eq!(by_us.as_ref().ok(), Event::by_serde(name, &value).unwrap().as_ref(), "{value}");
            by_us.iter().for_each(|event| assert_eq!(event.payload(), event.payload_by_serde()));
            read += 1;
        }
    }
    assert!(read > 500, "{read}");
}
