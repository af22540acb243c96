//! In a real browser: the conformance suite, and what only IndexedDB can do wrong.

use std::cell::Cell;

use futures_util::future::join;
use js_sys::{Array, Reflect};
use panelot_base::{ConnectionId, Secret, ThreadId};
use panelot_records::{
    Commit, Durability, Key, KeyPart, Record, Row, SCHEMA_VERSION, Scan, Settings, Table, Write,
};
use panelot_store::conformance::{self, Harness};
use panelot_store::{CommitError, Store, StoreError};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::{CryptoKey, DomException, IdbDatabase, IdbFactory, IdbOpenDbRequest, IdbTransactionMode};

use crate::IndexedDbStore;
use crate::event::{Completion, Failure, Outcome, finished};
use crate::open::open;
use crate::row::{key_to_js, row_from_js, row_to_js};
use crate::store::commit_error;

// A worker, because that is where the engine runs.
wasm_bindgen_test_configure!(run_in_dedicated_worker);

thread_local! {
    static DATABASES: Cell<u32> = const { Cell::new(0) };
}

/// A name that no other test of any run has used.
fn fresh_name() -> String {
    let count = DATABASES.get();
    DATABASES.set(count + 1);
    format!("test-{count}-{}", js_sys::Math::random())
}

struct Browser;

impl Harness for Browser {
    type Store = IndexedDbStore;

    async fn fresh(&self) -> IndexedDbStore {
        IndexedDbStore::open(&fresh_name()).await.unwrap()
    }

    async fn reopen(&self, store: IndexedDbStore) -> IndexedDbStore {
        let name = store.connection.database.name();
        drop(store);
        IndexedDbStore::open(&name).await.unwrap()
    }

    async fn put_row(&self, store: &IndexedDbStore, key: &Key, row: &Row) {
        put_raw(&store.connection.database, key.table.name(), &key_to_js(key), &row_to_js(row)).await;
    }

    async fn row(&self, store: &IndexedDbStore, key: &Key) -> Option<Row> {
        row_from_js(&get_raw(&store.connection.database, key.table.name(), &key_to_js(key)).await)
    }
}

macro_rules! browser_case {
    ($name:ident) => {
        #[wasm_bindgen_test]
        async fn $name() {
            conformance::$name(&Browser).await;
        }
    };
}
panelot_store::each_conformance_case!(browser_case);

fn factory() -> IdbFactory {
    Reflect::get(&js_sys::global(), &"indexedDB".into()).unwrap().unchecked_into()
}

/// Opens a database past the crate under test.
async fn open_raw(name: &str, version: u32, create: impl FnOnce(&IdbDatabase) + 'static) -> IdbDatabase {
    let request = factory().open_with_u32(name, version).unwrap();
    let upgrading: IdbOpenDbRequest = request.clone();
    let upgrade = Closure::once_into_js(move || create(upgrading.result().unwrap().unchecked_ref()));
    request.set_onupgradeneeded(Some(upgrade.unchecked_ref()));
    finished(&request).await.unwrap().unchecked_into()
}

async fn put_raw(database: &IdbDatabase, table: &str, key: &JsValue, value: &JsValue) {
    let mode = IdbTransactionMode::Readwrite;
    let transaction = database.transaction_with_str_and_mode(table, mode).unwrap();
    let completion = Completion::listen(&transaction);
    transaction.object_store(table).unwrap().put_with_key(value, key).unwrap();
    completion.end().await.unwrap();
}

async fn get_raw(database: &IdbDatabase, table: &str, key: &JsValue) -> JsValue {
    let transaction = database.transaction_with_str(table).unwrap();
    finished(&transaction.object_store(table).unwrap().get(key).unwrap()).await.unwrap()
}

fn settings(revision: u64) -> Commit {
    let mut commit = Commit::default();
    commit.put(Settings { revision, ..Settings::default() });
    commit
}

/// The tables of version 1, as released. This list is never edited.
fn create_version_1(database: &IdbDatabase) {
    for table in [
        "approvals",
        "connections",
        "environments",
        "grants",
        "keys",
        "nodes",
        "receipts",
        "rules",
        "runs",
        "secrets",
        "settings",
        "threads",
    ] {
        database.create_object_store(table).unwrap();
    }
}

