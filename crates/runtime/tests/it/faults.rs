//! Commits and reads that fail: what was not stored never happened, and everybody learns what did.

use panelot_records::Table;
use panelot_store::{CommitError, StoreError};
use serde_json::{Value, json};

use crate::world::{Reply, World, click, kinds};

fn respond(world: &mut World, thread: &str, decision: &str) -> String {
    let approval = world.snapshot(1, thread)["pendingApprovals"][0]["approvalId"].clone();
    world.send(
        1,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": decision}}),
    )
}

/// The list of threads as a view that opens now is told it.
fn list(world: &mut World, view: u64) -> Value {
    world.open_view(view);
    world.run();
    world.seen(view, "initialized").pop().unwrap()["directory"].clone()
}

#[test]
fn a_commit_that_fails_in_one_thread_loses_nothing_of_another_that_was_due_at_the_same_moment() {
    let mut world = World::new();
    world.script([click(), click(), Reply::text(&["Nobody."]), Reply::text(&["Nobody."])]);
    let first = world.ask("one");
    let second = world.ask("two");
    world.settle();
    world.skip(400_000);
    world.fail_next_commit(CommitError::Quota);
    world.pass(10_000);
    for thread in [first, second] {
        let snapshot = world.snapshot(1, &thread);
        assert_eq!(
            (&snapshot["runs"], &snapshot["pendingApprovals"]),
            (&json!([]), &json!([])),
            "{snapshot}"
        );
    }
}

#[test]
fn a_yes_for_the_session_that_was_not_stored_allows_nothing() {
    let mut world = World::new();
    world.script([click(), click(), Reply::text(&["Done."])]);
    let thread = world.ask("Order two");
    world.settle();
    world.fail_next_commit(CommitError::Quota);
    let answer = respond(&mut world, &thread, "acceptForSession");
    world.pass(5000);
    assert_eq!(world.answer(1, &answer)["code"], "storage_failed");
    respond(&mut world, &thread, "accept");
    world.settle();
    assert_eq!(world.writes().len(), 1, "the second click is a question again");
    assert_eq!(world.snapshot(1, &thread)["pendingApprovals"].as_array().unwrap().len(), 1);
}

#[test]
fn a_yes_for_the_session_ends_with_its_thread() {
    let mut world = World::new();
    world.script([click(), click(), Reply::text(&["Done."]), click()]);
    let thread = world.ask("Order two");
    world.settle();
    respond(&mut world, &thread, "acceptForSession");
    world.settle();
    assert_eq!(world.writes().len(), 2);
    let other = world.ask("And elsewhere");
    world.settle();
    assert_eq!(world.writes().len(), 2, "another conversation is another question");
    assert_eq!(world.snapshot(1, &other)["runs"][0]["state"], "waiting_approval");
}

#[test]
fn a_deletion_that_was_not_stored_leaves_the_thread_in_the_list_and_its_views_with_their_events() {
    let mut world = World::new();
    world.script([Reply::text(&["one"]), Reply::text(&["two"])]);
    let thread = world.ask("one");
    world.settle();
    world.fail_next_commit(CommitError::Quota);
    let delete = json!({"type": "thread.delete", "submissionId": "del", "threadId": thread});
    world.send(1, delete.clone());
    world.run();
    assert_eq!(world.answer(1, "del")["code"], "storage_failed");
    assert_eq!(list(&mut world, 5)["threads"][0]["id"], thread.as_str());
    world.pass(2000);
    world.take(1);
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "two?"}}));
    world.settle();
    assert!(!world.seen(1, "item.stored").is_empty(), "the view is still told what happens");
    world.send(1, delete);
    world.settle();
    assert_eq!(world.answer(1, "del")["type"], "command.ack");
}

