//! Branches, copies, names, deletions: what the person does with a conversation as a whole.

use panelot_records::{KeyPart, Row, Table};
use serde_json::{Value, json};

use crate::world::{Chunk, Reply, World, kinds};

fn texts(snapshot: &Value) -> Vec<String> {
    let items = snapshot["items"].as_array().unwrap();
    items.iter().filter_map(|item| item["body"]["text"].as_str()).map(str::to_owned).collect()
}

fn act(world: &mut World, op: Value) -> Value {
    let submission = world.send(1, op);
    world.settle();
    world.answer(1, &submission)
}

fn edit(world: &mut World, thread: &str, beside: u64, text: &str) -> Value {
    act(world, json!({"type": "turn.fork", "threadId": thread, "siblingOf": beside, "input": {"text": text}}))
}

fn select(world: &mut World, thread: &str, node: u64) -> Value {
    act(world, json!({"type": "thread.selectBranch", "threadId": thread, "node": node}))
}

fn submit(world: &mut World, thread: &str, text: &str) {
    let ack = act(world, json!({"type": "turn.submit", "threadId": thread, "input": {"text": text}}));
    assert_eq!(ack["type"], "command.ack", "{ack}");
}

/// A thread with two turns: nodes 1 to 4.
fn two_turns(world: &mut World) -> String {
    world.script(["A1", "A2", "A3", "A4", "A5"].map(|text| Reply::text(&[text])));
    let thread = world.ask("Q1");
    world.settle();
    submit(world, &thread, "Q2");
    thread
}

#[test]
fn an_edited_message_begins_a_branch_and_every_view_sees_it_without_asking() {
    let mut world = World::new();
    let thread = two_turns(&mut world);
    world.open_view(2);
    world.snapshot(2, &thread);
    let ack = edit(&mut world, &thread, 3, "Q2 again");
    assert_eq!((&ack["type"], &ack["revision"]), (&json!("command.ack"), &json!(0)));
    let told = world.seen(2, "thread.snapshot").pop().unwrap();
    assert_eq!(texts(&told["snapshot"]), ["Q1", "A1", "Q2 again"]);
    assert_eq!(told["snapshot"]["items"][2]["versions"], json!([3, 5]));
    assert_eq!(told["snapshot"]["items"][0].get("versions"), None, "one that has no other version");
    let numbers: Vec<u64> = world.take(2).iter().filter_map(|it| it["stream"]["sequence"].as_u64()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    let now = world.snapshot(1, &thread);
    assert_eq!(texts(&now), ["Q1", "A1", "Q2 again", "A3"]);
    let request = world.outside.requests.borrow()[2].to_string();
    assert!(!request.contains("A2"), "the model does not hear of the other branch: {request}");
}

#[test]
fn a_branch_is_found_again_at_its_newest_end_and_goes_on_there_after_a_restart_too() {
    let mut world = World::new();
    let thread = two_turns(&mut world);
    edit(&mut world, &thread, 3, "Q2b");
    submit(&mut world, &thread, "Q3b");
    assert_eq!(select(&mut world, &thread, 3)["type"], "command.ack");
    assert_eq!(texts(&world.snapshot(1, &thread)), ["Q1", "A1", "Q2", "A2"]);
    submit(&mut world, &thread, "Q3");
    select(&mut world, &thread, 5);
    let mut world = world.kill();
    assert_eq!(texts(&world.snapshot(1, &thread)), ["Q1", "A1", "Q2b", "A3", "Q3b", "A4"]);
    select(&mut world, &thread, 3);
    let there = world.snapshot(1, &thread);
    assert_eq!(texts(&there), ["Q1", "A1", "Q2", "A2", "Q3", "A5"]);
    assert_eq!(there["items"][2]["versions"], json!([3, 5]));
}

#[test]
fn the_first_message_can_be_edited_and_an_edit_of_an_edit_stands_beside_both() {
    let mut world = World::new();
    let thread = two_turns(&mut world);
    edit(&mut world, &thread, 1, "Q1b");
    edit(&mut world, &thread, 5, "Q1c");
    let now = world.snapshot(1, &thread);
    assert_eq!(
        (texts(&now), &now["items"][0]["versions"]),
        (vec!["Q1c".into(), "A4".into()], &json!([1, 5, 7]))
    );
    select(&mut world, &thread, 1);
    assert_eq!(texts(&world.snapshot(1, &thread)), ["Q1", "A1", "Q2", "A2"]);
    // A nested edit on the branch that was left and taken up again.
    edit(&mut world, &thread, 3, "Q2b");
    select(&mut world, &thread, 7);
    select(&mut world, &thread, 1);
    assert_eq!(texts(&world.snapshot(1, &thread)), ["Q1", "A1", "Q2b", "A5"], "the newest end below it");
}

#[test]
fn what_cannot_be_edited_is_refused_and_changes_nothing() {
    let mut world = World::new();
    let thread = two_turns(&mut world);
    for (node, what) in [(2, "an answer"), (99, "nothing")] {
        let answer = edit(&mut world, &thread, node, "x");
        assert_eq!(answer["code"], "invalid_command", "{what}: {answer}");
    }
    edit(&mut world, &thread, 3, "Q2b");
    assert_eq!(edit(&mut world, &thread, 3, "x")["code"], "invalid_command", "not on the active branch");
    assert_eq!(select(&mut world, &thread, 2)["code"], "invalid_command", "no other version");
    assert_eq!(texts(&world.snapshot(1, &thread)), ["Q1", "A1", "Q2b", "A3"]);
    world.outside.replies.borrow_mut().clear();
    world.script([Reply::of(vec![Chunk::Wait(100_000)])]);
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "long"}}));
    world.settle();
    let answer = edit(&mut world, &thread, 1, "x");
    assert_eq!((&answer["code"], &answer["retryable"]), (&json!("turn_mismatch"), &json!(true)));
    assert_eq!(select(&mut world, &thread, 3)["code"], "turn_mismatch");
}

