//! Turns from the first word to the last: answers, calls, questions, stops, failures.

use serde_json::{Value, json};

use crate::world::{Chunk, PageTurn, Reply, World, click, kinds};

fn approval_of(snapshot: &Value) -> Value {
    snapshot["pendingApprovals"][0].clone()
}

fn respond(world: &mut World, view: u64, thread: &str, approval: &Value, decision: Value) -> String {
    world.send(
        view,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval["approvalId"], "decision": decision}),
    )
}

#[test]
fn a_message_is_answered_and_the_conversation_shows_it() {
    let mut world = World::new();
    world.script([Reply::text(&["Hel", "lo **you**"])]);
    let thread = world.ask("Say hello");
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(kinds(&snapshot), ["user_message", "assistant_message"]);
    assert_eq!(snapshot["items"][1]["body"]["text"], "Hello **you**");
    assert_eq!((&snapshot["runs"], &snapshot["activeTurn"]), (&json!([]), &Value::Null));
    assert_eq!(snapshot["meta"]["title"], "Say hello");
    let request = &world.outside.requests.borrow()[0];
    assert_eq!(request["model"], "m");
    assert!(request["tools"].as_array().unwrap().iter().any(|tool| tool["function"]["name"] == "click"));
    assert!(request.to_string().contains("tabId=7"), "the tab in front is told");
}

#[test]
fn a_long_first_line_becomes_a_title_that_shows_that_it_was_cut() {
    let mut world = World::new();
    world.script([Reply::text(&["ok"]), Reply::text(&["ok"])]);
    let thread = world.ask(&"很长".repeat(30));
    world.settle();
    let title = world.snapshot(1, &thread)["meta"]["title"].as_str().unwrap().to_owned();
    assert_eq!((title.chars().count(), title.ends_with('…')), (41, true));
}

#[test]
fn every_view_sees_the_same_numbered_events_and_one_that_joins_midway_misses_nothing() {
    let mut world = World::new();
    world.script([Reply::of(vec![
        Chunk::Bytes("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one \"}}]}\n\n".into()),
        Chunk::Wait(100),
        Chunk::Bytes("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two \"}}]}\n\n".into()),
        Chunk::Wait(100),
        Chunk::Bytes("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"three\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".into()),
    ])]);
    let thread = world.ask("Count");
    world.pass(150);
    world.open_view(2);
    let joined = world.snapshot(2, &thread);
    assert_eq!(joined["activeItems"][0]["text"], "one two ");
    assert_eq!(joined["activeTurn"]["startedAt"], world.now() - 150);
    assert_eq!(
        kinds(&joined),
        ["user_message"],
        "the message that streams is not also told as its checkpoint"
    );
    world.settle();
    let texts = |view| -> String {
        world
            .seen(view, "item.delta")
            .iter()
            .map(|it| it["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(texts(1), "one two three");
    assert_eq!(
        format!("{}{}", joined["activeItems"][0]["text"].as_str().unwrap(), texts(2)),
        "one two three"
    );
    let inbox = |view| -> Vec<u64> {
        let all = world.take(view);
        all.iter().filter_map(|it| it["stream"]["sequence"].as_u64()).collect()
    };
    for view in [1, 2] {
        let numbers = inbox(view);
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "view {view}: {numbers:?}");
    }
}

#[test]
fn a_write_waits_for_the_person_and_is_done_once() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Ordered."])]);
    let thread = world.ask("Order it");
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    let waiting = world.snapshot(1, &thread);
    let approval = approval_of(&waiting);
    assert_eq!(waiting["runs"][0]["state"], "waiting_approval");
    assert_eq!(
        (&approval["tool"], &approval["targetOrigin"]),
        (&json!("click"), &json!("https://shop.test"))
    );
    assert_eq!(approval["params"], json!({"ref": "k7q2-1"}));
    let answer = respond(&mut world, 1, &thread, &approval, json!({"kind": "accept"}));
    world.settle();
    assert_eq!(world.answer(1, &answer)["type"], "command.ack");
    assert_eq!(world.writes().len(), 1, "{:?}", world.writes());
    let done = world.snapshot(1, &thread);
    assert_eq!(
        kinds(&done),
        ["user_message", "assistant_message", "approval_decision", "tool_result", "assistant_message"]
    );
    assert_eq!(done["items"][3]["body"]["outcome"], "ok");
    assert_eq!(done["items"][4]["body"]["text"], "Ordered.");
    let second = world.outside.requests.borrow()[1].to_string();
    assert!(second.contains("<<<web_content_"), "what the page said is fenced: {second}");
}

#[test]
fn one_answer_serves_all_views_and_a_different_second_one_is_refused() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Ordered."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.open_view(2);
    let approval = approval_of(&world.snapshot(2, &thread));
    let first = respond(&mut world, 2, &thread, &approval, json!({"kind": "accept"}));
    let same = respond(&mut world, 1, &thread, &approval, json!({"kind": "accept"}));
    let other = respond(&mut world, 1, &thread, &approval, json!({"kind": "cancel"}));
    world.run();
    assert_eq!(world.answer(2, &first)["type"], "command.ack");
    assert_eq!(world.answer(1, &same)["type"], "command.ack");
    assert_eq!(world.answer(1, &other)["code"], "invalid_command");
    assert_eq!(world.seen(1, "approval.resolved").len(), 1);
    world.settle();
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_declined_call_is_told_to_the_model_with_the_persons_note() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["All right."])]);
    let thread = world.ask("Order it");
    world.settle();
    let approval = approval_of(&world.snapshot(1, &thread));
    respond(&mut world, 1, &thread, &approval, json!({"kind": "decline", "note": "not this shop"}));
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    assert!(world.outside.requests.borrow()[1].to_string().contains("not this shop"));
    assert_eq!(world.snapshot(1, &thread)["items"][3]["body"]["outcome"], "declined");
}

