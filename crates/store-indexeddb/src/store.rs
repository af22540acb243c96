//! The store: one commit, one transaction; one read, one transaction.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Array, Object, Reflect};
use panelot_base::SortedSet;
use panelot_records::{Commit, Durability, Expected, Key, Precondition, SCHEMA_VERSION, Scan, Table};
use panelot_store::{Change, CommitError, Prepared, ReadRecord, Sealer, Store, StoreError, prepare};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    IdbCursorDirection, IdbCursorWithValue, IdbDatabase, IdbObjectStore, IdbRequest, IdbTransaction,
    IdbTransactionMode,
};

use crate::event::{Completion, Failure, Handler, Outcome, finished};
use crate::open::{is_current, open};
use crate::row::{key_from_js, key_to_js, range, record, revision_of, row_to_js, window};
use crate::seal::{KEYS, WebCipher};

#[wasm_bindgen]
extern "C" {
    /// `IDBDatabase`, for the one call that web-sys has only behind its flag for unstable interfaces.
    type DatabaseWithOptions;

    /// `transaction(names, mode, {durability})`: in every browser that the manifest admits (Chrome 83 and later).
    #[wasm_bindgen(method, catch)]
    fn transaction(
        this: &DatabaseWithOptions,
        names: &Array,
        mode: &str,
        options: &Object,
    ) -> Result<IdbTransaction, JsValue>;
}

/// An open database, shared by the store and its sealer.
pub(crate) struct Connection {
    pub(crate) database: IdbDatabase,
    /// Why it can no longer be used.
    closed: Rc<RefCell<Option<String>>>,
    transactions: Cell<u64>,
    _handlers: [Handler; 2],
}

impl Connection {
    fn new(database: IdbDatabase) -> Self {
        let closed = Rc::new(RefCell::new(None));
        let (upgrade, lost, to_close) = (Rc::clone(&closed), Rc::clone(&closed), database.clone());
        let handlers = [
            Handler::set(&database, "onversionchange", move |_| {
                // Another version of the program wants the database: holding on to it would block that one for ever.
                to_close.close();
                *upgrade.borrow_mut() = Some("another version of the program has taken it over".to_owned());
            }),
            Handler::set(&database, "onclose", move |_| {
                *lost.borrow_mut() = Some("the browser has closed it".to_owned());
            }),
        ];
        Self { database, closed, transactions: Cell::new(0), _handlers: handlers }
    }

    /// Begins a transaction over the named object stores.
    pub(crate) fn begin(
        &self,
        names: &[&str],
        mode: IdbTransactionMode,
        durability: Option<Durability>,
    ) -> Result<IdbTransaction, StoreError> {
        if let Some(why) = self.closed.borrow().as_ref() {
            return Err(StoreError::Unavailable(why.clone()));
        }
        let word = match mode {
            IdbTransactionMode::Readwrite => "readwrite",
            _ => "readonly",
        };
        let options = Object::new();
        if let Some(durability) = durability {
            let durability = match durability {
                Durability::Strict => "strict",
                Durability::Relaxed => "relaxed",
            };
            // Setting a property of a fresh object cannot fail.
            let _ = Reflect::set(&options, &"durability".into(), &durability.into());
        }
        let list: Array = names.iter().map(|name| JsValue::from_str(name)).collect();
        let database: &DatabaseWithOptions = self.database.unchecked_ref();
        let transaction = database
            .transaction(&list, word, &options)
            .map_err(|error| StoreError::Unavailable(Failure::of(&error).text))?;
        if mode == IdbTransactionMode::Readwrite {
            self.transactions.set(self.transactions.get().saturating_add(1));
        }
        Ok(transaction)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.database.close();
    }
}

/// The records of each table that was read.
pub type TableReads = Vec<(Table, Vec<ReadRecord>)>;

/// Records in IndexedDB.
pub struct IndexedDbStore {
    pub(crate) connection: Rc<Connection>,
    sealer: Sealer<WebCipher>,
}

