//! A store in memory, with the order and the refusals of a real one, and faults on demand.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use panelot_records::{Commit, Expected, Key, KeyPart, Record, Row, Scan, Table};

use crate::error::{CommitError, StoreError};
use crate::prepare::{Change, prepare};
use crate::seal::TestSealer;
use crate::store::{ReadRecord, Store};

/// A component as IndexedDB orders it: texts by UTF-16 code units, which differs from Rust's order above U+FFFF.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Text(Vec<u16>),
    /// After every other one: no key holds it, so with it a range over a prefix has its end.
    End,
}

type Place = (Table, Vec<Part>);

fn part(part: &KeyPart) -> Part {
    match part {
        KeyPart::Number(number) => Part::Number(*number),
        KeyPart::Text(text) => Part::Text(text.encode_utf16().collect()),
    }
}

fn place(table: Table, parts: &[KeyPart]) -> Place {
    (table, parts.iter().map(part).collect())
}

/// What happens to one commit.
#[derive(Clone, Debug)]
struct Fault {
    error: CommitError,
    applied: bool,
}

/// Rows in a map. Clones that are made by [`MemoryStore::reopen`] share them, as two openings of one database do.
#[derive(Debug, Default)]
pub struct MemoryStore {
    rows: Rc<RefCell<BTreeMap<Place, (Key, Row)>>>,
    sealer: TestSealer,
    transactions: Cell<u64>,
    commits: Cell<u64>,
    faults: RefCell<BTreeMap<u64, Fault>>,
    reads_fail: RefCell<Option<StoreError>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same data, opened anew: what a worker finds after its predecessor died. Counters and faults start afresh.
    #[must_use]
    pub fn reopen(&self) -> Self {
        Self { rows: Rc::clone(&self.rows), ..Self::default() }
    }

    /// Non-empty commits that this store was asked to apply so far, the refused ones included.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.get()
    }

    /// Makes the next commit fail without effect.
    pub fn fail_next(&self, error: CommitError) {
        self.fail_commit(self.commits.get().saturating_add(1), error);
    }

    /// Makes commit number `n` (from 1, since this store was opened) fail without effect.
    pub fn fail_commit(&self, n: u64, error: CommitError) {
        self.faults.borrow_mut().insert(n, Fault { error, applied: false });
    }

    /// Applies commit number `n` and reports a failure all the same, as when the connection breaks after the write.
    pub fn lose_answer(&self, n: u64) {
        let error = CommitError::Unavailable("the answer was lost".to_owned());
        self.faults.borrow_mut().insert(n, Fault { error, applied: true });
    }

    /// Makes every read fail until it is called with `None`.
    pub fn fail_reads(&self, error: Option<StoreError>) {
        *self.reads_fail.borrow_mut() = error;
    }

    /// Writes a row as it is, past every check: how a test plants a broken record.
    pub fn put_row(&self, key: Key, row: Row) {
        self.rows.borrow_mut().insert(place(key.table, &key.parts), (key, row));
    }

    /// All rows, in key order.
    #[must_use]
    pub fn rows(&self) -> Vec<(Key, Row)> {
        self.rows.borrow().values().cloned().collect()
    }

    fn check_readable(&self) -> Result<(), StoreError> {
        self.reads_fail.borrow().clone().map_or(Ok(()), Err)
    }

    fn holds(&self, key: &Key, expected: Expected) -> bool {
        let rows = self.rows.borrow();
        let found = rows.get(&place(key.table, &key.parts)).map(|(_, row)| row.revision);
        match expected {
            Expected::Absent => found.is_none(),
            Expected::Revision(revision) => found == Some(revision),
        }
    }

    fn change(&self, change: Change) {
        match change {
            Change::Put(key, row) => self.put_row(key, row),
            Change::Delete(key) => {
                self.rows.borrow_mut().remove(&place(key.table, &key.parts));
            }
            Change::DeleteOfThread(table, thread) => {
                let (_, prefix) = place(table, &[thread.as_str().into()]);
                let mut rows = self.rows.borrow_mut();
                let of_thread = |(at, parts): &Place| *at == table && parts.starts_with(&prefix);
                let doomed: Vec<Place> = rows
                    .range((table, prefix.clone())..)
                    .map(|(at, _)| at.clone())
                    .take_while(of_thread)
                    .collect();
                for at in doomed {
                    rows.remove(&at);
                }
            }
        }
    }
}

impl Store for MemoryStore {
    type Sealer = TestSealer;

    fn sealer(&self) -> &TestSealer {
        &self.sealer
    }

    async fn apply(&self, commit: Commit) -> Result<(), CommitError> {
        if commit.is_empty() {
            return Ok(());
        }
        self.commits.set(self.commits.get().saturating_add(1));
        let fault = self.faults.borrow_mut().remove(&self.commits.get());
        let prepared = prepare(commit, &self.sealer).await?;
        if let Some(Fault { error, applied: false }) = fault {
            return Err(error);
        }
        self.transactions.set(self.transactions.get().saturating_add(1));
        if let Some(broken) = prepared.preconditions.iter().find(|it| !self.holds(&it.key, it.expected)) {
            return Err(CommitError::Conflict { key: broken.key.clone() });
        }
        prepared.changes.into_iter().for_each(|change| self.change(change));
        fault.map_or(Ok(()), |fault| Err(fault.error))
    }

    async fn get(&self, key: &Key) -> Result<Option<ReadRecord>, StoreError> {
        self.check_readable()?;
        let rows = self.rows.borrow();
        Ok(rows.get(&place(key.table, &key.parts)).map(|(key, row)| Record::from_row(key, row)))
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<ReadRecord>, StoreError> {
        self.check_readable()?;
        let rows = self.rows.borrow();
        let first = place(scan.table, &scan.prefix);
        let mut end = first.clone();
        end.1.push(scan.before.as_ref().map_or(Part::End, part));
        let found = rows.range(first..end).map(|(_, (key, row))| Record::from_row(key, row));
        Ok(if scan.descending {
            found.rev().take(scan.limit).collect()
        } else {
            found.take(scan.limit).collect()
        })
    }

    fn transactions(&self) -> u64 {
        self.transactions.get()
    }
}
