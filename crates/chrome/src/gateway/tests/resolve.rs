//! What a call is aimed at.

use panelot_tools::Catalogue;
use panelot_tools::descriptor::TargetKind;
use panelot_tools::target::{HostAccess, TargetError, TargetFacts};
use serde_json::{Value, json};

use super::{Scene, TAB, committed, frame, navigation_failed, ready, target};
use crate::fake::Reply;
use crate::gateway::Lookup;

fn lookup(kind: TargetKind, tab_id: Option<u32>) -> Lookup {
    Lookup { kind, tab_id, default_tab: Some(TAB), opens_tab: false }
}

fn resolve(scene: &Scene, lookup: Lookup) -> Result<TargetFacts, TargetError> {
    scene.clock.run(scene.gateway.resolve(lookup)).expect("it waits forever")
}

#[test]
fn the_document_in_the_tab_is_the_target_and_its_host_is_asked_for() {
    let scene = Scene::new();
    let facts = resolve(&scene, lookup(TargetKind::Document, None)).unwrap();
    assert_eq!(facts, TargetFacts { target: Some(target()), host_access: HostAccess::Granted });
    assert_eq!(
        scene.chrome.calls_of("permissions.contains"),
        [vec![json!({"origins": ["https://shop.test/*"]})]]
    );
    for reply in [Reply::ok(false), Reply::err("broken")] {
        scene.chrome.on("permissions.contains", move |_| reply.clone());
        let facts = resolve(&scene, lookup(TargetKind::Document, None)).unwrap();
        assert_eq!(facts.host_access, HostAccess::Missing);
    }
}

#[test]
fn a_call_is_aimed_at_what_it_names() {
    let of = |name: &str, arguments: &str| {
        Lookup::of(&Catalogue::builtin().parse(name, arguments).unwrap(), Some(TAB))
    };
    assert_eq!(of("read_page", "{}"), lookup(TargetKind::Document, None));
    assert_eq!(of("click", r#"{"ref":"k7q2-3","tabId":9}"#), lookup(TargetKind::Document, Some(9)));
    assert_eq!(of("tabs_list", "{}"), lookup(TargetKind::Browser, None));
    let new_tab = of("navigate", r#"{"url":"https://a.test","newTab":true}"#);
    assert_eq!(new_tab, Lookup { opens_tab: true, ..lookup(TargetKind::Destination, None) });
}

#[test]
fn a_call_for_the_browser_or_a_new_tab_has_no_target() {
    let scene = Scene::new();
    let nothing = TargetFacts { target: None, host_access: HostAccess::Granted };
    assert_eq!(resolve(&scene, lookup(TargetKind::Browser, None)), Ok(nothing.clone()));
    let new_tab = Lookup { opens_tab: true, ..lookup(TargetKind::Destination, None) };
    assert_eq!(resolve(&scene, new_tab), Ok(nothing));
}

#[test]
fn the_named_tab_comes_before_the_default_and_there_is_no_third() {
    let scene = Scene::new();
    assert!(resolve(&scene, lookup(TargetKind::Document, Some(9))).is_ok());
    assert_eq!(scene.chrome.calls_of("tabs.get"), [vec![json!(9)]]);
    let none = Lookup { default_tab: None, ..lookup(TargetKind::Document, None) };
    assert_eq!(resolve(&scene, none), Err(TargetError::NoDefaultTab));
    *scene.tab.borrow_mut() = Value::Null;
    assert_eq!(
        resolve(&scene, lookup(TargetKind::Document, Some(9))),
        Err(TargetError::TabGone { tab_id: 9 })
    );
}

#[test]
fn what_no_extension_may_enter_is_no_page() {
    for url in [
        "chrome://settings/",
        "about:blank",
        "devtools://x",
        "chrome-extension://abc/x.html",
        "file:///a",
        "",
    ] {
        let scene = Scene::new();
        *scene.frame.borrow_mut() = frame("D1", url);
        let refused = resolve(&scene, lookup(TargetKind::Document, None));
        assert_eq!(refused, Err(TargetError::NotAWebPage { tab_id: TAB, url: url.to_owned() }));
        assert!(resolve(&scene, lookup(TargetKind::Destination, None)).is_ok(), "it can be left for a page");
    }
    let scene = Scene::new();
    scene.tab.borrow_mut()["url"] = json!("view-source:https://shop.test/order");
    assert!(resolve(&scene, lookup(TargetKind::Document, None)).is_err(), "the source of a page");
    let scene = Scene::new();
    scene.frame.borrow_mut()["errorOccurred"] = json!(true);
    assert!(resolve(&scene, lookup(TargetKind::Document, None)).is_err(), "an error page");
}

#[test]
fn the_stores_of_extensions_are_out_of_reach_whatever_was_granted() {
    let cases = [
        ("https://chromewebstore.google.com/detail/x", HostAccess::Impossible),
        ("https://chrome.google.com/webstore/x", HostAccess::Impossible),
        ("https://microsoftedge.microsoft.com/addons/x", HostAccess::Impossible),
        ("https://chrome.google.com/other", HostAccess::Granted),
        ("https://chromewebstore.google.com.evil.test/", HostAccess::Granted),
    ];
    for (url, host_access) in cases {
        let scene = Scene::new();
        *scene.frame.borrow_mut() = frame("D1", url);
        let facts = resolve(&scene, lookup(TargetKind::Document, None)).unwrap();
        assert_eq!(facts.host_access, host_access, "{url}");
    }
}

#[test]
fn a_page_on_its_way_is_waited_for() {
    let scene = Scene::new();
    scene.tab.borrow_mut()["pendingUrl"] = json!("https://shop.test/thanks");
    let shown = (scene.tab.clone(), scene.frame.clone());
    scene.event(400, committed("D2", "https://shop.test/thanks"), move || {
        shown.0.borrow_mut().as_object_mut().unwrap().remove("pendingUrl");
        *shown.1.borrow_mut() = frame("D2", "https://shop.test/thanks");
    });
    scene.event(650, ready("D2", "https://shop.test/thanks"), || {});
    let facts = resolve(&scene, lookup(TargetKind::Document, None)).unwrap();
    assert_eq!(facts.target.unwrap().document_id.as_deref(), Some("D2"));
    assert_eq!(scene.elapsed_ms(), 650);
}

#[test]
fn a_page_that_does_not_come_is_not_waited_for_longer_than_five_seconds() {
    let scene = Scene::new();
    scene.tab.borrow_mut()["pendingUrl"] = json!("https://slow.test/");
    let facts = resolve(&scene, lookup(TargetKind::Document, None)).unwrap();
    assert_eq!((facts.target, scene.elapsed_ms()), (Some(target()), 5_000));
    scene.event(30, navigation_failed("net::ERR_ABORTED", "https://slow.test/"), || {});
    resolve(&scene, lookup(TargetKind::Document, None)).unwrap();
    assert_eq!(scene.elapsed_ms(), 5_030);
}
