//! Interactions: what calls wait for, other than a yes. They survive the worker, end once, and end by themselves.

use std::cell::RefCell;
use std::rc::Rc;

use panelot_base::{ItemId, ThreadId};
use panelot_engine::PageSignal;
use panelot_records::Response;
use serde_json::{Value, json};

use crate::mirror::Mirror;
use crate::world::{Reply, World, click, kinds};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn ask_user() -> Reply {
    Reply::calls(&[("ask_user", json!({"questions": [{"id": "size", "question": "Which size?"}]}))])
}

fn watch(condition: &str, value: &str, seconds: u32) -> Reply {
    let arguments = json!({"condition": condition, "value": value, "timeoutSeconds": seconds});
    Reply::calls(&[("watch_page", arguments)])
}

fn schedule(seconds: u32) -> Reply {
    Reply::calls(&[("schedule_resume", json!({"delaySeconds": seconds, "reason": "Later."}))])
}

fn pending(world: &mut World, thread: &str) -> Value {
    world.snapshot(1, thread)["pendingInteractions"].clone()
}

fn respond(world: &mut World, thread: &str, wait: &Value, response: Value) -> String {
    world.send(
        1,
        json!({"type": "interaction.response", "threadId": thread, "interactionId": wait["interactionId"],
            "response": response}),
    )
}

fn submit(value: Value) -> Value {
    json!({"kind": "submit", "value": value})
}

/// What the model was told of its newest call.
fn told(world: &World) -> Value {
    let requests = world.outside.requests.borrow();
    let last = requests.last().unwrap()["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "tool", "{last}");
    serde_json::from_str(last["content"].as_str().unwrap()).unwrap()
}

fn state(world: &mut World, thread: &str) -> Value {
    world.snapshot(1, thread)["runs"][0]["state"].clone()
}

#[test]
fn a_question_of_the_models_waits_and_its_first_answer_counts() {
    let mut world = World::new();
    world.script([ask_user(), Reply::text(&["Ordered in L."])]);
    let thread = world.ask("Order it");
    world.settle();
    let snapshot = world.snapshot(1, &thread);
    let wait = snapshot["pendingInteractions"][0].clone();
    assert_eq!(
        (&wait["kind"], &snapshot["runs"][0]["state"]),
        (&json!("ask_user"), &json!("waiting_interaction"))
    );
    assert_eq!(wait["params"]["questions"][0]["question"], "Which size?");
    assert_eq!(world.seen(1, "activity.updated").last().unwrap()["activity"]["pendingInteractions"], 1);
    for nonsense in [json!(null), json!({}), json!({"colour": "red"}), json!({"size": 5}), json!("L")] {
        let refused = respond(&mut world, &thread, &wait, submit(nonsense));
        world.run();
        assert_eq!(world.answer(1, &refused)["code"], "invalid_command");
    }
    let first = respond(&mut world, &thread, &wait, submit(json!({"size": "L"})));
    let same = respond(&mut world, &thread, &wait, submit(json!({"size": "L"})));
    let other = respond(&mut world, &thread, &wait, submit(json!({"size": "M"})));
    world.run();
    assert_eq!(world.answer(1, &first)["type"], "command.ack");
    assert_eq!(world.answer(1, &same)["type"], "command.ack");
    assert_eq!(world.answer(1, &other)["code"], "invalid_command");
    world.settle();
    assert_eq!(told(&world), json!({"status": "submitted", "value": {"size": "L"}}));
    let snapshot = world.snapshot(1, &thread);
    assert_eq!((&snapshot["runs"], &snapshot["pendingInteractions"]), (&json!([]), &json!([])));
    assert_eq!(world.seen(1, "interaction.resolved").len(), 1);
    assert_eq!(snapshot["items"][2]["body"]["details"]["kind"], "ask_user");
}

#[test]
fn a_view_that_followed_the_waits_has_what_a_fresh_one_sees() {
    let mut world = World::new();
    world.script([
        Reply::calls(&[
            ("ask_user", json!({"questions": [{"id": "a", "question": "?"}]})),
            ("schedule_resume", json!({"delaySeconds": 600, "reason": "Later."})),
        ]),
        Reply::text(&["Done."]),
    ]);
    let thread = world.ask("Wait twice");
    let mut mirror = Mirror::default();
    mirror.follow(&thread);
    world.take(1);
    world.snapshot(1, &thread);
    let mut follow = |world: &mut World| {
        for message in world.take(1) {
            mirror.take_in(&message);
        }
        let snapshot = world.snapshot(1, &thread);
        mirror.compare(&snapshot);
        world.take(1);
    };
    follow(&mut world);
    world.settle();
    follow(&mut world);
    let waits = pending(&mut world, &thread);
    world.take(1);
    assert_eq!(waits.as_array().unwrap().len(), 2, "side by side");
    respond(&mut world, &thread, &waits[0], submit(json!({"a": "yes"})));
    world.settle();
    follow(&mut world);
    assert_eq!(state(&mut world, &thread), "waiting_interaction", "the other one still waits");
    world.take(1);
    world.pass(600_000);
    follow(&mut world);
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn what_is_done_by_hand_brings_the_model_nothing_but_that_it_is_done() {
    let mut world = World::new();
    let call = || Reply::calls(&[("request_user_action", json!({"instruction": "Sign in, please."}))]);
    world.script([call(), Reply::text(&["Thanks."]), call(), Reply::text(&["All right."])]);
    let thread = world.ask("Look at my orders");
    world.settle();
    let wait = pending(&mut world, &thread)[0].clone();
    respond(&mut world, &thread, &wait, submit(Value::Null));
    world.settle();
    assert_eq!(told(&world), json!({"status": "submitted", "value": {"done": true}}));
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "again"}}));
    world.settle();
    let wait = pending(&mut world, &thread)[0].clone();
    respond(&mut world, &thread, &wait, json!({"kind": "cancel", "note": " I have no account. "}));
    world.settle();
    assert_eq!(told(&world), json!({"status": "cancelled", "note": "I have no account."}));
}