#[test]
fn a_deletion_of_a_set_aside_thread_that_was_not_stored_can_be_tried_again() {
    let mut world = World::new();
    world.script([Reply::text(&["one"])]);
    let thread = world.ask("one");
    world.settle();
    let node = |(key, _): &(panelot_records::Key, _)| key.table == Table::Nodes;
    let (key, mut row) = world.store.rows().into_iter().find(node).unwrap();
    row.json = "{broken".into();
    world.store.put_row(key, row);
    let mut world = world.kill();
    let delete = json!({"type": "thread.delete", "submissionId": "del", "threadId": thread});
    world.fail_next_commit(CommitError::Quota);
    world.send(1, delete.clone());
    world.run();
    assert_eq!(world.answer(1, "del")["code"], "storage_failed");
    world.take(1);
    world.send(1, delete);
    world.settle();
    assert_eq!(world.answer(1, "del")["type"], "command.ack");
}

#[test]
fn a_thread_whose_creation_was_not_stored_is_in_no_list() {
    let mut world = World::new();
    world.fail_next_commit(CommitError::Quota);
    world.send(1, json!({"type": "thread.create", "submissionId": "new", "input": {"text": "hi"}}));
    world.run();
    assert_eq!(world.answer(1, "new")["code"], "storage_failed");
    let list = list(&mut world, 5);
    assert_eq!((&list["threads"], &list["activity"]), (&json!([]), &json!([])));
    world.pass(5000);
    assert_eq!(world.outside.requests.borrow().len(), 0);
}

#[test]
fn a_thread_whose_creation_was_stored_unseen_is_there_all_the_same() {
    let mut world = World::new();
    let number = world.opened.commits() + 1;
    world.opened.lose_answer(number);
    let create = json!({"type": "thread.create", "submissionId": "new", "input": {"text": "hi"}});
    world.send(1, create.clone());
    world.pass(5000);
    world.take(1);
    world.send(1, create);
    world.run();
    let ack = world.answer(1, "new");
    assert_eq!(ack["type"], "command.ack");
    let snapshot = world.snapshot(1, ack["threadId"].as_str().unwrap());
    assert_eq!(snapshot["runs"][0]["state"], "interrupted", "whether the model was asked is not known");
}

#[test]
fn views_learn_of_a_failed_commit_after_which_nothing_else_happens() {
    let mut world = World::new();
    world.script([Reply::hanging(&["Once upon "])]);
    let thread = world.ask("A story");
    // What is streamed next cannot be stored.
    world.fail_next_commit(CommitError::Quota);
    world.pass(70_000);
    let all = world.take(1);
    let numbers: Vec<u64> = all.iter().filter_map(|it| it["stream"]["sequence"].as_u64()).collect();
    assert!(
        numbers.windows(2).any(|pair| pair[1] > pair[0] + 1),
        "a gap, which is answered by a new look: {numbers:?}"
    );
    let quiet = all.iter().rfind(|it| it["type"] == "activity.updated").unwrap();
    assert_eq!(quiet["activity"]["running"], false);
    assert_eq!(world.snapshot(1, &thread)["runs"][0]["state"], "interrupted");
}

#[test]
fn a_store_that_cannot_be_read_for_a_while_is_tried_again_until_it_can() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Declined."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.skip(400_000);
    world.fail_next_commit(CommitError::Unavailable("gone".into()));
    world.opened.fail_reads(Some(StoreError::Unavailable("gone".into())));
    world.pass(20_000);
    world.opened.fail_reads(None);
    world.pass(60_000);
    assert_eq!(
        world.snapshot(1, &thread)["runs"],
        json!([]),
        "the question was declined by its deadline after all"
    );
}

#[test]
fn a_rule_that_was_not_stored_allows_nothing() {
    let mut world = World::new();
    world.script([click(), click()]);
    let rule = json!({"id": "r", "verdict": "allow", "tool": "click", "origin": "https://shop.test"});
    world.fail_next_commit(CommitError::Unavailable("gone".into()));
    let put = world.send(1, json!({"type": "rule.put", "rule": rule}));
    world.run();
    assert_eq!(world.answer(1, &put)["code"], "storage_failed");
    let thread = world.ask("Order it");
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    assert_eq!(world.snapshot(1, &thread)["runs"][0]["state"], "waiting_approval");
}

