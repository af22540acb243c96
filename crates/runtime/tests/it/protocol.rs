//! What the engine answers to operations that are wrong, repeated, or about the settings.

use panelot_protocol::{PROTOCOL, SCHEMA_HASH};
use serde_json::{Value, json};

use crate::world::{Reply, World, kinds};

#[test]
fn a_page_of_another_version_is_told_to_reload_and_disconnected() {
    let mut world = World::new();
    world.connect_only(5);
    world
        .send(5, json!({"type": "initialize", "protocol": PROTOCOL, "schemaHash": "other", "clientId": "c"}));
    world.run();
    let inbox = world.take(5);
    assert_eq!(inbox[0]["type"], "fatal.reload_required");
    assert_eq!(inbox[0]["schemaHash"], SCHEMA_HASH);
    assert_eq!(inbox[1]["type"], "(closed)");
    world.connect_only(6);
    world.send(
        6,
        json!({"type": "initialize", "protocol": "panelot/engine-v0", "schemaHash": SCHEMA_HASH, "clientId": "c"}),
    );
    world.run();
    let inbox = world.take(6);
    assert_eq!(
        (&inbox[0]["type"], &inbox[0]["protocol"]),
        (&json!("fatal.reload_required"), &json!("panelot/engine-v0")),
        "in the words of the page's own protocol"
    );
}

#[test]
fn nothing_but_a_ping_is_done_before_the_handshake() {
    let mut world = World::new();
    world.connect_only(5);
    world.send(5, json!({"type": "ping", "submissionId": "p"}));
    let create = world.send(5, json!({"type": "thread.create"}));
    world.run();
    assert_eq!(world.seen(5, "pong").len(), 1);
    let refused = world.answer(5, &create);
    assert_eq!((&refused["type"], &refused["retryable"]), (&json!("error"), &json!(true)));
    assert_eq!(world.seen(1, "directory.thread").len(), 0);
}

#[test]
fn what_is_no_operation_is_refused_with_its_reason() {
    let mut world = World::new();
    world.send(1, json!({"type": "turn.dance", "submissionId": "a"}));
    world.send(1, json!({"type": "turn.submit", "submissionId": "b", "threadId": "t", "input": {"text": 5}}));
    let big = "x".repeat(panelot_base::limits::OP_BYTES_MAX + 1);
    world.send(
        1,
        json!({"type": "turn.submit", "submissionId": "c", "threadId": "t", "input": {"text": big}}),
    );
    world.run();
    for id in ["a", "b", "c"] {
        assert_eq!(world.answer(1, id)["code"], "invalid_command", "{id}");
    }
    assert!(world.answer(1, "b")["message"].as_str().unwrap().contains("input.text"));
    world.take(1);
    world.send_raw(1, &json!({"type": 7, "submissionId": {"not": "an id"}}));
    world.send(1, json!({"type": "ping", "submissionId": "alive"}));
    world.run();
    assert_eq!(world.seen(1, "error")[0]["error"]["code"], "invalid_command", "nobody to name, and yet told");
    assert_eq!(world.seen(1, "pong").len(), 1);
}

#[test]
fn the_same_command_is_applied_once_and_answered_the_same_way_for_ever() {
    let mut world = World::new();
    world.script([Reply::text(&["one"])]);
    let create = json!({"type": "thread.create", "submissionId": "once", "input": {"text": "hi"}});
    world.send(1, create.clone());
    world.send(1, create.clone());
    world.settle();
    let first: Vec<Value> = world.take(1).into_iter().filter(|it| it["submissionId"] == "once").collect();
    assert_eq!(first.len(), 2);
    assert_eq!(first[0], first[1]);
    assert_eq!(world.outside.requests.borrow().len(), 1);
    let mut world = world.kill();
    world.send(1, create);
    world.settle();
    assert_eq!(world.answer(1, "once"), first[0], "also after a restart");
    // What the operation does not have is no part of its payload.
    let mut more = json!({"type": "thread.create", "submissionId": "once", "input": {"text": "hi"}});
    more["later"] = json!(1);
    world.take(1);
    world.send(1, more);
    world.settle();
    assert_eq!(world.answer(1, "once"), first[0]);
    let mut changed = json!({"type": "thread.create", "submissionId": "once", "input": {"text": "other"}});
    world.take(1);
    world.send(1, changed.clone());
    world.run();
    assert_eq!(world.answer(1, "once")["code"], "invalid_command", "the same id with another payload");
    changed["type"] = json!("turn.interrupt");
    changed["threadId"] = json!("t");
    world.take(1);
    world.send(1, changed);
    world.run();
    assert_eq!(world.answer(1, "once")["code"], "invalid_command", "the same id for another operation");
}