/// One life of a thread that asks the person once, with a death at the given place; whether there was that place.
fn ask_with_a_death_at(fuse: u32, deadline: bool) -> bool {
    let mut world = World::new();
    *world.outside.provider.borrow_mut() = Some(Box::new(|body| {
        let messages = body["messages"].as_array().unwrap();
        let answered = messages.iter().any(|message| message["role"] == "tool");
        if answered { Reply::text(&["Thanks."]) } else { ask_user() }
    }));
    world.outside.fuse.set(Some(fuse));
    let create = json!({"type": "thread.create", "submissionId": "create", "input": {"text": "Ask me"}});
    world.send(1, create.clone());
    let mut died = false;
    for _ in 0..12 {
        world.settle();
        if world.outside.dead.get() {
            world = world.kill();
            died = true;
            world.send(1, create.clone());
            world.settle();
        }
        let thread = world.acknowledged("create")["threadId"].as_str().unwrap().to_owned();
        let snapshot = world.snapshot(1, &thread);
        if let Some(wait) = snapshot["pendingInteractions"].get(0) {
            if deadline {
                world.pass(DAY_MS);
            } else {
                world.send(
                    1,
                    json!({"type": "interaction.response", "submissionId": "answer", "threadId": thread,
                        "interactionId": wait["interactionId"], "response": submit(json!({"size": "L"}))}),
                );
            }
        } else if snapshot["runs"][0]["state"] == "interrupted" {
            world.send(
                1,
                json!({"type": "run.resume", "threadId": thread, "runId": snapshot["runs"][0]["runId"]}),
            );
        } else if snapshot["runs"] == json!([]) {
            // An answer that was cut off stands before the one that went on from it.
            let mut said = kinds(&snapshot);
            said.dedup();
            assert_eq!(said, ["user_message", "assistant_message", "tool_result", "assistant_message"]);
            let outcome = if deadline { "declined" } else { "ok" };
            assert_eq!(snapshot["items"][2]["body"]["outcome"], outcome);
            return died;
        }
        world.take(1);
        world.send(1, create.clone());
    }
    panic!("the run never ended after a death at {fuse}");
}

