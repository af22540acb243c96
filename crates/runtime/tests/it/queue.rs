//! Messages that wait: the queue, messages that are added to a turn, and what a restart makes of both.

use serde_json::{Value, json};

use crate::world::{Chunk, Reply, World, click, kinds};

/// What the entries of a conversation say, in order.
fn said(snapshot: &Value) -> Vec<String> {
    let text = |item: &Value| item["body"]["text"].as_str().unwrap_or_default().to_owned();
    snapshot["items"].as_array().unwrap().iter().map(text).collect()
}

fn queued(snapshot: &Value) -> Vec<String> {
    let runs = snapshot["runs"].as_array().unwrap().iter();
    runs.filter_map(|run| run["queuedText"].as_str().map(str::to_owned)).collect()
}

fn enqueue(world: &mut World, thread: &str, text: &str) -> String {
    let id = world.send(1, json!({"type": "turn.enqueue", "threadId": thread, "input": {"text": text}}));
    world.run();
    let ack = world.answer(1, &id);
    ack["runId"].as_str().unwrap_or_else(|| panic!("{ack}")).to_owned()
}

fn steer(world: &mut World, thread: &str, turn: &Value, text: &str) -> Value {
    let op =
        json!({"type": "turn.steer", "threadId": thread, "expectedTurnId": turn, "input": {"text": text}});
    let id = world.send(1, op);
    world.run();
    world.answer(1, &id)
}

fn turn_of(world: &mut World, thread: &str) -> Value {
    world.snapshot(1, thread)["activeTurn"]["turnId"].clone()
}

/// Words, a pause, more words, the end.
fn slow(first: &str, ms: u64, second: &str) -> Reply {
    let word = |text: &str, end: &str| {
        Chunk::Bytes(format!(
            "data: {}\n\n{end}",
            json!({"choices": [{"index": 0, "delta": {"content": text},
                "finish_reason": if end.is_empty() { Value::Null } else { json!("stop") }}]})
        ))
    };
    Reply::of(vec![word(first, ""), Chunk::Wait(ms), word(second, "data: [DONE]\n\n")])
}

/// The roles and texts of the request with a number, from the first message after the system prompt.
fn request(world: &World, number: usize) -> Vec<String> {
    let requests = world.outside.requests.borrow();
    let text = |message: &Value| {
        let content = &message["content"];
        let text = content.as_str().map(str::to_owned).unwrap_or_else(|| content.to_string());
        format!("{} {text}", message["role"].as_str().unwrap())
    };
    requests[number]["messages"].as_array().unwrap().iter().skip(1).map(text).collect()
}

#[test]
fn a_waiting_message_can_be_changed_and_taken_back_and_every_view_sees_it() {
    let mut world = World::new();
    world.script([slow("one", 1000, "."), Reply::text(&["to two"]), Reply::text(&["to three"])]);
    let thread = world.ask("one?");
    world.pass(50);
    world.open_view(2);
    world.snapshot(2, &thread);
    let two = enqueue(&mut world, &thread, "two?");
    let gone = enqueue(&mut world, &thread, "never mind");
    enqueue(&mut world, &thread, "three?");
    let edit =
        json!({"type": "queue.update", "threadId": thread, "runId": two, "input": {"text": "two, please?"}});
    let edit = world.send(2, edit);
    let remove = world.send(2, json!({"type": "queue.remove", "threadId": thread, "runId": gone}));
    world.run();
    assert_eq!(world.answer(2, &edit)["revision"], 1);
    assert_eq!(world.answer(2, &remove)["type"], "command.ack");
    let told = world.seen(1, "run.updated");
    let last = told.iter().rev().find(|event| event["run"]["runId"] == gone.as_str()).unwrap();
    assert_eq!(last["run"]["state"], "cancelled");
    assert_eq!(queued(&world.snapshot(1, &thread)), ["two, please?", "three?"], "an edit keeps its place");
    world.pass(2000);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(said(&snapshot), ["one?", "one.", "two, please?", "to two", "three?", "to three"]);
    assert_eq!(snapshot["runs"], json!([]));
}

/// Asks something slow, lets two messages wait and moves the first of them into the turn.
fn promoted() -> (World, String, Value) {
    let mut world = World::new();
    world.script([slow("one", 1000, "."), Reply::text(&["in blue, then"]), Reply::text(&["to three"])]);
    let thread = world.ask("one?");
    world.pass(50);
    let two = enqueue(&mut world, &thread, "in blue");
    enqueue(&mut world, &thread, "three?");
    let turn = turn_of(&mut world, &thread);
    let promote = json!({"type": "turn.steer", "threadId": thread, "expectedTurnId": turn,
        "input": {"text": "in blue"}, "promotes": two});
    let id = world.send(1, promote.clone());
    world.run();
    assert_eq!(world.answer(1, &id)["type"], "command.ack");
    (world, thread, promote)
}

