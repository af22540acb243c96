//! What `docs/failure-modes.md` and `docs/statements.md` promise and no other file of these tests shows.

use panelot_base::limits::{MODEL_FIRST_BYTE_TIMEOUT_MS, MODEL_IDLE_TIMEOUT_MS};
use panelot_records::Table;
use panelot_store::CommitError;
use serde_json::{Value, json};

use crate::world::{Chunk, PageTurn, Reply, World, click, kinds, word};

fn slow_page(world: &World, ms: u64) {
    *world.outside.page.borrow_mut() = Some(Box::new(move || PageTurn::Works(ms)));
}

fn approval(world: &mut World, thread: &str) -> Value {
    world.snapshot(1, thread)["pendingApprovals"][0]["approvalId"].clone()
}

fn decision(thread: &str, approval: &Value, kind: &str) -> Value {
    json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": kind}})
}

fn decide(world: &mut World, thread: &str, kind: &str) -> String {
    let approval = approval(world, thread);
    world.send(1, decision(thread, &approval, kind))
}

fn act(world: &mut World, op: Value) -> Value {
    let id = world.send(1, op);
    world.settle();
    world.answer(1, &id)
}

fn submit(world: &mut World, thread: &str, text: &str) -> Value {
    act(world, json!({"type": "turn.submit", "threadId": thread, "input": {"text": text}}))
}

fn set(world: &mut World, change: Value) {
    let ack = act(world, json!({"type": "settings.update", "changes": [change]}));
    assert_eq!(ack["type"], "command.ack", "{ack}");
}

fn outcomes(snapshot: &Value) -> Vec<String> {
    let items = snapshot["items"].as_array().unwrap().iter();
    items.filter_map(|item| item["body"]["outcome"].as_str().map(str::to_owned)).collect()
}

fn texts(snapshot: &Value) -> Vec<String> {
    let items = snapshot["items"].as_array().unwrap().iter();
    items.filter_map(|item| item["body"]["text"].as_str().map(str::to_owned)).collect()
}

/// A thread with an open question to the person and two messages that wait.
fn asking(world: &mut World) -> String {
    world.script([click()]);
    let thread = world.ask("Order it");
    world.settle();
    for text in ["two", "three"] {
        world.send(1, json!({"type": "turn.enqueue", "threadId": thread, "input": {"text": text}}));
    }
    world.settle();
    thread
}

/// A thread with two turns, which are nodes 1 to 4; with `edited`, node 3 has another version.
fn talked(world: &mut World, edited: bool) -> String {
    world.script(["A1", "A2", "A3"].map(|text| Reply::text(&[text])));
    let thread = world.ask("Q1");
    world.settle();
    submit(world, &thread, "Q2");
    if edited {
        act(
            world,
            json!({"type": "turn.fork", "threadId": thread, "siblingOf": 3, "input": {"text": "Q2b"}}),
        );
    }
    thread
}

