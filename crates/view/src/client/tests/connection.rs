//! Port, handshake, decoder and outbox: one behaviour per test, the engine's words fed through a fake Port.

use panelot_base::{ClientId, ConnectionId};
use panelot_protocol::event::Pong;
use panelot_protocol::settings::{IncomingKey, SettingsChange};
use panelot_protocol::{Event, Op, PROTOCOL, SCHEMA_HASH, Text};
use serde_json::{Value, json};

use super::engine::Engine;
use super::joining::picture;
use super::rig::{Rig, connected, id, private, tell, thread};
use crate::model::{CommandKind, ConnectionState, Refusal};
use crate::{ClientInput, Command, Timer, outbox_key, unfinished_clients};

#[test]
fn the_handshake_names_protocol_document_window_and_thread() {
    let mut rig = Rig::new("client", 1);
    rig.start(Some(thread("t")), None);
    let Op::Initialize(hello) = rig.last_sent("initialize").op else { unreachable!() };
    assert_eq!((&*hello.protocol, &*hello.schema_hash), (PROTOCOL, SCHEMA_HASH));
    assert_eq!((hello.client_id.as_str(), hello.window_id), ("client", Some(7)));
    assert_eq!(hello.subscribe, Some(thread("t")));
    assert_eq!(rig.model().connection, ConnectionState::Connecting);
    assert!(rig.model().thread.loading);
    let engine = Engine::new("t");
    let rig = connected(&engine);
    assert_eq!(rig.model().connection, ConnectionState::Connected);
    assert!(!rig.model().thread.loading && rig.model().directory.loaded);
    assert!(rig.model().settings.is_some());
}

#[test]
fn reconnecting_backs_off_to_eight_seconds_and_starts_over_once_connected() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.timers.clear();
    rig.connects = false;
    rig.lose_port();
    assert_eq!(rig.model().connection, ConnectionState::Reconnecting { since: rig.now, attempts: 0 });
    for _ in 0..6 {
        rig.fire(Timer::Reconnect);
        rig.input(ClientInput::PortFailed { port: rig.port });
    }
    let delays: Vec<_> = rig.timers.iter().map(|(_, ms)| *ms).collect();
    assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
    assert_eq!(rig.model().connection, ConnectionState::Reconnecting { since: rig.now, attempts: 6 });
    rig.connects = true;
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    rig.timers.clear();
    rig.lose_port();
    assert_eq!(rig.timers, [(Timer::Reconnect, 500)]);
}

#[test]
fn the_person_can_call_the_engine_back_at_once() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.lose_port();
    rig.command(Command::Reconnect);
    assert_eq!(rig.sent_names(), ["initialize"]);
    let opened = rig.opened.len();
    rig.fire(Timer::Reconnect);
    assert_eq!(rig.opened.len(), opened, "the timer of the earlier wait opens no second port");
}

#[test]
fn silence_after_a_ping_reconnects_and_any_message_is_a_sign_of_life() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    assert!(rig.timers.contains(&(Timer::Ping, 20_000)));
    rig.fire(Timer::Ping);
    let ping = rig.last_sent("ping");
    assert!(rig.timers.ends_with(&[(Timer::Liveness, 10_000), (Timer::Ping, 20_000)]));
    rig.message(private(Event::Pong(Pong { submission_id: ping.submission_id })));
    rig.fire(Timer::Liveness);
    assert_eq!(rig.model().connection, ConnectionState::Connected);
    rig.fire(Timer::Ping);
    let port = rig.port;
    rig.fire(Timer::Liveness);
    assert_eq!(rig.closed, [port]);
    assert!(matches!(rig.model().connection, ConnectionState::Reconnecting { .. }));
}

#[test]
fn a_handshake_without_an_answer_is_tried_again() {
    let mut rig = Rig::new("client", 1);
    rig.start(None, None);
    rig.fire(Timer::Liveness);
    assert!(matches!(rig.model().connection, ConnectionState::Reconnecting { .. }));
    rig.fire(Timer::Reconnect);
    assert_eq!(rig.sent_names(), ["initialize", "initialize"]);
}

#[test]
fn what_comes_from_an_old_port_is_ignored() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    let old = rig.port;
    rig.lose_port();
    rig.fire(Timer::Reconnect);
    engine.submit(id("s"), "hello");
    let before = picture(&rig.model().thread);
    for value in engine.drain() {
        rig.input(ClientInput::Message { port: old, value });
    }
    rig.input(ClientInput::PortClosed { port: old });
    assert_eq!(picture(&rig.model().thread), before);
    assert_eq!(rig.port, old + 1);
}