#[test]
fn decline_and_stop_ends_the_run_and_the_conversation_stays_legal() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Next."])]);
    let thread = world.ask("Order it");
    world.settle();
    let approval = approval_of(&world.snapshot(1, &thread));
    respond(&mut world, 1, &thread, &approval, json!({"kind": "cancel"}));
    world.settle();
    assert_eq!(world.seen(1, "turn.complete")[0]["stopReason"], "interrupted");
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    // The fake provider refuses a history in which a call has no result.
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "go on"}}));
    world.settle();
    assert_eq!(world.outside.requests.borrow().len(), 2);
}

#[test]
fn a_question_that_nobody_answers_is_declined_by_its_deadline_once() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Nobody answered."])]);
    let thread = world.ask("Order it");
    world.settle();
    assert!(world.outside.alarm.get().is_some(), "the deadline wakes a sleeping worker");
    world.pass(299_000);
    assert_eq!(world.snapshot(1, &thread)["runs"][0]["state"], "waiting_approval");
    let approval = approval_of(&world.snapshot(1, &thread));
    world.pass(2000);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["pendingApprovals"], json!([]));
    assert_eq!(snapshot["items"][3]["body"]["outcome"], "declined");
    assert_eq!(world.outside.alarm.get(), None);
    let late = respond(&mut world, 1, &thread, &approval, json!({"kind": "accept"}));
    world.settle();
    assert_eq!(world.answer(1, &late)["code"], "invalid_command");
    assert_eq!(world.writes(), [""; 0]);
}

#[test]
fn allow_for_this_site_is_a_rule_from_then_on_and_shown_in_the_settings() {
    let mut world = World::new();
    world.script([click(), click(), Reply::text(&["Twice."])]);
    let thread = world.ask("Order two");
    world.settle();
    let approval = approval_of(&world.snapshot(1, &thread));
    respond(&mut world, 1, &thread, &approval, json!({"kind": "acceptForSite"}));
    world.settle();
    assert_eq!(world.writes().len(), 2, "the second click is not asked again");
    let settings = world.seen(1, "settings.updated").pop().unwrap();
    assert_eq!(settings["settings"]["rules"][0]["origin"], "https://shop.test");
    let mut world = world.kill();
    world.script([click(), Reply::text(&["Again."])]);
    world.ask("And another");
    world.settle();
    assert_eq!(world.writes().len(), 3, "the rule outlives the worker");
}

#[test]
fn a_page_that_changed_since_the_question_is_not_acted_on() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["The page changed."])]);
    let thread = world.ask("Order it");
    world.settle();
    let approval = approval_of(&world.snapshot(1, &thread));
    world.outside.document.replace("doc-2".into());
    respond(&mut world, 1, &thread, &approval, json!({"kind": "accept"}));
    world.settle();
    assert_eq!(world.writes(), [""; 0]);
    assert_eq!(world.snapshot(1, &thread)["items"][3]["body"]["outcome"], "failed");
}