type Case = (&'static str, fn(World) -> (World, Value));

/// Every durable command, in a world in which it succeeds.
const COMMANDS: [Case; 21] = [
    ("thread.create", |world| (world, json!({"input": {"text": "new"}}))),
    ("thread.update", |mut world| {
        let thread = talked(&mut world, false);
        (world, json!({"threadId": thread, "title": "Mine", "pinned": true}))
    }),
    ("thread.delete", |mut world| {
        let thread = asking(&mut world);
        (world, json!({"threadId": thread}))
    }),
    ("thread.fork", |mut world| {
        let thread = talked(&mut world, false);
        (world, json!({"threadId": thread, "node": 2}))
    }),
    ("thread.selectBranch", |mut world| {
        let thread = talked(&mut world, true);
        (world, json!({"threadId": thread, "node": 3}))
    }),
    ("message.delete", |mut world| {
        let thread = talked(&mut world, false);
        (world, json!({"threadId": thread, "node": 2}))
    }),
    ("turn.submit", |mut world| {
        let thread = talked(&mut world, false);
        (world, json!({"threadId": thread, "input": {"text": "Q3"}}))
    }),
    ("turn.enqueue", |mut world| {
        let thread = asking(&mut world);
        (world, json!({"threadId": thread, "input": {"text": "four"}}))
    }),
    ("turn.fork", |mut world| {
        let thread = talked(&mut world, false);
        (world, json!({"threadId": thread, "siblingOf": 3, "input": {"text": "Q2b"}}))
    }),
    ("turn.steer", |mut world| {
        let thread = asking(&mut world);
        let turn = world.snapshot(1, &thread)["activeTurn"]["turnId"].clone();
        (world, json!({"threadId": thread, "expectedTurnId": turn, "input": {"text": "only one"}}))
    }),
    ("turn.interrupt", |mut world| {
        let thread = asking(&mut world);
        world.script([Reply::hanging(&["Well"])]);
        (world, json!({"threadId": thread}))
    }),
    ("queue.update", |mut world| {
        let thread = asking(&mut world);
        let run = world.snapshot(1, &thread)["runs"][1]["runId"].clone();
        (world, json!({"threadId": thread, "runId": run, "input": {"text": "two, please"}}))
    }),
    ("queue.remove", |mut world| {
        let thread = asking(&mut world);
        let run = world.snapshot(1, &thread)["runs"][1]["runId"].clone();
        (world, json!({"threadId": thread, "runId": run}))
    }),
    ("approval.response", |mut world| {
        let thread = asking(&mut world);
        let mut op = decision(&thread, &approval(&mut world, &thread), "acceptForSite");
        op.as_object_mut().unwrap().remove("type");
        (world, op)
    }),
    ("interaction.response", |mut world| {
        world.script([Reply::calls(&[("ask_user", json!({"questions": [{"id": "q", "question": "?"}]}))])]);
        let thread = world.ask("Ask me");
        world.settle();
        let wait = world.snapshot(1, &thread)["pendingInteractions"][0]["interactionId"].clone();
        let response = json!({"kind": "submit", "value": {"q": "yes"}});
        (world, json!({"threadId": thread, "interactionId": wait, "response": response}))
    }),
    ("run.resume", |world| {
        world.script([Reply::hanging(&["I begin"])]);
        let mut world = world;
        let thread = world.ask("Do it");
        world.settle();
        let mut world = world.kill();
        let run = world.snapshot(1, &thread)["runs"][0]["runId"].clone();
        (world, json!({"threadId": thread, "runId": run}))
    }),
    ("run.resolveUncertain", |mut world| {
        let thread = asking(&mut world);
        world.outside.channel_lost.set(true);
        decide(&mut world, &thread, "accept");
        world.settle();
        let run = world.snapshot(1, &thread)["runs"][0]["runId"].clone();
        (world, json!({"threadId": thread, "runId": run, "resolution": "mark_done"}))
    }),
    ("settings.update", |world| (world, json!({"changes": [{"type": "setPolicy", "policy": "always"}]}))),
    ("rule.put", |world| {
        (world, json!({"rule": {"id": "r", "verdict": "deny", "tool": "click", "origin": "*"}}))
    }),
    ("rule.remove", |mut world| {
        let rule = json!({"id": "r", "verdict": "deny", "tool": "click", "origin": "*"});
        act(&mut world, json!({"type": "rule.put", "rule": rule}));
        (world, json!({"ruleId": "r"}))
    }),
    ("grant.revoke", |mut world| {
        let thread = asking(&mut world);
        world.script([Reply::hanging(&["Well"])]);
        decide(&mut world, &thread, "acceptForSession");
        world.settle();
        (world, json!({"grantedIn": thread, "tool": "click", "origin": "https://shop.test"}))
    }),
];

#[test]
fn whatever_command_cannot_be_stored_changes_nothing_and_succeeds_when_it_comes_again() {
    for (name, prepare) in COMMANDS {
        let (mut world, mut op) = prepare(World::new());
        (op["type"], op["submissionId"]) = (json!(name), json!("again"));
        let everything = |world: &World| format!("{:?}", world.store.rows());
        let before = everything(&world);
        let (requests, writes) = (world.outside.requests.borrow().len(), world.writes().len());
        world.fail_next_commit(CommitError::Quota);
        world.send(1, op.clone());
        world.run();
        let refused = world.answer(1, "again");
        assert_eq!(
            (&refused["code"], &refused["retryable"]),
            (&json!("storage_failed"), &json!(true)),
            "{name}"
        );
        assert_eq!(everything(&world), before, "{name}: nothing is stored");
        assert_eq!(world.outside.requests.borrow().len(), requests, "{name}: no model is asked");
        assert_eq!(world.writes().len(), writes, "{name}: nothing is done");
        world.pass(2000);
        world.take(1);
        world.script([
            Reply::text(&["ok"]),
            Reply::text(&["ok"]),
            Reply::text(&["ok"]),
            Reply::text(&["ok"]),
        ]);
        world.send(1, op.clone());
        world.settle();
        let ack = world.answer(1, "again");
        assert_eq!(ack["type"], "command.ack", "{name}: {ack}");
        let mut world = world.kill();
        world.send(1, op);
        world.settle();
        assert_eq!(world.answer(1, "again"), ack, "{name}: the same answer in another life");
    }
}

#[test]
fn the_table_of_commands_above_has_every_durable_one() {
    use panelot_protocol::{Op, Receipting, decode_op};
    let corpus: Value = serde_json::from_str(include_str!("../../../protocol/schema/corpus.json")).unwrap();
    let durable = corpus["ops"].as_array().unwrap().iter().filter_map(|op| decode_op(op).ok());
    for message in durable.filter(|message| message.op.receipting() == Receipting::Durable) {
        let name = message.op.name();
        // Files come in many commands; their own tests kill the worker between any two of them.
        if name.starts_with("attachment.") {
            continue;
        }
        assert!(COMMANDS.iter().any(|(known, _)| *known == name), "{name}");
    }
    assert!(COMMANDS.iter().all(|(name, _)| Op::NAMES.contains(name)));
}

/// One life of a thread whose one click the person answers, with a death at the given place; whether there was that
/// place.
fn click_with_a_death_at(fuse: u32, kind: &str) -> bool {
    let mut world = World::new();
    *world.outside.provider.borrow_mut() = Some(Box::new(|body| {
        let messages = body["messages"].as_array().unwrap();
        let answered = messages.iter().any(|message| message["role"] == "tool");
        if answered { Reply::text(&["Well."]) } else { click() }
    }));
    world.outside.fuse.set(Some(fuse));
    let tab = json!({"tabId": 7, "url": "https://shop.test/order", "title": "Order"});
    let create = json!({"type": "thread.create", "submissionId": "create", "input": {"text": "Order it",
        "browserContext": {"capturedAt": 1, "defaultTab": tab}}});
    world.send(1, create.clone());
    let (mut died, mut answer) = (false, None);
    for _ in 0..14 {
        world.settle();
        if world.outside.dead.get() {
            world = world.kill();
            died = true;
            world.send(1, create.clone());
            world.settle();
            // Whatever was not answered goes out again.
            answer.iter().for_each(|op: &Value| drop(world.send(1, op.clone())));
            world.settle();
        }
        let thread = world.acknowledged("create")["threadId"].as_str().unwrap().to_owned();
        let snapshot = world.snapshot(1, &thread);
        let run = snapshot["runs"][0].clone();
        if let Some(question) = snapshot["pendingApprovals"].get(0) {
            let mut op = decision(&thread, &question["approvalId"], kind);
            op["submissionId"] = json!("answer");
            world.send(1, op.clone());
            answer = Some(op);
        } else if run["state"] == "interrupted" {
            world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": run["runId"]}));
        } else if run["state"] == "paused_uncertain" {
            let op = json!({"type": "run.resolveUncertain", "threadId": thread, "runId": run["runId"], "resolution": "mark_done"});
            world.send(1, op);
        } else if snapshot["runs"] == json!([]) {
            let mut said = kinds(&snapshot);
            said.dedup();
            let whole = [
                "user_message",
                "assistant_message",
                "approval_decision",
                "tool_result",
                "assistant_message",
            ];
            let entries = if kind == "cancel" { &whole[..4] } else { &whole[..] };
            assert_eq!(said, entries, "{kind} at {fuse}");
            let outcome = match kind {
                "accept" => "ok",
                "decline" => "declined",
                _ => "skipped",
            };
            assert_eq!(outcomes(&snapshot), [outcome], "{kind} at {fuse}");
            let writes = world.writes().len();
            assert!(if kind == "accept" { writes <= 1 } else { writes == 0 }, "{kind} at {fuse}: {writes}");
            assert!(died || kind != "accept" || writes == 1);
            return died;
        }
        world.take(1);
        world.send(1, create.clone());
    }
    panic!("the run never ended after a death at {fuse}");
}

#[test]
fn killed_at_any_point_of_a_question_its_call_is_made_once_at_most_and_has_one_result() {
    for kind in ["accept", "decline", "cancel"] {
        let places = (0..80).take_while(|fuse| click_with_a_death_at(*fuse, kind)).count();
        assert!(places >= 8, "{kind}: {places} places to die");
    }
}

#[test]
fn a_result_that_cannot_be_stored_leaves_a_write_in_doubt_and_is_no_failure() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Done."])]);
    let thread = world.ask("Order it");
    world.settle();
    slow_page(&world, 1000);
    decide(&mut world, &thread, "accept");
    world.settle();
    world.fail_next_commit(CommitError::Quota);
    world.pass(5000);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["runs"][0]["state"], "paused_uncertain");
    assert_eq!(outcomes(&snapshot), [""; 0], "nothing is claimed");
    assert_eq!((world.writes().len(), world.outside.requests.borrow().len()), (1, 1));
}

