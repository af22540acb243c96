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
        "body": {"type": "user", "text": "hi", "defaultTab": {"tabId": 3, "url": "https://a.test/", "title": "A"}, "submission": "s", "steered": false}
    });
    let row = Row { version: 1, revision: 0, json: json.to_string() };
    let record = Record::from_row(&Key::node(&thread_id(), 1), &row).unwrap();
    let written: serde_json::Value = serde_json::from_str(&record.to_row().json).unwrap();
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
        chain: 0,
        at: Timestamp(1),
        turn: TurnId::new("u").unwrap(),
        body: Body::User {
            text: String::new(),
            default_tab: None,
            steered: false,
            submission: SubmissionId::new("s").unwrap(),
        },
    };
    let row = Record::from(node).to_row();
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
    assert_eq!(Record::from_row(&key, &record.to_row()).unwrap(), record);
}

#[test]
fn records_are_read_as_serde_reads_them() {
    use panelot_base::json::{FromJson, ToJson};
    fn same<
        T: FromJson + ToJson + serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    >(
        value: &serde_json::Value,
    ) {
        let keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        let read = T::from_json(value.clone()).unwrap();
        assert_eq!(read.to_json(), serde_json::to_value(&read).unwrap());
        for key in keys {
            for spoil in [
                None,
                Some(json!(null)),
                Some(json!("x")),
                Some(json!(3)),
                Some(json!({})),
                Some(json!({"type": "done"})),
            ] {
                let mut spoiled = value.clone();
                match spoil {
                    Some(spoil) => spoiled[&key] = spoil,
                    None => drop(spoiled.as_object_mut().unwrap().remove(&key)),
                }
                assert_eq!(
                    T::from_json(spoiled.clone()).ok(),
                    serde_json::from_value::<T>(spoiled.clone()).ok(),
                    "{spoiled}"
                );
            }
        }
    }
    same::<Node>(
        &json!({"thread": "t", "seq": 1, "parent": null, "at": 5, "turn": "u", "body": {"type": "assistant", "item": "i",
        "text": "x", "reasoning": "", "calls": [{"item": "c", "name": "n", "arguments": "{}"}], "connection": "k", "model": "m",
        "usage": {"input": 1, "output": 2}, "incomplete": false}}),
    );
    same::<crate::Run>(
        &json!({"id": "r", "thread": "t", "turn": "u", "revision": 4, "state": "waiting_approval", "order": 1,
        "client": "c", "submission": "s", "createdAt": 1, "updatedAt": 2, "batch": {"assistantSeq": 2, "calls": [
        {"item": "i", "state": {"type": "dispatched", "attempt": 1, "at": 9}}]}, "overrides": {"policy": "auto"}}),
    );
    same::<crate::Approval>(
        &json!({"id": "a", "thread": "t", "run": "r", "turn": "u", "item": "i", "revision": 0, "tool": "click",
        "arguments": {"ref": "x"}, "origin": "https://a.test", "flags": ["host_permission"], "target": null, "digest": "d",
        "state": {"type": "decided", "decision": {"kind": "decline", "note": null}, "at": 3, "byDeadline": true},
        "requestedAt": 1, "deadlineAt": 2}),
    );
    same::<crate::Thread>(
        &json!({"id": "t", "revision": 0, "title": "x", "titleSource": "firstLine", "createdAt": 1, "updatedAt": 1,
        "leaf": null, "nextSeq": 1, "nextOrder": 1, "openRuns": ["r"], "stats": {"turns": 1, "totalTokens": 2}}),
    );
    same::<Receipt>(&json!({"client": "c", "submission": "s", "op": "x", "payloadDigest": "d", "at": 1,
        "outcome": {"type": "rejected", "code": "internal", "message": "m", "thread": null}}));
    same::<crate::Environment>(
        &json!({"system": "s", "tools": [{}], "model": {"connection": "c", "model": "m"}}),
    );
    same::<crate::Connection>(
        &json!({"id": "c", "revision": 0, "name": "n", "baseUrl": "https://a.test", "models": ["m"],
        "hasKey": true, "createdAt": 1}),
    );
    same::<Settings>(
        &json!({"revision": 1, "defaultModel": {"connection": "c", "model": "m"}, "policy": "auto", "language": "",
        "theme": "", "prompt": ""}),
    );
}

#[test]
fn an_interaction_is_stored_beside_the_approvals_and_an_approval_of_before_is_none() {
    let mut json = json!({
        "id": "a", "thread": "t", "run": "r", "turn": "u", "item": "i", "revision": 1, "tool": "ask_user",
        "arguments": {"questions": []}, "origin": "", "flags": [], "target": null, "preview": null, "digest": "",
        "state": {"type": "answered", "response": {"kind": "submit", "value": {"q": "yes"}}, "at": 5},
        "requestedAt": 1, "deadlineAt": 9, "wait": "ask_user"
    });
    let key = Key::approval(&thread_id(), &panelot_base::ApprovalId::new("a").unwrap());
    let read = |json: &serde_json::Value| {
        let row = Row { version: 1, revision: 1, json: json.to_string() };
        Record::from_row(&key, &row).unwrap()
    };
    let record = read(&json);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&record.to_row().json).unwrap(), json);
    json.as_object_mut().unwrap().remove("wait");
    json["state"] = json!({"type": "pending"});
    let Record::Approval(approval) = read(&json) else { panic!("not an approval") };
    assert_eq!(approval.wait, None);
}

#[test]
fn a_draft_lies_beside_the_settings_and_is_not_taken_for_them() {
    for thread in [None, Some(thread_id())] {
        let draft = crate::Draft { thread: thread.clone(), text: "so far".into() };
        let row = Record::from(draft.clone()).to_row();
        assert_eq!(Record::from_row(&Key::draft(thread.as_ref()), &row).unwrap(), Record::Draft(draft));
        assert!(Record::from_row(&Key::settings(), &row).is_ok_and(|it| matches!(it, Record::Settings(_))));
        let elsewhere = Key::draft(Some(&ThreadId::new("other").unwrap()));
        assert!(Record::from_row(&elsewhere, &row).is_err());
    }
}