impl IndexedDbStore {
    /// Opens the database `name` ([`crate::DATABASE`] in the extension), after creating or migrating it where due.
    ///
    /// # Errors
    /// [`StoreError::Newer`], [`StoreError::Blocked`], [`StoreError::Broken`] or [`StoreError::Unavailable`]; whatever
    /// it is, the database is left as it was found.
    pub async fn open(name: &str) -> Result<Self, StoreError> {
        let connection = Rc::new(Connection::new(open(name, SCHEMA_VERSION).await?));
        Ok(Self::over(connection))
    }

    /// Takes over the connection that the extension's `prefetch.js` opened, with the records of each table that it read:
    /// `{database, tables: [[name, keys, rows]]}`. `None` when it is not that, or the database is not of this version; then
    /// it is closed, and [`Self::open`] says what is wrong.
    #[must_use]
    pub fn adopt(prefetched: &JsValue) -> Option<(Self, TableReads)> {
        let database: IdbDatabase = Reflect::get(prefetched, &"database".into()).ok()?.dyn_into().ok()?;
        let reads = is_current(&database, SCHEMA_VERSION).then(|| reads(prefetched)).flatten();
        if reads.is_none() {
            database.close();
        }
        let reads = reads?;
        let connection = Rc::new(Connection::new(database));
        Some((Self::over(connection), reads))
    }

    fn over(connection: Rc<Connection>) -> Self {
        let sealer = Sealer::new(WebCipher::new(Rc::clone(&connection)));
        Self { connection, sealer }
    }

    fn begin_read(&self, table: Table) -> Result<IdbObjectStore, StoreError> {
        let transaction = self.connection.begin(&[table.name()], IdbTransactionMode::Readonly, None)?;
        transaction.object_store(table.name()).map_err(|error| unreadable(Failure::of(&error)))
    }

    /// Keys and rows in descending order. A cursor costs an event for each row, so numbers below a bound are asked for all
    /// at once, as if none were missing; where some are, a cursor looks.
    async fn newest(&self, scan: &Scan) -> Result<Found, StoreError> {
        if let Some((lowest, range)) = window(scan).map_err(unreadable)? {
            let found = forwards(&self.begin_read(scan.table)?, &range, scan.limit).await;
            let mut found = found.map_err(unreadable)?;
            if found.len() == scan.limit || lowest == 0 {
                found.reverse();
                return Ok(found);
            }
        }
        let range = range(scan).map_err(unreadable)?;
        backwards(&self.begin_read(scan.table)?, &range, scan.limit).await.map_err(unreadable)
    }

    async fn oldest(&self, scan: &Scan) -> Result<Found, StoreError> {
        let range = range(scan).map_err(unreadable)?;
        forwards(&self.begin_read(scan.table)?, &range, scan.limit).await.map_err(unreadable)
    }
}

impl Store for IndexedDbStore {
    type Cipher = WebCipher;

    fn sealer(&self) -> &Sealer<WebCipher> {
        &self.sealer
    }

    async fn apply(&self, commit: Commit) -> Result<(), CommitError> {
        if commit.is_empty() {
            return Ok(());
        }
        let prepared = prepare(commit, self).await?;
        // From here to `end` nothing is awaited: the transaction would commit what it has so far.
        let transaction = self
            .connection
            .begin(&tables(&prepared), IdbTransactionMode::Readwrite, Some(prepared.durability))
            .map_err(|error| CommitError::Unavailable(error.to_string()))?;
        let completion = Completion::listen(&transaction);
        let conflict = Rc::new(RefCell::new(None));
        let issued = issue(&transaction, &prepared, self.sealer.cipher(), &conflict);
        if issued.is_err() {
            // Half of a commit must not be committed. It fails only where the transaction is over already.
            let _ = transaction.abort();
        }
        let ended = completion.end().await;
        if let Some(key) = conflict.take() {
            return Err(CommitError::Conflict { key });
        }
        match (issued, ended) {
            (Ok(_checks), Ok(())) => Ok(()),
            (Err(failure), _) | (Ok(_), Err(failure)) => Err(commit_error(failure)),
        }
    }