#[test]
fn a_waiting_message_is_moved_into_the_turn_under_way_and_stands_in_one_place_only() {
    let (mut world, thread, promote) = promoted();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(queued(&snapshot), ["three?"]);
    assert_eq!(snapshot["runs"][0]["pendingSteers"][0]["text"], "in blue");
    let again = world.send(1, promote);
    world.run();
    assert_eq!(world.answer(1, &again)["type"], "command.rejected", "it does not wait any more");
    world.pass(5000);
    let said = said(&world.snapshot(1, &thread));
    assert_eq!(said, ["one?", "one.", "in blue", "in blue, then", "three?", "to three"]);
}

#[test]
fn a_death_after_a_promotion_finds_the_message_where_it_was_moved_to() {
    let (world, thread, _) = promoted();
    let mut world = world.kill();
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    let steers = snapshot["runs"][0]["pendingSteers"].as_array().map(Vec::len).unwrap_or_default();
    let told = said(&snapshot).iter().filter(|text| *text == "in blue").count();
    assert_eq!((queued(&snapshot), told + steers), (vec![], 1), "{snapshot}");
}

#[test]
fn what_has_begun_or_is_gone_can_not_be_changed_any_more() {
    let mut world = World::new();
    world.script([slow("one", 1000, "."), Reply::text(&["two"])]);
    let thread = world.ask("one?");
    world.pass(50);
    let running = world.snapshot(1, &thread)["runs"][0]["runId"].clone();
    for op in [
        json!({"type": "queue.update", "threadId": thread, "runId": running, "input": {"text": "else"}}),
        json!({"type": "queue.remove", "threadId": thread, "runId": running}),
        json!({"type": "queue.remove", "threadId": thread, "runId": "nobody"}),
    ] {
        let id = world.send(1, op);
        world.run();
        assert_eq!(world.answer(1, &id)["code"], "invalid_command");
    }
    world.pass(2000);
    assert_eq!(said(&world.snapshot(1, &thread)), ["one?", "one."]);
}

#[test]
fn a_queue_survives_a_death_in_its_order_with_its_changes() {
    let mut world = World::new();
    world.script([click()]);
    let thread = world.ask("Order it");
    world.settle();
    let first = enqueue(&mut world, &thread, "first");
    enqueue(&mut world, &thread, "second");
    let changes = json!({"type": "queue.update", "threadId": thread, "runId": first,
        "input": {"text": "first, changed"}, "overrides": {"permissionPolicy": "auto"}});
    world.send(1, changes);
    world.run();
    let mut world = world.kill();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(queued(&snapshot), ["first, changed", "second"]);
    assert_eq!(snapshot["runs"][1]["overrides"]["permissionPolicy"], "auto");
    world.script([Reply::text(&["1"]), Reply::text(&["2"])]);
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(said(&snapshot)[3..], ["first, changed", "1", "second", "2"], "{snapshot}");
}

#[test]
fn a_message_that_waited_at_a_death_is_answered_and_the_interrupted_one_stays_resumable() {
    let mut world = World::new();
    world.script([Reply::hanging(&["I begin"]), Reply::text(&["Here is the second."])]);
    let thread = world.ask("Do the first");
    world.pass(50);
    enqueue(&mut world, &thread, "Do the second");
    let mut world = world.kill();
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(said(&snapshot), ["Do the first", "I begin", "Do the second", "Here is the second."]);
    assert_eq!(snapshot["runs"][0]["state"], "interrupted", "nobody gave it up");
    let run = snapshot["runs"][0]["runId"].clone();
    world.script([Reply::text(&["Now the first as well."])]);
    let resume = world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": run}));
    world.settle();
    assert_eq!(world.answer(1, &resume)["type"], "command.ack");
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(said(&snapshot)[4], "Now the first as well.", "what came after it is not lost from sight");
    let sent = request(&world, 2);
    assert!(sent.iter().any(|it| it.contains("Here is the second.")), "{sent:?}");
    assert!(sent.last().unwrap().contains("It began: \"Do the first\""), "{sent:?}");
}

#[test]
fn a_new_message_takes_the_place_of_an_interrupted_one_and_a_queued_one_does_not() {
    let mut world = World::new();
    world.script([Reply::hanging(&["I begin"])]);
    let thread = world.ask("Do the first");
    world.pass(50);
    let mut world = world.kill();
    world.script([Reply::text(&["two"]), Reply::text(&["three"])]);
    enqueue(&mut world, &thread, "beside it");
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"][0]["state"], "interrupted");
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "instead of it"}}));
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn an_interrupted_run_can_be_given_up_while_another_works() {
    let mut world = World::new();
    world.script([Reply::hanging(&["I begin"]), slow("work", 1000, "ing")]);
    let thread = world.ask("Do the first");
    world.pass(50);
    enqueue(&mut world, &thread, "Do the second");
    let mut world = world.kill();
    world.run();
    let run = world.snapshot(1, &thread)["runs"][0]["runId"].clone();
    world.send(1, json!({"type": "queue.remove", "threadId": thread, "runId": run}));
    world.pass(2000);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((&snapshot["runs"], said(&snapshot).last().unwrap().as_str()), (&json!([]), "working"));
}