#[test]
fn a_write_that_was_under_way_at_a_stop_is_in_doubt_until_its_end_is_seen() {
    let mut world = World::new();
    world.script([click()]);
    let thread = world.ask("Order it");
    world.settle();
    slow_page(&world, 1000);
    decide(&mut world, &thread, "accept");
    world.settle();
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.run();
    assert_eq!(outcomes(&world.snapshot(1, &thread)), ["uncertain"]);
    world.pass(2000);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((outcomes(&snapshot), &snapshot["runs"]), (vec!["ok".to_owned()], &json!([])));
}

#[test]
fn a_question_that_is_open_at_a_stop_is_closed_with_it() {
    let mut world = World::new();
    world.script([click()]);
    let thread = world.ask("Order it");
    world.settle();
    let question = approval(&mut world, &thread);
    act(&mut world, json!({"type": "turn.interrupt", "threadId": thread}));
    let closed = world.seen(1, "approval.resolved");
    assert_eq!((closed.len(), &closed[0]["decision"]), (1, &Value::Null));
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(
        (&snapshot["pendingApprovals"], outcomes(&snapshot)),
        (&json!([]), vec!["skipped".to_owned()])
    );
    assert_eq!(world.seen(1, "activity.updated").last().unwrap()["activity"]["pendingApprovals"], 0);
    let late = act(&mut world, decision(&thread, &question, "accept"));
    assert_eq!((&late["code"], world.writes().len()), (&json!("invalid_command"), 0));
    let stored = world.store.rows();
    let of_approvals = stored.iter().filter(|(key, _)| key.table == Table::Approvals);
    assert!(
        of_approvals.clone().count() == 1
            && of_approvals.clone().all(|(_, row)| !row.json.contains("pending"))
    );
}

