//! Asking the page executor.

use std::rc::Rc;

use panelot_page_protocol::{Action, ElementRef, FailureCode};
use panelot_tools::command::{Command, FailureKind, Reach, Report};
use serde_json::{Value, json};

use super::{
    CLOSED, Counter, GONE, Scene, TAB, answer, clicked, committed, failure_of, frame, kind_of, target,
};
use crate::clock::Clock as _;
use crate::event::ChromeEvent;
use crate::fake::Reply;

fn click() -> Command {
    Command::Page { target: target(), action: Action::Click { target: ElementRef::new("k7q2-3").unwrap() } }
}

fn read() -> Command {
    Command::Page { target: target(), action: Action::ReadPage {} }
}

fn page() -> Value {
    json!({"kind": "failed", "failure": {"code": "internal", "message": "a page stands for any answer", "reach": "notStarted"}})
}

/// What the executor in the page does with requests to act. Pings are answered once it is injected.
fn executor(scene: &Scene, injected: bool, mut act: impl FnMut(&Value) -> Reply + 'static) -> Counter {
    let injections = Counter::default();
    let count = injections.clone();
    scene.chrome.on("scripting.executeScript", move |_| {
        count.next();
        Reply::ok(json!([{"documentId": "D1", "frameId": 0, "result": null}]))
    });
    let count = injections.clone();
    scene.chrome.on("tabs.sendMessage", move |arguments| {
        let request = &arguments[1];
        if !injected && count.get() == 0 {
            return Reply::err(GONE);
        }
        match request["body"]["kind"].as_str() {
            Some("ping") => {
                Reply::ok(answer(request, json!({"kind": "pong", "origin": "https://shop.test"})))
            }
            Some("cancel") => Reply::ok(answer(request, json!({"kind": "cancelled", "found": true}))),
            _ => act(request),
        }
    });
    injections
}