#[test]
fn killed_at_any_point_of_a_wait_it_is_asked_once_and_answered_once() {
    for deadline in [false, true] {
        let places = (0..60).take_while(|fuse| ask_with_a_death_at(*fuse, deadline)).count();
        assert!(places >= 10, "{places} places to die");
    }
}

#[test]
fn a_wait_is_back_after_a_death_with_its_deadline_and_the_alarm_is_set_for_it() {
    let mut world = World::new();
    world.script([ask_user()]);
    let thread = world.ask("Order it");
    world.settle();
    let before = pending(&mut world, &thread);
    let deadline = before[0]["deadlineAt"].as_u64().unwrap();
    assert_eq!(world.outside.alarm.get().unwrap().0, deadline);
    world.outside.alarm.set(None);
    world.skip(60_000);
    let mut world = world.kill();
    assert_eq!(pending(&mut world, &thread), before);
    assert_eq!(world.outside.alarm.get().unwrap().0, deadline);
}

#[test]
fn a_wait_whose_deadline_passed_while_nobody_lived_is_over_at_the_start() {
    let mut world = World::new();
    world.script([ask_user(), Reply::text(&["Nobody is there."])]);
    let thread = world.ask("Order it");
    world.settle();
    world.skip(DAY_MS + 1);
    let mut world = world.kill();
    assert_eq!(told(&world), json!({"status": "timed_out", "value": null}));
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn a_task_that_goes_on_later_lets_the_worker_sleep_until_then() {
    let mut world = World::new();
    world.script([schedule(3600), Reply::text(&["Here I am."])]);
    let thread = world.ask("In an hour");
    world.settle();
    let kept_alive = world.outside.kept_alive.get();
    let due = pending(&mut world, &thread)[0]["deadlineAt"].as_u64().unwrap();
    assert_eq!(world.outside.alarm.get().unwrap().0, due);
    world.disconnect(1);
    world.pass(3_500_000);
    assert_eq!(world.outside.kept_alive.get(), kept_alive, "nothing keeps it awake");
    world.skip(100_000);
    // It rang, or nobody would be here.
    world.outside.alarm.set(None);
    let mut world = world.kill();
    assert_eq!(told(&world)["status"], "submitted");
    assert_eq!(told(&world)["value"]["reason"], "Later.");
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    assert_eq!(world.outside.alarm.get(), None, "and then it stays asleep");
}

#[test]
fn a_wake_up_that_comes_sooner_than_an_alarm_keeps_the_worker_alive() {
    let mut world = World::new();
    world.script([schedule(25), Reply::text(&["Here I am."])]);
    let thread = world.ask("In a moment");
    world.settle();
    let kept_alive = world.outside.kept_alive.get();
    world.pass(24_000);
    assert!(world.outside.kept_alive.get() > kept_alive);
    world.pass(2_000);
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    world.pass(40_000);
    let quiet = world.outside.kept_alive.get();
    world.pass(600_000);
    assert_eq!((world.outside.kept_alive.get(), world.outside.alarm.get()), (quiet, None));
}

#[test]
fn a_page_is_watched_for_a_text_when_it_changes_and_now_and_then() {
    for signalled in [true, false] {
        let mut world = World::new();
        world.outside.page_text.replace(Some("Your order is on its way".into()));
        world.script([watch("text", "has  ARRIVED", 3600), Reply::text(&["It is there."])]);
        let thread = world.ask("Tell me when it is there");
        world.settle();
        assert_eq!(world.outside.reads.get(), 1, "it is looked at at once");
        assert_eq!(state(&mut world, &thread), "waiting_interaction");
        assert_eq!(pending(&mut world, &thread)[0]["tab"]["tabId"], 7);
        world.outside.page_text.replace(Some("Your order has arrived.".into()));
        let changed = || PageSignal::Changed { url: None };
        if signalled {
            world.page_signal(8, changed());
            world.pass(5_000);
            assert_eq!(world.outside.reads.get(), 1, "another tab is nobody's business");
            world.page_signal(7, changed());
            world.page_signal(7, changed());
            world.pass(2_000);
        } else {
            world.pass(61_000);
        }
        assert_eq!(world.outside.reads.get(), 2);
        world.settle();
        assert_eq!(told(&world), json!({"status": "submitted", "value": {"matched": true}}));
        assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    }
}

#[test]
fn a_text_that_is_gone_ends_a_watch_and_a_deadline_does_without_a_failure() {
    let mut world = World::new();
    world.outside.page_text.replace(Some("Please wait".into()));
    let replies = [watch("text_gone", "please wait", 600), Reply::text(&["Gone."])];
    world.script(replies.into_iter().chain([watch("text", "never", 120), Reply::text(&["No."])]));
    let thread = world.ask("Wait");
    world.settle();
    world.outside.page_text.replace(Some("Ready".into()));
    world.pass(61_000);
    assert_eq!(told(&world)["value"]["matched"], true);
    world.settle();
    let tab = json!({"tabId": 7, "url": "https://shop.test/order", "title": "Order"});
    let input = json!({"text": "again", "browserContext": {"capturedAt": 1, "defaultTab": tab}});
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": input}));
    world.settle();
    world.pass(121_000);
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["items"].as_array().unwrap().iter().rev().nth(1).unwrap()["body"]["outcome"], "ok");
}