#[test]
fn a_page_of_another_version_stops_for_ever() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    let frozen = json!({"type": "fatal.reload_required", "submissionId": "x", "protocol": "panelot/engine-v9",
        "schemaHash": "other", "message": "Reload this page."});
    rig.message(frozen);
    let state = ConnectionState::ReloadRequired { message: "Reload this page.".into() };
    assert_eq!((&rig.model().connection, rig.closed.len()), (&state, 1));
    let opened = rig.opened.len();
    rig.lose_port();
    for timer in [Timer::Reconnect, Timer::Ping, Timer::Liveness] {
        rig.fire(timer);
    }
    rig.command(Command::Reconnect);
    rig.say("lost?");
    assert_eq!((rig.opened.len(), &rig.model().connection), (opened, &state));
    assert_eq!(rig.restored, ["lost?"]);
    assert_eq!(rig.settled, [(CommandKind::Submit, Some(Refusal::Unreachable))]);
}

#[test]
fn an_unknown_event_is_ignored_and_a_malformed_known_one_is_a_mismatch_without_a_retry() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.message(json!({"type": "thread.sparkled", "threadId": 5}));
    assert_eq!(rig.model().connection, ConnectionState::Connected);
    engine.submit(id("s"), "hello");
    tell(&mut rig, &mut engine);
    let before = picture(&rig.model().thread);
    rig.message(json!({"type": "item.delta", "threadId": "t", "itemId": 7,
        "stream": {"threadId": "t", "epoch": 1, "sequence": engine.sequence + 1}}));
    let ConnectionState::Mismatch { detail } = &rig.model().connection else { unreachable!() };
    assert!(detail.contains("item.delta.itemId"), "{detail}");
    assert_eq!(picture(&rig.model().thread), before, "what was shown stays");
    let opened = rig.opened.len();
    rig.lose_port();
    rig.fire(Timer::Reconnect);
    rig.fire(Timer::Liveness);
    assert_eq!(rig.opened.len(), opened, "no retry of its own");
    rig.command(Command::Reconnect);
    assert_eq!(rig.opened.len(), opened + 1, "but one when the person orders it");
}

#[test]
fn an_engine_with_another_schema_hash_is_a_mismatch() {
    let engine = Engine::new("t");
    let mut rig = Rig::new("client", 1);
    rig.start(None, None);
    let hello = rig.last_sent("initialize");
    let mut answer = engine.initialized(&hello.submission_id);
    answer["schemaHash"] = "other".into();
    rig.message(answer);
    assert!(matches!(rig.model().connection, ConnectionState::Mismatch { .. }));
}

#[test]
fn a_command_is_saved_before_it_is_sent() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.save_ok = None;
    rig.say("hello");
    assert_eq!(rig.sent, []);
    assert_eq!(rig.saves.last().expect("a save")["entries"][0]["input"]["text"], "hello");
    assert_eq!(rig.own_texts(), [("hello".to_owned(), true)]);
    rig.command(Command::Stop);
    assert_eq!(rig.sent, [], "a stop does not overtake the message it is about");
    rig.input(ClientInput::OutboxSaved { ok: true });
    assert_eq!(rig.sent_names(), ["turn.submit", "turn.interrupt"]);
}

#[test]
fn a_failed_save_sends_nothing_and_gives_the_text_back() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.save_ok = Some(false);
    rig.say("precious");
    assert_eq!((rig.sent.len(), rig.restored.as_slice()), (0, ["precious".to_owned()].as_slice()));
    assert_eq!(rig.own_texts(), []);
    assert_eq!(rig.settled, [(CommandKind::Submit, Some(Refusal::OutboxFailed))]);
    assert_eq!(rig.model().pending, []);
    assert_eq!(rig.model().last_error.as_ref().expect("an error").refusal, Refusal::OutboxFailed);
    rig.save_ok = Some(true);
    rig.say("again");
    assert_eq!(rig.sent_names(), ["turn.submit"]);
    assert_eq!(rig.saves.last().expect("a save")["entries"].as_array().expect("a list").len(), 1);
}

