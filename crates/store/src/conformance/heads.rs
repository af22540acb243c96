//! What a thread's machine is built from.

use panelot_base::limits::SNAPSHOT_PAGE_NODES;
use panelot_base::{RunId, Timestamp};
use panelot_records::{Key, Node, Record, Row, Thread};

use super::Harness;
use super::sample::{approval, node, put, run, thread, thread_id, waiting_run};
use crate::error::HeadError;
use crate::store::Store;

const PAGE: u64 = SNAPSHOT_PAGE_NODES as u64;

/// A thread with a straight branch of `length` nodes, and then other records.
async fn straight<S: Store>(store: &S, length: u64, open_runs: &[&str], others: Vec<Record>) {
    let open_runs = open_runs.iter().map(|id| RunId::new(*id).unwrap()).collect();
    let leaf = (length > 0).then_some(length);
    put(store, [Thread { leaf, next_seq: length + 1, open_runs, ..thread("t") }.into()]).await;
    put(store, (1..=length).map(|seq| node("t", seq, parent(seq)).into())).await;
    put(store, others).await;
}

fn parent(seq: u64) -> Option<u64> {
    (seq > 1).then(|| seq - 1)
}

fn seqs(nodes: &[Node]) -> Vec<u64> {
    nodes.iter().map(|node| node.seq).collect()
}

fn broken() -> Row {
    Row { version: 1, revision: 0, json: "{".to_owned() }
}

pub(super) async fn a_thread_that_is_absent_or_deleted_has_no_head<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    put(&store, [Thread { deleted_at: Some(Timestamp(3)), ..thread("gone") }.into(), thread("t").into()])
        .await;
    assert_eq!(store.head(&thread_id("none")).await.unwrap(), None);
    assert_eq!(store.head(&thread_id("gone")).await.unwrap(), None);
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(head.thread, thread("t"));
    assert!(head.runs.is_empty() && head.approvals.is_empty() && head.page.is_empty() && !head.has_older);
}

pub(super) async fn a_head_holds_the_open_runs_in_order_and_their_approvals<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let others: Vec<Record> = vec![
        run("t", "zz-first", 4).into(),
        run("t", "second", 5).into(),
        run("t", "ended", 1).into(),
        run("u", "foreign", 1).into(),
        approval("t", "a1", "second").into(),
        approval("t", "a2", "ended").into(),
        approval("u", "a3", "second").into(),
    ];
    straight(&store, 1, &["second", "zz-first"], others).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(head.runs, [run("t", "zz-first", 4), run("t", "second", 5)]);
    assert_eq!(head.approvals, [approval("t", "a1", "second")]);
}

pub(super) async fn a_head_holds_the_newest_page_of_the_active_branch<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    straight(&store, PAGE, &[], vec![]).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(seqs(&head.page), (1..=PAGE).collect::<Vec<_>>());
    assert!(!head.has_older);

    // A long other branch in between and at the end: 1 to PAGE, then PAGE * 3 side nodes, then two more of ours.
    let side = (PAGE + 1..=PAGE * 4).map(|seq| node("t", seq, Some(1)).into());
    put(&store, side).await;
    let (a, b) = (PAGE * 4 + 1, PAGE * 4 + 2);
    put(&store, [node("t", a, Some(PAGE)).into(), node("t", b, Some(a)).into()]).await;
    put(&store, [node("t", b + 1, Some(2)).into(), Thread { leaf: Some(b), ..thread("t") }.into()]).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(seqs(&head.page), (3..=PAGE).chain([a, b]).collect::<Vec<_>>());
    assert!(head.has_older);
}

pub(super) async fn a_page_reaches_back_to_the_message_whose_calls_are_open<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let others = vec![waiting_run("t", "r", 5, "a").into(), approval("t", "a", "r").into()];
    straight(&store, PAGE * 2, &["r"], others).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(seqs(&head.page), (5..=PAGE * 2).collect::<Vec<_>>());
    assert!(head.has_older);
    assert_eq!(head.approvals, [approval("t", "a", "r")]);
}

pub(super) async fn a_broken_node_spoils_only_the_branches_it_lies_on<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    straight(&store, 3, &[], vec![]).await;
    put(&store, [node("t", 5, Some(3)).into(), Thread { leaf: Some(5), ..thread("t") }.into()]).await;
    harness.put_row(&store, &Key::node(&thread_id("t"), 4), &broken()).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(seqs(&head.page), [1, 2, 3, 5]);
    let Err(HeadError::Record(error)) = store.path(&thread_id("t"), 4, 9).await else { panic!() };
    assert_eq!(error.key, Key::node(&thread_id("t"), 4));
    harness.put_row(&store, &Key::node(&thread_id("t"), 2), &broken()).await;
    let error = store.head(&thread_id("t")).await.unwrap_err();
    assert!(matches!(&error, HeadError::Record(error) if error.key == Key::node(&thread_id("t"), 2)));
    assert!(!error.is_store_failure());
    assert_eq!(store.head(&thread_id("other")).await.unwrap(), None, "other threads are read as before");
}

