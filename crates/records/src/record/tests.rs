//! The bodies on disk are frozen here: a change of a stored type must show up as a change of this file.

use panelot_base::{ClientId, SubmissionId, ThreadId, Timestamp, TurnId};
use serde_json::json;

use crate::node::{Body, Node};
use crate::{Key, Outcome, Receipt, Record, Row, Settings};

fn thread_id() -> ThreadId {
    ThreadId::new("t").unwrap()
}

#[test]
fn a_user_message_is_stored_in_this_form() {
    let json = json!({
        "thread": "t", "seq": 1, "parent": null, "at": 5, "turn": "u",
        "body": {"type": "user", "text": "hi", "defaultTab": {"tabId": 3, "url": "https://a.test/", "title": "A"}, "submission": "s"}
    });
    let row = Row { version: 1, revision: 0, json: json.to_string() };
    let record = Record::from_row(&Key::node(&thread_id(), 1), &row).unwrap();
    let written: serde_json::Value = serde_json::from_str(&record.to_row().unwrap().json).unwrap();
    assert_eq!(written, json);
}

#[test]
fn a_run_of_the_first_version_is_still_read() {
    let json = json!({
        "id": "r", "thread": "t", "turn": "u", "revision": 4, "state": "waiting_approval", "order": 1,
        "client": "c", "submission": "s", "createdAt": 1, "updatedAt": 2,
        "batch": {"assistantSeq": 2, "calls": [{"item": "i", "state": {"type": "dispatched", "attempt": 1, "at": 9}}]}
    });
    let row = Row { version: 1, revision: 4, json: json.to_string() };
    let key = Key::run(&thread_id(), &panelot_base::RunId::new("r").unwrap());
    let Record::Run(run) = Record::from_row(&key, &row).unwrap() else { panic!("not a run") };
    assert_eq!(
        run.batch.unwrap().calls[0].state,
        crate::CallState::Dispatched { attempt: 1, at: Timestamp(9) }
    );
    assert_eq!(run.failures, 0);
}

#[test]
fn a_newer_or_broken_or_misplaced_row_is_an_error_of_that_record() {
    let node = Node {
        thread: thread_id(),
        seq: 7,
        parent: None,
        at: Timestamp(1),
        turn: TurnId::new("u").unwrap(),
        body: Body::User {
            text: String::new(),
            default_tab: None,
            submission: SubmissionId::new("s").unwrap(),
        },
    };
    let row = Record::from(node).to_row().unwrap();
    let key = Key::node(&thread_id(), 7);
    assert!(Record::from_row(&key, &row).is_ok());
    assert!(Record::from_row(&key, &Row { version: 2, ..row.clone() }).is_err());
    assert!(Record::from_row(&key, &Row { json: "{".into(), ..row.clone() }).is_err());
    assert!(Record::from_row(&Key::node(&thread_id(), 8), &row).is_err());
}

#[test]
fn settings_that_miss_fields_take_the_defaults() {
    let row = Row { version: 1, revision: 0, json: "{}".into() };
    assert_eq!(Record::from_row(&Key::settings(), &row).unwrap(), Record::Settings(Settings::default()));
}

#[test]
fn a_receipt_lies_under_its_client_and_submission() {
    let receipt = Receipt {
        client: ClientId::new("c").unwrap(),
        submission: SubmissionId::new("s").unwrap(),
        op: "turn.submit".into(),
        payload_digest: "0".repeat(64),
        outcome: Outcome::Acknowledged { thread: Some(thread_id()), run: None, revision: Some(0) },
        at: Timestamp(1),
    };
    let key = Key::receipt(&receipt.client, &receipt.submission);
    let record = Record::from(receipt);
    assert_eq!(record.key(), key);
    assert_eq!(Record::from_row(&key, &record.to_row().unwrap()).unwrap(), record);
}
