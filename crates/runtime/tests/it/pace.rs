//! How quickly a stop wins, how much may wait, and what a turn costs the store.

use panelot_base::limits::{CHECKPOINT_INTERVAL_MS, DELTA_MERGE_MS, WAITING_OPS_MAX};
use panelot_store::Store;
use serde_json::{Value, json};

use crate::world::{Chunk, PageTurn, Reply, World, click, word};

/// Within this time of the person's word a run is over and nothing more is done for it.
const STOP_MS: u64 = 200;

fn accept(world: &mut World, thread: &str) {
    let approval = world.snapshot(1, thread)["pendingApprovals"][0]["approvalId"].clone();
    world.send(
        1,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": "accept"}}),
    );
}

const PLACES: [&str; 8] = [
    "before the first byte",
    "while the model writes",
    "in a back-off",
    "while a question is open",
    "while a target is looked up",
    "while a write is under way",
    "while reads are under way",
    "in a pause for a write in doubt",
];

/// Brings a run to a place; returns its thread.
fn bring(world: &mut World, place: &str) -> String {
    let outside = std::rc::Rc::clone(&world.outside);
    let slow_page = || *outside.page.borrow_mut() = Some(Box::new(|| PageTurn::Works(5000)));
    let mut accepts = false;
    world.script([match place {
        "before the first byte" => Reply::of(vec![Chunk::Wait(60_000), Chunk::Bytes(word("late"))]),
        "while the model writes" => {
            Reply::of((0..9000).flat_map(|_| [Chunk::Wait(3), Chunk::Bytes(word("x "))]).collect())
        }
        "in a back-off" => {
            Reply { headers: vec![("retry-after".into(), "5".into())], ..Reply::error(429, json!({})) }
        }
        "while a target is looked up" => {
            outside.stall_lookup.set(Some(outside.lookups.get() + 1));
            click()
        }
        "while a write is under way" => {
            slow_page();
            accepts = true;
            click()
        }
        "while reads are under way" => {
            slow_page();
            let read = || ("tabs_list", json!({}));
            Reply::calls(&[read(), read(), ("click", json!({"ref": "k7q2-1"}))])
        }
        "in a pause for a write in doubt" => {
            outside.channel_lost.set(true);
            accepts = true;
            click()
        }
        _ => click(),
    }]);
    let thread = world.ask("go");
    world.settle();
    if accepts {
        accept(world, &thread);
        world.settle();
    }
    thread
}

#[test]
fn a_stop_wins_within_200_ms_wherever_the_run_stands() {
    for place in PLACES {
        let mut world = World::new();
        let thread = bring(&mut world, place);
        assert_eq!(world.snapshot(1, &thread)["runs"].as_array().unwrap().len(), 1, "{place}");
        world.take(1);
        let (requests, writes) = (world.outside.requests.borrow().len(), world.writes().len());
        let stop = world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
        world.pass(STOP_MS);
        assert_eq!(world.answer(1, &stop)["type"], "command.ack", "{place}");
        let ended = world.seen(1, "run.updated");
        assert_eq!(ended.last().unwrap()["run"]["state"], "cancelled", "{place}");
        let snapshot = world.snapshot(1, &thread);
        assert_eq!((&snapshot["runs"], &snapshot["activeTurn"]), (&json!([]), &Value::Null), "{place}");
        assert_eq!(snapshot["activeItems"], json!([]), "{place}");
        // Whatever comes late goes on record and moves nothing.
        let before = world.store.transactions();
        let items = snapshot["items"].as_array().unwrap().len();
        world.pass(120_000);
        let after = world.snapshot(1, &thread);
        assert_eq!(after["items"].as_array().unwrap().len(), items, "{place}");
        assert_eq!(after["runs"], json!([]), "{place}");
        let begun = u32::from(place == "while a write is under way");
        assert_eq!(world.outside.requests.borrow().len(), requests, "{place}");
        assert_eq!(world.writes().len(), writes + begun as usize, "{place}: a write that had begun goes on");
        assert!(world.store.transactions() <= before + 2, "{place}");
    }
}