pub(super) async fn what_a_head_refers_to_must_be_there<H: Harness>(harness: &H) {
    let missing = |key: Key| Err(HeadError::Missing { key });
    let store = harness.fresh().await;
    straight(&store, 1, &["r"], vec![]).await;
    let run_key = Key::run(&thread_id("t"), &RunId::new("r").unwrap());
    assert_eq!(store.head(&thread_id("t")).await, missing(run_key));

    let store = harness.fresh().await;
    straight(&store, 1, &["r"], vec![waiting_run("t", "r", 1, "a").into()]).await;
    assert_eq!(store.head(&thread_id("t")).await, missing(approval("t", "a", "r").into_key()));
}

pub(super) async fn what_can_be_read_of_a_damaged_branch_is_read_and_the_damage_told<H: Harness>(
    harness: &H,
) {
    let store = harness.fresh().await;
    put(&store, [Thread { leaf: Some(9), ..thread("t") }.into(), node("t", 9, Some(4)).into()]).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(
        (seqs(&head.page), head.is_cut, head.has_older, head.leaf_lost),
        (vec![9], true, false, false)
    );
    put(&store, [node("t", 3, None).into()]).await;
    assert!(
        store.head(&thread_id("t")).await.unwrap().unwrap().is_cut,
        "another node does not mend the link"
    );

    put(&store, [Thread { leaf: Some(12), ..thread("t") }.into(), node("t", 4, Some(3)).into()]).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!((seqs(&head.page), head.is_cut, head.leaf_lost), (vec![3, 4, 9], false, true));
    let store = harness.fresh().await;
    put(&store, [Thread { leaf: Some(12), ..thread("t") }.into()]).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!((head.page.len(), head.leaf_lost), (0, true));
    let missing = HeadError::Missing { key: Key::node(&thread_id("t"), 12) };
    assert_eq!(store.path(&thread_id("t"), 12, 5).await, Err(missing));
}

/// The key of a record that is not stored.
trait IntoKey {
    fn into_key(self) -> Key;
}

impl<R: Into<Record>> IntoKey for R {
    fn into_key(self) -> Key {
        self.into().key()
    }
}

pub(super) async fn an_unreadable_approval_matters_only_while_a_call_waits_for_it<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let others = vec![waiting_run("t", "r", 1, "needed").into(), approval("t", "needed", "r").into()];
    straight(&store, 1, &["r"], others).await;
    harness.put_row(&store, &approval("t", "old", "r").into_key(), &broken()).await;
    let head = store.head(&thread_id("t")).await.unwrap().unwrap();
    assert_eq!(head.approvals, [approval("t", "needed", "r")]);
    harness.put_row(&store, &approval("t", "needed", "r").into_key(), &broken()).await;
    assert!(matches!(store.head(&thread_id("t")).await, Err(HeadError::Record(_))));
}

pub(super) async fn a_parent_that_is_not_older_cuts_the_branch_and_never_makes_an_endless_loop<H: Harness>(
    harness: &H,
) {
    let store = harness.fresh().await;
    put(&store, [node("t", 1, Some(2)).into(), node("t", 2, Some(1)).into()]).await;
    for (leaf, found) in [(2, vec![1, 2]), (1, vec![1])] {
        let page = store.path(&thread_id("t"), leaf, 10).await.unwrap();
        assert_eq!((seqs(&page.nodes), page.older, page.is_cut), (found, None, true));
    }
}

pub(super) async fn a_path_is_read_in_pages_to_its_root<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    // Every third node is on our branch: 3, 6, 9, …; the others hang below the first one.
    let mine = |seq: u64| seq.is_multiple_of(3);
    let records = (1..=60).map(|seq| match seq {
        3 => node("t", 3, None).into(),
        seq if mine(seq) => node("t", seq, Some(seq - 3)).into(),
        seq => node("t", seq, parent(seq).filter(|_| seq > 3).map(|_| 3)).into(),
    });
    put(&store, records).await;
    let whole: Vec<u64> = (1..=60).filter(|seq| mine(*seq)).collect();
    for limit in [1, 7, 20, 100] {
        let (mut read, mut next) = (Vec::new(), Some(60));
        while let Some(leaf) = next {
            let page = store.path(&thread_id("t"), leaf, limit).await.unwrap();
            assert!(!page.nodes.is_empty() && page.nodes.len() <= limit);
            read.splice(0..0, seqs(&page.nodes));
            next = page.older;
        }
        assert_eq!(read, whole, "{limit}");
    }
    let nothing = store.path(&thread_id("t"), 60, 0).await.unwrap();
    assert_eq!((nothing.nodes.len(), nothing.older), (0, Some(60)));
}