#[test]
fn a_stop_wins_over_a_stream_and_keeps_what_was_said() {
    let mut world = World::new();
    world.script([Reply::hanging(&["Once upon ", "a time"])]);
    let thread = world.ask("A long story");
    world.pass(100);
    let stop = world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.run();
    assert_eq!(world.answer(1, &stop)["type"], "command.ack");
    assert_eq!(world.seen(1, "turn.complete")[0]["stopReason"], "interrupted");
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["runs"], json!([]), "what the person stopped is not offered for resuming");
    let last = &snapshot["items"][1]["body"];
    assert_eq!((&last["text"], &last["incomplete"]), (&json!("Once upon a time"), &json!(true)));
    world.pass(120_000);
    assert_eq!(
        world.snapshot(1, &thread)["items"][1]["body"]["text"],
        "Once upon a time",
        "a late word moves nothing"
    );
}

#[test]
fn messages_sent_meanwhile_wait_and_go_out_in_order() {
    let mut world = World::new();
    world.script([Reply::hanging(&["..."]), Reply::text(&["two"]), Reply::text(&["three"])]);
    let thread = world.ask("one");
    world.pass(50);
    for text in ["two?", "three?"] {
        world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": text}}));
    }
    world.run();
    let runs = world.snapshot(1, &thread)["runs"].clone();
    assert_eq!((&runs[1]["state"], &runs[2]["queuedText"]), (&json!("queued"), &json!("three?")));
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    let said: Vec<String> = world.snapshot(1, &thread)["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["body"]["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(said, ["one", "...", "two?", "two", "three?", "three"]);
}

#[test]
fn the_ninth_waiting_message_is_given_back() {
    let mut world = World::new();
    world.script([Reply::hanging(&["..."])]);
    let thread = world.ask("one");
    let submit = json!({"type": "turn.submit", "threadId": thread, "input": {"text": "more"}});
    for _ in 0..8 {
        let id = world.send(1, submit.clone());
        world.run();
        assert_eq!(world.answer(1, &id)["type"], "command.ack");
    }
    let ninth = world.send(1, submit);
    world.run();
    let answer = world.answer(1, &ninth);
    assert_eq!((&answer["code"], &answer["retryable"]), (&json!("queue_full"), &json!(true)));
}

#[test]
fn a_refused_key_ends_the_run_with_the_providers_words_and_without_the_key() {
    let mut world = World::new();
    world.script([Reply::error(401, json!({"error": {"message": "Incorrect API key provided: sk-secret"}}))]);
    let thread = world.ask("hi");
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    let notice = &snapshot["items"][1]["body"];
    assert_eq!(notice["kind"], "system_notice");
    assert_eq!(notice["details"]["provider"]["kind"], "auth");
    assert!(!snapshot.to_string().contains("sk-secret"), "{snapshot}");
    assert_eq!(world.seen(1, "turn.complete")[0]["stopReason"], "error");
}

#[test]
fn a_busy_provider_is_asked_again_and_the_person_sees_only_the_answer() {
    let mut world = World::new();
    let busy = Reply { headers: vec![("retry-after".into(), "2".into())], ..Reply::error(429, json!({})) };
    world.script([busy, Reply::text(&["Here I am."])]);
    let thread = world.ask("hi");
    world.pass(1500);
    assert_eq!(world.outside.requests.borrow().len(), 1);
    world.pass(1500);
    assert_eq!(kinds(&world.snapshot(1, &thread)), ["user_message", "assistant_message"]);
}

#[test]
fn an_answer_that_breaks_off_keeps_its_words_and_says_so() {
    let mut world = World::new();
    let mut reply = Reply::text(&["Half a "]);
    reply.chunks.pop();
    reply.chunks.push(Chunk::Break);
    world.script([reply]);
    let thread = world.ask("hi");
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(kinds(&snapshot), ["user_message", "assistant_message", "system_notice"]);
    let said = &snapshot["items"][1]["body"];
    assert_eq!((&said["text"], &said["incomplete"]), (&json!("Half a "), &json!(true)));
    assert_eq!(snapshot["items"][2]["body"]["details"]["provider"]["kind"], "network");
    let ended = world.seen(1, "item.complete");
    assert_eq!((ended.len(), &ended[0]["ok"]), (1, &json!(false)), "what was begun is told to be over");
}

#[test]
fn an_answer_that_the_provider_cut_says_what_for_after_a_kill_too() {
    for (finish, stop) in [("length", "max_tokens"), ("content_filter", "content_filter")] {
        let mut world = World::new();
        let mut reply = Reply::text(&["Half a "]);
        for chunk in &mut reply.chunks {
            if let Chunk::Bytes(bytes) = chunk {
                *bytes = bytes.replace("\"stop\"", &format!("\"{finish}\""));
            }
        }
        world.script([reply]);
        let thread = world.ask("hi");
        world.settle();
        let mut world = world.kill();
        let said = world.snapshot(1, &thread)["items"][1]["body"].clone();
        assert_eq!((&said["incomplete"], &said["stop"]), (&json!(true), &json!(stop)));
    }
}

#[test]
fn broken_calls_come_back_to_the_model_and_five_in_a_row_end_with_a_summary() {
    let mut world = World::new();
    let broken = || Reply::calls(&[("click", json!({"reff": 1}))]);
    world.script([broken(), broken(), broken(), broken(), broken(), Reply::text(&["I could not."])]);
    let thread = world.ask("Order it");
    world.settle();
    let requests = world.outside.requests.borrow();
    assert_eq!(requests.len(), 6);
    assert!(requests[3].to_string().contains("panelot reminder"), "after three the approach is to change");
    assert!(requests[5].get("tools").is_none_or(|tools| tools.as_array().is_some_and(Vec::is_empty)));
    drop(requests);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["items"].as_array().unwrap().last().unwrap()["body"]["notice"], "tooManyFailures");
    assert_eq!(snapshot["runs"], json!([]));
}

