//! What a commit does, and what it leaves alone.

use futures_util::future::join;
use panelot_records::{
    Commit, Durability, Expected, Grant, Key, KeyPart, Record, Row, Scan, Settings, Table, Write,
};

use super::Harness;
use super::sample::{approval, commit, get, keys, node, put, run, thread, thread_id};
use crate::error::CommitError;
use crate::store::Store;

pub(super) async fn a_commit_makes_its_writes_in_order<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let (first, second) = (thread("t"), panelot_records::Thread { revision: 2, ..thread("t") });
    let mut all = commit([first.into(), node("t", 1, None).into()]);
    all.writes.push(Write::Delete(Key::node(&thread_id("t"), 1)));
    all.put(second.clone());
    all.put(node("t", 2, None));
    store.apply(all).await.unwrap();
    assert_eq!(get(&store, &Key::thread(&thread_id("t"))).await, Some(second.into()));
    assert_eq!(get(&store, &Key::node(&thread_id("t"), 1)).await, None);
    assert_eq!(get(&store, &Key::node(&thread_id("t"), 2)).await, Some(node("t", 2, None).into()));
}

pub(super) async fn a_failed_precondition_leaves_everything_as_it_was<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    put(&store, [thread("t").into(), node("t", 1, None).into()]).await;
    let mut all = commit([panelot_records::Thread { revision: 9, ..thread("t") }.into(), thread("u").into()]);
    all.writes.push(Write::Delete(Key::node(&thread_id("t"), 1)));
    all.writes.push(Write::DeleteOfThread { table: Table::Nodes, thread: thread_id("t") });
    all.expect(Key::thread(&thread_id("t")), Expected::Revision(1));
    all.expect(Key::node(&thread_id("t"), 1), Expected::Absent);
    let conflict = CommitError::Conflict { key: Key::node(&thread_id("t"), 1) };
    assert_eq!(store.apply(all).await, Err(conflict));
    assert_eq!(get(&store, &Key::thread(&thread_id("t"))).await, Some(thread("t").into()));
    assert_eq!(get(&store, &Key::thread(&thread_id("u"))).await, None);
    assert_eq!(get(&store, &Key::node(&thread_id("t"), 1)).await, Some(node("t", 1, None).into()));
}

pub(super) async fn a_precondition_compares_absence_and_revision<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    put(&store, [thread("t").into()]).await;
    for (id, expected, holds) in [
        ("t", Expected::Revision(1), true),
        ("t", Expected::Revision(0), false),
        ("t", Expected::Revision(2), false),
        ("t", Expected::Absent, false),
        ("none", Expected::Absent, true),
        ("none", Expected::Revision(0), false),
    ] {
        let mut check = commit([Settings::default().into()]);
        check.expect(Key::thread(&thread_id(id)), expected);
        assert_eq!(store.apply(check).await.is_ok(), holds, "{id} {expected:?}");
    }
}

pub(super) async fn a_precondition_looks_at_what_was_there_before_the_commit<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let mut create = commit([thread("t").into()]);
    create.expect(Key::thread(&thread_id("t")), Expected::Absent);
    store.apply(create.clone()).await.unwrap();
    assert!(matches!(store.apply(create).await, Err(CommitError::Conflict { .. })));
}

pub(super) async fn a_precondition_holds_for_a_row_whose_body_cannot_be_read<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let key = Key::thread(&thread_id("t"));
    harness.put_row(&store, &key, &Row { version: 99, revision: 5, json: "{".to_owned() }).await;
    let mut remove = Commit { writes: vec![Write::Delete(key.clone())], ..Commit::default() };
    remove.expect(key.clone(), Expected::Revision(4));
    assert!(matches!(store.apply(remove.clone()).await, Err(CommitError::Conflict { .. })));
    remove.preconditions.clear();
    remove.expect(key.clone(), Expected::Revision(5));
    store.apply(remove).await.unwrap();
    assert!(store.get(&key).await.unwrap().is_none());
}

pub(super) async fn of_two_commits_at_once_with_one_precondition_exactly_one_is_applied<H: Harness>(
    harness: &H,
) {
    let store = harness.fresh().await;
    put(&store, [thread("t").into()]).await;
    let raise = |title: &str| {
        let next = panelot_records::Thread { revision: 2, title: title.to_owned(), ..thread("t") };
        let mut all = commit([next.into()]);
        all.expect(Key::thread(&thread_id("t")), Expected::Revision(1));
        all
    };
    let (a, b) = join(store.apply(raise("a")), store.apply(raise("b"))).await;
    assert_ne!(a.is_ok(), b.is_ok(), "{a:?} {b:?}");
    let Some(Record::Thread(found)) = get(&store, &Key::thread(&thread_id("t"))).await else { panic!() };
    assert_eq!(found.title, if a.is_ok() { "a" } else { "b" });
}

