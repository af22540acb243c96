//! Sending a tab somewhere.

use panelot_tools::command::{Command, FailureKind, Reach, Report};
use panelot_tools::target::Target;
use serde_json::json;

use super::{
    Scene, TAB, committed, failure_of, frame, kind_of, navigation_failed, ready, tab_status, target,
};
use crate::clock::Clock as _;
use crate::event::ChromeEvent;
use crate::fake::Reply;

const URL: &str = "https://a.test/x";

fn go() -> Command {
    Command::Navigate { tab_id: Some(TAB), url: URL.to_owned() }
}

/// A scene in which the tab obeys and is loading from then on.
fn scene() -> Scene {
    let scene = Scene::new();
    let tab = scene.tab.clone();
    scene.chrome.on("tabs.update", move |_| {
        tab.borrow_mut()["status"] = json!("loading");
        tab.borrow_mut()["pendingUrl"] = json!(URL);
        Reply::ok(tab.borrow().clone())
    });
    scene
}

/// What changes in the browser when a document is committed, or a navigation ends without one.
fn shows(scene: &Scene, document: Option<(&str, &str)>, status: &'static str) -> impl FnOnce() + 'static {
    let (tab, shown) = (scene.tab.clone(), scene.frame.clone());
    let document = document.map(|(id, url)| (id.to_owned(), url.to_owned()));
    move || {
        let mut tab = tab.borrow_mut();
        tab.as_object_mut().unwrap().remove("pendingUrl");
        tab["status"] = json!(status);
        if let Some((id, url)) = document {
            tab["url"] = json!(url);
            tab["title"] = json!("There");
            *shown.borrow_mut() = frame(&id, &url);
        }
    }
}

fn arrived(document_id: &str, url: &str, origin: &str) -> Report {
    Report::Navigated(Target {
        document_id: Some(document_id.to_owned()),
        url: url.to_owned(),
        origin: origin.to_owned(),
        title: "There".to_owned(),
        ..target()
    })
}

#[test]
fn the_committed_document_is_reported_with_the_address_it_was_redirected_to() {
    let scene = scene();
    let there = "https://b.test/y";
    scene.event(200, committed("D2", there), shows(&scene, Some(("D2", there)), "loading"));
    scene.event(350, ready("D2", there), || {});
    assert_eq!(scene.run(go()), arrived("D2", there, "https://b.test"));
    assert_eq!(scene.elapsed_ms(), 450);
    assert_eq!(scene.chrome.calls_of("tabs.update"), [vec![json!(TAB), json!({"url": URL})]]);
}

#[test]
fn a_script_that_sends_the_tab_on_is_followed() {
    let scene = scene();
    scene.event(200, committed("D2", URL), shows(&scene, Some(("D2", URL)), "loading"));
    scene.event(210, ready("D2", URL), || {});
    let there = "https://a.test/home";
    scene.event(280, committed("D3", there), shows(&scene, Some(("D3", there)), "loading"));
    scene.event(500, ready("D3", there), || {});
    assert_eq!(scene.run(go()), arrived("D3", there, "https://a.test"));
}

#[test]
fn a_page_that_never_finishes_is_taken_ten_seconds_after_it_came() {
    let scene = scene();
    scene.event(200, committed("D2", URL), shows(&scene, Some(("D2", URL)), "loading"));
    assert_eq!(scene.run(go()), arrived("D2", URL, "https://a.test"));
    assert_eq!(scene.elapsed_ms(), 10_200);
}

#[test]
fn a_new_tab_is_opened_and_its_first_events_are_not_missed() {
    let scene = Scene::new();
    let new_tab = json!({"id": TAB, "windowId": 1, "url": "", "pendingUrl": URL, "status": "loading"});
    scene.chrome.on("tabs.create", move |_| Reply::After(50, Ok(new_tab.clone())));
    scene.event(20, committed("D2", URL), shows(&scene, Some(("D2", URL)), "complete"));
    scene.event(30, ready("D2", URL), || {});
    let report = scene.run(Command::Navigate { tab_id: None, url: URL.to_owned() });
    assert_eq!(report, arrived("D2", URL, "https://a.test"));
    assert_eq!(scene.chrome.calls_of("tabs.create"), [vec![json!({"url": URL, "active": true})]]);
}

#[test]
fn an_address_that_cannot_be_reached_is_reported_with_chromes_word_for_it() {
    let scene = scene();
    scene.event(90, navigation_failed("net::ERR_NAME_NOT_RESOLVED", URL), || {});
    let failure = failure_of(scene.run(go()));
    assert_eq!((failure.kind, failure.reach), (FailureKind::NavigationFailed, Reach::NotStarted));
    assert_eq!(failure.detail, "net::ERR_NAME_NOT_RESOLVED for https://a.test/x");
}

#[test]
fn the_end_of_an_earlier_navigation_is_not_taken_for_ours() {
    let scene = scene();
    scene.event(10, navigation_failed("net::ERR_ABORTED", "https://old.test/"), || {});
    scene.event(3_000, committed("D2", URL), shows(&scene, Some(("D2", URL)), "loading"));
    scene.event(3_010, ready("D2", URL), || {});
    assert_eq!(scene.run(go()), arrived("D2", URL, "https://a.test"));
}

#[test]
fn a_download_or_an_empty_answer_opens_no_page() {
    let scene = scene();
    scene.event(100, navigation_failed("net::ERR_ABORTED", URL), shows(&scene, None, "complete"));
    let failure = failure_of(scene.run(go()));
    assert_eq!((failure.kind, failure.reach), (FailureKind::NavigationFailed, Reach::NotStarted));
    assert!(failure.detail.contains("no page"), "{}", failure.detail);
    assert_eq!(scene.elapsed_ms(), 1_100);
}

#[test]
fn a_change_of_the_fragment_ends_in_the_same_document() {
    let scene = scene();
    scene.event(5, tab_status("loading"), || {});
    scene.event(8, tab_status("complete"), shows(&scene, Some(("D1", URL)), "complete"));
    assert_eq!(scene.run(go()), arrived("D1", URL, "https://a.test"));
    assert_eq!(scene.elapsed_ms(), 108);
}

#[test]
fn the_end_of_an_earlier_load_is_not_taken_for_ours() {
    let scene = scene();
    scene.event(5, tab_status("complete"), || {});
    scene.event(900, committed("D2", URL), shows(&scene, Some(("D2", URL)), "loading"));
    scene.event(910, ready("D2", URL), || {});
    assert_eq!(scene.run(go()), arrived("D2", URL, "https://a.test"));
}

#[test]
fn a_site_that_does_not_answer_is_given_up_after_thirty_seconds() {
    let scene = scene();
    assert_eq!(kind_of(scene.run(go())), (FailureKind::Timeout, Reach::Unknown));
    assert_eq!(scene.elapsed_ms(), 30_000);
}

#[test]
fn a_site_that_sends_the_tab_in_circles_is_left_alone_in_the_end() {
    let scene = scene();
    for step in 0..4_000_u64 {
        scene.event(
            step * 20,
            committed(&format!("D{step}"), URL),
            shows(&scene, Some(("D2", URL)), "loading"),
        );
    }
    assert!(matches!(scene.run(go()), Report::Navigated(_)));
    assert_eq!(scene.elapsed_ms(), 40_000);
}

#[test]
fn a_tab_that_is_closed_or_replaced_meanwhile_is_noticed() {
    let scene = scene();
    scene.event(100, ChromeEvent::TabRemoved { tab_id: TAB }, || {});
    assert_eq!(kind_of(scene.run(go())), (FailureKind::TargetGone, Reach::Unknown));

    let scene = self::scene();
    scene.event(100, ChromeEvent::TabReplaced { added: 8, removed: TAB }, || {});
    let there = ChromeEvent::NavigationCommitted {
        tab_id: 8,
        frame_id: 0,
        document_id: "D2".to_owned(),
        url: URL.to_owned(),
        transition: String::new(),
    };
    scene.event(200, there, shows(&scene, Some(("D2", URL)), "complete"));
    let Report::Navigated(target) = scene.run(go()) else { panic!("not arrived") };
    assert_eq!(target.tab_id, 8);
}

#[test]
fn events_of_other_tabs_and_of_inner_frames_mean_nothing() {
    let scene = scene();
    let elsewhere = |tab_id, frame_id| ChromeEvent::NavigationFailed {
        tab_id,
        frame_id,
        url: URL.to_owned(),
        error: "net::ERR_FAILED".to_owned(),
    };
    scene.event(10, elsewhere(9, 0), || {});
    scene.event(20, elsewhere(TAB, 3), || {});
    scene.event(200, committed("D2", URL), shows(&scene, Some(("D2", URL)), "loading"));
    scene.event(210, ready("D2", URL), || {});
    assert_eq!(scene.run(go()), arrived("D2", URL, "https://a.test"));
}

#[test]
fn a_stop_leaves_open_whether_the_page_was_opened() {
    let scene = scene();
    let clock = scene.clock.clone();
    let report = scene.run_until(go(), async move { clock.sleep(700).await });
    assert_eq!(kind_of(report), (FailureKind::Cancelled, Reach::Unknown));
    assert_eq!(scene.elapsed_ms(), 700);
}

#[test]
fn a_tab_that_is_not_there_was_not_navigated() {
    let scene = Scene::new();
    scene.chrome.on("tabs.update", |_| Reply::err("No tab with id: 5."));
    assert_eq!(kind_of(scene.run(go())), (FailureKind::TargetGone, Reach::NotStarted));
    scene.chrome.on("tabs.update", |_| Reply::err("Invalid url: \"x\"."));
    assert_eq!(kind_of(scene.run(go())), (FailureKind::NavigationFailed, Reach::NotStarted));
}