#[test]
fn older_messages_that_cannot_be_read_are_answered_with_the_reason() {
    let mut world = World::new();
    world.script([Reply::text(&["one"])]);
    let thread = world.ask("one");
    world.settle();
    world.opened.fail_reads(Some(StoreError::Unavailable("gone".into())));
    let id = world.send(1, json!({"type": "thread.history", "threadId": thread, "before": 2}));
    world.settle();
    assert_eq!(world.answer(1, &id)["type"], "error");
    world.open_view(2);
    world.run();
    assert!(world.seen(2, "error").is_empty(), "nobody else is bothered");
}

#[test]
fn a_port_that_closes_before_its_handshake_is_looked_at_leaves_nothing_behind() {
    let mut world = World::new();
    world.open_view(5);
    world.disconnect(5);
    world.run();
    world.script([Reply::text(&["one"])]);
    world.ask("one");
    world.settle();
    assert!(world.take(5).is_empty());
}

#[test]
fn a_connection_that_is_removed_while_a_run_uses_it_ends_the_run_with_the_reason() {
    let mut world = World::new();
    world.script([click()]);
    let thread = world.ask("Order it");
    world.settle();
    world
        .send(1, json!({"type": "settings.update", "changes": [{"type": "removeConnection", "id": "conn"}]}));
    respond(&mut world, &thread, "accept");
    world.settle();
    assert_eq!(world.writes().len(), 1, "what was agreed to is done");
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["runs"], json!([]));
    assert_eq!(
        snapshot["items"].as_array().unwrap().last().unwrap()["body"]["details"]["code"],
        "not_configured"
    );
    assert!(snapshot["activeTurn"].is_null());
}

#[test]
fn a_default_model_that_its_connection_does_not_list_any_more_is_not_asked() {
    let mut world = World::new();
    let put = |models: Value| json!({"type": "putConnection", "id": "conn", "name": "Test", "baseUrl": "http://localhost:1/v1", "models": models});
    let choose = json!({"type": "setDefaultModel", "model": {"connectionId": "conn", "modelId": "old"}});
    world.send(1, json!({"type": "settings.update", "changes": [put(json!(["new", "old"])), choose]}));
    world.send(1, json!({"type": "settings.update", "changes": [put(json!(["new"]))]}));
    world.run();
    world.script([Reply::text(&["hi"])]);
    world.ask("hi");
    world.settle();
    assert_eq!(world.outside.requests.borrow()[0]["model"], "new");
}

#[test]
fn two_questions_of_one_answer_are_answered_one_by_one() {
    for (second, results) in
        [("accept", ["ok", "ok"]), ("decline", ["ok", "declined"]), ("cancel", ["ok", "skipped"])]
    {
        let mut world = World::new();
        world.send(
            1,
            json!({"type": "settings.update", "changes": [{"type": "setPolicy", "policy": "always"}]}),
        );
        world.script([
            Reply::calls(&[("tabs_list", json!({})), ("tabs_list", json!({}))]),
            Reply::text(&["Well."]),
        ]);
        let thread = world.ask("Which tabs?");
        world.settle();
        let approvals = world.snapshot(1, &thread)["pendingApprovals"].clone();
        assert_eq!(approvals.as_array().unwrap().len(), 2, "reads are asked about side by side");
        respond(&mut world, &thread, "accept");
        world.settle();
        assert_eq!(world.snapshot(1, &thread)["runs"][0]["state"], "waiting_approval");
        respond(&mut world, &thread, second);
        world.settle();
        let snapshot = world.snapshot(1, &thread);
        let outcomes: Vec<&str> = snapshot["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|item| item["body"]["outcome"].as_str())
            .collect();
        assert_eq!((outcomes, &snapshot["runs"]), (results.to_vec(), &json!([])), "{second}");
        assert_eq!(snapshot["pendingApprovals"], json!([]));
    }
}

#[test]
fn a_stop_while_a_target_is_looked_up_is_final() {
    let mut world = World::new();
    world.script([click()]);
    world.outside.stall_lookup.set(Some(1));
    let thread = world.ask("Order it");
    world.settle();
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((&snapshot["runs"], &snapshot["activeItems"]), (&json!([]), &json!([])));
    assert_eq!(snapshot["items"][2]["body"]["outcome"], "skipped");
}

#[test]
fn a_back_off_can_be_stopped_and_four_failures_end_the_run() {
    let busy = || Reply::error(500, json!({}));
    let mut world = World::new();
    world.script([busy()]);
    let thread = world.ask("hi");
    world.run();
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.pass(60_000);
    assert_eq!(world.outside.requests.borrow().len(), 1, "a stop holds");
    assert_eq!(world.outside.alarm.get(), None, "and nothing is waited for");
    world.script([busy(), busy(), busy(), busy()]);
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "again"}}));
    world.pass(60_000);
    assert_eq!(world.outside.requests.borrow().len(), 5);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["runs"], json!([]));
    assert_eq!(kinds(&snapshot), ["user_message", "user_message", "system_notice"]);
}

