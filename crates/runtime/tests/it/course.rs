//! Turns that get nowhere, and turns that cost too much.

use serde_json::{Value, json};

use crate::world::{Reply, World, kinds};

fn look() -> Reply {
    Reply::calls(&[("tabs_list", json!({}))])
}

fn broken() -> Reply {
    Reply::calls(&[("click", json!({"nonsense": true}))])
}

fn set(world: &mut World, change: Value) {
    world.send(1, json!({"type": "settings.update", "changes": [change]}));
    world.run();
}

fn budget(world: &mut World, tokens: Value) {
    set(world, json!({"type": "setTurnTokenBudget", "tokens": tokens}));
}

fn run(world: &mut World, thread: &str) -> Value {
    world.snapshot(1, thread)["runs"][0].clone()
}

fn resume(world: &mut World, thread: &str) {
    let run = run(world, thread)["runId"].clone();
    let id = world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": run}));
    world.settle();
    assert_eq!(world.answer(1, &id)["type"], "command.ack");
}

/// The last message of each request, with whether tools were offered.
fn endings(world: &World) -> Vec<(String, bool)> {
    let requests = world.outside.requests.borrow();
    let last = |body: &Value| body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    requests.iter().map(|body| (last(body), body.get("tools").is_some_and(|it| *it != json!([])))).collect()
}

#[test]
fn a_turn_pauses_when_its_tokens_are_used_up_and_goes_on_when_the_person_says_so() {
    let mut world = World::new();
    budget(&mut world, json!(1000));
    world.script([look().costing(900, 200)]);
    let thread = world.ask("Which tabs?");
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(kinds(&snapshot), ["user_message", "assistant_message", "tool_result"], "no call is dropped");
    assert_eq!(snapshot["runs"][0]["state"], "paused_budget");
    assert_eq!(world.seen(1, "turn.complete")[0]["stopReason"], "budget_pause");
    let waits = json!({"type": "turn.enqueue", "threadId": thread, "input": {"text": "Then this"}});
    world.send(1, waits);
    world.run();
    let mut world = world.kill();
    assert_eq!(run(&mut world, &thread)["state"], "paused_budget");
    // A second budget counts on from the first: 1100 of 2100 are used.
    world.script([look().costing(800, 100), look().costing(200, 50)]);
    resume(&mut world, &thread);
    assert_eq!(world.outside.requests.borrow().len(), 3, "2000 of 2100 are no reason to pause");
    assert_eq!(run(&mut world, &thread)["state"], "paused_budget");
    budget(&mut world, Value::Null);
    world.script([Reply::text(&["These."]).costing(5000, 5000), Reply::text(&["And that."])]);
    resume(&mut world, &thread);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["runs"], json!([]));
    assert_eq!(snapshot["items"].as_array().unwrap().last().unwrap()["body"]["text"], "And that.");
}

#[test]
fn an_answer_that_ends_a_turn_ends_it_whatever_it_cost_and_a_stop_ends_a_pause() {
    let mut world = World::new();
    budget(&mut world, json!(10));
    world.script([Reply::text(&["Long."]).costing(900, 200), look().costing(900, 200)]);
    let thread = world.ask("A long answer");
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "And the tabs?"}}));
    world.settle();
    assert_eq!(run(&mut world, &thread)["state"], "paused_budget");
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn the_same_call_with_the_same_result_is_noticed_and_then_stopped_with_a_report() {
    let mut world = World::new();
    world.script((0..5).map(|_| look()).chain([Reply::text(&["I kept looking at the same tabs."])]));
    let thread = world.ask("Wait for a new tab");
    world.settle();
    let endings = endings(&world);
    let nudged: Vec<bool> = endings.iter().map(|(text, _)| text.contains("made the same calls")).collect();
    assert_eq!(nudged, [false, false, false, true, true, false]);
    assert!(endings[5].0.contains("repeated again and again") && !endings[5].1, "{endings:?}");
    let snapshot = world.snapshot(1, &thread);
    let items = snapshot["items"].as_array().unwrap();
    assert_eq!(items[items.len() - 2]["body"]["text"], "I kept looking at the same tabs.");
    assert_eq!(items[items.len() - 1]["body"]["notice"], "looping");
    assert_eq!(snapshot["runs"], json!([]));
}

