//! A store in memory, with the order and the refusals of a real one, and faults on demand.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use panelot_base::ThreadId;
use panelot_records::{Commit, Expected, Key, KeyPart, Precondition, Record, Row, Scan, Table, Write};

use crate::error::{CommitError, StoreError};
use crate::prepare::{Change, prepare};
use crate::seal::{Sealer, TestCipher};
use crate::store::{ReadRecord, Store};

/// Where a row lies: its table, and its key as bytes whose order is IndexedDB's. Texts are ordered there by UTF-16 code
/// units, which differs from Rust's order above U+FFFF.
type Place = (Table, Vec<u8>);

/// A byte behind every component's first one: a place with it lies behind all that extend a prefix.
const BEHIND: u8 = 3;

fn append(bytes: &mut Vec<u8>, part: &KeyPart) {
    match part {
        KeyPart::Number(number) => {
            bytes.push(1);
            bytes.extend(number.to_be_bytes());
        }
        KeyPart::Text(text) => {
            bytes.push(2);
            // Each unit is announced, so that the end of a text comes before every longer text.
            bytes.extend(text.encode_utf16().flat_map(|unit| {
                let [high, low] = unit.to_be_bytes();
                [1, high, low]
            }));
            bytes.push(0);
        }
    }
}

fn place(table: Table, parts: &[KeyPart]) -> Place {
    let mut bytes = Vec::with_capacity(parts.len().saturating_mul(128));
    parts.iter().for_each(|part| append(&mut bytes, part));
    (table, bytes)
}

/// The end of what a prefix reaches, or of what lies before a component that follows it.
fn end_of(first: &Place, before: Option<&KeyPart>) -> Place {
    let mut end = first.clone();
    match before {
        Some(part) => append(&mut end.1, part),
        None => end.1.push(BEHIND),
    }
    end
}

/// What lies at a place.
#[derive(Clone, Debug)]
enum Held {
    Row(Row),
    /// It becomes a row when one is asked for.
    Record(Box<Record>),
}

impl Held {
    fn revision(&self) -> u64 {
        match self {
            Self::Row(row) => row.revision,
            Self::Record(record) => record.revision(),
        }
    }

    fn to_row(&self) -> Row {
        match self {
            Self::Row(row) => row.clone(),
            Self::Record(record) => record.to_row(),
        }
    }

    fn read(&self, key: &Key) -> ReadRecord {
        match self {
            Self::Row(row) => Record::from_row(key, row),
            Self::Record(record) => Ok((**record).clone()),
        }
    }
}

/// What happens to one commit.
#[derive(Clone, Debug)]
struct Fault {
    error: CommitError,
    applied: bool,
}