    async fn get(&self, key: &Key) -> Result<Option<ReadRecord>, StoreError> {
        let store = self.begin_read(key.table)?;
        let request = store.get(&key_to_js(key)).map_err(|error| unreadable(Failure::of(&error)))?;
        let row = finished(&request).await.map_err(unreadable)?;
        Ok((!row.is_undefined()).then(|| record(key, &row)))
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<ReadRecord>, StoreError> {
        if scan.limit == 0 {
            return Ok(Vec::new());
        }
        let found = if scan.descending { self.newest(scan).await? } else { self.oldest(scan).await? };
        let read = |(key, row): (JsValue, JsValue)| record(&key_from_js(scan.table, &key), &row);
        Ok(found.into_iter().map(read).collect())
    }

    fn transactions(&self) -> u64 {
        self.connection.transactions.get()
    }
}

/// The records of each table that was read beforehand.
fn reads(prefetched: &JsValue) -> Option<TableReads> {
    let tables: Array = Reflect::get(prefetched, &"tables".into()).ok()?.dyn_into().ok()?;
    let read = |entry: JsValue| {
        let entry: Array = entry.dyn_into().ok()?;
        let name = entry.get(0).as_string()?;
        let table = Table::ALL.iter().copied().find(|table| table.name() == name)?;
        let (keys, rows): (Array, Array) = (entry.get(1).dyn_into().ok()?, entry.get(2).dyn_into().ok()?);
        let found = keys.iter().zip(rows.iter());
        Some((table, found.map(|(key, row)| record(&key_from_js(table, &key), &row)).collect()))
    };
    tables.iter().map(read).collect()
}

/// The object stores that a commit touches.
fn tables(prepared: &Prepared) -> Vec<&'static str> {
    let checked = prepared.preconditions.iter().map(|it| it.key.table);
    let changed = prepared.changes.iter().filter_map(Change::table);
    let all: SortedSet<Table> = checked.chain(changed).collect();
    let key = prepared.changes.iter().any(|change| change.table().is_none());
    all.into_iter().map(Table::name).chain(key.then_some(KEYS)).collect()
}

/// Makes every request of a commit. The checks come first, and requests are carried out in order, so that each check
/// sees what was there before; one that fails aborts the transaction and takes the changes behind it back.
fn issue(
    transaction: &IdbTransaction,
    prepared: &Prepared,
    cipher: &WebCipher,
    conflict: &Rc<RefCell<Option<Key>>>,
) -> Result<Vec<Handler>, Failure> {
    let failed = |error: JsValue| Failure::of(&error);
    let mut checks = Vec::with_capacity(prepared.preconditions.len());
    for precondition in &prepared.preconditions {
        let store = transaction.object_store(precondition.key.table.name()).map_err(failed)?;
        let request = store.get(&key_to_js(&precondition.key)).map_err(failed)?;
        checks.push(check(&request, transaction, precondition, conflict));
    }
    for change in &prepared.changes {
        let store = transaction.object_store(change.table().map_or(KEYS, Table::name)).map_err(failed)?;
        match change {
            Change::Put(key, row) => store.put_with_key(&row_to_js(row), &key_to_js(key)).map_err(failed)?,
            Change::Delete(key) => store.delete(&key_to_js(key)).map_err(failed)?,
            Change::DeleteOfThread(table, thread) => {
                store.delete(&range(&Scan::of_thread(*table, thread))?).map_err(failed)?
            }
            Change::Clear(_) => store.clear().map_err(failed)?,
            Change::ForgetDeviceKey => WebCipher::forget(&store).map_err(failed)?,
            Change::KeepDeviceKey => cipher.keep_handed(&store).map_err(failed)?,
        };
    }
    Ok(checks)
}