#[test]
fn a_watch_for_an_address_hears_of_it_and_needs_no_looks() {
    let mut world = World::new();
    world.outside.page_text.replace(Some(String::new()));
    world.script([watch("url", "/done", 86_400), Reply::text(&["Done."])]);
    let thread = world.ask("Tell me");
    world.settle();
    let url = |url: &str| PageSignal::Changed { url: Some(url.to_owned()) };
    world.page_signal(7, url("https://shop.test/pay"));
    world.pass(600_000);
    assert_eq!((world.outside.reads.get(), state(&mut world, &thread)), (0, json!("waiting_interaction")));
    world.outside.path.replace("done".into());
    let mut world = world.kill();
    assert_eq!(
        told(&world)["value"]["matched"],
        true,
        "what happened while nobody lived is seen at the start"
    );
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));

    let mut world = World::new();
    world.script([watch("url", "/done", 86_400), Reply::text(&["Done."])]);
    let thread = world.ask("Tell me");
    world.settle();
    world.page_signal(7, url("https://shop.test/done?x=1"));
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn a_closed_tab_ends_a_watch_whether_it_was_seen_or_not() {
    for seen in [true, false] {
        let mut world = World::new();
        world.outside.page_text.replace(Some("Wait".into()));
        world.script([watch("text", "never", 86_400), Reply::text(&["It was closed."])]);
        let thread = world.ask("Tell me");
        world.settle();
        world.outside.tab_closed.set(true);
        if seen {
            world.page_signal(7, PageSignal::Gone);
            world.settle();
        } else {
            world.pass(61_000);
        }
        assert_eq!(told(&world), json!({"status": "cancelled", "note": "The tab was closed."}));
        assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    }
}

#[test]
fn a_watched_tab_is_not_read_on_another_site_and_the_person_can_go_on() {
    let mut world = World::new();
    world.outside.page_text.replace(Some("never".into()));
    world.outside.origin.replace("https://shop.test".into());
    world.script([watch("text_gone", "never", 86_400), Reply::text(&["Going on."])]);
    let thread = world.ask("Tell me");
    world.settle();
    world.outside.origin.replace("https://bank.test".into());
    world.outside.page_text.replace(Some("secret".into()));
    world.pass(3_600_000);
    assert_eq!(world.outside.reads.get(), 1);
    let wait = pending(&mut world, &thread)[0].clone();
    respond(&mut world, &thread, &wait, submit(Value::Null));
    world.settle();
    assert_eq!(told(&world), json!({"status": "submitted", "value": {"matched": false}}));
}

