//! Connections: tried part by part, called with each of their keys, headers and quirks; models with their prices and the
//! person's choices.

use serde_json::{Value, json};

use crate::world::{Chunk, Reply, World};

/// The steps of a try that a view was told of, each with its outcome.
fn steps(world: &World) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let steps = world.seen(1, "connection.step");
    steps.iter().map(|it| (word(&it["step"]), word(&it["outcome"]))).collect()
}

fn told(world: &World) -> Vec<String> {
    steps(world).into_iter().map(|(step, outcome)| format!("{step} {outcome}")).collect()
}

fn list(models: &[&str]) -> Reply {
    let data: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
    Reply::error(200, json!({"object": "list", "data": data}))
}

/// What a connection answers that can everything.
fn able() -> [Reply; 5] {
    let echo = Reply::calls(&[("echo", json!({"text": "ready"}))]);
    [list(&["m", "n"]), Reply::text(&["ready"]), echo, Reply::text(&["ok"]), Reply::text(&["Red."])]
}

fn settings(world: &mut World) -> Value {
    world.send(1, json!({"type": "settings.get"}));
    world.run();
    world.seen(1, "settings.updated").pop().unwrap()["settings"].clone()
}

/// Changes settings; returns the type of the answer, or the code of the refusal.
fn change(world: &mut World, changes: Value) -> String {
    let submission = world.send(1, json!({"type": "settings.update", "changes": changes}));
    world.settle();
    let answer = world.answer(1, &submission);
    answer["code"].as_str().or_else(|| answer["type"].as_str()).unwrap().to_owned()
}

fn connection(mut with: Value) -> Value {
    for (name, value) in [
        ("type", json!("putConnection")),
        ("id", json!("conn")),
        ("name", json!("Test")),
        ("baseUrl", json!("http://localhost:1/v1")),
        ("models", json!(["m"])),
    ] {
        if with.get(name).is_none() {
            with[name] = value;
        }
    }
    json!([with])
}

fn verify(world: &mut World, draft: Option<Value>) {
    let mut op = json!({"type": "connection.verify", "connectionId": "conn"});
    if let Some(draft) = draft {
        op["draft"] = draft;
    }
    world.send(1, op);
    world.settle();
}