#[test]
fn unanswered_commands_go_out_again_after_a_reconnect_in_order_with_their_ids() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.say("one");
    rig.say("two");
    rig.command(Command::Stop);
    let first = rig.take_sent();
    rig.message(engine.snapshot(&id("not-mine")));
    assert_eq!(rig.sent, [], "only a reconnect repeats");
    rig.message(engine.ack(&first[0].submission_id));
    rig.lose_port();
    rig.say("three");
    assert_eq!(rig.sent, []);
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    assert_eq!(rig.take_sent().len(), 1, "nothing before the handshake is answered");
    rig.message(engine.initialized(&hello.submission_id));
    let again = rig.take_sent();
    assert_eq!(again[..2], first[1..]);
    assert_eq!(again[2].op.name(), "turn.submit");
    assert_eq!(again.len(), 3);
}

#[test]
fn a_reloaded_document_takes_its_own_outbox_over_and_no_other() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.say("survivor");
    let saved = rig.saves.last().expect("a save").clone();
    let sent = rig.last_sent("turn.submit");
    for (name, expected) in [("client", 1), ("another", 0)] {
        let mut next = Rig::new(name, 9);
        next.start(Some(engine.id.clone()), Some(saved.clone()));
        assert_eq!(next.own_texts().len(), expected, "its echo is shown again");
        let hello = next.last_sent("initialize");
        next.message(engine.snapshot(&hello.submission_id));
        next.message(engine.initialized(&hello.submission_id));
        let again: Vec<_> = next.take_sent().into_iter().filter(|it| it.op.name() == "turn.submit").collect();
        assert_eq!(again.len(), expected);
        assert!(again.iter().all(|message| *message == sent));
    }
}

#[test]
fn a_saved_outbox_that_is_damaged_costs_only_what_cannot_be_read() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.say("good");
    let mut saved = rig.saves.last().expect("a save").clone();
    saved["entries"].as_array_mut().expect("a list").insert(0, json!({"type": "turn.submit", "nonsense": 1}));
    for (outbox, expected) in [(saved, 1), (json!("junk"), 0), (json!({"clientId": "client"}), 0)] {
        let mut next = Rig::new("client", 9);
        next.start(Some(engine.id.clone()), Some(outbox));
        assert_eq!(next.own_texts().len(), expected);
    }
}

#[test]
fn commands_of_a_document_that_is_gone_are_found_by_the_next_one() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.say("unanswered");
    let saved = rig.saves.last().expect("a save").clone();
    let sent = rig.last_sent("turn.submit");
    let all = json!({
        "outbox:client": saved, "outbox:empty": {"clientId": "empty", "entries": []}, "outbox:odd": 7,
        "outbox:another": saved, "panel-thread:1": "t", "draft:t": "hello",
    });
    let found = unfinished_clients(&all);
    assert_eq!(found.iter().map(ClientId::as_str).collect::<Vec<_>>(), ["client"]);
    assert_eq!(outbox_key(&found[0]), "outbox:client");
    let mut next = Rig::new("client", 9);
    next.start(None, Some(saved));
    let hello = next.last_sent("initialize");
    next.message(engine.initialized(&hello.submission_id));
    assert_eq!(next.last_sent("turn.submit"), sent);
    next.message(engine.ack(&sent.submission_id));
    assert_eq!(next.saves, [Value::Null], "what is answered leaves nothing behind");
    assert_eq!(unfinished_clients(&json!(null)), []);
}

#[test]
fn credentials_and_stops_are_not_saved() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    let put = |key: Option<&str>| SettingsChange::PutConnection {
        wire: Default::default(),
        id: ConnectionId::new("c").expect("an id"),
        name: Text::clipped("n"),
        base_url: Text::clipped("https://a.example"),
        models: Vec::new(),
        key: key.map(IncomingKey::new),
        add_keys: Vec::new(),
        remove_keys: Vec::new(),
        headers: None,
        quirks: None,
        keyless: None,
    };
    rig.command(Command::UpdateSettings { changes: vec![put(Some("sk-very-secret"))] });
    rig.command(Command::Stop);
    assert_eq!(rig.sent_names(), ["settings.update", "turn.interrupt"]);
    assert_eq!(rig.saves, Vec::<Value>::new());
    rig.command(Command::UpdateSettings { changes: vec![put(None)] });
    assert_eq!(rig.saves.len(), 1);
    assert!(!rig.saves[0].to_string().contains("sk-very-secret"));
}