/// The bodies' kinds of all messages so far.
fn sent(scene: &Scene) -> Vec<String> {
    let messages = scene.chrome.calls_of("tabs.sendMessage");
    messages.iter().map(|arguments| arguments[1]["body"]["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_executor_that_is_there_is_asked_without_injecting_again() {
    let scene = Scene::new();
    let injections = executor(&scene, true, |request| Reply::ok(answer(request, clicked())));
    let Report::Page(Ok(_)) = scene.run(click()) else { panic!("not done") };
    assert_eq!((injections.get(), sent(&scene)), (0, vec!["ping".to_owned(), "execute".to_owned()]));
    let message = &scene.chrome.calls_of("tabs.sendMessage")[1];
    assert_eq!((&message[0], &message[2]), (&json!(TAB), &json!({"documentId": "D1"})));
    assert_eq!(message[1]["documentId"], "D1");
    assert_eq!(message[1]["expectedOrigin"], "https://shop.test");
    assert_eq!(message[1]["deadlineAt"], 1_010_000);
    assert_eq!(
        message[1]["body"],
        json!({"kind": "execute", "action": {"type": "click", "target": "k7q2-3"}})
    );
}

#[test]
fn the_executor_is_put_into_the_document_when_none_answers() {
    let scene = Scene::new();
    let injections = executor(&scene, false, |request| Reply::ok(answer(request, clicked())));
    assert!(matches!(scene.run(click()), Report::Page(Ok(_))));
    assert_eq!(injections.get(), 1);
    assert_eq!(
        scene.chrome.calls_of("scripting.executeScript"),
        [vec![json!({
            "target": {"tabId": TAB, "documentIds": ["D1"]}, "files": ["page.js"], "injectImmediately": true,
        })]]
    );
}

#[test]
fn an_executor_of_another_version_is_replaced() {
    let scene = Scene::new();
    let injections = executor(&scene, true, |request| Reply::ok(answer(request, clicked())));
    let count = injections.clone();
    scene.chrome.on("tabs.sendMessage", move |arguments| {
        let mut reply = answer(
            &arguments[1],
            match arguments[1]["body"]["kind"].as_str() {
                Some("ping") => json!({"kind": "pong", "origin": "https://shop.test"}),
                _ => clicked(),
            },
        );
        if count.get() == 0 {
            reply["schemaHash"] = json!("0".repeat(64));
        }
        Reply::ok(reply)
    });
    assert!(matches!(scene.run(click()), Report::Page(Ok(_))));
    assert_eq!(injections.get(), 1);
}

#[test]
fn a_document_that_cannot_be_entered_was_surely_not_touched() {
    let cases = [
        ("No document with id D1 in tab with id 5", FailureKind::TargetGone),
        ("No tab with id: 5", FailureKind::TargetGone),
        ("Cannot access contents of url \"https://shop.test/\".", FailureKind::AccessDenied),
        ("Frame with ID 0 is showing error page", FailureKind::AccessDenied),
        ("Could not load file: 'page.js'.", FailureKind::ChannelLost),
    ];
    for (message, kind) in cases {
        let scene = Scene::new();
        executor(&scene, false, |_| Reply::Never);
        scene.chrome.on("scripting.executeScript", move |_| Reply::err(message));
        assert_eq!(kind_of(scene.run(click())), (kind, Reach::NotStarted), "{message}");
    }
    let scene = Scene::new();
    executor(&scene, false, |_| Reply::Never);
    scene.chrome.on("tabs.sendMessage", |_| Reply::err(GONE));
    assert_eq!(kind_of(scene.run(click())), (FailureKind::Mismatch, Reach::NotStarted));
    let scene = Scene::new();
    executor(&scene, false, |_| Reply::Never);
    scene.chrome.on("scripting.executeScript", |_| Reply::Never);
    assert_eq!(kind_of(scene.run(click())), (FailureKind::Timeout, Reach::NotStarted));
    assert_eq!(scene.elapsed_ms(), 5_000);
}

#[test]
fn a_read_whose_channel_broke_is_sent_once_more() {
    let scene = Scene::new();
    let attempts = Counter::default();
    let count = attempts.clone();
    executor(&scene, true, move |request| match count.next() {
        1 => Reply::After(40, Err(CLOSED.to_owned())),
        _ => Reply::ok(answer(request, page())),
    });
    assert!(matches!(scene.run(read()), Report::Page(_)));
    assert_eq!((attempts.get(), sent(&scene).join(" ").as_str()), (2, "ping execute ping execute"));

    let scene = Scene::new();
    executor(&scene, true, |_| Reply::err(CLOSED));
    assert_eq!(kind_of(scene.run(read())).0, FailureKind::ChannelLost);
    assert_eq!(sent(&scene).join(" "), "ping execute ping execute", "and not a third time");
}

#[test]
fn a_read_of_a_document_that_is_gone_is_not_sent_to_the_next_one() {
    let scene = Scene::new();
    let shown = scene.frame.clone();
    executor(&scene, true, move |_| {
        *shown.borrow_mut() = frame("D2", "https://shop.test/thanks");
        Reply::err(CLOSED)
    });
    let failure = failure_of(scene.run(read()));
    assert_eq!((failure.kind, failure.reach), (FailureKind::TargetGone, Reach::NotStarted));
    assert_eq!(failure.detail, "the tab now shows https://shop.test/thanks");
    assert_eq!(sent(&scene).join(" "), "ping execute");
}

#[test]
fn a_write_whose_channel_broke_is_never_sent_again_and_its_outcome_is_unknown() {
    for reply in [Reply::err(CLOSED), Reply::ok(Value::Null), Reply::After(2_000, Err(CLOSED.to_owned()))] {
        let scene = Scene::new();
        executor(&scene, true, move |_| reply.clone());
        assert_eq!(kind_of(scene.run(click())), (FailureKind::ChannelLost, Reach::Unknown));
        assert_eq!(sent(&scene).join(" "), "ping execute");
    }
}

#[test]
fn a_write_that_found_no_receiver_did_not_happen() {
    let scene = Scene::new();
    executor(&scene, true, |_| Reply::err(GONE));
    assert_eq!(kind_of(scene.run(click())), (FailureKind::ChannelLost, Reach::NotStarted));
    let scene = Scene::new();
    let shown = scene.frame.clone();
    executor(&scene, true, move |_| {
        *shown.borrow_mut() = Value::Null;
        Reply::err(GONE)
    });
    assert_eq!(kind_of(scene.run(click())), (FailureKind::TargetGone, Reach::NotStarted));
}

#[test]
fn a_click_that_led_away_without_an_answer_tells_where_it_led() {
    let scene = Scene::new();
    executor(&scene, true, |_| Reply::Never);
    let shown = scene.frame.clone();
    scene.event(500, committed("D2", "https://shop.test/thanks"), move || {
        *shown.borrow_mut() = frame("D2", "https://shop.test/thanks");
    });
    let failure = failure_of(scene.run(click()));
    assert_eq!((failure.kind, failure.reach), (FailureKind::ChannelLost, Reach::Unknown));
    assert_eq!(failure.detail, "the document was left; the tab now shows https://shop.test/thanks");
    assert_eq!(scene.elapsed_ms(), 800, "no need to wait for the deadline");
}

#[test]
fn the_last_answer_of_a_document_that_is_left_counts() {
    let scene = Scene::new();
    executor(&scene, true, |request| Reply::After(600, Ok(answer(request, clicked()))));
    scene.event(500, committed("D2", "https://shop.test/thanks"), || {});
    assert!(matches!(scene.run(click()), Report::Page(Ok(_))));
}

#[test]
fn a_late_notice_of_the_documents_own_commit_is_not_its_end() {
    let scene = Scene::new();
    executor(&scene, true, |request| Reply::After(2_000, Ok(answer(request, clicked()))));
    scene.event(100, committed("D1", "https://shop.test/order"), || {});
    assert!(matches!(scene.run(click()), Report::Page(Ok(_))));
}

#[test]
fn a_tab_that_is_closed_under_a_write_leaves_its_outcome_unknown() {
    let scene = Scene::new();
    executor(&scene, true, |_| Reply::Never);
    let shown = scene.frame.clone();
    scene.event(50, ChromeEvent::TabRemoved { tab_id: TAB }, move || *shown.borrow_mut() = Value::Null);
    let failure = failure_of(scene.run(click()));
    assert_eq!((failure.kind, failure.reach), (FailureKind::ChannelLost, Reach::Unknown));
    assert!(failure.detail.ends_with("the tab was closed"), "{}", failure.detail);
}

#[test]
fn a_page_that_does_not_answer_is_given_up_after_its_deadline_and_told_so() {
    let scene = Scene::new();
    executor(&scene, true, |_| Reply::Never);
    assert_eq!(kind_of(scene.run(click())), (FailureKind::Timeout, Reach::Unknown));
    assert_eq!(scene.elapsed_ms(), 12_000);
    let messages = scene.chrome.calls_of("tabs.sendMessage");
    assert_eq!(sent(&scene).join(" "), "ping execute cancel");
    assert_eq!(messages[2][1]["body"]["cancelRequestId"], messages[1][1]["requestId"]);

    let scene = Scene::new();
    executor(&scene, true, |_| Reply::Never);
    assert_eq!(kind_of(scene.run(read())), (FailureKind::Timeout, Reach::NotStarted));
}

#[test]
fn a_stopped_write_is_called_off_and_its_last_word_is_reported() {
    let scene = Scene::new();
    let clock = scene.clock.clone();
    executor(&scene, true, |request| {
        let failure = json!({"code": "cancelled", "message": "stopped", "reach": "mayHaveHappened"});
        Reply::After(1_200, Ok(answer(request, json!({"kind": "failed", "failure": failure}))))
    });
    let report = scene.run_until(click(), async move { clock.sleep(1_000).await });
    let Report::Page(Err(failure)) = report else { panic!("{report:?}") };
    assert_eq!(failure.code, FailureCode::Cancelled);
    assert_eq!((scene.elapsed_ms(), sent(&scene).join(" ").as_str()), (1_200, "ping execute cancel"));
}

#[test]
fn a_stop_is_obeyed_even_when_the_page_is_stuck() {
    let scene = Scene::new();
    let clock = scene.clock.clone();
    executor(&scene, true, |_| Reply::Never);
    let report = scene.run_until(click(), async move { clock.sleep(1_000).await });
    assert_eq!(kind_of(report), (FailureKind::Cancelled, Reach::Unknown));
    assert_eq!(scene.elapsed_ms(), 2_000);

    let scene = Scene::new();
    let clock = scene.clock.clone();
    executor(&scene, true, |_| Reply::Never);
    let report = scene.run_until(read(), async move { clock.sleep(1_000).await });
    assert_eq!(kind_of(report), (FailureKind::Cancelled, Reach::NotStarted));
    assert_eq!(scene.elapsed_ms(), 1_000, "a look has no last word");
}

#[test]
fn a_stop_before_the_request_is_sent_keeps_it_from_being_sent() {
    let scene = Scene::new();
    let clock = scene.clock.clone();
    executor(&scene, false, |request| Reply::ok(answer(request, clicked())));
    scene.chrome.on("scripting.executeScript", |_| Reply::After(900, Ok(Value::Null)));
    let report = scene.run_until(click(), async move { clock.sleep(500).await });
    assert_eq!(kind_of(report), (FailureKind::Cancelled, Reach::NotStarted));
    assert_eq!(sent(&scene).join(" "), "ping");
}

#[test]
fn an_answer_that_is_none_is_a_mismatch_and_is_not_asked_for_again() {
    type Change = Rc<dyn Fn(&mut Value)>;
    let changes: [Change; 5] = [
        Rc::new(|answer| answer["protocol"] = json!("other")),
        Rc::new(|answer| answer["schemaHash"] = json!("0".repeat(64))),
        Rc::new(|answer| answer["requestId"] = json!("another")),
        Rc::new(|answer| answer["body"] = json!({"kind": "pong", "origin": "x"})),
        Rc::new(|answer| answer["body"] = json!(vec![0; 60_000])),
    ];
    for change in changes {
        for command in [click(), read()] {
            let scene = Scene::new();
            let change = change.clone();
            executor(&scene, true, move |request| {
                let mut reply = answer(request, clicked());
                change(&mut reply);
                Reply::ok(reply)
            });
            assert_eq!(kind_of(scene.run(command)), (FailureKind::Mismatch, Reach::Unknown));
            assert_eq!(sent(&scene).join(" "), "ping execute");
        }
    }
}

#[test]
fn what_the_executor_refuses_is_passed_on_as_it_is() {
    let scene = Scene::new();
    executor(&scene, true, |request| {
        let failure = json!({"code": "stale_ref", "message": "no such ref", "reach": "notStarted"});
        Reply::ok(answer(request, json!({"kind": "failed", "failure": failure})))
    });
    let Report::Page(Err(failure)) = scene.run(click()) else { panic!("not refused") };
    assert_eq!(failure.code, FailureCode::StaleRef);
}