#[test]
fn a_model_that_falls_silent_is_given_up() {
    let silent = |first: &[Chunk], ms: u64| {
        let mut chunks = first.to_vec();
        chunks.extend([Chunk::Wait(ms), Chunk::Bytes(word("late"))]);
        Reply::of(chunks)
    };
    let stuck = Reply { chunks: vec![Chunk::Wait(86_400_000)], ..Reply::error(400, json!({})) };
    let before_a_word = silent(&[], MODEL_FIRST_BYTE_TIMEOUT_MS + 1000);
    let after_a_word = silent(&[Chunk::Bytes(word("Half a "))], MODEL_IDLE_TIMEOUT_MS + 1000);
    for (reply, requests, said) in [(before_a_word, 4, 1), (after_a_word, 1, 2), (stuck, 1, 1)] {
        let mut world = World::new();
        world.script(vec![reply; requests]);
        let thread = world.ask("hi");
        world.pass(5 * MODEL_FIRST_BYTE_TIMEOUT_MS);
        let snapshot = world.snapshot(1, &thread);
        assert_eq!((&snapshot["runs"], world.outside.requests.borrow().len()), (&json!([]), requests));
        assert_eq!(texts(&snapshot).len(), said, "{snapshot}");
        let notice = snapshot["items"].as_array().unwrap().last().unwrap()["body"].clone();
        assert_eq!((&notice["kind"], &notice["notice"]), (&json!("system_notice"), &json!("modelError")));
        let expected = if said == 1 && requests == 1 { "invalid_request" } else { "stalled" };
        assert_eq!(notice["details"]["provider"]["reason"], expected, "{notice}");
    }
}