/// Rows in a map. Clones that are made by [`MemoryStore::reopen`] share them, as two openings of one database do.
pub struct MemoryStore {
    rows: Rc<RefCell<BTreeMap<Place, (Key, Held)>>>,
    /// Records are kept as they are.
    keeps_records: bool,
    sealer: Sealer<TestCipher>,
    transactions: Cell<u64>,
    commits: Cell<u64>,
    faults: RefCell<BTreeMap<u64, Fault>>,
    reads_fail: RefCell<Option<StoreError>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            rows: Rc::default(),
            keeps_records: false,
            sealer: Sealer::new(TestCipher::default()),
            transactions: Cell::default(),
            commits: Cell::default(),
            faults: RefCell::default(),
            reads_fail: RefCell::default(),
        }
    }
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that keeps records as they are and makes rows of them in [`Self::rows`] only. It is for the
    /// simulator, which would spend a third of its time on JSON; it compares those rows with what it committed.
    #[must_use]
    pub fn of_records() -> Self {
        Self { keeps_records: true, ..Self::default() }
    }

    /// The same data, opened anew: what a worker finds after its predecessor died. Counters and faults start afresh.
    #[must_use]
    pub fn reopen(&self) -> Self {
        Self {
            rows: Rc::clone(&self.rows),
            keeps_records: self.keeps_records,
            sealer: Sealer::new(self.sealer.cipher().clone()),
            ..Self::default()
        }
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
        self.hold(key, Held::Row(row));
    }

    fn hold(&self, key: Key, held: Held) {
        self.rows.borrow_mut().insert(place(key.table, &key.parts), (key, held));
    }

    /// All rows, in key order.
    #[must_use]
    pub fn rows(&self) -> Vec<(Key, Row)> {
        self.rows.borrow().values().map(|(key, held)| (key.clone(), held.to_row())).collect()
    }

    fn check_readable(&self) -> Result<(), StoreError> {
        self.reads_fail.borrow().clone().map_or(Ok(()), Err)
    }

    fn holds(&self, key: &Key, expected: Expected) -> bool {
        let rows = self.rows.borrow();
        let found = rows.get(&place(key.table, &key.parts)).map(|(_, held)| held.revision());
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
            Change::DeleteOfThread(table, thread) => self.delete_of_thread(table, &thread),
            Change::Clear(table) => self.rows.borrow_mut().retain(|(of, _), _| *of != table),
            Change::ForgetDeviceKey => self.sealer.cipher().forget(),
            Change::KeepDeviceKey => self.sealer.cipher().keep_handed(),
        }
    }

    fn delete_of_thread(&self, table: Table, thread: &ThreadId) {
        let first = place(table, &[thread.as_str().into()]);
        let end = end_of(&first, None);
        let mut rows = self.rows.borrow_mut();
        let doomed: Vec<Place> = rows.range(first..end).map(|(at, _)| at.clone()).collect();
        for at in doomed {
            rows.remove(&at);
        }
    }

    /// Makes the writes of a commit without turning its records into rows.
    async fn keep(&self, writes: Vec<Write>) -> Result<(), CommitError> {
        for write in writes {
            match write {
                Write::Put(record) => self.hold(record.key(), Held::Record(Box::new(record))),
                Write::PutEnvironment { digest, environment } => {
                    let record = Record::Environment(environment);
                    self.hold(Key::environment(&digest), Held::Record(Box::new(record)));
                }
                Write::Delete(key) => self.change(Change::Delete(key)),
                Write::DeleteOfThread { table, thread } => self.delete_of_thread(table, &thread),
                sealing => {
                    let commit = Commit { writes: vec![sealing], ..Commit::default() };
                    prepare(commit, self).await?.changes.into_iter().for_each(|change| self.change(change));
                }
            }
        }
        Ok(())
    }

    fn check(&self, preconditions: &[Precondition]) -> Result<(), CommitError> {
        match preconditions.iter().find(|it| !self.holds(&it.key, it.expected)) {
            Some(broken) => Err(CommitError::Conflict { key: broken.key.clone() }),
            None => Ok(()),
        }
    }
}

impl Store for MemoryStore {
    type Cipher = TestCipher;

    fn sealer(&self) -> &Sealer<TestCipher> {
        &self.sealer
    }

    async fn apply(&self, commit: Commit) -> Result<(), CommitError> {
        if commit.is_empty() {
            return Ok(());
        }
        self.commits.set(self.commits.get().saturating_add(1));
        let fault = self.faults.borrow_mut().remove(&self.commits.get());
        if self.keeps_records && fault.is_none() {
            self.transactions.set(self.transactions.get().saturating_add(1));
            self.check(&commit.preconditions)?;
            return self.keep(commit.writes).await;
        }
        let prepared = prepare(commit, self).await?;
        if let Some(Fault { error, applied: false }) = fault {
            return Err(error);
        }
        self.transactions.set(self.transactions.get().saturating_add(1));
        self.check(&prepared.preconditions)?;
        prepared.changes.into_iter().for_each(|change| self.change(change));
        fault.map_or(Ok(()), |fault| Err(fault.error))
    }

    async fn get(&self, key: &Key) -> Result<Option<ReadRecord>, StoreError> {
        self.check_readable()?;
        let rows = self.rows.borrow();
        Ok(rows.get(&place(key.table, &key.parts)).map(|(key, held)| held.read(key)))
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<ReadRecord>, StoreError> {
        self.check_readable()?;
        let rows = self.rows.borrow();
        let first = place(scan.table, &scan.prefix);
        let end = end_of(&first, scan.before.as_ref());
        let found = rows.range(first..end).map(|(_, (key, held))| (key, held));
        let read = |(key, held): (&Key, &Held)| held.read(key);
        Ok(if scan.descending {
            found.rev().take(scan.limit).map(read).collect()
        } else {
            found.take(scan.limit).map(read).collect()
        })
    }

    fn transactions(&self) -> u64 {
        self.transactions.get()
    }
}
