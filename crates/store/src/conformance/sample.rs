//! Records for the cases, small and readable.

use panelot_base::{ConnectionId, Secret, ThreadId};
use panelot_records::node::Node;
use panelot_records::run::{Run, RunState};
use panelot_records::{Approval, Commit, Key, KeyPart, Record, Table, Thread, Write};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::store::{ReadRecord, Store};

pub(super) fn thread_id(id: &str) -> ThreadId {
    ThreadId::new(id).unwrap()
}

pub(super) fn connection(id: &str) -> ConnectionId {
    ConnectionId::new(id).unwrap()
}

/// Reads a record from its stored form, so that a field with a default can be added without a change here.
fn stored<R: DeserializeOwned>(json: Value) -> R {
    serde_json::from_value(json).unwrap()
}

pub(super) fn thread(id: &str) -> Thread {
    stored(json!({
        "id": id, "revision": 1, "title": "Title 标题", "createdAt": 1, "updatedAt": 2, "leaf": null,
        "nextSeq": 1, "nextOrder": 1, "openRuns": [],
    }))
}

/// A message that follows `parent`.
pub(super) fn node(thread: &str, seq: u64, parent: Option<u64>) -> Node {
    stored(json!({
        "thread": thread, "seq": seq, "parent": parent, "at": seq, "turn": "turn",
        "body": {"type": "user", "text": format!("message {seq}"), "defaultTab": null, "submission": "s"},
    }))
}

pub(super) fn run(thread: &str, id: &str, order: u64) -> Run {
    stored(json!({
        "id": id, "thread": thread, "turn": "turn", "revision": 3, "state": "running", "order": order,
        "client": "c", "submission": format!("s-{id}"), "createdAt": 1, "updatedAt": 1,
    }))
}

/// A run whose one call, asked for in node `assistant_seq`, waits for `approval`.
pub(super) fn waiting_run(thread: &str, id: &str, assistant_seq: u64, approval: &str) -> Run {
    let call = json!({"item": "i", "state": {"type": "waiting", "approval": approval}});
    let batch = stored(json!({"assistantSeq": assistant_seq, "calls": [call]}));
    Run { state: RunState::WaitingApproval, batch: Some(batch), ..run(thread, id, 1) }
}

pub(super) fn approval(thread: &str, id: &str, run: &str) -> Approval {
    stored(json!({
        "id": id, "thread": thread, "run": run, "turn": "turn", "item": "i", "revision": 0, "tool": "click",
        "arguments": {"ref": "k7q2-1"}, "origin": "https://shop.test", "flags": [], "target": null,
        "digest": "0".repeat(64), "state": {"type": "pending"}, "requestedAt": 1, "deadlineAt": 2,
    }))
}

/// A key of any form, for rows that are planted.
pub(super) fn key(table: Table, parts: Vec<KeyPart>) -> Key {
    Key { table, parts }
}

pub(super) fn commit(records: impl IntoIterator<Item = Record>) -> Commit {
    Commit { writes: records.into_iter().map(Write::Put).collect(), ..Commit::default() }
}

pub(super) fn seal(id: &str, secret: &str) -> Commit {
    let write = Write::Seal { connection: connection(id), secret: Secret::new(secret) };
    Commit { writes: vec![write], ..Commit::default() }
}

/// Applies a commit that must succeed.
pub(super) async fn put<S: Store>(store: &S, records: impl IntoIterator<Item = Record>) {
    store.apply(commit(records)).await.unwrap();
}

/// The record that must be there and readable.
pub(super) async fn get<S: Store>(store: &S, key: &Key) -> Option<Record> {
    store.get(key).await.unwrap().map(Result::unwrap)
}

/// The keys of what was read, whether it could be or not.
pub(super) fn keys(read: &[ReadRecord]) -> Vec<Key> {
    read.iter()
        .map(|it| match it {
            Ok(record) => record.key(),
            Err(error) => error.key.clone(),
        })
        .collect()
}
