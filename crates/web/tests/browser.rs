//! The adapter in a real browser. `cargo xtask test wasm` runs it; on the host this file is empty.
#![cfg(target_family = "wasm")]

use futures_util::future::{Either, select};
use panelot_base::{SafeUrl, Secret};
use panelot_web::{
    FetchError, HeaderValue, Request, Timer, fetch, hold_lock, now, random_bytes, sleep_ms, spawn,
    yield_to_event_loop,
};
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

fn get(url: &str) -> Request {
    Request { method: "GET", url: SafeUrl::new(url), headers: Vec::new(), body: None }
}

/// An address in this page that gives `bytes` bytes.
fn blob(bytes: u32) -> String {
    let script = format!("URL.createObjectURL(new Blob([new Uint8Array({bytes}).fill(7)], {{type: 'x/y'}}))");
    js_sys::eval(&script).unwrap().as_string().unwrap()
}

#[wasm_bindgen_test]
async fn a_name_is_held_once_and_waited_for_no_longer_than_said() {
    assert!(hold_lock("panelot-web-test", 0).await);
    assert!(!hold_lock("panelot-web-test", 0).await, "somebody has it");
    assert!(!hold_lock("panelot-web-test", 50).await, "and keeps it");
    assert!(hold_lock("panelot-web-test-2", 50).await);
}

#[wasm_bindgen_test]
async fn a_body_is_read_piece_by_piece_to_its_end() {
    let size = 3_000_000;
    let mut response = fetch(&get(&blob(size))).unwrap().response().await.unwrap();
    assert_eq!(response.status, 200);
    assert!(
        response.headers.contains(&("content-type".to_owned(), "x/y".to_owned())),
        "{:?}",
        response.headers
    );
    let (mut pieces, mut total) = (0, 0);
    while let Some(piece) = response.body.chunk().await.unwrap() {
        assert!(piece.iter().all(|byte| *byte == 7));
        pieces += 1;
        total += piece.len();
    }
    assert_eq!(total, size as usize);
    assert!(pieces > 1, "it came in one piece");
    assert_eq!(response.body.chunk().await, Ok(None), "the end stays the end");
}

#[wasm_bindgen_test]
async fn a_read_that_is_dropped_loses_nothing() {
    let size = 2_000_000;
    let mut response = fetch(&get(&blob(size))).unwrap().response().await.unwrap();
    let mut total = 0;
    loop {
        // Given up at once, before the browser can have answered.
        let given_up = futures_util::FutureExt::now_or_never(response.body.chunk());
        let piece = match given_up {
            Some(piece) => piece,
            None => response.body.chunk().await,
        };
        match piece.unwrap() {
            Some(piece) => total += piece.len(),
            None => break,
        }
    }
    assert_eq!(total, size as usize);
}

#[wasm_bindgen_test]
async fn an_aborted_request_says_so_at_any_point() {
    let request = fetch(&get(&blob(1_000))).unwrap();
    request.abort_handle().abort();
    assert_eq!(request.response().await.unwrap_err(), FetchError::Aborted);

    let request = fetch(&get(&blob(20_000_000))).unwrap();
    let handle = request.abort_handle();
    let mut response = request.response().await.unwrap();
    assert!(response.body.chunk().await.unwrap().is_some());
    handle.abort();
    let end = loop {
        match response.body.chunk().await {
            Ok(Some(_)) => {}
            end => break end,
        }
    };
    assert_eq!(end, Err(FetchError::Aborted));
    assert_eq!(response.body.chunk().await, Ok(None));
}

#[wasm_bindgen_test]
async fn what_cannot_be_sent_is_refused_by_its_reason_and_shows_no_key() {
    assert_eq!(fetch(&get("http://[bad")).unwrap_err(), FetchError::BadUrl);
    assert_eq!(fetch(&get("https://me:hidden@a.test/")).unwrap_err(), FetchError::BadUrl);
    let mut request = get("https://a.test/");
    request.headers = vec![("authorization".to_owned(), HeaderValue::Secret(Secret::new("hid\nden")))];
    let error = fetch(&request).unwrap_err();
    assert_eq!(error, FetchError::BadHeader("authorization".to_owned()));
    // Port 1 is one that the browser never connects to.
    let error = fetch(&get("http://127.0.0.1:1/?key=hidden")).unwrap().response().await.unwrap_err();
    assert!(matches!(error, FetchError::Network(_)) && !error.to_string().contains("hidden"), "{error}");
}

#[wasm_bindgen_test]
async fn a_timer_waits_its_time_and_a_dropped_one_does_not_hold_up() {
    let before = now();
    sleep_ms(60).await;
    let waited = now().ms_since(before);
    assert!((55..2_000).contains(&waited), "{waited}");
    let quick = select(Timer::new(3_600_000), Timer::new(1)).await;
    assert!(matches!(quick, Either::Right(_)));
    // More than setTimeout can take must not run at once.
    assert!(matches!(select(Timer::new(u64::MAX), Timer::new(30)).await, Either::Right(_)));
}

#[wasm_bindgen_test]
async fn yielding_lets_a_waiting_task_run() {
    let ran = Rc::new(Cell::new(0));
    let seen = Rc::clone(&ran);
    let timeout = js_sys::Promise::new(&mut |resolve, _| {
        // A task of the event loop, not a microtask.
        let channel = js_sys::eval("new MessageChannel()").unwrap();
        let port = |name: &str| js_sys::Reflect::get(&channel, &name.into()).unwrap();
        js_sys::Reflect::set(&port("port1"), &"onmessage".into(), &resolve).unwrap();
        let post: js_sys::Function =
            js_sys::Reflect::get(&port("port2"), &"postMessage".into()).unwrap().into();
        post.call1(&port("port2"), &1.into()).unwrap();
    });
    spawn(async move {
        wasm_bindgen_futures::JsFuture::from(timeout).await.unwrap();
        seen.set(1);
    });
    for _ in 0..3 {
        yield_to_event_loop().await;
    }
    assert_eq!(ran.get(), 1);
    let before = now();
    for _ in 0..200 {
        yield_to_event_loop().await;
    }
    let waited = now().ms_since(before);
    assert!(waited < 700, "200 yields took {waited} ms: setTimeout's 4 ms each would be 800");
}

#[wasm_bindgen_test]
fn random_bytes_differ() {
    let (one, two) = (random_bytes::<32>().unwrap(), random_bytes::<32>().unwrap());
    assert_ne!(one, two);
    assert_ne!(one, [0; 32]);
    assert!(random_bytes::<70_000>().is_err(), "more than the browser gives at once");
}