#[test]
fn another_client_may_use_the_same_submission_id() {
    let mut world = World::new();
    world.open_view(2);
    world.send(1, json!({"type": "thread.create", "submissionId": "mine"}));
    world.send(2, json!({"type": "thread.create", "submissionId": "mine"}));
    world.run();
    assert_ne!(world.answer(1, "mine")["threadId"], world.answer(2, "mine")["threadId"]);
}

#[test]
fn a_key_goes_in_and_never_comes_out() {
    let mut world = World::new();
    assert!(world.store.rows().iter().all(|(_, row)| !row.json.contains("sk-secret")), "sealed in the store");
    world.send(1, json!({"type": "settings.get"}));
    world.run();
    let settings = world.seen(1, "settings.updated").pop().unwrap();
    assert_eq!(settings["settings"]["connections"][0]["hasKey"], true);
    assert!(!settings.to_string().contains("sk-secret"));
    // Changing the name leaves the key alone; an empty key removes it.
    let put = |key: Value| {
        let mut change = json!({"type": "putConnection", "id": "conn", "name": "New", "baseUrl": "http://localhost:1/v1", "models": ["m"]});
        if !key.is_null() {
            change["key"] = key;
        }
        json!({"type": "settings.update", "changes": [change]})
    };
    world.send(1, put(Value::Null));
    world.run();
    assert_eq!(
        world.seen(1, "settings.updated").pop().unwrap()["settings"]["connections"][0]["hasKey"],
        true
    );
    world.send(1, put(json!("")));
    world.run();
    assert_eq!(
        world.seen(1, "settings.updated").pop().unwrap()["settings"]["connections"][0]["hasKey"],
        false
    );
}

#[test]
fn settings_that_make_no_sense_are_refused_whole() {
    let mut world = World::new();
    let changes = json!([
        {"type": "setTheme", "theme": "dark"},
        {"type": "putConnection", "id": "x", "name": "X", "baseUrl": "ftp://nowhere", "models": []}
    ]);
    let id = world.send(1, json!({"type": "settings.update", "changes": changes}));
    world.run();
    assert_eq!(world.answer(1, &id)["code"], "invalid_command");
    world.take(1);
    world.send(1, json!({"type": "settings.get"}));
    world.run();
    assert_eq!(world.seen(1, "settings.updated")[0]["settings"]["theme"], "system", "none of it was applied");
}

#[test]
fn without_a_connection_a_message_is_given_back_and_nothing_is_stored() {
    let mut world = World::new();
    world
        .send(1, json!({"type": "settings.update", "changes": [{"type": "removeConnection", "id": "conn"}]}));
    let id = world.send(1, json!({"type": "thread.create", "input": {"text": "hi"}}));
    world.run();
    assert_eq!(world.answer(1, &id)["code"], "not_configured");
    assert!(world.store.rows().iter().all(|(key, _)| key.table != panelot_records::Table::Threads));
}

#[test]
fn a_long_conversation_opens_at_its_end_and_the_rest_comes_page_by_page() {
    let mut world = World::new();
    world.script([Reply::text(&["0"])]);
    let thread = world.ask("question 0");
    world.settle();
    for number in 1..50 {
        world.script([Reply::text(&["answer"])]);
        let text = format!("question {number}");
        world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": text}}));
        world.settle();
    }
    let mut world = world.kill();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((kinds(&snapshot).len(), &snapshot["hasOlder"]), (60, &json!(true)));
    let before = snapshot["items"][0]["seq"].clone();
    let id = world.send(1, json!({"type": "thread.history", "threadId": thread, "before": before}));
    world.settle();
    let page = world.seen(1, "thread.page").into_iter().find(|it| it["submissionId"] == id.as_str()).unwrap();
    assert_eq!(page["items"].as_array().unwrap().len(), 40);
    assert_eq!((&page["items"][0]["body"]["text"], &page["hasOlder"]), (&json!("question 0"), &json!(false)));
}