pub(super) async fn deleting_removes_one_record_and_what_is_not_there_is_no_error<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    put(&store, [node("t", 1, None).into(), node("t", 2, Some(1)).into()]).await;
    let delete =
        |seq| Commit { writes: vec![Write::Delete(Key::node(&thread_id("t"), seq))], ..Commit::default() };
    store.apply(delete(1)).await.unwrap();
    store.apply(delete(1)).await.unwrap();
    store.apply(delete(99)).await.unwrap();
    let left = store.scan(&Scan::table(Table::Nodes)).await.unwrap();
    assert_eq!(keys(&left), [Key::node(&thread_id("t"), 2)]);
}

pub(super) async fn a_threads_records_go_from_one_table_and_nobody_elses<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let threads = ["s", "t", "t1", "t-", "u"];
    for id in threads {
        let records: [Record; 5] = [
            thread(id).into(),
            node(id, 1, None).into(),
            node(id, 1_000_000, Some(1)).into(),
            run(id, "r", 1).into(),
            approval(id, "a", "r").into(),
        ];
        put(&store, records).await;
    }
    let mut remove = Commit::default();
    for table in [Table::Nodes, Table::Approvals, Table::Threads] {
        remove.writes.push(Write::DeleteOfThread { table, thread: thread_id("t") });
    }
    store.apply(remove).await.unwrap();
    for (table, each) in [(Table::Nodes, 2), (Table::Approvals, 1), (Table::Threads, 1)] {
        let left = store.scan(&Scan::table(table)).await.unwrap();
        assert_eq!(left.len(), each * (threads.len() - 1), "{table:?}");
        let of_t = Scan::of_thread(table, &thread_id("t"));
        assert_eq!(store.scan(&of_t).await.unwrap(), [], "{table:?}");
    }
    assert_eq!(store.scan(&Scan::table(Table::Runs)).await.unwrap().len(), threads.len());
}

pub(super) async fn an_empty_commit_is_no_transaction<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let before = store.transactions();
    store.apply(Commit::default()).await.unwrap();
    assert_eq!(store.transactions(), before);
}

pub(super) async fn every_commit_is_one_transaction<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let before = store.transactions();
    put(&store, [thread("t").into(), node("t", 1, None).into(), run("t", "r", 1).into()]).await;
    put(&store, [node("t", 2, Some(1)).into()]).await;
    let _ = get(&store, &Key::thread(&thread_id("t"))).await;
    let _ = store.scan(&Scan::table(Table::Nodes)).await.unwrap();
    assert_eq!(store.transactions() - before, 2, "reads are none");
}

pub(super) async fn relaxed_commits_are_read_back<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let relaxed = Commit { durability: Durability::Relaxed, ..commit([node("t", 1, None).into()]) };
    store.apply(relaxed).await.unwrap();
    assert_eq!(get(&store, &Key::node(&thread_id("t"), 1)).await, Some(node("t", 1, None).into()));
}

pub(super) async fn what_was_committed_is_there_after_reopening<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    put(&store, [thread("t").into(), node("t", 1, None).into(), Settings::default().into()]).await;
    let store = harness.reopen(store).await;
    assert_eq!(get(&store, &Key::thread(&thread_id("t"))).await, Some(thread("t").into()));
    assert_eq!(get(&store, &Key::node(&thread_id("t"), 1)).await, Some(node("t", 1, None).into()));
    assert_eq!(get(&store, &Key::settings()).await, Some(Settings::default().into()));
}

pub(super) async fn a_record_of_a_mebibyte_is_kept<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let mut big = node("t", 1, None);
    if let panelot_records::Body::User { text, .. } = &mut big.body {
        *text = "长 long \u{0} \"text\"\n😀".repeat(1024 * 1024 / 24);
    }
    put(&store, [big.clone().into()]).await;
    assert_eq!(get(&store, &Key::node(&thread_id("t"), 1)).await, Some(big.into()));
}

pub(super) async fn keys_may_hold_any_text<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let texts = ["点击", "😀", "e\u{301}", "\u{e9}", "\u{ffff}", "", "a\u{0}b", "a"];
    let grant = |tool: &str| Grant {
        session: panelot_base::SessionId::new("session").unwrap(),
        thread: thread_id("t"),
        tool: tool.to_owned(),
        origin: "https://例え.test".to_owned(),
        at: panelot_base::Timestamp(1),
    };
    put(&store, texts.iter().map(|text| grant(text).into())).await;
    for text in texts {
        let key = Key::grant(&thread_id("t"), text, "https://例え.test");
        assert_eq!(get(&store, &key).await, Some(grant(text).into()), "{text:?}");
        let prefix: Vec<KeyPart> = vec!["t".into(), text.into()];
        let scan = Scan { prefix, ..Scan::table(Table::Grants) };
        assert_eq!(keys(&store.scan(&scan).await.unwrap()), [key], "{text:?}");
    }
    assert_eq!(store.scan(&Scan::table(Table::Grants)).await.unwrap().len(), texts.len());
}