#[test]
fn a_message_that_is_added_while_a_tool_waits_comes_after_its_result_and_before_the_next_answer() {
    let mut world = World::new();
    world.script([click()]);
    let thread = world.ask("Order it");
    world.settle();
    let turn = turn_of(&mut world, &thread);
    let ack = steer(&mut world, &thread, &turn, "but only one");
    assert_eq!(ack["type"], "command.ack", "{ack}");
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["runs"][0]["pendingSteers"][0]["text"], "but only one");
    assert_eq!(kinds(&snapshot), ["user_message", "assistant_message"], "it is no entry yet");
    let mut world = world.kill();
    world.script([Reply::text(&["One is ordered."])]);
    let approval = world.snapshot(1, &thread)["pendingApprovals"][0]["approvalId"].clone();
    world.send(
        1,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": "accept"}}),
    );
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(
        kinds(&snapshot),
        [
            "user_message",
            "assistant_message",
            "approval_decision",
            "tool_result",
            "user_message",
            "assistant_message"
        ]
    );
    assert_eq!(snapshot["items"][4]["body"]["steered"], true);
    let sent = request(&world, 1);
    assert_eq!(sent.last().unwrap(), "user but only one", "{sent:?}");
}

#[test]
fn messages_that_are_added_while_the_model_writes_are_answered_in_the_same_turn_in_their_order() {
    let mut world = World::new();
    world.script([
        slow("Once ", 500, "upon a time."),
        slow("Right: ", 500, "shorter."),
        Reply::text(&["Fine."]),
    ]);
    let thread = world.ask("A story");
    world.pass(100);
    let turn = turn_of(&mut world, &thread);
    steer(&mut world, &thread, &turn, "shorter");
    steer(&mut world, &thread, &turn, "and in verse");
    world.pass(600);
    // The next request is under way: its cutoff is past, so this one goes into the request after it.
    let late = steer(&mut world, &thread, &turn, "no, in prose");
    assert_eq!(late["type"], "command.ack");
    world.pass(2000);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(
        said(&snapshot),
        [
            "A story",
            "Once upon a time.",
            "shorter",
            "and in verse",
            "Right: shorter.",
            "no, in prose",
            "Fine."
        ]
    );
    assert_eq!(world.seen(1, "turn.complete").len(), 1, "one turn");
    assert_eq!(world.outside.requests.borrow().len(), 3);
}

#[test]
fn an_added_message_is_never_lost_whatever_ends_the_turn() {
    for ending in ["stop", "error", "death"] {
        let mut world = World::new();
        let mut broken = slow("Well, ", 500, "");
        broken.chunks.pop();
        broken.chunks.push(Chunk::Break);
        world.script([if ending == "error" { broken } else { Reply::hanging(&["Well, "]) }]);
        let thread = world.ask("A story");
        world.pass(100);
        let turn = turn_of(&mut world, &thread);
        assert_eq!(steer(&mut world, &thread, &turn, "shorter")["type"], "command.ack");
        match ending {
            "stop" => {
                world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
                world.settle();
            }
            "error" => world.pass(1000),
            _ => {
                world = world.kill();
                world.script([Reply::text(&["short."])]);
                let run = world.snapshot(1, &thread)["runs"][0].clone();
                assert_eq!(
                    (&run["state"], &run["pendingSteers"][0]["text"]),
                    (&json!("interrupted"), &json!("shorter"))
                );
                world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": run["runId"]}));
                world.settle();
            }
        }
        let snapshot = world.snapshot(1, &thread);
        let said = said(&snapshot);
        assert_eq!(said.iter().filter(|it| *it == "shorter").count(), 1, "{ending}: {said:?}");
        assert!(
            said.iter().position(|it| it == "shorter") > said.iter().position(|it| it == "Well, "),
            "{said:?}"
        );
        assert_eq!(snapshot["runs"], json!([]), "{ending}");
    }
}

#[test]
fn a_message_for_a_turn_that_takes_none_is_given_back_with_the_reason() {
    let mut world = World::new();
    world.script([Reply::text(&["done"]), slow("more", 1000, ".")]);
    let thread = world.ask("One");
    world.settle();
    assert_eq!(steer(&mut world, &thread, &json!("some-turn"), "late")["code"], "no_active_turn");
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "Two"}}));
    world.pass(100);
    assert_eq!(steer(&mut world, &thread, &json!("some-turn"), "late")["code"], "turn_mismatch");
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    assert_eq!(said(&world.snapshot(1, &thread)), ["One", "done", "Two", "more"], "nothing of it is left");
}

#[test]
fn the_last_words_of_a_turn_that_is_ended_take_no_further_message() {
    let mut world = World::new();
    let broken = || Reply::calls(&[("click", json!({"nonsense": true}))]);
    world.script([broken(), broken(), broken(), broken(), broken(), slow("It did ", 1000, "not work.")]);
    let thread = world.ask("Order it");
    world.pass(500);
    let turn = turn_of(&mut world, &thread);
    let run = world.snapshot(1, &thread)["runs"][0].clone();
    assert_eq!(run["steerable"], false, "{run}");
    assert_eq!(steer(&mut world, &thread, &turn, "late")["code"], "turn_not_steerable");
}