#[test]
fn what_was_agreed_to_before_a_death_is_judged_again_after_it() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Then not."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.outside.stall_lookup.set(Some(world.outside.lookups.get() + 1));
    decide(&mut world, &thread, "accept");
    let rule = json!({"id": "r", "verdict": "deny", "tool": "click", "origin": "*"});
    act(&mut world, json!({"type": "rule.put", "rule": rule}));
    world.outside.stall_lookup.set(None);
    let mut world = world.kill();
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((world.writes().len(), outcomes(&snapshot)), (0, vec!["declined".to_owned()]));
    assert_eq!(snapshot["runs"], json!([]), "the model reads the refusal and goes on");
}

#[test]
fn what_was_agreed_to_before_a_death_may_take_as_long_as_anything_else() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Done."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.outside.stall_lookup.set(Some(world.outside.lookups.get() + 1));
    decide(&mut world, &thread, "accept");
    world.settle();
    world.outside.stall_lookup.set(None);
    slow_page(&world, 60_000);
    let mut world = world.kill();
    world.pass(70_000);
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((outcomes(&snapshot), &snapshot["runs"]), (vec!["ok".to_owned()], &json!([])));
}

#[test]
fn a_start_stores_nothing_where_nothing_has_changed_and_tells_what_waits() {
    let mut world = World::new();
    let thread = asking(&mut world);
    let world = world.kill();
    assert_eq!(world.opened.commits(), 0);
    let list = world.seen(1, "initialized")[0]["directory"].clone();
    let activity = &list["activity"][0];
    assert_eq!((&activity["threadId"], &activity["pendingApprovals"]), (&json!(thread), &json!(1)));
}