#[test]
fn a_run_that_is_resumed_after_too_many_failures_still_only_sums_up() {
    let mut world = World::new();
    let broken = || Reply::calls(&[("click", json!({"reff": 1}))]);
    world.script([broken(), broken(), broken(), broken(), broken(), Reply::hanging(&[])]);
    let thread = world.ask("Order it");
    world.settle();
    let mut world = world.kill();
    let run = world.snapshot(1, &thread)["runs"][0]["runId"].clone();
    world.script([Reply::text(&["I could not."])]);
    world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": run}));
    world.settle();
    let requests = world.outside.requests.borrow();
    let last = requests.last().unwrap();
    assert!(last.get("tools").is_none_or(|tools| tools.as_array().is_some_and(Vec::is_empty)), "{last}");
}

#[test]
fn what_is_not_needed_any_more_is_swept_in_a_later_life_and_what_is_referred_to_stays() {
    let count =
        |world: &World, table| world.store.rows().iter().filter(|(key, _)| key.table == table).count();
    let mut world = World::new();
    world.script([click(), Reply::text(&["Ordered."])]);
    let thread = world.ask("Order it");
    world.settle();
    let approval = world.snapshot(1, &thread)["pendingApprovals"][0]["approvalId"].clone();
    world.send(
        1,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": "acceptForSession"}}),
    );
    world.settle();
    let waiting = {
        world.script([click()]);
        let tab =
            json!({"capturedAt": 1, "defaultTab": {"tabId": 7, "url": "https://other.test/", "title": ""}});
        world.outside.origin.replace("https://other.test".into());
        let op = json!({"type": "thread.create", "input": {"text": "Order another", "browserContext": tab}});
        world.send(1, op);
        world.settle();
        world
    };
    let mut world = waiting;
    assert_eq!((count(&world, Table::Runs), count(&world, Table::Approvals)), (2, 2));
    let receipts = count(&world, Table::Receipts);
    assert!(receipts >= 4);
    // The question that is open is declined by its deadline, in a run that ends a week later.
    world.script([Reply::text(&["Declined."])]);
    let mut lives = 1;
    while lives % panelot_base::limits::SWEEP_LIVES != 1 || lives == 1 {
        if lives == 2 {
            world.skip(panelot_base::limits::RECEIPT_AGE_MS);
        }
        world = world.kill();
        lives += 1;
    }
    assert_eq!((count(&world, Table::Runs), count(&world, Table::Receipts)), (2, receipts), "not at once");
    world.pass(panelot_base::limits::SWEEP_DELAY_MS + 5000);
    assert_eq!((count(&world, Table::Receipts), count(&world, Table::Grants)), (0, 1));
    assert_eq!(
        (count(&world, Table::Runs), count(&world, Table::Approvals)),
        (1, 1),
        "the younger run stays"
    );
    assert_eq!(count(&world, Table::Environments), 1, "and what it is bound to");
}