#[test]
fn a_copy_of_a_branch_is_a_thread_of_its_own_made_once() {
    let mut world = World::new();
    let thread = two_turns(&mut world);
    act(&mut world, json!({"type": "thread.update", "threadId": thread, "folderId": "work", "tags": ["a"]}));
    let op = json!({"type": "thread.fork", "threadId": thread, "node": 2, "submissionId": "copy"});
    world.send(1, op.clone());
    world.send(1, op.clone());
    world.settle();
    let acks: Vec<Value> = world
        .seen(1, "command.ack")
        .into_iter()
        .filter(|it| it["submissionId"] == "copy")
        .map(|it| it["threadId"].clone())
        .collect();
    assert_eq!(acks.len(), 2);
    assert_eq!(acks[0], acks[1], "the same command makes one thread");
    let copy = acks[0].as_str().unwrap().to_owned();
    let there = world.snapshot(1, &copy);
    assert_eq!(texts(&there), ["Q1", "A1"]);
    let meta = &there["meta"];
    assert_eq!(
        (&meta["forkedFrom"], &meta["folderId"], &meta["tags"]),
        (&json!(thread), &json!("work"), &json!(["a"]))
    );
    submit(&mut world, &copy, "Q2 of the copy");
    assert_eq!(texts(&world.snapshot(1, &copy)), ["Q1", "A1", "Q2 of the copy", "A3"]);
    assert_eq!(texts(&world.snapshot(1, &thread)), ["Q1", "A1", "Q2", "A2"]);
    let missing = act(&mut world, json!({"type": "thread.fork", "threadId": thread, "node": 77}));
    assert_eq!(missing["type"], "command.rejected");
}

#[test]
fn a_thread_is_renamed_and_filed_for_every_view_and_keeps_its_place_in_the_list() {
    let mut world = World::new();
    let thread = two_turns(&mut world);
    world.open_view(2);
    world.settle();
    world.take(2);
    let before = world.snapshot(1, &thread)["meta"]["updatedAt"].clone();
    let op = json!({"type": "thread.update", "threadId": thread, "title": " My\u{7} name ", "pinned": true,
        "archived": true, "folderId": "f", "tags": ["x", "y"]});
    let ack = act(&mut world, op);
    let meta = world.seen(2, "directory.thread").pop().unwrap()["thread"].clone();
    assert_eq!(
        (&meta["title"], &meta["pinned"], &meta["archived"], &meta["folderId"], &meta["tags"]),
        (&json!("My name"), &json!(true), &json!(true), &json!("f"), &json!(["x", "y"]))
    );
    assert_eq!(meta["updatedAt"], before);
    assert_eq!(ack["revision"], meta["revision"], "the revision that the change made");
    act(&mut world, json!({"type": "thread.update", "threadId": thread, "folderId": "", "pinned": false}));
    let meta = world.seen(2, "directory.thread").pop().unwrap()["thread"].clone();
    assert_eq!(
        (&meta["folderId"], &meta["pinned"], &meta["title"]),
        (&Value::Null, &json!(false), &json!("My name"))
    );
    let blank = act(&mut world, json!({"type": "thread.update", "threadId": thread, "title": "  "}));
    assert_eq!(blank["code"], "invalid_command");
}