#[test]
fn reads_go_ahead_without_a_question_and_side_by_side() {
    let mut world = World::new();
    world.script([
        Reply::calls(&[("tabs_list", json!({})), ("tabs_list", json!({}))]),
        Reply::text(&["Two tabs lists."]),
    ]);
    // One after the other they would take twice as long, which is longer than is waited here.
    *world.outside.page.borrow_mut() = Some(Box::new(|| PageTurn::Works(150)));
    let thread = world.ask("Which tabs?");
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(
        kinds(&snapshot),
        ["user_message", "assistant_message", "tool_result", "tool_result", "assistant_message"]
    );
}

#[test]
fn a_deleted_thread_is_gone_everywhere_and_stays_gone() {
    let mut world = World::new();
    world.script([Reply::hanging(&["..."])]);
    let thread = world.ask("one");
    world.pass(50);
    let delete = world.send(1, json!({"type": "thread.delete", "threadId": thread}));
    world.run();
    assert_eq!(world.answer(1, &delete)["type"], "command.ack");
    assert_eq!(world.seen(1, "thread.deleted")[0]["deletedThreadId"], thread.as_str());
    world.pass(120_000);
    let left: Vec<_> = world
        .store
        .rows()
        .into_iter()
        .filter(|(key, row)| {
            !matches!(key.table, panelot_records::Table::Receipts) && row.json.contains(&thread)
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let gone = world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "x"}}));
    world.run();
    assert_eq!(world.answer(1, &gone)["code"], "thread_not_found");
}

#[test]
fn the_worker_is_kept_alive_while_something_runs_and_only_then() {
    let mut world = World::new();
    world.script([Reply::hanging(&["..."])]);
    let thread = world.ask("one");
    world.pass(70_000);
    let during = world.outside.kept_alive.get();
    assert!((3..=6).contains(&during), "{during}");
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.pass(30_000);
    let after = world.outside.kept_alive.get();
    world.pass(300_000);
    assert_eq!(world.outside.kept_alive.get(), after);
}

#[test]
fn a_connection_is_spoken_to_in_its_own_protocol() {
    let mut world = World::new();
    world.send(
        1,
        json!({"type": "settings.update", "changes": [{"type": "putConnection", "id": "conn", "name": "Other",
            "wire": "anthropic", "baseUrl": "http://localhost:1", "models": ["m"]}]}),
    );
    world.settle();
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let told = events
        .map(|event| Chunk::Bytes(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())));
    let reply = Reply::of(told.into());
    // One for the message, one for the title of the conversation.
    world.script([reply.clone(), reply]);
    let thread = world.ask("Hi");
    world.settle();
    let request = world.outside.requests.borrow()[0].clone();
    assert!(request["max_tokens"].is_u64(), "Anthropic's requests name a limit: {request}");
    assert!(request["system"].is_array() || request["system"].is_string(), "{request}");
    let snapshot = world.snapshot(1, &thread);
    assert!(snapshot.to_string().contains("Hello."), "{snapshot}");
}
