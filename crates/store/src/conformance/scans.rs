//! What a read finds, and in which order.

use panelot_records::{Key, KeyPart, RECORD_VERSION, Row, Scan, Table};

use super::Harness;
use super::sample::{get, key, keys, node, put, thread, thread_id};
use crate::store::Store;

fn node_keys(thread: &str, seqs: impl IntoIterator<Item = u64>) -> Vec<Key> {
    seqs.into_iter().map(|seq| Key::node(&thread_id(thread), seq)).collect()
}

pub(super) async fn a_scan_keeps_to_its_prefix_in_both_directions<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    for id in ["s", "t", "tt"] {
        put(&store, (1..=12).map(|seq| node(id, seq, None).into())).await;
    }
    let up = Scan::of_thread(Table::Nodes, &thread_id("t"));
    assert_eq!(keys(&store.scan(&up).await.unwrap()), node_keys("t", 1..=12));
    let down = Scan::newest_nodes(&thread_id("t"), None, 100);
    assert_eq!(keys(&store.scan(&down).await.unwrap()), node_keys("t", (1..=12).rev()));
    let all = store.scan(&Scan::table(Table::Nodes)).await.unwrap();
    let expected: Vec<Key> = ["s", "t", "tt"].into_iter().flat_map(|id| node_keys(id, 1..=12)).collect();
    assert_eq!(keys(&all), expected);
    let backwards = Scan { descending: true, ..Scan::table(Table::Nodes) };
    let expected: Vec<Key> = expected.into_iter().rev().collect();
    assert_eq!(keys(&store.scan(&backwards).await.unwrap()), expected);
    let exact = Scan { prefix: vec!["t".into(), 5.into()], ..Scan::table(Table::Nodes) };
    assert_eq!(keys(&store.scan(&exact).await.unwrap()), node_keys("t", [5]));
}

pub(super) async fn a_scan_ends_before_its_bound_and_at_its_limit<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    for id in ["s", "t", "u"] {
        put(&store, (1..=12).map(|seq| node(id, seq, None).into())).await;
    }
    let newest = |before, limit| Scan::newest_nodes(&thread_id("t"), before, limit);
    for (scan, expected) in [
        (newest(None, 3), vec![12, 11, 10]),
        (newest(Some(10), 3), vec![9, 8, 7]),
        (newest(Some(3), 5), vec![2, 1]),
        (newest(Some(1), 5), vec![]),
        (newest(Some(999), 1), vec![12]),
        (newest(None, 0), vec![]),
        (Scan { before: Some(4.into()), ..Scan::of_thread(Table::Nodes, &thread_id("t")) }, vec![1, 2, 3]),
        (Scan { limit: 2, ..Scan::of_thread(Table::Nodes, &thread_id("t")) }, vec![1, 2]),
    ] {
        assert_eq!(keys(&store.scan(&scan).await.unwrap()), node_keys("t", expected), "{scan:?}");
    }
    let whole = Scan { before: Some("t".into()), ..Scan::table(Table::Nodes) };
    assert_eq!(keys(&store.scan(&whole).await.unwrap()), node_keys("s", 1..=12));
    put(&store, [1, 2, 5, 9, 12].map(|seq| node("v", seq, None).into())).await;
    for (before, limit, expected) in
        [(12, 3, vec![9, 5, 2]), (12, 9, vec![9, 5, 2, 1]), (9, 1, vec![5]), (3, 2, vec![2, 1])]
    {
        let scan = Scan::newest_nodes(&thread_id("v"), Some(before), limit);
        assert_eq!(keys(&store.scan(&scan).await.unwrap()), node_keys("v", expected), "{scan:?}");
    }
}

pub(super) async fn numbers_sort_as_numbers_and_before_texts_which_sort_by_utf_16<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let texts = |parts: &[&str]| parts.iter().map(|part| KeyPart::from(*part)).collect::<Vec<_>>();
    let number = |n: u64| vec![KeyPart::from("t"), n.into()];
    let sorted = [
        texts(&["t"]),
        number(2),
        number(9),
        number(10),
        number(9_007_199_254_740_991),
        texts(&["t", ""]),
        texts(&["t", "10"]),
        texts(&["t", "10", "x"]),
        texts(&["t", "9"]),
        texts(&["t", "Z"]),
        texts(&["t", "a"]),
        texts(&["t", "ab"]),
        texts(&["t", "\u{1f600}"]),
        texts(&["t", "\u{ff5e}"]),
    ];
    let row = Row { version: RECORD_VERSION, revision: 0, json: String::new() };
    for parts in sorted.iter().rev() {
        harness.put_row(&store, &key(Table::Nodes, parts.clone()), &row).await;
    }
    harness.put_row(&store, &key(Table::Nodes, texts(&["u"])), &row).await;
    let found = store.scan(&Scan::of_thread(Table::Nodes, &thread_id("t"))).await.unwrap();
    let expected: Vec<Key> = sorted.iter().map(|parts| key(Table::Nodes, parts.clone())).collect();
    assert_eq!(keys(&found), expected);
    let before_texts = Scan { before: Some("".into()), ..Scan::of_thread(Table::Nodes, &thread_id("t")) };
    let expected: Vec<Key> = expected.into_iter().take(5).collect();
    assert_eq!(keys(&store.scan(&before_texts).await.unwrap()), expected);
}

pub(super) async fn a_row_that_cannot_be_read_spoils_itself_only<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    put(&store, (1..=5).map(|seq| node("t", seq, None).into())).await;
    let good = harness.row(&store, &Key::node(&thread_id("t"), 1)).await.unwrap();
    let bad = [
        (2, Row { json: "{".to_owned(), ..good.clone() }),
        (3, Row { version: RECORD_VERSION + 1, ..good.clone() }),
        (4, good),
    ];
    for (seq, row) in &bad {
        harness.put_row(&store, &Key::node(&thread_id("t"), *seq), row).await;
    }
    let read = store.scan(&Scan::table(Table::Nodes)).await.unwrap();
    assert_eq!(keys(&read), node_keys("t", 1..=5));
    let readable: Vec<bool> = read.iter().map(Result::is_ok).collect();
    assert_eq!(readable, [true, false, false, false, true]);
    let broken = store.get(&Key::node(&thread_id("t"), 2)).await.unwrap().unwrap().unwrap_err();
    assert_eq!(broken.key, Key::node(&thread_id("t"), 2));
    assert_eq!(get(&store, &Key::node(&thread_id("t"), 5)).await, Some(node("t", 5, None).into()));
}

pub(super) async fn what_is_not_there_is_none<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    for table in Table::ALL {
        assert_eq!(store.scan(&Scan::table(table)).await.unwrap(), [], "{table:?}");
    }
    put(&store, [thread("t").into()]).await;
    assert!(store.get(&Key::thread(&thread_id("u"))).await.unwrap().is_none());
    assert!(store.get(&Key::node(&thread_id("t"), 1)).await.unwrap().is_none());
}
