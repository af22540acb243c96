//! The memory store passes the conformance suite, behaves like a plain map, and fails on demand.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test file, its helpers included"
)]

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use panelot_base::{ClientId, SubmissionId, ThreadId, Timestamp};
use panelot_records::{
    Commit, Expected, Key, KeyPart, Outcome, Receipt, Record, Row, Scan, Settings, Table, Write,
};
use panelot_store::conformance::{self, Harness};
use panelot_store::{CommitError, MemoryStore, Store, StoreError};
use proptest::prelude::*;

/// The memory store never waits, so its futures are ready at once.
fn now<F: Future>(future: F) -> F::Output {
    future.now_or_never().expect("the memory store waited")
}

/// Makes the stores of a suite.
struct Memory(fn() -> MemoryStore);

impl Harness for Memory {
    type Store = MemoryStore;

    async fn fresh(&self) -> MemoryStore {
        (self.0)()
    }

    async fn reopen(&self, store: MemoryStore) -> MemoryStore {
        store.reopen()
    }

    async fn put_row(&self, store: &MemoryStore, key: &Key, row: &Row) {
        store.put_row(key.clone(), row.clone());
    }

    async fn row(&self, store: &MemoryStore, key: &Key) -> Option<Row> {
        store.rows().into_iter().find(|(at, _)| at == key).map(|(_, row)| row)
    }
}

macro_rules! native_case {
    ($name:ident) => {
        #[test]
        fn $name() {
            now(conformance::$name(&Memory(MemoryStore::new)));
        }
    };
}
panelot_store::each_conformance_case!(native_case);

/// The same for the store that keeps records instead of rows.
mod of_records {
    use super::{Memory, MemoryStore, conformance, now};

    macro_rules! records_case {
        ($name:ident) => {
            #[test]
            fn $name() {
                now(conformance::$name(&Memory(MemoryStore::of_records)));
            }
        };
    }
    panelot_store::each_conformance_case!(records_case);
}

fn settings(revision: u64) -> Settings {
    Settings { revision, ..Settings::default() }
}

fn put_settings(revision: u64) -> Commit {
    let mut commit = Commit::default();
    commit.put(settings(revision));
    commit
}

fn stored(store: &MemoryStore) -> Option<u64> {
    match now(store.get(&Key::settings())).unwrap()? {
        Ok(Record::Settings(it)) => Some(it.revision),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_commit_fails_when_it_is_told_to_and_the_next_one_does_not() {
    let store = MemoryStore::new();
    store.fail_next(CommitError::Quota);
    assert_eq!(now(store.apply(put_settings(1))), Err(CommitError::Quota));
    assert_eq!((stored(&store), store.commits(), store.transactions()), (None, 1, 0));
    store.fail_commit(3, CommitError::Unavailable("gone".into()));
    now(store.apply(put_settings(2))).unwrap();
    assert!(now(store.apply(put_settings(3))).is_err());
    now(store.apply(put_settings(4))).unwrap();
    assert_eq!(stored(&store), Some(4));
}

#[test]
fn a_lost_answer_reports_a_failure_of_a_commit_that_was_applied() {
    let store = MemoryStore::new();
    store.lose_answer(1);
    assert!(matches!(now(store.apply(put_settings(1))), Err(CommitError::Unavailable(_))));
    assert_eq!(stored(&store), Some(1));
}

#[test]
fn reads_fail_while_they_are_told_to() {
    let store = MemoryStore::new();
    store.fail_reads(Some(StoreError::Unavailable("closed".into())));
    assert!(now(store.get(&Key::settings())).is_err());
    assert!(now(store.scan(&Scan::table(Table::Runs))).is_err());
    let head = now(store.head(&ThreadId::new("t").unwrap()));
    assert!(head.unwrap_err().is_store_failure());
    store.fail_reads(None);
    assert!(now(store.get(&Key::settings())).is_ok());
}

#[test]
fn reopening_keeps_the_rows_and_forgets_counters_and_faults() {
    let store = MemoryStore::new();
    now(store.apply(put_settings(1))).unwrap();
    store.fail_next(CommitError::Quota);
    let again = store.reopen();
    assert_eq!((again.transactions(), again.commits(), stored(&again)), (0, 0, Some(1)));
    now(again.apply(put_settings(2))).unwrap();
    assert_eq!(stored(&store), Some(2), "both look at the same rows");
}

/// What is done to the store and to the model.
#[derive(Clone, Debug)]
struct Step {
    puts: Vec<(u8, u8, u64)>,
    deletes: Vec<(u8, u8)>,
    expected: Option<(u8, u8, bool)>,
}

fn receipt(client: u8, submission: u8, at: u64) -> Receipt {
    Receipt {
        client: ClientId::new(format!("c{client}")).unwrap(),
        submission: SubmissionId::new(format!("s{submission}")).unwrap(),
        op: "ping".into(),
        payload_digest: String::new(),
        outcome: Outcome::Acknowledged { thread: None, run: None, revision: None },
        at: Timestamp(at),
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let pair = || (0_u8..3, 0_u8..4);
    let puts = prop::collection::vec((0_u8..3, 0_u8..4, any::<u64>()), 0..4);
    let deletes = prop::collection::vec(pair(), 0..2);
    let expected = prop::option::of((0_u8..3, 0_u8..4, any::<bool>()));
    (puts, deletes, expected).prop_map(|(puts, deletes, expected)| Step { puts, deletes, expected })
}

proptest! {
    #[test]
    fn the_store_holds_what_a_plain_map_holds(steps in prop::collection::vec(any_step(), 0..20), limit in 0_usize..6, before in 0_u8..4, descending: bool, records: bool) {
        let store = if records { MemoryStore::of_records() } else { MemoryStore::new() };
        let mut model: BTreeMap<(u8, u8), u64> = BTreeMap::new();
        for step in steps {
            let key = |(client, submission)| receipt(client, submission, 0).into_key();
            let mut commit = Commit::default();
            step.puts.iter().for_each(|(c, s, at)| commit.put(receipt(*c, *s, *at)));
            commit.writes.extend(step.deletes.iter().map(|pair| Write::Delete(key(*pair))));
            let mut holds = true;
            if let Some((c, s, absent)) = step.expected {
                commit.expect(key((c, s)), if absent { Expected::Absent } else { Expected::Revision(0) });
                holds = model.contains_key(&(c, s)) != absent;
            }
            prop_assert_eq!(now(store.apply(commit)).is_ok(), holds);
            if holds {
                model.extend(step.puts.iter().map(|(c, s, at)| ((*c, *s), *at)));
                step.deletes.iter().for_each(|pair| { model.remove(pair); });
            }
        }
        let read = |scan: &Scan| -> Vec<Record> {
            now(store.scan(scan)).unwrap().into_iter().map(Result::unwrap).collect()
        };
        let whole: Vec<Record> = model.iter().map(|((c, s), at)| receipt(*c, *s, *at).into()).collect();
        prop_assert_eq!(read(&Scan::table(Table::Receipts)), whole);
        let bound = KeyPart::Text(format!("s{before}"));
        let scan = Scan { table: Table::Receipts, prefix: vec!["c1".into()], before: Some(bound), descending, limit };
        let mut part: Vec<Record> =
            model.iter().filter(|((c, s), _)| *c == 1 && *s < before).map(|((c, s), at)| receipt(*c, *s, *at).into()).collect();
        if descending {
            part.reverse();
        }
        part.truncate(limit);
        prop_assert_eq!(read(&scan), part);
    }
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