#[test]
fn a_stop_ends_a_wait_and_the_next_message_begins() {
    let mut world = World::new();
    world.outside.page_text.replace(Some("Wait".into()));
    world.script([watch("text", "never", 86_400), Reply::text(&["Next."])]);
    let thread = world.ask("Tell me");
    world.settle();
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "next"}}));
    world.settle();
    let wait = pending(&mut world, &thread)[0].clone();
    world.send(1, json!({"type": "turn.interrupt", "threadId": thread}));
    world.settle();
    assert_eq!(world.seen(1, "interaction.resolved")[0]["outcome"], Value::Null);
    let late = respond(&mut world, &thread, &wait, submit(Value::Null));
    world.settle();
    assert_eq!(world.answer(1, &late)["code"], "invalid_command");
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
    let reads = world.outside.reads.get();
    world.pass(600_000);
    assert_eq!(world.outside.reads.get(), reads, "nobody looks any more");
}

/// A write that is under way, and whose server asks something.
fn elicited() -> (World, String, Rc<RefCell<Vec<Response>>>) {
    let mut world = World::new();
    world.outside.page.replace(Some(Box::new(|| crate::world::PageTurn::Works(40_000))));
    world.script([click(), Reply::text(&["Done."])]);
    let thread = world.ask("Order it");
    world.settle();
    let approval = world.snapshot(1, &thread)["pendingApprovals"][0]["approvalId"].clone();
    world.send(
        1,
        json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": "accept"}}),
    );
    world.settle();
    let item = world.snapshot(1, &thread)["activeItems"][0]["itemId"].as_str().unwrap().to_owned();
    let (id, item) = (ThreadId::new(thread.clone()).unwrap(), ItemId::new(item).unwrap());
    let asked = json!({"serverId": "crm", "message": "Which customer?", "requestedSchema": {}});
    let answers = world.elicit(id, item, asked);
    world.settle();
    (world, thread, answers)
}

#[test]
fn what_a_server_asks_is_answered_while_its_call_goes_on() {
    let (mut world, thread, answers) = elicited();
    let wait = pending(&mut world, &thread)[0].clone();
    assert_eq!(
        (&wait["kind"], &wait["params"]["message"]),
        (&json!("mcp_elicitation"), &json!("Which customer?"))
    );
    respond(&mut world, &thread, &wait, submit(json!({"customer": "Ada"})));
    world.settle();
    assert_eq!(*answers.borrow(), [Response::Submit { value: json!({"customer": "Ada"}) }]);
    assert_eq!(state(&mut world, &thread), "running", "the call is under way again");
    world.pass(60_000);
    assert_eq!((world.writes().len(), &world.snapshot(1, &thread)["runs"]), (1, &json!([])));
}

#[test]
fn what_a_server_asks_ends_with_its_call_and_a_death_leaves_the_write_in_doubt() {
    let (mut world, thread, answers) = elicited();
    world.pass(60_000);
    assert_eq!(world.seen(1, "interaction.resolved")[0]["outcome"], Value::Null);
    assert_eq!((&world.snapshot(1, &thread)["runs"], answers.borrow().len()), (&json!([]), 0));

    let (world, thread, _) = elicited();
    let mut world = world.kill();
    let snapshot = world.snapshot(1, &thread);
    assert_eq!(snapshot["runs"][0]["state"], "paused_uncertain");
    assert_eq!(snapshot["pendingInteractions"], json!([]));
    let run = snapshot["runs"][0]["runId"].clone();
    world.send(
        1,
        json!({"type": "run.resolveUncertain", "threadId": thread, "runId": run, "resolution": "mark_done"}),
    );
    world.settle();
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}

#[test]
fn an_update_waits_until_nothing_is_under_way_and_no_page_is_open() {
    let mut world = World::new();
    world.script([Reply::hanging(&["Once"]), schedule(3600)]);
    world.ask("A story");
    world.settle();
    world.update_available();
    world.settle();
    assert_eq!(world.seen(1, "update.available")[0]["version"], "2.0.0");
    world.disconnect(1);
    world.settle();
    assert_eq!(world.outside.reloads.get(), 0, "the model still writes");
    world.open_view(2);
    world.pass(100_000);
    assert_eq!(world.seen(2, "initialized")[0]["directory"]["update"], "2.0.0");
    assert_eq!(world.outside.reloads.get(), 0, "a page is open");
    world.disconnect(2);
    world.settle();
    assert_eq!(world.outside.reloads.get(), 1);
}