#[test]
fn a_deleted_message_is_gone_for_views_the_model_and_the_store() {
    let mut world = World::new();
    world.script([
        Reply::calls(&[("read_page", json!({}))]),
        Reply::text(&["Secret answer"]),
        Reply::text(&["Next"]),
    ]);
    let thread = world.ask("Q1");
    world.settle();
    let before = world.snapshot(1, &thread);
    assert_eq!(kinds(&before), ["user_message", "assistant_message", "tool_result", "assistant_message"]);
    for node in [2, 4] {
        let ack = act(&mut world, json!({"type": "message.delete", "threadId": thread, "node": node}));
        assert_eq!(ack["type"], "command.ack", "{ack}");
    }
    let told = world.seen(1, "item.stored");
    let removed: Vec<u64> = told
        .iter()
        .filter(|it| it["item"]["body"]["kind"] == "removed")
        .map(|it| it["item"]["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(removed, [2, 3, 4], "the result of the call goes with the message that asked for it");
    let refused = act(&mut world, json!({"type": "message.delete", "threadId": thread, "node": 44}));
    assert_eq!(refused["code"], "invalid_command");
    assert!(!world.store.rows().iter().any(|(_, row)| row.json.contains("Secret answer")));
    let mut world = world.kill();
    submit(&mut world, &thread, "Q2");
    let request = world.outside.requests.borrow().last().unwrap().to_string();
    assert!(!request.contains("Secret answer") && !request.contains("tool_calls"), "{request}");
    assert_eq!(texts(&world.snapshot(1, &thread)), ["Q1", "Q2", "Next"]);
}

#[test]
fn rules_and_grants_are_changed_by_commands_of_their_own_and_shown_with_the_settings() {
    let mut world = World::new();
    let rule = json!({"id": "r1", "verdict": "deny", "tool": "click", "origin": "*"});
    let ack = act(&mut world, json!({"type": "rule.put", "rule": rule}));
    assert_eq!(ack["type"], "command.ack");
    let settings = |world: &World| world.seen(1, "settings.updated").pop().unwrap()["settings"].clone();
    assert_eq!(settings(&world)["rules"], json!([rule]));
    let wrong = act(
        &mut world,
        json!({"type": "rule.put", "rule": {"id": "r2", "verdict": "deny", "tool": "click", "origin": "not an origin"}}),
    );
    assert_eq!(wrong["code"], "invalid_command");
    act(&mut world, json!({"type": "rule.remove", "ruleId": "r1"}));
    assert_eq!(settings(&world)["rules"], json!([]));

    world.script([crate::world::click(), crate::world::click(), Reply::text(&["ok"])]);
    let thread = world.ask("Order");
    world.settle();
    let approval = world.snapshot(1, &thread)["pendingApprovals"][0]["approvalId"].clone();
    act(
        &mut world,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval,
        "decision": {"kind": "acceptForSession"}}),
    );
    assert_eq!(world.writes().len(), 2, "the second click was covered by the first answer");
    let grant = settings(&world)["grants"][0].clone();
    assert_eq!((&grant["grantedIn"], &grant["tool"]), (&json!(thread), &json!("click")));
    act(
        &mut world,
        json!({"type": "grant.revoke", "grantedIn": thread, "tool": "click", "origin": grant["origin"]}),
    );
    assert_eq!(settings(&world)["grants"], json!([]));
    world.script([crate::world::click()]);
    act(
        &mut world,
        json!({"type": "turn.submit", "threadId": thread, "input": {"text": "Again", "browserContext":
        {"capturedAt": 1, "defaultTab": {"tabId": 7, "url": "https://shop.test/order", "title": "Order"}}}}),
    );
    assert_eq!(world.snapshot(1, &thread)["runs"][0]["state"], "waiting_approval", "it is asked again");
}

/// Changes what is stored under a table and a last key component, as damage does.
fn damage(world: &World, table: Table, last: &KeyPart, change: impl Fn(&mut Value)) {
    let (key, row) = world
        .store
        .rows()
        .into_iter()
        .find(|(key, _)| key.table == table && key.parts.last() == Some(last))
        .unwrap();
    let mut json: Value = serde_json::from_str(&row.json).unwrap();
    change(&mut json);
    world.store.put_row(key, Row { json: json.to_string(), ..row });
}

fn notices(snapshot: &Value) -> Vec<Value> {
    let items = snapshot["items"].as_array().unwrap().iter();
    items
        .filter(|it| it["body"]["notice"] == "repaired")
        .map(|it| it["body"]["details"]["damage"].clone())
        .collect()
}