fn check(
    request: &IdbRequest,
    transaction: &IdbTransaction,
    precondition: &Precondition,
    conflict: &Rc<RefCell<Option<Key>>>,
) -> Handler {
    let (read, transaction, conflict) = (request.clone(), transaction.clone(), Rc::clone(conflict));
    let Precondition { key, expected } = precondition.clone();
    Handler::set(request, "onsuccess", move |_| {
        let row = read.result().unwrap_or(JsValue::UNDEFINED);
        let holds = match expected {
            Expected::Absent => row.is_undefined(),
            Expected::Revision(revision) => revision_of(&row) == Some(revision),
        };
        if !holds && conflict.borrow().is_none() {
            *conflict.borrow_mut() = Some(key.clone());
            // It fails only where the transaction is over already, and then `end` says why.
            let _ = transaction.abort();
        }
    })
}

pub(crate) fn commit_error(failure: Failure) -> CommitError {
    match failure.name.as_str() {
        "QuotaExceededError" => CommitError::Quota,
        _ => CommitError::Unavailable(failure.text),
    }
}

fn unreadable(failure: Failure) -> StoreError {
    match failure.name.as_str() {
        // A row or a file of the database that the browser itself cannot read any more.
        "NotFoundError" | "DataError" | "UnknownError" | "NotReadableError" => {
            StoreError::Broken(failure.text)
        }
        _ => StoreError::Unavailable(failure.text),
    }
}

type Found = Vec<(JsValue, JsValue)>;

/// Keys and rows in ascending order: two requests for all of them, of one transaction and so of one moment.
async fn forwards(store: &IdbObjectStore, range: &JsValue, limit: usize) -> Result<Found, Failure> {
    let failed = |error: JsValue| Failure::of(&error);
    let (keys, rows) = match u32::try_from(limit) {
        Ok(limit) => (
            store.get_all_keys_with_key_and_limit(range, limit).map_err(failed)?,
            store.get_all_with_key_and_limit(range, limit).map_err(failed)?,
        ),
        Err(_) => (
            store.get_all_keys_with_key(range).map_err(failed)?,
            store.get_all_with_key(range).map_err(failed)?,
        ),
    };
    // They are answered in the order of asking: once the rows are there, so are the keys.
    let rows: Array = finished(&rows).await?.unchecked_into();
    let keys: Array = keys.result().map_err(failed)?.unchecked_into();
    Ok(keys.iter().zip(rows.iter()).collect())
}

/// Keys and rows in descending order, by a cursor.
async fn backwards(store: &IdbObjectStore, range: &JsValue, limit: usize) -> Result<Found, Failure> {
    let request = store
        .open_cursor_with_range_and_direction(range, IdbCursorDirection::Prev)
        .map_err(|error| Failure::of(&error))?;
    let (outcome, wait) = Outcome::new();
    let failed = outcome.clone();
    let (on_success, on_error) = (request.clone(), request.clone());
    let mut found = Found::new();
    let _success = Handler::set(&request, "onsuccess", move |_| match take(&on_success, &mut found, limit) {
        Ok(true) => {}
        Ok(false) => outcome.settle(Ok(std::mem::take(&mut found))),
        Err(error) => outcome.settle(Err(Failure::of(&error))),
    });
    let _error =
        Handler::set(&request, "onerror", move |_| failed.settle(Err(Failure::of_request(&on_error))));
    wait.await.unwrap_or_else(|_| Err(Failure::closed()))
}

/// Takes what the cursor shows and moves it on. `false` when it is through.
fn take(request: &IdbRequest, found: &mut Found, limit: usize) -> Result<bool, JsValue> {
    let shown = request.result()?;
    if shown.is_null() {
        return Ok(false);
    }
    let cursor: IdbCursorWithValue = shown.unchecked_into();
    found.push((cursor.key()?, cursor.value()?));
    if found.len() >= limit {
        return Ok(false);
    }
    cursor.continue_()?;
    Ok(true)
}