#[test]
fn an_update_comes_at_once_when_the_person_says_so_and_never_without_one() {
    let mut world = World::new();
    world.script([Reply::hanging(&["Once"])]);
    world.ask("A story");
    world.settle();
    world.send(1, json!({"type": "update.apply"}));
    world.settle();
    assert_eq!(world.outside.reloads.get(), 0);
    world.update_available();
    world.settle();
    assert_eq!(world.outside.reloads.get(), 0);
    world.send(1, json!({"type": "update.apply"}));
    world.run();
    assert!(world.outside.reloads.get() > 0);
}

#[test]
fn a_draft_outlives_the_worker_and_goes_with_the_message_that_is_sent() {
    let mut world = World::new();
    world.script([Reply::text(&["one"]), Reply::text(&["two"]), Reply::text(&["three"])]);
    let thread = world.ask("one");
    world.settle();
    world.send(1, json!({"type": "draft.update", "threadId": thread, "text": "and th"}));
    world.send(1, json!({"type": "draft.update", "text": "something new"}));
    world.settle();
    let mut world = world.kill();
    assert_eq!(world.snapshot(1, &thread)["draft"], "and th");
    assert_eq!(world.seen(1, "initialized")[0]["directory"]["draft"], "something new");
    world.send(1, json!({"type": "turn.submit", "threadId": thread, "input": {"text": "and then?"}}));
    world.ask("something new, too");
    world.settle();
    let mut world = world.kill();
    assert_eq!(world.snapshot(1, &thread)["draft"], "");
    assert_eq!(world.seen(1, "initialized")[0]["directory"]["draft"], "");
    world.send(1, json!({"type": "draft.update", "threadId": thread, "text": "left over"}));
    world.settle();
    world.send(1, json!({"type": "thread.delete", "threadId": thread}));
    world.settle();
    assert!(world.store.rows().iter().all(|(_, row)| !row.json.contains("left over")));
    let gone = world.send(1, json!({"type": "draft.update", "threadId": thread, "text": "x"}));
    world.settle();
    assert_eq!(world.answer(1, &gone)["error"]["code"], "thread_not_found");
}

#[test]
fn a_worker_that_is_ended_at_work_is_woken_by_its_alarm_and_one_with_nothing_to_do_is_not() {
    let mut world = World::new();
    world.script([Reply::hanging(&["Once"]), Reply::text(&["more"])]);
    let thread = world.ask("A story");
    world.pass(45_000);
    let guard = world.outside.alarm.get().unwrap().0;
    assert!(guard > world.now() && guard <= world.now() + 30_000, "{guard}");
    let mut world = world.kill();
    assert_eq!(state(&mut world, &thread), "interrupted");
    world.pass(30_000);
    assert_eq!(world.outside.alarm.get().map(|at| at.0), Some(guard), "nothing sets it anew");
    let run = world.snapshot(1, &thread)["runs"][0]["runId"].clone();
    world.send(1, json!({"type": "run.resume", "threadId": thread, "runId": run}));
    world.settle();
    assert_eq!(world.outside.alarm.get(), None);
}

#[test]
fn a_read_that_a_death_cut_off_is_made_again_without_anybody_looking() {
    let mut world = World::new();
    world.outside.page_text.replace(Some("Order 7".into()));
    world.outside.page.replace(Some(Box::new(|| crate::world::PageTurn::Works(500))));
    world.script([Reply::calls(&[("read_page", json!({}))]), Reply::text(&["Seven."])]);
    let thread = world.ask("Which order?");
    world.settle();
    assert_eq!(world.outside.reads.get(), 0);
    let mut world = world.kill();
    world.pass(1_000);
    assert_eq!(world.outside.reads.get(), 1);
    assert_eq!(world.snapshot(1, &thread)["runs"], json!([]));
}
