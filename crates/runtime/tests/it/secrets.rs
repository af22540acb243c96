//! The passphrase that protects the keys: what is locked waits and goes on, and a change is whole or not at all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use panelot_records::Key;
use panelot_store::CommitError;
use serde_json::{Value, json};

use crate::world::{Reply, World, kinds};

/// A key as a passphrase gives it.
fn key(passphrase: u8) -> String {
    STANDARD.encode([passphrase; 32])
}

fn salt(passphrase: u8) -> String {
    STANDARD.encode([passphrase; 16])
}

fn protect(next: u8, current: Option<u8>) -> Value {
    let mut change = json!({"type": "protect", "salt": salt(next), "key": key(next)});
    if let Some(current) = current {
        change["current"] = json!(key(current));
    }
    json!({"type": "secrets.update", "change": change})
}

fn unprotect(current: u8) -> Value {
    json!({"type": "secrets.update", "change": {"type": "unprotect", "current": key(current)}})
}

fn unlock(world: &mut World, passphrase: u8) -> String {
    let submission = world.send(1, json!({"type": "secrets.unlock", "key": key(passphrase)}));
    world.settle();
    submission
}

/// Sends a change and returns the type of its answer, or the code of its refusal.
fn change(world: &mut World, op: Value) -> String {
    let submission = world.send(1, op);
    world.settle();
    let answer = world.answer(1, &submission);
    answer["code"].as_str().or_else(|| answer["type"].as_str()).unwrap().to_owned()
}

/// What the settings say of the passphrase: its salt, and whether it was given.
fn vault(world: &mut World) -> Option<(String, bool)> {
    world.take(1);
    world.send(1, json!({"type": "settings.get"}));
    world.run();
    let vault = world.seen(1, "settings.updated").pop().unwrap()["settings"]["vault"].clone();
    vault
        .is_object()
        .then(|| (vault["salt"].as_str().unwrap().to_owned(), vault["unlocked"].as_bool().unwrap()))
}

fn state(world: &mut World, thread: &str) -> Value {
    world.snapshot(1, thread)["runs"][0]["state"].clone()
}

/// No request went out without the key, and none is lost: the thread ends with the answer.
fn answered(world: &mut World, thread: &str) {
    let snapshot = world.snapshot(1, thread);
    assert_eq!(snapshot["runs"], json!([]), "{snapshot}");
    assert_eq!(kinds(&snapshot).last().unwrap(), "assistant_message", "{snapshot}");
}

#[test]
fn a_locked_run_waits_with_words_and_goes_on_when_the_keys_are_unlocked() {
    let mut world = World::new();
    assert_eq!(change(&mut world, protect(1, None)), "command.ack");
    assert_eq!(vault(&mut world), Some((salt(1), true)), "whoever sets it has unlocked");
    let mut world = world.restart_browser();
    assert_eq!(vault(&mut world), Some((salt(1), false)));
    world.script([Reply::text(&["Done."])]);
    let thread = world.ask("Go");
    world.settle();
    assert_eq!(state(&mut world, &thread), "paused_locked");
    assert_eq!(world.seen(1, "turn.complete").pop().unwrap()["stopReason"], "locked_pause");
    assert!(world.outside.requests.borrow().is_empty(), "nothing was sent without the key");
    // A message behind it waits its turn.
    let turn = json!({"type": "turn.submit", "threadId": thread, "input": {"text": "And then"}});
    let second = world.send(1, turn);
    world.settle();
    assert_eq!(world.answer(1, &second)["type"], "command.ack");
    let wrong = unlock(&mut world, 2);
    assert_eq!(world.answer(1, &wrong)["error"]["code"], "wrong_passphrase");
    assert_eq!(state(&mut world, &thread), "paused_locked");
    world.script([Reply::text(&["And done."])]);
    let right = unlock(&mut world, 1);
    assert!(world.seen(1, "settings.updated").iter().any(|it| it["submissionId"] == right.as_str()));
    world.settle();
    answered(&mut world, &thread);
    assert_eq!(world.outside.requests.borrow().len(), 2);
}

#[test]
fn what_was_unlocked_stays_so_when_the_worker_dies_and_not_when_the_browser_closes() {
    let mut world = World::new();
    change(&mut world, protect(1, None));
    let mut world = world.kill();
    assert_eq!(vault(&mut world), Some((salt(1), true)));
    world.script([Reply::text(&["Done."])]);
    let thread = world.ask("Go");
    world.settle();
    answered(&mut world, &thread);
    let mut world = world.restart_browser();
    assert_eq!(vault(&mut world), Some((salt(1), false)));
    let thread = world.ask("Again");
    world.settle();
    let mut world = world.kill();
    assert_eq!(state(&mut world, &thread), "paused_locked", "it waits through a death");
    world.script([Reply::text(&["Done."])]);
    unlock(&mut world, 1);
    world.settle();
    answered(&mut world, &thread);
    world.send(1, json!({"type": "secrets.lock"}));
    world.settle();
    assert_eq!(vault(&mut world), Some((salt(1), false)));
    assert!(world.outside.session_key.borrow().is_none());
    let thread = world.ask("Locked by hand");
    world.settle();
    assert_eq!(state(&mut world, &thread), "paused_locked");
}