#[test]
fn calls_that_alternate_are_a_loop_too_and_one_that_differs_breaks_it() {
    let mut world = World::new();
    // Success and failure in turn: no failures in a row, and yet no progress.
    let pair = || [look(), broken()];
    world.script(
        [pair(), pair()]
            .into_iter()
            .flatten()
            .chain([Reply::calls(&[("click", json!({"other": 1}))])])
            .chain(
                [pair(), pair(), pair(), pair(), pair()]
                    .into_iter()
                    .flatten()
                    .chain([Reply::text(&["Stuck."])]),
            ),
    );
    let thread = world.ask("Order it");
    world.settle();
    let endings = endings(&world);
    assert!(endings[..11].iter().all(|(text, _)| !text.contains("same calls")), "{endings:?}");
    assert!(endings[11].0.contains("made the same calls 3 times"), "{endings:?}");
    assert!(!endings[15].1 && endings.len() == 16, "{endings:?}");
    assert_eq!(kinds(&world.snapshot(1, &thread)).last().unwrap(), "system_notice");
}

#[test]
fn calls_that_change_their_page_are_no_loop() {
    let mut world = World::new();
    set(&mut world, json!({"type": "setPolicy", "policy": "auto"}));
    let next = || Reply::calls(&[("click", json!({"ref": "k7q2-1"}))]);
    world.script((0..8).map(|_| next()).chain([Reply::text(&["All pages are read."])]));
    let thread = world.ask("Go through all pages");
    world.pass(2000);
    assert!(endings(&world).iter().all(|(text, tools)| !text.contains("same calls") && *tools));
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["items"].as_array().unwrap().last().unwrap()["body"]["text"], "All pages are read.");
}

#[test]
fn a_loop_is_remembered_over_a_death_and_forgotten_when_the_person_says_something() {
    let mut world = World::new();
    world.script([look(), look(), Reply::hanging(&["Hm"])]);
    let thread = world.ask("Wait for a new tab");
    world.settle();
    let mut world = world.kill();
    world.script([look(), Reply::hanging(&["Hm"])]);
    resume(&mut world, &thread);
    assert!(endings(&world)[4].0.contains("made the same calls 3 times"), "{:?}", endings(&world));
    let turn = world.snapshot(1, &thread)["activeTurn"]["turnId"].clone();
    let steer = json!({"type": "turn.steer", "threadId": thread, "expectedTurnId": turn, "input": {"text": "keep looking"}});
    world.send(1, steer);
    world.run();
    let mut world = world.kill();
    world.script([look(), Reply::text(&["There it is."])]);
    resume(&mut world, &thread);
    let endings = endings(&world);
    assert!(endings[5..].iter().all(|(text, _)| !text.contains("same calls")), "{endings:?}");
}

#[test]
fn failures_in_a_row_are_told_from_the_third_on_also_when_one_answer_brings_two() {
    let mut world = World::new();
    let twice = Reply::calls(&[("click", json!({"a": 1})), ("click", json!({"b": 2}))]);
    let other = Reply::calls(&[("type", json!({"c": 3}))]);
    world.script([twice.clone(), twice, other, Reply::text(&["It does not work."])]);
    let thread = world.ask("Order it");
    world.settle();
    let endings = endings(&world);
    assert!(endings[2].0.contains("The last 4 tool calls failed"), "{endings:?}");
    assert!(!endings[3].1, "{endings:?}");
    assert_eq!(kinds(&world.snapshot(1, &thread)).last().unwrap(), "system_notice");
}

#[test]
fn what_one_answer_asks_for_beyond_five_failures_is_not_begun() {
    let mut world = World::new();
    let calls: Vec<(&str, Value)> = (0..8).map(|n| ("click", json!({"nonsense": n}))).collect();
    world.script([Reply::calls(&calls), Reply::text(&["Nothing worked."])]);
    let thread = world.ask("Order it");
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    let items = snapshot["items"].as_array().unwrap().iter();
    let outcomes: Vec<&str> = items.filter_map(|item| item["body"]["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["failed", "failed", "failed", "failed", "failed", "skipped", "skipped", "skipped"]);
    assert!(!endings(&world)[1].1, "the summary is written without tools");
}