#[test]
fn too_much_at_once_in_one_thread_is_refused_there_and_touches_no_other() {
    let mut world = World::new();
    world.script([click(), click()]);
    let busy = world.ask("one");
    world.settle();
    let calm = world.ask("two");
    world.settle();
    let stop = |thread: &str| json!({"type": "turn.interrupt", "threadId": thread});
    let flood: Vec<String> = (0..WAITING_OPS_MAX + 8).map(|_| world.send(1, stop(&busy))).collect();
    let other = world.send(1, stop(&calm));
    world.run();
    let answers: Vec<Value> = flood.iter().map(|id| world.answer(1, id)).collect();
    let refused = answers.iter().filter(|answer| answer["code"] == "overloaded").count();
    assert_eq!(refused, 8);
    assert!(answers[..WAITING_OPS_MAX].iter().all(|answer| answer["type"] == "command.ack"));
    assert!(answers[WAITING_OPS_MAX..].iter().all(|answer| answer["retryable"] == true));
    assert_eq!(world.answer(1, &other)["type"], "command.ack");
    // An answer that was refused for want of room left no receipt: the same command may come again.
    world.take(1);
    world.send(1, json!({"type": "turn.interrupt", "threadId": busy, "submissionId": flood.last().unwrap()}));
    world.run();
    assert_eq!(world.answer(1, flood.last().unwrap())["type"], "command.ack");
}

#[test]
fn a_turn_without_tools_costs_the_store_six_transactions_and_one_more_for_each_second_of_writing() {
    let mut world = World::new();
    world.script([Reply::text(&["ok"])]);
    let thread = world.ask("one");
    world.settle();
    for seconds in [0, 5] {
        let words = (0..seconds * 10).flat_map(|_| [Chunk::Bytes(word("word ")), Chunk::Wait(100)]);
        let mut reply = Reply::of(words.collect());
        reply.chunks.extend(Reply::text(&["end"]).chunks);
        world.script([reply]);
        let before = world.opened.transactions();
        world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "more"}}));
        world.pass(seconds * 1000 + 500);
        let cost = world.opened.transactions() - before;
        assert!(cost <= 6 + seconds * 1000 / CHECKPOINT_INTERVAL_MS, "{seconds} s: {cost}");
        assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    }
}

#[test]
fn words_are_told_within_a_frame_and_at_most_once_in_it() {
    let mut world = World::new();
    let words = (0..640).flat_map(|_| [Chunk::Bytes(word("x")), Chunk::Wait(1)]);
    let mut reply = Reply::of(words.collect());
    reply.chunks.extend(Reply::text(&["!"]).chunks);
    world.script([reply]);
    let thread = world.ask("Write");
    world.take(1);
    let mut sent = 0;
    for passed in 1..=640_u64 {
        world.pass(1);
        let told: usize =
            world.seen(1, "item.delta").iter().map(|it| it["text"].as_str().unwrap().len()).sum();
        assert!(told <= 641);
        assert!(told as u64 + DELTA_MERGE_MS + 1 >= passed, "after {passed} ms {told} words are told");
        sent = told;
    }
    world.settle();
    let deltas = world.seen(1, "item.delta").len() as u64;
    assert!(sent > 600 && deltas <= 640 / DELTA_MERGE_MS + 3, "{deltas} deltas");
    assert_eq!(world.snapshot(1, &thread)["items"][1]["body"]["text"].as_str().unwrap().len(), 641);
}

#[test]
fn a_server_that_sends_everything_at_once_still_streams_and_can_be_stopped() {
    let mut world = World::new();
    // Each piece is there already and costs a millisecond of work to read: nothing ever waits for the network.
    let pieces = (0..2000).flat_map(|_| [Chunk::Busy(1), Chunk::Bytes(word("x"))]);
    world.script([Reply::of(pieces.collect())]);
    let thread = world.ask("Write");
    world.pass(100);
    let stop = world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.pass(STOP_MS);
    assert_eq!(world.answer(1, &stop)["type"], "command.ack");
    assert!(world.seen(1, "item.delta").len() >= 3, "it streams");
    let told = world.snapshot(1, &thread)["items"][1]["body"]["text"].as_str().unwrap().len();
    assert!(told < 400, "the stop waited for {told} of 2000 words");
}
