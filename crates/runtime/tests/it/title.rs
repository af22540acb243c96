//! The title of a thread: the first line at once, a model's words later, and never over the person's own.

use serde_json::{Value, json};

use crate::world::{Chunk, Reply, World, click};

fn title(world: &mut World, thread: &str) -> String {
    world.snapshot(1, thread)["meta"]["title"].as_str().unwrap().to_owned()
}

fn submit(world: &mut World, thread: &str, text: &str) {
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": text}}));
}

fn slowly(ms: u64, text: &str) -> Reply {
    let mut reply = Reply::text(&[text]);
    reply.chunks.insert(0, Chunk::Wait(ms));
    reply
}

fn titles(world: &World, replies: impl IntoIterator<Item = Reply>) {
    world.outside.titles.borrow_mut().extend(replies);
}

fn asked(world: &World) -> usize {
    world.outside.title_requests.borrow().len()
}

#[test]
fn a_thread_is_named_by_its_first_line_and_then_by_a_model() {
    let mut world = World::new();
    let model = json!({"connectionId": "conn", "modelId": "m"});
    world.send(1, json!({"type": "settings.update", "changes": [{"type": "setTaskModel", "model": model}]}));
    world.script([Reply::text(&["Sunny."]), Reply::text(&["Rainy."])]);
    titles(&world, [slowly(100, "\"Weather in Paris\"\n")]);
    let thread = world.ask("What is the weather like in Paris today?\nAnd tomorrow?");
    world.run();
    assert_eq!(title(&mut world, &thread), "What is the weather like in Paris today?");
    world.settle();
    assert_eq!(title(&mut world, &thread), "Weather in Paris");
    let listed = world.seen(1, "directory.thread");
    assert_eq!(listed.last().unwrap()["thread"]["title"], "Weather in Paris");
    let request = world.outside.title_requests.borrow()[0].clone();
    assert!(request.get("tools").is_none_or(|tools| *tools == json!([])), "{request}");
    assert!(request["messages"][1]["content"].to_string().contains("And tomorrow?"), "{request}");
    submit(&mut world, &thread, "And tomorrow?");
    world.settle();
    assert_eq!(
        (asked(&world), title(&mut world, &thread).as_str()),
        (1, "Weather in Paris"),
        "once is enough"
    );
}

#[test]
fn the_turn_of_a_title_is_told_as_one_that_takes_no_message() {
    let mut world = World::new();
    world.script([Reply::text(&["Sunny."]), Reply::hanging(&["Well"])]);
    titles(&world, [slowly(5000, "Weather")]);
    let thread = world.ask("The weather?");
    world.settle();
    let started = world.all_seen(1, "turn.start");
    let of_title = started.iter().find(|event| event["turnKind"] == "title").unwrap()["turnId"].clone();
    let steer = json!({"type": "turn.steer", "threadId": thread, "expectedTurnId": of_title, "input": {"text": "no"}});
    for (code, busy) in [("turn_not_steerable", false), ("turn_not_steerable", true)] {
        if busy {
            submit(&mut world, &thread, "And tomorrow?");
            world.run();
        }
        let id = world.send(1, steer.clone());
        world.run();
        assert_eq!(world.answer(1, &id)["code"], code, "busy: {busy}");
    }
    let active = world.snapshot(1, &thread)["activeTurn"]["turnId"].clone();
    assert!(active != of_title && active != Value::Null, "the turn that people follow is another one");
}

#[test]
fn a_title_that_fails_is_tried_again_with_the_next_turns_and_not_for_ever() {
    let mut world = World::new();
    world.script((0..5).map(|_| Reply::text(&["ok"])));
    let thread = world.ask("first line");
    world.settle();
    for text in ["two", "three", "four", "five"] {
        submit(&mut world, &thread, text);
        world.settle();
    }
    assert_eq!((asked(&world), title(&mut world, &thread).as_str()), (3, "first line"));
    assert_eq!(world.seen(1, "error"), Vec::<Value>::new(), "nobody is bothered");
}

#[test]
fn a_stop_or_a_deadline_or_a_deletion_ends_the_search() {
    for how in ["stop", "deadline", "delete"] {
        let mut world = World::new();
        world.script([click()]);
        titles(&world, [slowly(60_000, "Too late")]);
        let thread = world.ask("Order it");
        world.settle();
        assert_eq!(asked(&world), 1, "it does not wait for the end of the turn");
        match how {
            "stop" => {
                world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
            }
            "delete" => {
                world.send(1, json!({"type": "thread.delete", "threadId": thread}));
            }
            _ => world.pass(20_000),
        }
        world.settle();
        if how != "delete" {
            let ended = world.all_seen(1, "turn.complete");
            let started = world.all_seen(1, "turn.start");
            let of_title =
                started.iter().find(|event| event["turnKind"] == "title").unwrap()["turnId"].clone();
            assert!(ended.iter().any(|event| event["turnId"] == of_title), "{how}: {ended:?}");
        }
        world.pass(70_000);
        if how != "delete" {
            assert_eq!(title(&mut world, &thread), "Order it");
        }
    }
}

#[test]
fn a_death_during_the_search_costs_nothing() {
    let mut world = World::new();
    world.script([Reply::text(&["ok"]), Reply::text(&["ok"])]);
    titles(&world, [slowly(5000, "never seen"), Reply::text(&["A better one"])]);
    let thread = world.ask("first line");
    world.settle();
    let mut world = world.kill();
    assert_eq!(title(&mut world, &thread), "first line");
    submit(&mut world, &thread, "go on");
    world.settle();
    assert_eq!(title(&mut world, &thread), "A better one");
}

#[test]
fn a_name_that_the_person_gave_meanwhile_stays() {
    let mut world = World::new();
    world.script([Reply::text(&["Sunny."]), Reply::text(&["Rainy."])]);
    titles(&world, [slowly(150, "Weather in Paris")]);
    let thread = world.ask("The weather?");
    world.pass(50);
    world.send(1, json!({"type": "thread.update", "threadId": thread, "title": "My trip"}));
    world.settle();
    assert_eq!((asked(&world), title(&mut world, &thread).as_str()), (1, "My trip"));
    submit(&mut world, &thread, "And tomorrow?");
    world.settle();
    assert_eq!(asked(&world), 1, "nobody looks for another one");
}
