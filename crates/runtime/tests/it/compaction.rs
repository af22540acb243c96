//! Conversations that outgrow their model.

use serde_json::{Value, json};

use crate::world::{Reply, World, kinds};

fn submit(world: &mut World, thread: &str, text: &str) {
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": text}}));
    world.settle();
}

fn long(name: &str) -> String {
    format!("{name} {}", "word ".repeat(30_000))
}

fn last_request(world: &World) -> String {
    world.outside.requests.borrow().last().unwrap().to_string()
}

fn summary_of(snapshot: &Value) -> Value {
    let items = snapshot["items"].as_array().unwrap();
    items.iter().find(|it| it["body"]["notice"] == "summarized").cloned().unwrap_or_default()
}

/// Three long messages; the third does not fit any more.
fn outgrown(world: &mut World) -> String {
    world.script([Reply::text(&["A1"]), Reply::text(&["A2"])]);
    let thread = world.ask(&long("First"));
    world.settle();
    submit(world, &thread, &long("Second"));
    thread
}

#[test]
fn a_conversation_that_fills_the_window_goes_on_from_a_summary_and_nothing_is_lost() {
    let mut world = World::new();
    let thread = outgrown(&mut world);
    world.script([Reply::text(&["They ", "spoke."]), Reply::text(&["A3"]), Reply::text(&["A4"])]);
    submit(&mut world, &thread, &long("Third"));
    let requests = world.outside.requests.borrow().clone();
    assert_eq!(requests.len(), 4, "one for the summary, one for the answer");
    assert!(requests[2].get("tools").is_none_or(|tools| tools.as_array().unwrap().is_empty()));
    let there = world.snapshot(1, &thread);
    let summary = summary_of(&there);
    assert_eq!(summary["body"]["details"]["text"], "They spoke.");
    assert_eq!(kinds(&there).len(), 7, "every entry is still there, and the summary is one of them");
    let asked = requests[3].to_string();
    assert!(asked.contains("They spoke.") && asked.contains("Third"), "{asked}");
    assert!(!asked.contains("A1"), "what the summary stands for is not sent");
    // The person's own words go on.
    assert!(asked.contains("- First word"));
    let told = world.seen(1, "item.start");
    assert!(told.iter().any(|it| it["kind"] == "summary"));
    assert!(
        !world
            .seen(1, "item.delta")
            .iter()
            .any(|it| it["text"].as_str().unwrap_or_default().contains("spoke"))
    );

    let mut world = world.kill();
    submit(&mut world, &thread, "Fourth");
    assert!(last_request(&world).contains("They spoke.") && !last_request(&world).contains("A1"));
    // Back to the whole conversation.
    world.send(1, json!({"type": "message.delete", "threadId": thread, "node": summary["seq"]}));
    world.settle();
    assert_eq!(summary_of(&world.snapshot(1, &thread)), Value::Null);
    world.script([Reply::text(&["They spoke anew."]), Reply::text(&["A5"])]);
    submit(&mut world, &thread, "Fifth");
    assert_eq!(summary_of(&world.snapshot(1, &thread))["body"]["details"]["text"], "They spoke anew.");
}

#[test]
fn a_provider_that_refuses_the_length_gets_less_until_it_takes_it() {
    let mut world = World::new();
    world.script(["A1", "A2"].map(|text| Reply::text(&[text])));
    let thread = world.ask("First");
    world.settle();
    submit(&mut world, &thread, "Second");
    let too_long = || {
        Reply::error(
            400,
            json!({"error": {"message": "This model's maximum context length is 4096 tokens",
            "code": "context_length_exceeded"}}),
        )
    };
    world.script([too_long(), Reply::text(&["They spoke."]), Reply::text(&["A3"])]);
    submit(&mut world, &thread, "Third");
    let there = world.snapshot(1, &thread);
    assert_eq!(summary_of(&there)["body"]["details"]["text"], "They spoke.");
    assert_eq!(
        (&there["items"].as_array().unwrap().last().unwrap()["body"]["text"], &there["runs"]),
        (&json!("A3"), &json!([]))
    );
    // Where nothing is left to summarise, the person learns why it ends.
    world.script([too_long(), Reply::text(&["s"]), too_long(), Reply::text(&["s"]), too_long(), too_long()]);
    submit(&mut world, &thread, "Fourth");
    let there = world.snapshot(1, &thread);
    let last = there["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["body"]["details"]["provider"]["kind"], "context_too_long", "{last}");
    assert_eq!(there["runs"], json!([]));
}

#[test]
fn a_death_or_a_stop_during_the_summary_leaves_the_conversation_as_it_was() {
    let mut world = World::new();
    let thread = outgrown(&mut world);
    world.script([Reply::hanging(&["They"])]);
    submit(&mut world, &thread, &long("Third"));
    let mut world = world.kill();
    let there = world.snapshot(1, &thread);
    assert_eq!(
        kinds(&there),
        ["user_message", "assistant_message", "user_message", "assistant_message", "user_message"]
    );
    assert_eq!(there["runs"][0]["state"], "interrupted");
    world.script([Reply::hanging(&["They"])]);
    world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": there["runs"][0]["runId"]}));
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["activeItems"][0]["kind"], "summary");
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    let there = world.snapshot(1, &thread);
    assert_eq!((kinds(&there).len(), &there["runs"], &there["activeItems"]), (5, &json!([]), &json!([])));
}
