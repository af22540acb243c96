//! The worker dies at every named point; nothing is lost, nothing is done twice.

use panelot_store::CommitError;
use serde_json::{Value, json};

use crate::world::{Reply, World, click, kinds};

fn accept(world: &mut World, thread: &str) -> String {
    let approval = world.snapshot(1, thread)["pendingApprovals"][0]["approvalId"].clone();
    world.send(
        1,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": "accept"}}),
    )
}

#[test]
fn killed_while_the_model_streams_the_run_is_interrupted_with_its_text_and_resumes() {
    let mut world = World::new();
    world.script([Reply::hanging(&["Once upon "])]);
    let thread = world.ask("A story");
    world.pass(50);
    let mut world = world.kill();
    let snapshot = world.snapshot(1, &thread);
    let run = snapshot["runs"][0].clone();
    assert_eq!(run["state"], "interrupted");
    assert_eq!(snapshot["items"][1]["body"]["text"], "Once upon ");
    assert_eq!(snapshot["items"][1]["body"]["incomplete"], true);
    world.script([Reply::text(&["a time."])]);
    let resume = world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": run["runId"]}));
    world.settle();
    assert_eq!(world.answer(1, &resume)["type"], "command.ack");
    let done = world.snapshot(1, &thread);
    assert_eq!(kinds(&done), ["user_message", "assistant_message", "assistant_message"]);
    assert_eq!(done["runs"], json!([]));
    let request = world.outside.requests.borrow().last().unwrap().to_string();
    assert!(request.contains("Once upon ") && request.contains("cut off"), "{request}");
}

#[test]
fn killed_while_a_question_is_open_the_question_is_back_with_its_deadline() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Ordered."])]);
    let thread = world.ask("Order it");
    world.settle();
    let before = world.snapshot(1, &thread)["pendingApprovals"].clone();
    world.pass(60_000);
    let mut world = world.kill();
    assert_eq!(world.snapshot(1, &thread)["pendingApprovals"], before);
    accept(&mut world, &thread);
    world.settle();
    assert_eq!(world.writes().len(), 1);
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn a_question_whose_deadline_passed_while_nobody_lived_is_declined_at_the_start() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Too late."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.skip(400_000);
    let mut world = world.kill();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["pendingApprovals"], json!([]));
    assert_eq!(snapshot["items"][3]["body"]["outcome"], "declined");
    assert_eq!(world.writes(), [""; 0]);
}

#[test]
fn killed_between_the_yes_and_the_dispatch_it_is_done_once_without_asking_again() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Ordered."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.outside.stall_lookup.set(Some(world.outside.lookups.get() + 1));
    let answer = accept(&mut world, &thread);
    world.settle();
    assert_eq!(world.answer(1, &answer)["type"], "command.ack");
    assert_eq!(world.writes(), [""; 0]);
    world.outside.stall_lookup.set(None);
    let mut world = world.kill();
    world.settle();
    assert_eq!(world.writes().len(), 1);
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn killed_between_the_dispatch_and_the_result_the_person_is_asked_and_nothing_happens_twice() {
    for (resolution, writes, ends) in [("mark_done", 1, "ok"), ("retry", 2, "ok"), ("fail", 1, "uncertain")] {
        let mut world = World::new();
        world.script([click(), Reply::text(&["Done."])]);
        let thread = world.ask("Order it");
        world.settle();
        world.outside.lose_reports.set(true);
        accept(&mut world, &thread);
        world.settle();
        assert_eq!(world.writes().len(), 1);
        world.outside.lose_reports.set(false);
        let mut world = world.kill();
        world.settle();
        assert_eq!(world.writes().len(), 1, "never repeated silently");
        let run = world.snapshot(1, &thread)["runs"][0].clone();
        assert_eq!(run["state"], "paused_uncertain");
        assert_eq!(run["uncertain"]["toolName"], "click");
        world.send(
            1,
            json!({"type": "run.resolveUncertain", "threadId": thread, "runId": run["runId"], "resolution": resolution}),
        );
        world.settle();
        assert_eq!(world.writes().len(), writes, "{resolution}");
        let snapshot = world.snapshot(1, &thread);
        assert_eq!(snapshot["runs"], json!([]), "{resolution}");
        let results: Vec<Value> = snapshot["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["body"]["kind"] == "tool_result")
            .map(|item| item["body"]["outcome"].clone())
            .collect();
        assert_eq!(results, [json!(ends)], "{resolution}");
    }
}

#[test]
fn a_write_whose_channel_broke_is_treated_like_one_that_a_death_cut_off() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Done."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.outside.channel_lost.set(true);
    accept(&mut world, &thread);
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"][0]["state"], "paused_uncertain");
    assert_eq!(world.seen(1, "turn.complete")[0]["stopReason"], "uncertain");
}

#[test]
fn a_waiting_message_survives_and_goes_out_when_the_way_is_free() {
    let mut world = World::new();
    world.script([click()]);
    let thread = world.ask("Order it");
    world.settle();
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "and then?"}}));
    world.settle();
    let mut world = world.kill();
    world.script([Reply::text(&["Then this."])]);
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["items"].as_array().unwrap().last().unwrap()["body"]["text"], "Then this.");
}

#[test]
fn a_commit_that_fails_refuses_the_command_changes_nothing_and_the_same_command_succeeds_later() {
    let mut world = World::new();
    world.script([Reply::text(&["one"]), Reply::text(&["two"])]);
    let thread = world.ask("one");
    world.settle();
    let submit = json!({"type": "turn.submit", "submissionId": "again", "threadId": thread, "input": {"text": "two?"}});
    world.fail_next_commit(CommitError::Quota);
    world.send(1, submit.clone());
    world.run();
    let refused = world.answer(1, "again");
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("storage_failed"), &json!(true)));
    assert_eq!(world.outside.requests.borrow().len(), 1, "no effect without its commit");
    world.pass(5000);
    assert_eq!(kinds(&world.snapshot(1, &thread)).len(), 2);
    world.take(1);
    world.send(1, submit);
    world.settle();
    assert_eq!(world.answer(1, "again")["type"], "command.ack");
    assert_eq!(kinds(&world.snapshot(1, &thread)).len(), 4);
}

#[test]
fn a_broken_record_costs_its_own_thread_only() {
    let mut world = World::new();
    world.script([Reply::text(&["one"]), Reply::text(&["two"])]);
    let broken = world.ask("one");
    world.settle();
    let sound = world.ask("two");
    world.settle();
    let (key, mut row) = world
        .store
        .rows()
        .into_iter()
        .find(|(key, row)| key.table == panelot_records::Table::Nodes && row.json.contains(&broken))
        .unwrap();
    row.json = "{broken".into();
    world.store.put_row(key, row);
    let mut world = world.kill();
    world.send(1, json!({"type": "thread.subscribe", "threadId": broken}));
    world.settle();
    assert!(!world.seen(1, "error").is_empty(), "the view is told");
    assert_eq!(kinds(&world.snapshot(1, &sound)).len(), 2);
    let delete = world.send(1, json!({"type": "thread.delete", "threadId": broken}));
    world.settle();
    assert_eq!(world.answer(1, &delete)["type"], "command.ack", "it can still be thrown away");
}