#[test]
fn a_waiting_message_that_cannot_begin_is_kept_with_the_reason_and_the_thread_stays_usable() {
    let mut world = World::new();
    let thread = asking(&mut world);
    set(&mut world, json!({"type": "removeConnection", "id": "conn"}));
    act(&mut world, json!({"type": "turn.interrupt", "threadId": thread}));
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((&snapshot["runs"], &snapshot["activeTurn"]), (&json!([]), &Value::Null));
    assert_eq!(texts(&snapshot)[1..], ["", "two", "three"], "{snapshot}");
    assert_eq!(
        kinds(&snapshot)[3..],
        ["user_message", "system_notice", "user_message", "system_notice"],
        "each fails alone, with its reason"
    );
    assert_eq!(snapshot["items"][4]["body"]["details"]["code"], "not_configured");
    set(
        &mut world,
        json!({"type": "putConnection", "id": "conn", "name": "Test", "baseUrl": "http://localhost:1/v1", "models": ["m"]}),
    );
    world.script([Reply::text(&["Here."])]);
    submit(&mut world, &thread, "four");
    assert_eq!(texts(&world.snapshot(1, &thread)).last().unwrap(), "Here.");
}

#[test]
fn writes_of_one_answer_are_asked_about_and_done_one_after_the_other() {
    let mut world = World::new();
    let both = Reply::calls(&[("click", json!({"ref": "k7q2-1"})), ("click", json!({"ref": "k7q2-2"}))]);
    world.script([both, Reply::text(&["Both."])]);
    let thread = world.ask("Order two");
    world.settle();
    for done in 0..2 {
        let open = world.snapshot(1, &thread)["pendingApprovals"].clone();
        assert_eq!((open.as_array().unwrap().len(), world.writes().len()), (1, done));
        decide(&mut world, &thread, "accept");
        world.settle();
    }
    let writes = world.writes();
    assert!(writes[0].contains("k7q2-1") && writes[1].contains("k7q2-2"), "{writes:?}");
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn a_message_that_is_added_with_another_tab_in_front_takes_the_task_there() {
    let mut world = World::new();
    world.outside.page_text.replace(Some("Wait".into()));
    let watch = json!({"condition": "text", "value": "never", "timeoutSeconds": 3600});
    world.script([click(), Reply::calls(&[("watch_page", watch)])]);
    let thread = world.ask("Order it");
    world.settle();
    let turn = world.snapshot(1, &thread)["activeTurn"]["turnId"].clone();
    let tab = json!({"tabId": 9, "url": "https://other.test/", "title": "Other"});
    let input = json!({"text": "and look here", "browserContext": {"capturedAt": 2, "defaultTab": tab}});
    act(
        &mut world,
        json!({"type": "turn.steer", "threadId": thread, "expectedTurnId": turn, "input": input}),
    );
    decide(&mut world, &thread, "accept");
    world.settle();
    assert!(world.outside.requests.borrow()[1].to_string().contains("tabId=9"), "the model is told");
    assert_eq!(world.snapshot(1, &thread)["pendingInteractions"][0]["tab"]["tabId"], 9);
}

#[test]
fn a_run_goes_on_with_the_prompt_that_it_began_with_and_remembers_what_its_tools_said() {
    let mut world = World::new();
    let prompt = |text: &str| json!({"type": "setPrompt", "prompt": text});
    set(&mut world, prompt("Speak like a pirate."));
    world.script([Reply::calls(&[("tabs_list", json!({}))]), Reply::hanging(&["Arr"])]);
    let thread = world.ask("Which tabs?");
    world.settle();
    set(&mut world, prompt("Speak like a judge."));
    let mut world = world.kill();
    let run = world.snapshot(1, &thread)["runs"][0]["runId"].clone();
    world.script([Reply::text(&["One tab."]), Reply::text(&["Indeed."])]);
    act(&mut world, json!({"type": "run.resume", "threadId": thread, "runId": run}));
    submit(&mut world, &thread, "Sure?");
    let requests = world.outside.requests.borrow();
    let (resumed, next) = (requests[2].to_string(), requests[3].to_string());
    assert!(resumed.contains("pirate") && resumed.contains("1 open tabs"), "{resumed}");
    assert!(next.contains("judge") && !next.contains("pirate") && next.contains("1 open tabs"), "{next}");
}

#[test]
fn refusals_of_the_person_are_no_failures() {
    let mut world = World::new();
    let next = |n: u32| Reply::calls(&[("click", json!({"ref": format!("k7q2-{n}")}))]);
    world.script((1..=6).map(next).chain([Reply::text(&["All right."])]));
    let thread = world.ask("Order it");
    world.settle();
    for _ in 0..6 {
        decide(&mut world, &thread, "decline");
        world.settle();
    }
    let requests = world.outside.requests.borrow().clone();
    assert_eq!(requests.len(), 7);
    assert!(requests.iter().all(|request| !request["tools"].as_array().unwrap().is_empty()));
    assert!(requests.iter().all(|request| !request.to_string().contains("panelot reminder")));
    assert_eq!(kinds(&world.snapshot(1, &thread)).last().unwrap(), "assistant_message");
}

#[test]
fn the_events_of_a_turn_come_in_their_order() {
    let mut world = World::new();
    world.script([Reply::text(&["Hel", "lo"]).costing(3, 2)]);
    let thread = world.ask("Say hello");
    world.settle();
    let titles = world.all_seen(1, "turn.start");
    let title = titles.iter().find(|it| it["turnKind"] == "title").unwrap()["turnId"].clone();
    let told = ["turn.start", "item.start", "item.delta", "item.complete", "token.usage", "turn.complete"];
    let of_thread = world
        .take(1)
        .into_iter()
        .filter(|it| it["stream"]["threadId"] == thread.as_str() && it["turnId"] != title);
    let mut order: Vec<String> = of_thread
        .filter_map(|it| it["type"].as_str().filter(|kind| told.contains(kind)).map(str::to_owned))
        .collect();
    order.dedup();
    assert_eq!(
        order,
        ["turn.start", "item.start", "item.delta", "token.usage", "item.complete", "turn.complete"]
    );
}

#[test]
fn a_refusal_is_the_answer_for_ever_too() {
    let mut world = World::new();
    let thread = talked(&mut world, false);
    let op = json!({"type": "queue.remove", "submissionId": "no", "threadId": thread, "runId": "nobody"});
    let refused = act(&mut world, op.clone());
    assert_eq!(refused["code"], "invalid_command");
    let mut world = world.kill();
    assert_eq!(act(&mut world, op), refused);
}

#[test]
fn a_deletion_does_not_wait_for_a_tool_that_never_ends() {
    let mut world = World::new();
    world.script([click(), Reply::text(&["Here."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.outside.lose_reports.set(true);
    decide(&mut world, &thread, "accept");
    world.settle();
    let delete = world.send(1, json!({"type": "thread.delete", "threadId": thread}));
    world.run();
    assert_eq!(world.answer(1, &delete)["type"], "command.ack");
    let left = |world: &World| {
        let rows = world.store.rows();
        rows.iter().filter(|(key, row)| key.table != Table::Receipts && row.json.contains(&thread)).count()
    };
    assert_eq!(left(&world), 0);
    let again = act(&mut world, json!({"type": "thread.delete", "threadId": thread}));
    assert_eq!(again["code"], "thread_not_found");
    let other = world.ask("Another");
    world.settle();
    assert_eq!(texts(&world.snapshot(1, &other)), ["Another", "Here."]);
    world.pass(120_000);
    assert_eq!(left(&world), 0, "nothing comes back");
}

#[test]
fn a_thread_counts_what_its_answers_and_its_title_cost() {
    let mut world = World::new();
    world.script([Reply::text(&["Sunny."]).costing(100, 10)]);
    world.outside.titles.borrow_mut().push_back(Reply::text(&["Weather"]).costing(20, 3));
    let thread = world.ask("The weather?");
    world.settle();
    let meta = world.snapshot(1, &thread)["meta"].clone();
    assert_eq!(
        (&meta["title"], &meta["totalTokens"], &meta["turns"]),
        (&json!("Weather"), &json!(133), &json!(1))
    );
    assert_eq!(world.seen(1, "token.usage")[0]["usage"]["input"], 100);
}