#[test]
fn a_broken_link_and_a_lost_leaf_cost_what_cannot_be_read_and_are_told_once() {
    let mut world = World::new();
    let thread = two_turns(&mut world);
    damage(&world, Table::Nodes, &KeyPart::Number(3), |node| node["parent"] = json!(0));
    damage(&world, Table::Threads, &KeyPart::Text(thread.clone()), |thread| thread["leaf"] = json!(77));
    let mut world = world.kill();
    let there = world.snapshot(1, &thread);
    assert_eq!(texts(&there), ["Q2", "A2"]);
    assert_eq!(notices(&there), [json!(["leafLost", "branchCut"])]);
    let mut world = world.kill();
    submit(&mut world, &thread, "Q3");
    let there = world.snapshot(1, &thread);
    assert_eq!(texts(&there), ["Q2", "A2", "Q3", "A3"]);
    assert_eq!(notices(&there).len(), 1, "told once");
    assert!(!world.outside.requests.borrow().last().unwrap().to_string().contains("Q1"));
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    let mut world = World::new();
    world.script([
        Reply::calls(&[("read_page", json!({}))]),
        Reply::text(&["Read."]),
        Reply::text(&["Next"]),
    ]);
    let thread = world.ask("Q1");
    world.settle();
    damage(&world, Table::Nodes, &KeyPart::Number(3), |node| node["body"] = json!({"type": "removed"}));
    let mut world = world.kill();
    let there = world.snapshot(1, &thread);
    assert_eq!(notices(&there), [json!(["resultsMissing"])]);
    let results: Vec<&Value> =
        there["items"].as_array().unwrap().iter().filter(|it| it["body"]["kind"] == "tool_result").collect();
    assert_eq!(results[0]["body"]["outcome"], "skipped");
    submit(&mut world, &thread, "Q2");
}

#[test]
fn a_link_that_is_broken_far_back_is_mended_by_whoever_meets_it() {
    let mut world = World::new();
    world.script((0..41).map(|n| Reply::text(&[&format!("A{n}")])));
    let thread = world.ask("Q0");
    world.settle();
    for n in 1..40 {
        submit(&mut world, &thread, &format!("Q{n}"));
    }
    damage(&world, Table::Nodes, &KeyPart::Number(9), |node| node["parent"] = json!(0));
    let mut world = world.kill();
    assert_eq!(notices(&world.snapshot(1, &thread)), [json!(null); 0], "nobody has met it yet");
    submit(&mut world, &thread, "Q40");
    let request = world.outside.requests.borrow().last().unwrap().to_string();
    assert!(request.contains("Q4") && !request.contains("Q3\""), "what can be read is sent: {request}");
    assert_eq!(notices(&world.snapshot(1, &thread)), [json!(["branchCut"])]);
    let before = world.snapshot(1, &thread)["items"][0]["seq"].clone();
    world.send(1, json!({"type": "thread.history", "threadId": thread, "before": before}));
    world.settle();
    let page = world.seen(1, "thread.page").pop().unwrap();
    assert_eq!((&page["items"][0]["seq"], &page["hasOlder"]), (&json!(9), &json!(false)));
    let mut world = world.kill();
    assert_eq!(notices(&world.snapshot(1, &thread)).len(), 1);
}

#[test]
fn where_a_navigation_ended_is_judged_before_the_model_reads_of_it() {
    let mut world = World::new();
    world.script([
        Reply::calls(&[("navigate", json!({"url": "https://shop.test/next"}))]),
        Reply::text(&["Stopped."]),
    ]);
    act(
        &mut world,
        json!({"type": "rule.put", "rule":
        {"id": "r", "verdict": "deny", "tool": "read_page", "origin": "https://evil.test"}}),
    );
    let thread = world.ask("Go");
    world.settle();
    let approval = world.snapshot(1, &thread)["pendingApprovals"][0]["approvalId"].clone();
    world.outside.origin.replace("https://evil.test".into());
    act(
        &mut world,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval,
        "decision": {"kind": "accept"}}),
    );
    assert_eq!(world.writes(), ["navigate https://shop.test/next"]);
    let there = world.snapshot(1, &thread);
    let result =
        there["items"].as_array().unwrap().iter().find(|it| it["body"]["kind"] == "tool_result").unwrap();
    assert_eq!(result["body"]["outcome"], "failed");
    let content = result["body"]["content"].as_str().unwrap();
    assert!(content.contains("nothing of its page was read") && !content.contains("Order"), "{content}");
}