/// Rows of a database of version 1, as released: table, key, revision, body.
const FIXTURE_1: [(&str, &[&str], u32, &str); 3] = [
    (
        "threads",
        &["t"],
        4,
        r#"{"id":"t","revision":4,"title":"Order","createdAt":1,"updatedAt":2,"leaf":1,"nextSeq":2,"nextOrder":2,"openRuns":["r"]}"#,
    ),
    (
        "runs",
        &["t", "r"],
        3,
        r#"{"id":"r","thread":"t","turn":"u","revision":3,"state":"interrupted","order":1,"client":"c","submission":"s","createdAt":1,"updatedAt":2}"#,
    ),
    ("settings", &["global"], 2, r#"{"revision":2,"policy":"always"}"#),
];

#[wasm_bindgen_test]
async fn a_database_of_version_1_is_still_read() {
    let name = fresh_name();
    let database = open_raw(&name, 1, create_version_1).await;
    for (table, parts, revision, json) in FIXTURE_1 {
        let key: Array = parts.iter().map(|part| JsValue::from_str(part)).collect();
        let row = Row { version: 1, revision: u64::from(revision), json: json.to_owned() };
        put_raw(&database, table, &key, &row_to_js(&row)).await;
    }
    let node = r#"{"thread":"t","seq":1,"parent":null,"at":1,"turn":"u","body":{"type":"user","text":"hi","defaultTab":null,"submission":"s"}}"#;
    let row = Row { version: 1, revision: 0, json: node.to_owned() };
    let key = Array::of2(&"t".into(), &JsValue::from_f64(1.0));
    put_raw(&database, "nodes", &key, &row_to_js(&row)).await;
    database.close();

    let store = IndexedDbStore::open(&name).await.unwrap();
    let head = store.head(&ThreadId::new("t").unwrap()).await.unwrap().unwrap();
    assert_eq!((head.thread.title.as_str(), head.runs.len(), head.page.len()), ("Order", 1, 1));
    let Some(Ok(Record::Settings(settings))) = store.get(&Key::settings()).await.unwrap() else { panic!() };
    assert_eq!(settings.policy, "always");
}

#[wasm_bindgen_test]
async fn a_new_database_has_the_present_version_and_every_table() {
    let name = fresh_name();
    let store = IndexedDbStore::open(&name).await.unwrap();
    assert_eq!(store.connection.database.version(), f64::from(SCHEMA_VERSION));
    let names = store.connection.database.object_store_names();
    assert!(Table::ALL.iter().all(|table| names.contains(table.name())));
    assert_eq!(names.length() as usize, Table::ALL.len() + 1, "and the one of the sealing key");
}

#[wasm_bindgen_test]
async fn a_newer_database_is_reported_and_left_alone() {
    let name = fresh_name();
    let newer = SCHEMA_VERSION + 1;
    let database = open_raw(&name, newer, |database| {
        database.create_object_store("future").unwrap();
    })
    .await;
    put_raw(&database, "future", &"k".into(), &"v".into()).await;
    database.close();
    let error = IndexedDbStore::open(&name).await.err().unwrap();
    assert_eq!(error, StoreError::Newer { supported: SCHEMA_VERSION });
    let database = open_raw(&name, newer, |_| panic!("it was wiped")).await;
    assert_eq!(get_raw(&database, "future", &"k".into()).await, "v");
}

#[wasm_bindgen_test]
async fn a_database_without_its_tables_is_reported_and_left_alone() {
    let name = fresh_name();
    let database = open_raw(&name, SCHEMA_VERSION, |database| {
        database.create_object_store("threads").unwrap();
    })
    .await;
    put_raw(&database, "threads", &"k".into(), &"v".into()).await;
    database.close();
    let error = IndexedDbStore::open(&name).await.err().unwrap();
    assert_eq!(error, StoreError::Broken("its table approvals is missing".to_owned()));
    let database = open_raw(&name, SCHEMA_VERSION, |_| panic!("it was wiped")).await;
    assert_eq!(get_raw(&database, "threads", &"k".into()).await, "v");
}

#[wasm_bindgen_test]
async fn a_migration_that_fails_leaves_the_older_database_as_it_was() {
    let name = fresh_name();
    let store = IndexedDbStore::open(&name).await.unwrap();
    store.apply(settings(1)).await.unwrap();
    drop(store);
    // There is no step to a version after the present one.
    let error = open(&name, SCHEMA_VERSION + 1).await.err().unwrap();
    assert!(matches!(&error, StoreError::Broken(why) if why.contains("no step from version")), "{error:?}");
    let store = IndexedDbStore::open(&name).await.unwrap();
    assert!(store.get(&Key::settings()).await.unwrap().is_some_and(|it| it.is_ok()));
}

#[wasm_bindgen_test]
async fn a_newer_program_takes_the_database_over_and_the_older_one_says_so() {
    let name = fresh_name();
    let store = IndexedDbStore::open(&name).await.unwrap();
    let newer = open_raw(&name, SCHEMA_VERSION + 1, |_| {}).await;
    assert!(matches!(store.get(&Key::settings()).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(store.apply(settings(1)).await, Err(CommitError::Unavailable(_))));
    let sealed = Write::Seal { connection: ConnectionId::new("c").unwrap(), secret: Secret::new("s") };
    let sealing = Commit { writes: vec![sealed], ..Commit::default() };
    // Whether there is a passphrase cannot be read either.
    assert!(matches!(store.apply(sealing).await, Err(CommitError::Unavailable(_))));
    newer.close();
}

#[wasm_bindgen_test]
async fn an_upgrade_that_is_blocked_says_so_and_never_goes_through_half_done() {
    let name = fresh_name();
    let holder = open_raw(&name, SCHEMA_VERSION, create_version_1).await;
    assert_eq!(open(&name, SCHEMA_VERSION + 1).await.err(), Some(StoreError::Blocked));
    // The holder lets go: the request, which nobody waits for, runs its migration, which fails here and is undone.
    holder.close();
    let store = IndexedDbStore::open(&name).await.unwrap();
    assert_eq!(store.connection.database.version(), f64::from(SCHEMA_VERSION));
    assert!(store.scan(&Scan::table(Table::Threads)).await.unwrap().is_empty());
}

#[wasm_bindgen_test]
async fn a_connection_that_nobody_waits_for_is_closed() {
    let name = fresh_name();
    let (outcome, _) = Outcome::<()>::new();
    assert_eq!(outcome.offer(()), Err(()), "nobody waits");
    let abandoned = open(&name, SCHEMA_VERSION);
    {
        // Polled once, so that the request is made, and then dropped.
        let mut abandoned = std::pin::pin!(abandoned);
        let _ = futures_util::future::poll_immediate(&mut abandoned).await;
    }
    // A connection that stayed open would block this deletion for ever.
    let deleted = factory().delete_database(&name).unwrap();
    finished(&deleted).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_transaction_has_the_durability_that_was_asked_for() {
    let store = IndexedDbStore::open(&fresh_name()).await.unwrap();
    for (durability, word) in [(Durability::Strict, "strict"), (Durability::Relaxed, "relaxed")] {
        let mode = IdbTransactionMode::Readwrite;
        let transaction = store.connection.begin(&["nodes"], mode, Some(durability)).unwrap();
        assert_eq!(Reflect::get(&transaction, &"durability".into()).unwrap(), word);
    }
}

#[wasm_bindgen_test]
fn a_full_disk_is_told_from_other_failures() {
    let failure =
        |name: &str| Failure::of(DomException::new_with_message_and_name("text", name).unwrap().as_ref());
    assert_eq!(commit_error(failure("QuotaExceededError")), CommitError::Quota);
    let other = commit_error(failure("AbortError"));
    assert_eq!(other, CommitError::Unavailable("AbortError: text".to_owned()));
}

#[wasm_bindgen_test]
async fn a_row_that_is_no_row_of_ours_spoils_itself_only() {
    let store = IndexedDbStore::open(&fresh_name()).await.unwrap();
    store.apply(settings(1)).await.unwrap();
    let database = &store.connection.database;
    put_raw(database, "settings", &"stray".into(), &"text".into()).await;
    put_raw(database, "settings", &JsValue::from_f64(1.5), &JsValue::NULL).await;
    let read = store.scan(&Scan::table(Table::Settings)).await.unwrap();
    assert_eq!(read.iter().filter(|it| it.is_ok()).count(), 1);
    let errors: Vec<Key> = read.into_iter().filter_map(|it| it.err().map(|error| error.key)).collect();
    assert!(
        errors.contains(&Key { table: Table::Settings, parts: vec![KeyPart::from("stray")] }),
        "{errors:?}"
    );
    assert_eq!(errors.len(), 2);
}

#[wasm_bindgen_test]
async fn the_sealing_key_cannot_be_taken_out() {
    let store = IndexedDbStore::open(&fresh_name()).await.unwrap();
    let write = Write::Seal { connection: ConnectionId::new("c").unwrap(), secret: Secret::new("s") };
    store.apply(Commit { writes: vec![write], ..Commit::default() }).await.unwrap();
    let key = get_raw(&store.connection.database, "keys", &"seal".into()).await;
    let key: CryptoKey = key.dyn_into().unwrap();
    assert!(!key.extractable());
    let algorithm = key.algorithm().unwrap();
    assert_eq!(Reflect::get(&algorithm, &"name".into()).unwrap(), "AES-GCM");
    assert_eq!(Reflect::get(&algorithm, &"length".into()).unwrap().as_f64(), Some(256.0));
}

#[wasm_bindgen_test]
async fn two_openings_that_seal_at_once_agree_on_one_key() {
    let name = fresh_name();
    let (a, b) = (IndexedDbStore::open(&name).await.unwrap(), IndexedDbStore::open(&name).await.unwrap());
    let id = |id: &str| ConnectionId::new(id).unwrap();
    let seal = |connection: &str| Commit {
        writes: vec![Write::Seal { connection: id(connection), secret: Secret::new(connection) }],
        ..Commit::default()
    };
    let (first, second) = join(a.apply(seal("one")), b.apply(seal("two"))).await;
    first.unwrap();
    second.unwrap();
    assert_eq!(a.secret(&id("two")).await.unwrap(), Some(Secret::new("two")));
    assert_eq!(b.secret(&id("one")).await.unwrap(), Some(Secret::new("one")));
}

#[wasm_bindgen_test]
async fn without_its_key_a_secret_is_an_error_and_not_an_empty_one() {
    let name = fresh_name();
    let store = IndexedDbStore::open(&name).await.unwrap();
    let id = ConnectionId::new("c").unwrap();
    let write = Write::Seal { connection: id.clone(), secret: Secret::new("s") };
    store.apply(Commit { writes: vec![write], ..Commit::default() }).await.unwrap();
    drop(store);
    let database = open_raw(&name, SCHEMA_VERSION, |_| panic!("it was wiped")).await;
    put_raw(&database, "keys", &"seal".into(), &"not a key".into()).await;
    database.close();
    let store = IndexedDbStore::open(&name).await.unwrap();
    assert!(matches!(store.secret(&id).await, Err(StoreError::Seal(_))));
}

/// What `prefetch.js` hands over: the connection, and keys and rows of each table named.
async fn prefetched(database: &IdbDatabase, tables: &[&str]) -> JsValue {
    let list = Array::new();
    for name in tables {
        let store = database.transaction_with_str(name).unwrap().object_store(name).unwrap();
        let keys = finished(&store.get_all_keys().unwrap()).await.unwrap();
        let rows = finished(&store.get_all().unwrap()).await.unwrap();
        list.push(&Array::of3(&JsValue::from_str(name), &keys, &rows));
    }
    let object = js_sys::Object::new();
    Reflect::set(&object, &"database".into(), database).unwrap();
    Reflect::set(&object, &"tables".into(), &list).unwrap();
    object.into()
}

#[wasm_bindgen_test]
async fn what_was_read_before_is_adopted_as_if_it_were_read_here() {
    let name = fresh_name();
    let store = IndexedDbStore::open(&name).await.unwrap();
    let mut commit = Commit::default();
    commit.put(Settings::default());
    store.apply(commit).await.unwrap();
    let read = store.scan(&Scan::table(Table::Settings)).await.unwrap();
    assert_eq!(read.len(), 1);
    drop(store);
    let database = open(&name, SCHEMA_VERSION).await.unwrap();
    let handed = prefetched(&database, &["settings", "threads"]).await;
    let (adopted, reads) = IndexedDbStore::adopt(&handed).unwrap();
    assert_eq!(reads, [(Table::Settings, read.clone()), (Table::Threads, Vec::new())]);
    assert_eq!(adopted.scan(&Scan::table(Table::Settings)).await.unwrap(), read);
}

#[wasm_bindgen_test]
async fn a_database_of_another_version_or_without_its_tables_is_not_adopted_and_let_go() {
    assert!(IndexedDbStore::adopt(&JsValue::UNDEFINED).is_none());
    let name = fresh_name();
    let factory: IdbFactory = Reflect::get(&js_sys::global(), &"indexedDB".into()).unwrap().unchecked_into();
    let request = factory.open_with_u32(&name, SCHEMA_VERSION).unwrap();
    let database: IdbDatabase = finished(&request).await.unwrap().unchecked_into();
    let handed = prefetched(&database, &[]).await;
    assert!(IndexedDbStore::adopt(&handed).is_none(), "it has no tables");
    // A closed connection does not block the next version.
    let request = factory.open_with_u32(&name, SCHEMA_VERSION + 1).unwrap();
    let database: IdbDatabase = finished(&request).await.unwrap().unchecked_into();
    let handed = prefetched(&database, &[]).await;
    assert!(IndexedDbStore::adopt(&handed).is_none(), "it is newer");
}
