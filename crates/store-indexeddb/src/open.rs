//! Opening the database and bringing an older one up, step by step. Nothing here ever deletes or wipes.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Reflect;
use panelot_records::Table;
use panelot_store::StoreError;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{IdbDatabase, IdbFactory, IdbOpenDbRequest, IdbTransaction, IdbVersionChangeEvent};

use crate::event::{Failure, Handler, Outcome};
use crate::seal::KEYS;

/// `indexedDB` of this window or worker.
fn factory() -> Result<IdbFactory, StoreError> {
    let found = Reflect::get(&js_sys::global(), &"indexedDB".into()).ok().filter(|it| it.is_object());
    let missing = || StoreError::Unavailable("this browser context has no IndexedDB".to_owned());
    found.map(JsCast::unchecked_into).ok_or_else(missing)
}

/// Opens the database in version `to`, after creating or migrating it where that is due.
pub(crate) async fn open(name: &str, to: u32) -> Result<IdbDatabase, StoreError> {
    let unavailable = |error: JsValue| StoreError::Unavailable(Failure::of(&error).text);
    let request = factory()?.open_with_u32(name, to).map_err(unavailable)?;
    let (outcome, wait) = Outcome::new();
    let why = Rc::new(RefCell::new(None));
    stay_in_charge(&request, to, &outcome, &why);
    let (failed, blocked, on_error) = (outcome.clone(), outcome, request.clone());
    let _error = Handler::set(&request, "onerror", move |_| {
        failed.settle(Err(open_error(Failure::of_request(&on_error), to)));
    });
    let _blocked = Handler::set(&request, "onblocked", move |_| blocked.settle(Err(StoreError::Blocked)));
    match wait.await {
        Ok(Ok(database)) => check_tables(database),
        Ok(Err(error)) => Err(why.take().map_or(error, StoreError::Broken)),
        Err(_) => Err(StoreError::Unavailable(Failure::closed().text)),
    }
}

type Opened = Result<IdbDatabase, StoreError>;

/// Handles the upgrade and the success for as long as the request lives, even when nobody waits for it any more: a
/// blocked request goes through much later, and must then neither raise the version without its migration nor leave a
/// connection open that nobody knows.
fn stay_in_charge(
    request: &IdbOpenDbRequest,
    to: u32,
    outcome: &Outcome<Opened>,
    why: &Rc<RefCell<Option<String>>>,
) {
    let (on_upgrade, on_success) = (request.clone(), request.clone());
    let (outcome, why) = (outcome.clone(), Rc::clone(why));
    let upgrade = Closure::once_into_js(move |event: IdbVersionChangeEvent| {
        let from = event.old_version() as u32;
        if let Err(failure) = upgrade(&on_upgrade, from, to) {
            *why.borrow_mut() =
                Some(format!("it could not be brought up from version {from}: {}", failure.text));
            // Aborting leaves the database as it was and fails the request.
            let _ = on_upgrade.transaction().map(|transaction| transaction.abort());
        }
    });
    let success = Closure::once_into_js(move || match on_success.result() {
        Ok(database) => {
            if let Err(Ok(unwanted)) = outcome.offer(Ok(database.unchecked_into())) {
                unwanted.close();
            }
        }
        Err(error) => outcome.settle(Err(StoreError::Broken(Failure::of(&error).text))),
    });
    request.set_onupgradeneeded(Some(upgrade.unchecked_ref()));
    request.set_onsuccess(Some(success.unchecked_ref()));
}

fn open_error(failure: Failure, to: u32) -> StoreError {
    match failure.name.as_str() {
        "VersionError" => StoreError::Newer { supported: to },
        // Storage that is switched off or full is not a damaged database.
        "SecurityError" | "InvalidStateError" | "QuotaExceededError" | "AbortError" => {
            StoreError::Unavailable(failure.text)
        }
        _ => StoreError::Broken(failure.text),
    }
}

/// Brings the database that is being opened from version `from` to version `to`.
fn upgrade(request: &IdbOpenDbRequest, from: u32, to: u32) -> Result<(), Failure> {
    let failed = |error: JsValue| Failure::of(&error);
    let database: IdbDatabase = request.result().map_err(failed)?.unchecked_into();
    let transaction = request.transaction().ok_or_else(Failure::closed)?;
    for version in from..to {
        step(&database, &transaction, version).map_err(failed)?;
    }
    Ok(())
}

/// The step from `version` to the next one. A released step is never changed: it meets databases that people have.
fn step(database: &IdbDatabase, _transaction: &IdbTransaction, version: u32) -> Result<(), JsValue> {
    match version {
        // An empty database: one store per kind of record, its key beside the row, and the store of the sealing key.
        0 => {
            for table in VERSION_1 {
                database.create_object_store(table)?;
            }
            Ok(())
        }
        _ => Err(js_sys::Error::new(&format!("there is no step from version {version}")).into()),
    }
}

/// The object stores of version 1.
const VERSION_1: [&str; 12] = [
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
];

/// Whether the connection is to a database of the version `to`, whole.
pub(crate) fn is_current(database: &IdbDatabase, to: u32) -> bool {
    database.version() == f64::from(to) && missing_table(database).is_none()
}

fn missing_table(database: &IdbDatabase) -> Option<&'static str> {
    let names = database.object_store_names();
    Table::ALL.iter().map(|table| table.name()).chain([KEYS]).find(|name| !names.contains(name))
}

/// A database of the right version without all its tables was not made by this program.
fn check_tables(database: IdbDatabase) -> Opened {
    match missing_table(&database) {
        None => Ok(database),
        Some(name) => {
            database.close();
            Err(StoreError::Broken(format!("its table {name} is missing")))
        }
    }
}