#[test]
fn a_passphrase_is_changed_and_removed_by_whoever_knows_it() {
    let mut world = World::new();
    assert_eq!(change(&mut world, unprotect(1)), "invalid_command", "there is none");
    assert_eq!(change(&mut world, protect(1, None)), "command.ack");
    assert_eq!(change(&mut world, protect(2, None)), "wrong_passphrase");
    assert_eq!(change(&mut world, protect(2, Some(3))), "wrong_passphrase");
    assert_eq!(change(&mut world, unprotect(2)), "wrong_passphrase");
    assert_eq!(vault(&mut world), Some((salt(1), true)));
    assert_eq!(change(&mut world, protect(2, Some(1))), "command.ack");
    let mut world = world.restart_browser();
    assert_eq!(vault(&mut world), Some((salt(2), false)));
    let thread = world.ask("Go");
    world.settle();
    world.script([Reply::text(&["Done."])]);
    assert_eq!(change(&mut world, unprotect(2)), "command.ack", "it need not be unlocked");
    world.settle();
    answered(&mut world, &thread);
    let mut world = world.restart_browser();
    assert_eq!(vault(&mut world), None);
    world.script([Reply::text(&["Done."])]);
    let thread = world.ask("Go");
    world.settle();
    answered(&mut world, &thread);
}

#[test]
fn a_forgotten_passphrase_costs_the_keys_and_nothing_else() {
    let mut world = World::new();
    world.script([Reply::text(&["Done."])]);
    let thread = world.ask("Go");
    world.settle();
    change(&mut world, protect(1, None));
    let mut world = world.restart_browser();
    assert_eq!(
        change(&mut world, json!({"type": "secrets.update", "change": {"type": "reset"}})),
        "command.ack"
    );
    assert_eq!(vault(&mut world), None);
    let settings = world.seen(1, "settings.updated").pop().unwrap()["settings"].clone();
    assert_eq!(settings["connections"][0]["hasKey"], false);
    assert_eq!(settings["connections"][0]["name"], "Test");
    answered(&mut world, &thread);
    assert!(!world.store.rows().iter().any(|(key, _)| key.table == panelot_records::Table::Secrets));
}

#[test]
fn no_key_is_taken_in_while_they_are_locked() {
    let mut world = World::new();
    change(&mut world, protect(1, None));
    let mut world = world.restart_browser();
    let put = |key: Option<&str>| {
        let mut change = json!({"type": "putConnection", "id": "conn", "name": "Other",
            "baseUrl": "http://localhost:1/v1", "models": ["m"]});
        if let Some(key) = key {
            change["key"] = json!(key);
        }
        json!({"type": "settings.update", "changes": [change]})
    };
    assert_eq!(change(&mut world, put(Some("sk-other"))), "locked");
    assert_eq!(change(&mut world, put(None)), "command.ack", "all else can be changed");
    unlock(&mut world, 1);
    assert_eq!(change(&mut world, put(Some("sk-other"))), "command.ack");
}

/// The worker dies at each place of a change in turn; then the keys open with the old passphrase or with the new one.
fn dies_everywhere(begin: Option<u8>, op: &Value, next: Option<u8>) {
    for fuse in 0..12 {
        let mut world = World::new();
        if let Some(begin) = begin {
            change(&mut world, protect(begin, None));
        }
        world.outside.fuse.set(Some(fuse));
        world.send(1, op.clone());
        world.settle();
        let mut world = world.restart_browser();
        let now = vault(&mut world).map(|(salt, _)| salt);
        assert!(now == begin.map(salt) || now == next.map(salt), "after {fuse}: {now:?}");
        world.script([Reply::text(&["Done."])]);
        let thread = world.ask("Go");
        world.settle();
        for passphrase in [begin, next].into_iter().flatten().filter(|it| now == Some(salt(*it))) {
            assert_eq!(state(&mut world, &thread), "paused_locked", "after {fuse}");
            unlock(&mut world, passphrase);
        }
        world.settle();
        answered(&mut world, &thread);
    }
}

#[test]
fn a_death_at_any_point_of_a_change_leaves_the_old_or_the_new_and_never_neither() {
    dies_everywhere(None, &protect(1, None), Some(1));
    dies_everywhere(Some(1), &protect(2, Some(1)), Some(2));
    dies_everywhere(Some(1), &unprotect(1), None);
}

#[test]
fn a_change_that_cannot_be_stored_changes_nothing_and_one_whose_answer_is_lost_is_told() {
    let mut world = World::new();
    change(&mut world, protect(1, None));
    world.fail_next_commit(CommitError::Quota);
    assert_eq!(change(&mut world, protect(2, Some(1))), "storage_failed");
    assert_eq!(vault(&mut world), Some((salt(1), true)));
    let next = world.opened.commits() + 1;
    world.opened.lose_answer(next);
    assert_eq!(change(&mut world, protect(2, Some(1))), "storage_failed");
    assert_eq!(vault(&mut world), Some((salt(2), true)), "the directory is read anew");
}

#[test]
fn neither_passphrase_nor_key_lies_in_the_store_or_goes_out_to_a_view() {
    let mut world = World::new();
    change(&mut world, protect(1, None));
    unlock(&mut world, 1);
    change(&mut world, protect(2, Some(1)));
    let raw = world.outside.session_key.borrow().clone().unwrap().expose().to_owned();
    let raw = raw.split(' ').next_back().unwrap().to_owned();
    let said = json!(world.take(1)).to_string();
    for (at, row) in world.store.rows() {
        for secret in [&key(1), &key(2), &raw, "sk-secret"] {
            assert!(!row.json.contains(secret), "{at:?}");
        }
    }
    for secret in [&key(1), &key(2), &raw, "sk-secret"] {
        assert!(!said.contains(secret));
    }
    assert!(world.store.rows().iter().any(|(at, _)| *at == Key::vault()));
}