/// The header of every request so far; an empty one where it was missing.
fn sent(world: &World, header: &str) -> Vec<String> {
    let value = |headers: &Vec<(String, String)>| {
        headers.iter().find(|(name, _)| name == header).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    world.outside.sent.borrow().iter().map(|(_, headers)| value(headers)).collect()
}

fn bodies(world: &World) -> Vec<Value> {
    world.outside.requests.borrow().clone()
}

#[test]
fn a_connection_is_tried_part_by_part_and_what_it_showed_is_kept() {
    let mut world = World::new();
    world.script(able());
    verify(&mut world, None);
    let all = ["reachable passed", "models passed", "stream passed", "tools passed", "image passed"];
    assert_eq!(told(&world), all);
    let verified = world.seen(1, "connection.verified").pop().unwrap();
    assert_eq!(
        (&verified["error"], &verified["modelId"], &verified["models"]),
        (&Value::Null, &json!("m"), &json!(["m", "n"]))
    );
    let mut world = world.kill();
    let kept = settings(&mut world)["connections"][0].clone();
    let offers = kept["offers"].as_array().unwrap();
    let offered: Vec<_> = offers.iter().map(|it| (it["id"].as_str().unwrap(), &it["listed"])).collect();
    assert_eq!(offered, [("m", &json!(true)), ("n", &json!(true))]);
    assert_eq!((&offers[0]["facts"]["tools"], &offers[0]["facts"]["vision"]), (&json!(true), &json!(true)));
    assert!(kept["listedAt"].is_u64(), "{kept}");
}

#[test]
fn a_part_that_fails_is_told_and_the_rest_is_tried_all_the_same() {
    let mut world = World::new();
    let none = Reply::error(404, json!({"error": {"message": "not found"}}));
    world.script([
        none,
        Reply::text(&["ready"]),
        Reply::text(&["echo ready"]),
        Reply::text(&["I see nothing"]),
    ]);
    verify(&mut world, None);
    let expected = ["reachable passed", "models skipped", "stream passed", "tools failed", "image failed"];
    assert_eq!(told(&world), expected);
    let verified = world.seen(1, "connection.verified").pop().unwrap();
    assert_eq!(verified["error"], Value::Null, "a chat works without both");
    let facts = settings(&mut world)["connections"][0]["offers"][0]["facts"].clone();
    assert_eq!((&facts["tools"], &facts["vision"]), (&json!(false), &json!(false)));
    // So that no tools are offered to it.
    world.script([Reply::text(&["Hello"])]);
    world.ask("hi");
    world.settle();
    assert!(bodies(&world).last().unwrap().get("tools").is_none());
}

#[test]
fn a_wrong_key_ends_a_try_with_its_reason() {
    let mut world = World::new();
    world.script([Reply::error(401, json!({"error": {"message": "bad", "code": "invalid_api_key"}}))]);
    verify(&mut world, None);
    let verified = world.seen(1, "connection.verified").pop().unwrap();
    assert_eq!(verified["error"]["provider"]["reason"], "invalid_key", "{verified}");
    assert_eq!(told(&world), ["reachable passed", "models failed", "stream skipped"]);
    assert!(!verified.to_string().contains("sk-secret"));
}

#[test]
fn a_form_is_tried_before_it_is_saved_and_what_it_showed_comes_with_it() {
    let mut world = World::new();
    world.script(able());
    let draft =
        json!({"baseUrl": "http://localhost:2/v1", "keys": ["sk-typed-in-the-form"], "models": ["n"]});
    world.send(1, json!({"type": "connection.verify", "connectionId": "fresh", "draft": draft}));
    world.settle();
    let verified = world.seen(1, "connection.verified").pop().unwrap();
    assert_eq!((&verified["error"], &verified["modelId"]), (&Value::Null, &json!("n")));
    assert_eq!(sent(&world, "authorization"), vec!["Bearer sk-typed-in-the-form"; 5]);
    assert_eq!(settings(&mut world)["connections"].as_array().unwrap().len(), 1, "nothing is saved");
    let saved = json!({"id": "fresh", "baseUrl": "http://localhost:2/v1", "key": "sk-typed-in-the-form"});
    assert_eq!(change(&mut world, connection(saved)), "command.ack");
    let all = settings(&mut world);
    let fresh = all["connections"].as_array().unwrap().iter().find(|it| it["id"] == "fresh").unwrap().clone();
    assert_eq!(fresh["offers"].as_array().unwrap().len(), 2, "{fresh}");
}

#[test]
fn stored_secrets_go_to_no_other_server_unless_the_person_agrees() {
    let mut world = World::new();
    let headers = json!([{"name": "x-api-token", "value": "very-secret-value"}]);
    assert_eq!(change(&mut world, connection(json!({"headers": headers}))), "command.ack");
    let kept = json!([{"name": "x-api-token"}]);
    let seen = |world: &World| {
        let last = |header| sent(world, header).pop().unwrap();
        (last("authorization"), last("x-api-token"))
    };
    for (base, agreed, shown) in [
        ("http://localhost:1/other", false, true),
        ("http://localhost:2/v1", false, false),
        ("http://localhost:2/v1", true, true),
    ] {
        world.script(able());
        let draft = json!({"baseUrl": base, "headers": kept, "models": ["m"], "keepsSecrets": agreed});
        verify(&mut world, Some(draft));
        let expected = if shown { ("Bearer sk-secret", "very-secret-value") } else { ("", "") };
        assert_eq!(seen(&world), (expected.0.to_owned(), expected.1.to_owned()), "{base} {agreed}");
    }
}

#[test]
fn a_try_ends_when_its_view_says_so_and_when_it_begins_another() {
    let mut world = World::new();
    let slow = || Reply { chunks: vec![Chunk::Wait(5_000), Chunk::Bytes("{}".into())], ..list(&[]) };
    world.script([slow()]);
    verify(&mut world, None);
    assert_eq!(world.seen(1, "connection.verified").len(), 0);
    world.send(1, json!({"type": "connection.cancel", "connectionId": "conn"}));
    world.settle();
    let ended = world.seen(1, "connection.verified").pop().unwrap();
    assert_eq!(ended["error"]["code"], "interrupted", "{ended}");
    world.pass(60_000);
    assert_eq!(world.outside.requests.borrow().len(), 1, "nothing is asked any more");
    world.take(1);
    world.script([slow()]);
    verify(&mut world, None);
    world.script(able());
    verify(&mut world, None);
    let ended = world.seen(1, "connection.verified");
    assert_eq!((&ended[0]["error"]["code"], &ended[1]["error"]), (&json!("interrupted"), &Value::Null));
    assert_eq!(ended.len(), 2);
}

#[test]
fn a_list_of_models_is_asked_for_again_and_kept() {
    let mut world = World::new();
    for models in [&["m", "old"][..], &["m", "new"]] {
        world.script([list(models)]);
        world.send(1, json!({"type": "connection.models", "connectionId": "conn"}));
        world.settle();
        let listed = world.seen(1, "connection.listed").pop().unwrap();
        assert_eq!((&listed["models"], &listed["error"]), (&json!(models), &Value::Null));
        let offers = settings(&mut world)["connections"][0]["offers"].clone();
        let offered: Vec<_> = offers.as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
        assert_eq!(json!(offered), json!(models));
    }
    world.script([Reply::error(500, json!({}))]);
    world.send(1, json!({"type": "connection.models", "connectionId": "conn"}));
    world.settle();
    let listed = world.seen(1, "connection.listed").pop().unwrap();
    assert_eq!(listed["error"]["code"], "provider_error", "{listed}");
    assert_eq!(settings(&mut world)["connections"][0]["offers"][1]["id"], "new", "the old list stays");
    assert!(steps(&world).is_empty());
}

#[test]
fn keys_take_turns_and_the_one_that_worked_is_first_also_after_a_death() {
    let mut world = World::new();
    let keys = json!({"key": "sk-aaaaaaaaaaaaaa1111", "addKeys": ["sk-bbbbbbbbbbbbbb2222", "sk-cccccccccccccc3333"]});
    assert_eq!(change(&mut world, connection(keys)), "command.ack");
    let shown = settings(&mut world)["connections"][0]["keys"].clone();
    let hints: Vec<_> = shown.as_array().unwrap().iter().map(|it| it["hint"].as_str().unwrap()).collect();
    assert_eq!(hints, ["…1111", "…2222", "…3333"]);
    let refused = || Reply::error(401, json!({"error": {"code": "invalid_api_key", "message": "bad key"}}));
    world.script([refused(), Reply::text(&["Hello"])]);
    world.ask("hi");
    world.settle();
    let (first, second) = ("Bearer sk-aaaaaaaaaaaaaa1111", "Bearer sk-bbbbbbbbbbbbbb2222");
    assert_eq!(sent(&world, "authorization"), [first, second]);
    let mut world = world.kill();
    world.script([Reply::text(&["Hello"])]);
    world.ask("hi again");
    world.settle();
    assert_eq!(sent(&world, "authorization")[2], second);
    // Forgetting that one leaves the others.
    let slot = shown[1]["slot"].clone();
    assert_eq!(change(&mut world, connection(json!({"removeKeys": [slot]}))), "command.ack");
    assert_eq!(settings(&mut world)["connections"][0]["keys"].as_array().unwrap().len(), 2);
    world.script([refused(), refused()]);
    let thread = world.ask("once more");
    world.settle();
    assert_eq!(sent(&world, "authorization")[3..], [first, "Bearer sk-cccccccccccccc3333"]);
    let snapshot = world.snapshot(1, &thread);
    assert!(!snapshot.to_string().contains("cccccc"), "{snapshot}");
}

#[test]
fn headers_and_quirks_go_with_every_request_and_a_secret_header_is_never_told() {
    let mut world = World::new();
    let headers =
        json!([{"name": "X-Team", "value": "blue"}, {"name": "x-api-token", "value": "very-secret-value"}]);
    let with = json!({"headers": headers, "quirks": {"noStreamOptions": true}, "keyless": true, "key": ""});
    assert_eq!(change(&mut world, connection(with)), "command.ack");
    let saved = settings(&mut world)["connections"][0].clone();
    let expected = json!([{"name": "x-team", "value": "blue"}, {"name": "x-api-token", "value": null}]);
    assert_eq!(
        (&saved["headers"], &saved["keyless"], &saved["hasKey"]),
        (&expected, &json!(true), &json!(false))
    );
    world.script([Reply::text(&["Hello"])]);
    world.ask("hi");
    world.settle();
    assert_eq!(sent(&world, "x-team"), ["blue"]);
    assert_eq!(
        (sent(&world, "x-api-token"), sent(&world, "authorization")),
        (vec!["very-secret-value".to_owned()], vec![String::new()])
    );
    assert!(bodies(&world)[0].get("stream_options").is_none());
    // A form that leaves the value out keeps it; what it does not name is gone.
    let kept = json!({"headers": [{"name": "x-api-token"}], "quirks": {}});
    assert_eq!(change(&mut world, connection(kept)), "command.ack");
    world.script([Reply::text(&["Hello"])]);
    world.ask("hi");
    world.settle();
    assert_eq!(
        (&sent(&world, "x-team")[1], &sent(&world, "x-api-token")[1]),
        (&String::new(), &"very-secret-value".into())
    );
    assert!(bodies(&world)[1].get("stream_options").is_some());
    for bad in [json!([{"name": "no value"}]), json!([{"name": "authorization\r\n", "value": "a\nb"}])] {
        assert_eq!(change(&mut world, connection(json!({"headers": bad}))), "invalid_command");
    }
}

#[test]
fn a_conversation_follows_its_preset() {
    let mut world = World::new();
    let preset = json!({"id": "p", "name": "Pirate", "prompt": "Speak like a pirate.", "toolLevels": ["l0"],
        "parameters": {"temperature": 50, "maxOutputTokens": 100}});
    assert_eq!(change(&mut world, json!([{"type": "putPreset", "preset": preset}])), "command.ack");
    let same_name = json!({"id": "q", "name": "pirate"});
    assert_eq!(change(&mut world, json!([{"type": "putPreset", "preset": same_name}])), "invalid_command");
    world.script([Reply::text(&["Arr"]), Reply::text(&["Hello"])]);
    world.send(1, json!({"type": "thread.create", "preset": "p", "input": {"text": "hi"}}));
    world.settle();
    world.ask("hi");
    world.settle();
    let asked = bodies(&world);
    let names = |body: &Value| body["tools"].as_array().map_or(0, Vec::len);
    assert_eq!(asked[0]["temperature"], 0.5);
    assert!(asked[0]["max_tokens"] == 100 || asked[0]["max_completion_tokens"] == 100, "{}", asked[0]);
    assert!(asked[0]["messages"][0]["content"].as_str().unwrap().contains("Speak like a pirate."));
    assert!(names(&asked[0]) > 0 && names(&asked[0]) < names(&asked[1]));
    assert!(asked[1].get("temperature").is_none() && !asked[1].to_string().contains("pirate"));
    assert_eq!(change(&mut world, json!([{"type": "removePreset", "id": "p"}])), "command.ack");
    assert_eq!(settings(&mut world)["presets"], json!([]));
}

#[test]
fn a_conversation_keeps_its_model_and_effort_and_takes_no_other_when_they_are_gone() {
    let mut world = World::new();
    let other = connection(json!({"id": "other", "baseUrl": "http://localhost:2/v1", "models": ["thinker"]}));
    assert_eq!(change(&mut world, other), "command.ack");
    let reasons = json!([{"type": "describeModel", "connectionId": "other", "modelId": "thinker", "facts": {"reasoning": true}}]);
    assert_eq!(change(&mut world, reasons), "command.ack");
    world.script([Reply::text(&["Hello"]), Reply::text(&["Hm"])]);
    let thread = world.ask("hi");
    world.settle();
    let choice = json!({"connectionId": "other", "modelId": "thinker"});
    world.send(1, json!({"type": "thread.update", "threadId": thread, "model": {"choice": choice}, "effort": {"choice": "high"}}));
    world.settle();
    let mut world = world.kill();
    let submit = json!({"type": "turn.submit", "threadId": thread, "input": {"text": "think"}});
    world.send(1, submit.clone());
    world.settle();
    let asked = bodies(&world);
    assert_eq!((&asked[0]["model"], asked[0].get("reasoning_effort")), (&json!("m"), None));
    assert_eq!((&asked[1]["model"], &asked[1]["reasoning_effort"]), (&json!("thinker"), &json!("high")));
    assert_eq!(world.outside.sent.borrow()[1].0, "http://localhost:2/v1/chat/completions");
    assert_eq!(change(&mut world, json!([{"type": "removeConnection", "id": "other"}])), "command.ack");
    let refused = world.send(1, submit.clone());
    world.settle();
    assert_eq!(world.answer(1, &refused)["code"], "not_configured");
    world.send(1, json!({"type": "thread.update", "threadId": thread, "model": {"choice": null}}));
    world.script([Reply::text(&["Hello"])]);
    world.send(1, submit);
    world.settle();
    assert_eq!(bodies(&world)[2]["model"], "m");
}

#[test]
fn what_calls_cost_is_told_stored_and_added_up() {
    let mut world = World::new();
    let price = json!({"input": 3_000_000, "output": 15_000_000});
    let described =
        json!([{"type": "describeModel", "connectionId": "conn", "modelId": "m", "facts": {"price": price}}]);
    assert_eq!(change(&mut world, described), "command.ack");
    world.script([Reply::text(&["Hello"]).costing(1000, 100), Reply::text(&["Again"]).costing(2000, 0)]);
    let thread = world.ask("hi");
    world.settle();
    assert_eq!(world.seen(1, "token.usage")[0]["cost"], 4_500_000);
    let mut world = world.kill();
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "again"}}));
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    let costs: Vec<_> = snapshot["items"].as_array().unwrap().iter().map(|it| &it["body"]["cost"]).collect();
    assert_eq!(costs, [&Value::Null, &json!(4_500_000), &Value::Null, &json!(6_000_000)]);
    let cost = &snapshot["meta"]["cost"];
    assert_eq!((&cost["nanodollars"], &cost["atLeast"]), (&json!(10_500_000), &json!(false)), "{snapshot}");
}

#[test]
fn a_model_that_takes_no_pictures_is_remembered_and_what_the_person_says_stands_above_it() {
    let mut world = World::new();
    let vision = |sees: Value| json!([{"type": "describeModel", "connectionId": "conn", "modelId": "m", "facts": {"vision": sees, "contextTokens": 9000}}]);
    world.script(able());
    verify(&mut world, None);
    assert_eq!(change(&mut world, vision(json!(false))), "command.ack");
    let facts = |world: &mut World| settings(world)["connections"][0]["offers"][0]["facts"].clone();
    let said = facts(&mut world);
    assert_eq!(
        (&said["vision"], &said["tools"], &said["contextTokens"]),
        (&json!(false), &json!(true), &json!(9000))
    );
    let nothing = json!([{"type": "describeModel", "connectionId": "conn", "modelId": "m", "facts": null}]);
    assert_eq!(change(&mut world, nothing), "command.ack");
    assert_eq!(facts(&mut world)["vision"], true);
}
