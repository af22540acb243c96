//! Threads, the list of them and settings: one behaviour per test, the engine's words fed through a fake Port.

use panelot_base::{ApprovalId, ConnectionId, RunId, SubmissionId};
use panelot_protocol::event::{
    ActivityUpdated, DirectoryThread, ErrorCode, ErrorEvent, SettingsEvent, ThreadDeleted, ThreadPage,
};
use panelot_protocol::op::{ApprovalDecision, Resolution};
use panelot_protocol::settings::{SettingsChange, SettingsView, Theme};
use panelot_protocol::snapshot::{Activity, ErrorView, ItemBody, RunState};
use panelot_protocol::{Event, Op};
use serde_json::{Value, json};

use super::engine::{Engine, meta};
use super::joining::picture;
use super::rig::{Rig, connected, id, private, tell, thread};
use crate::model::{CommandKind, EntryBody, EntryKey, Recovery, Refusal, ToolState, Verification};
use crate::{Command, Focus, Timer};

#[test]
fn the_echo_becomes_the_stored_message_under_the_same_key() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.say("hello");
    let sent = rig.last_sent("turn.submit");
    let key = EntryKey::User(sent.submission_id.clone());
    assert_eq!(rig.model().thread.keys().collect::<Vec<_>>(), [&key]);
    engine.submit(sent.submission_id.clone(), "hello");
    tell(&mut rig, &mut engine);
    rig.message(engine.ack(&sent.submission_id));
    assert_eq!(rig.own_texts(), [("hello".to_owned(), false)]);
    assert_eq!(rig.model().thread.keys().next(), Some(&key));
    assert_eq!(rig.settled, [(CommandKind::Submit, None)]);
    assert_eq!(rig.model().pending, []);
    assert_eq!(rig.saves.last(), Some(&Value::Null), "nothing is left to keep");
}

#[test]
fn two_messages_of_the_same_text_are_two_messages() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    engine.submit(id("other-view"), "hello");
    rig.say("hello");
    tell(&mut rig, &mut engine);
    assert_eq!(rig.own_texts(), [("hello".to_owned(), false), ("hello".to_owned(), true)]);
}

#[test]
fn a_refused_message_disappears_and_its_text_returns_to_the_composer() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.say("hello");
    let sent = rig.last_sent("turn.submit");
    rig.message(Engine::reject(&sent.submission_id, "queue_full"));
    assert_eq!((rig.own_texts(), rig.restored.as_slice()), (vec![], ["hello".to_owned()].as_slice()));
    let (_, refusal) = rig.settled.pop().expect("settled");
    assert!(matches!(refusal, Some(Refusal::Engine { code: ErrorCode::QueueFull, retryable: false, .. })));
    rig.command(Command::DismissError);
    assert_eq!(rig.model().last_error, None);
}

#[test]
fn an_echo_that_the_engine_admitted_survives_a_snapshot_from_before_only() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.lose_port();
    rig.say("hello");
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    let sent = rig.last_sent("turn.submit");
    let early = engine.snapshot(&hello.submission_id);
    rig.message(engine.ack(&sent.submission_id));
    rig.message(early);
    assert_eq!(rig.own_texts(), [("hello".to_owned(), true)], "its event is still to come");
    rig.lose_port();
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    rig.message(engine.snapshot(&hello.submission_id));
    assert_eq!(rig.own_texts(), [], "a later snapshot is the truth");
    engine.submit(sent.submission_id, "hello");
    tell(&mut rig, &mut engine);
    assert_eq!(rig.own_texts(), [("hello".to_owned(), false)]);
}

#[test]
fn a_message_for_a_busy_thread_waits_in_the_queue() {
    let mut engine = Engine::new("t");
    engine.submit(id("first"), "first");
    engine.drain();
    let mut rig = connected(&engine);
    rig.say("second");
    let queued = rig.model().thread.queued();
    assert_eq!((queued.len(), queued[0].text.as_str(), &queued[0].run_id), (1, "second", &None));
    assert_eq!(rig.own_texts().len(), 1);
    let sent = rig.last_sent("turn.enqueue");
    engine.submit(sent.submission_id.clone(), "second");
    tell(&mut rig, &mut engine);
    let queued = rig.model().thread.queued();
    assert_eq!((queued.len(), queued[0].run_id.is_some()), (1, true));
    engine.end_turn(RunState::Completed);
    tell(&mut rig, &mut engine);
    assert_eq!(rig.model().thread.queued(), []);
    assert_eq!(rig.own_texts(), [("first".to_owned(), false), ("second".to_owned(), false)]);
}

#[test]
fn a_message_that_was_admitted_and_taken_out_again_while_nobody_heard_waits_no_longer() {
    let mut engine = Engine::new("t");
    engine.submit(id("first"), "first");
    engine.drain();
    let mut rig = connected(&engine);
    rig.say("second");
    rig.lose_port();
    // The engine took it, another view took it out of the queue: nothing of that was heard here.
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    rig.message(engine.snapshot(&hello.submission_id));
    assert_eq!(rig.model().thread.queued().len(), 1, "it may still be on its way");
    rig.message(engine.ack(&rig.last_sent("turn.enqueue").submission_id));
    rig.message(engine.snapshot(&rig.last_sent("thread.subscribe").submission_id));
    assert_eq!(rig.model().thread.queued(), []);
}

#[test]
fn the_first_message_of_a_draft_makes_the_thread() {
    let mut engine = Engine::new("new");
    let mut rig = Rig::new("client", 1);
    rig.start(None, None);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    rig.say("hello");
    assert!(rig.model().thread.creating);
    let sent = rig.last_sent("thread.create");
    let Op::ThreadCreate(create) = &sent.op else { unreachable!() };
    assert_eq!(create.input.as_ref().map(|input| &*input.text), Some("hello"));
    rig.say("too early");
    assert_eq!(rig.restored, ["too early"]);
    assert_eq!(rig.settled, [(CommandKind::Submit, Some(Refusal::StillCreating))]);
    engine.submit(sent.submission_id.clone(), "hello");
    engine.drain();
    rig.message(engine.ack(&sent.submission_id));
    assert_eq!(rig.changed_thread, [Some(thread("new"))]);
    assert_eq!(rig.own_texts(), [("hello".to_owned(), true)]);
    let subscribe = rig.last_sent("thread.subscribe");
    rig.message(engine.snapshot(&subscribe.submission_id));
    assert_eq!(rig.own_texts(), [("hello".to_owned(), false)]);
    assert!(rig.model().thread.is_busy() && !rig.model().thread.creating && !rig.model().thread.loading);
}

#[test]
fn a_thread_that_was_made_meanwhile_does_not_steal_the_view() {
    let engine = Engine::new("new");
    let mut rig = Rig::new("client", 1);
    rig.start(None, None);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    rig.say("hello");
    let sent = rig.last_sent("thread.create");
    rig.command(Command::NewChat);
    rig.message(engine.ack(&sent.submission_id));
    assert_eq!((rig.changed_thread.len(), rig.model().thread.id.as_ref()), (0, None));
    assert_eq!(rig.settled, [(CommandKind::Submit, None)]);
}

#[test]
fn a_thread_that_was_made_meanwhile_does_not_take_the_events_of_the_one_that_is_shown() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.command(Command::NewChat);
    rig.say("hello");
    let sent = rig.last_sent("thread.create");
    rig.command(Command::Open { thread: engine.id.clone() });
    rig.take_sent();
    rig.message(engine.ack(&sent.submission_id));
    // The engine has whoever makes a thread follow it, and no other.
    let again = rig.last_sent("thread.subscribe");
    assert_eq!(Rig::subscribed_to(&again), Some(engine.id.clone()));
}

#[test]
fn a_reload_between_a_first_message_and_its_answer_loses_nothing() {
    let engine = Engine::new("new");
    let mut rig = Rig::new("client", 1);
    rig.start(None, None);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    rig.say("hello");
    let sent = rig.last_sent("thread.create");
    let mut next = Rig::new("client", 2);
    next.start(None, rig.saves.last().cloned());
    assert_eq!(next.own_texts(), [("hello".to_owned(), true)]);
    let hello = next.last_sent("initialize");
    next.message(engine.initialized(&hello.submission_id));
    assert_eq!(next.last_sent("thread.create"), sent);
    next.message(engine.ack(&sent.submission_id));
    assert_eq!(next.changed_thread, [Some(thread("new"))]);
}

#[test]
fn a_gap_asks_for_the_thread_again_and_old_events_are_dropped() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    engine.submit(id("s"), "hello");
    let events = engine.drain();
    rig.message(events[0].clone());
    let before = picture(&rig.model().thread);
    rig.message(events[0].clone());
    assert_eq!((picture(&rig.model().thread), rig.sent.len()), (before, 0), "a duplicate does nothing");
    rig.message(events[2].clone());
    let subscribe = rig.last_sent("thread.subscribe");
    for event in &events {
        rig.message(event.clone());
    }
    assert_eq!(rig.sent.len(), 1, "one question is enough");
    rig.message(engine.snapshot(&subscribe.submission_id));
    rig.message(events[1].clone());
    assert_eq!(rig.own_texts(), [("hello".to_owned(), false)]);
    engine.start_message();
    tell(&mut rig, &mut engine);
    assert_eq!((rig.sent.len(), rig.model().thread.entries().count()), (1, 2));
}

#[test]
fn an_event_of_another_epoch_asks_again_and_one_of_an_earlier_epoch_is_dropped() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    engine.submit(id("s"), "hello");
    let mut events = engine.drain();
    let mut newer = events.remove(0);
    newer["stream"]["epoch"] = 2.into();
    rig.message(newer);
    let subscribe = rig.last_sent("thread.subscribe");
    engine.epoch = 2;
    rig.message(engine.snapshot(&subscribe.submission_id));
    let before = picture(&rig.model().thread);
    let mut older = events.remove(0);
    older["stream"]["sequence"] = 1000.into();
    rig.message(older);
    assert_eq!((picture(&rig.model().thread), rig.sent.len()), (before, 1));
}

#[test]
fn only_the_newest_question_for_a_thread_is_answered() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.command(Command::Open { thread: thread("b") });
    let b = rig.last_sent("thread.subscribe");
    rig.command(Command::Open { thread: thread("t") });
    let t = rig.last_sent("thread.subscribe");
    rig.message(snapshot_of_b(&engine, &b.submission_id));
    assert!(rig.model().thread.loading);
    rig.message(engine.snapshot(&t.submission_id));
    assert_eq!((rig.model().thread.id.clone(), rig.model().thread.loading), (Some(thread("t")), false));
}

#[test]
fn a_thread_that_was_left_and_loads_late_does_not_take_the_events_of_the_one_that_is_shown() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.command(Command::Open { thread: thread("b") });
    let b = rig.last_sent("thread.subscribe");
    rig.command(Command::Open { thread: thread("t") });
    let t = rig.last_sent("thread.subscribe");
    rig.message(engine.snapshot(&t.submission_id));
    rig.take_sent();
    // The engine has whoever asks for a thread follow it, and no other.
    rig.message(snapshot_of_b(&engine, &b.submission_id));
    let again = rig.last_sent("thread.subscribe");
    assert_eq!(Rig::subscribed_to(&again), Some(thread("t")));
    rig.message(engine.snapshot(&again.submission_id));
    assert_eq!((rig.model().thread.id.clone(), rig.model().thread.loading), (Some(thread("t")), false));
}

/// The snapshot of another thread.
fn snapshot_of_b(engine: &Engine, request: &SubmissionId) -> Value {
    let mut late = engine.snapshot(request);
    for place in [&["threadId"][..], &["stream", "threadId"], &["snapshot", "meta", "id"]] {
        let field = place.iter().fold(&mut late, |value, key| &mut value[*key]);
        *field = "b".into();
    }
    late
}

#[test]
fn a_thread_opened_during_the_handshake_is_asked_for_after_it() {
    let mut engine = Engine::new("t");
    engine.threads.push(meta("b", 9, false));
    let mut rig = Rig::new("client", 1);
    rig.start(Some(thread("t")), None);
    let hello = rig.last_sent("initialize");
    rig.command(Command::Open { thread: thread("b") });
    assert_eq!(rig.sent.len(), 1);
    rig.message(engine.initialized(&hello.submission_id));
    assert_eq!(Rig::subscribed_to(&rig.last_sent("thread.subscribe")), Some(thread("b")));
}

#[test]
fn the_list_is_kept_sorted_and_a_gap_in_it_asks_for_everything_again() {
    let mut engine = Engine::new("t");
    engine.threads.push(meta("new", 9, false));
    engine.threads.push(meta("pinned", 1, true));
    let mut rig = connected(&engine);
    let order =
        |rig: &Rig| rig.model().directory.sorted().iter().map(|meta| meta.id.to_string()).collect::<Vec<_>>();
    assert_eq!(order(&rig), ["pinned", "new", "t"]);
    rig.message(
        engine.directory(Event::DirectoryThread(DirectoryThread { thread: meta("t", 20, false) }), 2),
    );
    assert_eq!(order(&rig), ["pinned", "t", "new"]);
    let working =
        Activity { thread_id: thread("t"), running: true, pending_approvals: 1, pending_interactions: 0 };
    let activity = |activity: Activity| Event::ActivityUpdated(ActivityUpdated { activity });
    rig.message(engine.directory(activity(working.clone()), 3));
    assert_eq!(rig.model().directory.activity(&thread("t")), Some(&working));
    rig.message(engine.directory(activity(Activity { running: false, pending_approvals: 0, ..working }), 4));
    assert_eq!(rig.model().directory.activity(&thread("t")), None);
    rig.message(
        engine.directory(Event::ThreadDeleted(ThreadDeleted { deleted_thread_id: thread("new") }), 6),
    );
    assert_eq!(order(&rig), ["pinned", "t", "new"], "after a gap nothing is taken");
    let hello = rig.last_sent("initialize");
    engine.directory_sequence = 6;
    engine.threads.remove(1);
    rig.message(engine.initialized(&hello.submission_id));
    assert_eq!(order(&rig), ["pinned", "t"]);
    assert_eq!(rig.opened.len(), 1, "through the same port");
}

#[test]
fn a_deleted_thread_leaves_a_draft() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.command(Command::Delete { thread: thread("t") });
    rig.command(Command::Delete { thread: thread("t") });
    assert_eq!(rig.sent_names(), ["thread.delete"], "a second click is no second command");
    assert!(rig.model().is_pending(&CommandKind::Delete(thread("t"))));
    rig.message(engine.directory(Event::ThreadDeleted(ThreadDeleted { deleted_thread_id: thread("t") }), 2));
    assert_eq!((rig.model().thread.id.as_ref(), rig.changed_thread.as_slice()), (None, [None].as_slice()));
    let sent = rig.last_sent("thread.delete");
    rig.message(engine.snapshot(&sent.submission_id));
    assert_eq!(rig.model().thread.id, None, "a late snapshot brings nothing back");
    rig.message(engine.ack(&sent.submission_id));
    assert_eq!(rig.model().pending, []);
}

#[test]
fn a_thread_that_does_not_exist_leaves_a_draft_and_an_error() {
    let engine = Engine::new("t");
    let by_error = |rig: &mut Rig, id: &SubmissionId| {
        let error = ErrorView { code: ErrorCode::ThreadNotFound, message: "gone".into(), provider: None };
        let event = ErrorEvent { submission_id: Some(id.clone()), error, retryable: false };
        rig.message(private(Event::Error(event)));
    };
    let mut rig = connected(&engine);
    rig.command(Command::Open { thread: thread("gone") });
    let subscribe = rig.last_sent("thread.subscribe");
    by_error(&mut rig, &subscribe.submission_id);
    let mut by_list = Rig::new("client", 1);
    by_list.start(Some(thread("gone")), None);
    let hello = by_list.last_sent("initialize");
    by_list.message(engine.initialized(&hello.submission_id));
    for rig in [rig, by_list] {
        assert_eq!(rig.model().thread.id, None);
        let about = rig.model().last_error.as_ref().and_then(|error| error.about.clone());
        assert_eq!(about, Some(CommandKind::Open(thread("gone"))));
    }
}

#[test]
fn an_approval_is_announced_answered_once_and_gone() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    engine.submit(id("s"), "order");
    engine.start_message();
    engine.finish_message(1);
    engine.ask();
    tell(&mut rig, &mut engine);
    let approval = rig.model().thread.approvals[0].approval_id.clone();
    assert_eq!(rig.focus, [Focus::Approval(approval.clone())]);
    let tool_state = |rig: &Rig| {
        let tool = rig.model().thread.entries().find_map(|entry| match &entry.body {
            EntryBody::Tool { state, arguments, .. } => Some((*state, arguments.clone())),
            _ => None,
        });
        tool.expect("a call")
    };
    assert_eq!(tool_state(&rig), (ToolState::Waiting, Some(json!({"ref": 0}))));
    let answer = || Command::Answer { approval: approval.clone(), decision: ApprovalDecision::Accept };
    rig.command(answer());
    rig.command(answer());
    assert_eq!(rig.sent_names(), ["approval.response"]);
    assert!(rig.model().is_pending(&CommandKind::Answer(approval.clone())));
    engine.decide(true);
    engine.start_call();
    tell(&mut rig, &mut engine);
    assert_eq!((tool_state(&rig).0, rig.model().thread.approvals.len()), (ToolState::Running, 0));
    engine.finish_call(true);
    tell(&mut rig, &mut engine);
    assert_eq!(tool_state(&rig).0, ToolState::Ok);
    assert_eq!(rig.model().thread.entries().count(), 3, "message, answer, call");
}

#[test]
fn a_refused_answer_leaves_the_question_to_be_answered_again() {
    let mut engine = Engine::new("t");
    engine.submit(id("s"), "order");
    engine.start_message();
    engine.finish_message(1);
    engine.ask();
    let mut rig = connected(&engine);
    let approval = rig.model().thread.approvals[0].approval_id.clone();
    for _ in 0..2 {
        rig.command(Command::Answer { approval: approval.clone(), decision: ApprovalDecision::Accept });
        let sent = rig.last_sent("approval.response");
        assert_eq!(
            rig.model().thread.approvals.len(),
            1,
            "the card stays until the engine says that it is over"
        );
        rig.message(Engine::reject(&sent.submission_id, "storage_failed"));
        assert!(!rig.model().is_pending(&CommandKind::Answer(approval.clone())));
    }
    assert_eq!(rig.model().thread.approvals.len(), 1);
}

#[test]
fn a_stop_shows_until_the_turn_is_over() {
    let mut engine = Engine::new("t");
    engine.submit(id("s"), "hello");
    engine.drain();
    let mut rig = connected(&engine);
    rig.command(Command::Stop);
    assert!(rig.model().thread.stopping);
    let stop = rig.last_sent("turn.interrupt");
    rig.message(engine.ack(&stop.submission_id));
    assert!(rig.model().thread.stopping);
    engine.end_turn(RunState::Cancelled);
    tell(&mut rig, &mut engine);
    assert!(!rig.model().thread.stopping && !rig.model().thread.is_busy());
}

#[test]
fn runs_that_need_the_person_are_named() {
    let mut engine = Engine::new("t");
    engine.submit(id("s"), "hello");
    engine.start_message();
    engine.finish_message(1);
    let call = engine.open_calls()[0].clone();
    engine.restart();
    let mut rig = connected(&engine);
    let run_id = engine.runs[0].run_id.clone();
    assert_eq!(rig.model().thread.recoveries(), [Recovery::Interrupted { run_id: run_id.clone() }]);
    rig.command(Command::Resume { run: run_id.clone() });
    rig.command(Command::Resolve { run: run_id.clone(), resolution: Resolution::MarkDone });
    assert_eq!(rig.sent_names(), ["run.resume", "run.resolveUncertain"]);
    let mut run = engine.runs[0].clone();
    (run.state, run.revision, run.uncertain) =
        (RunState::PausedUncertain, run.revision + 1, Some(call.clone()));
    let mut event = json!({"type": "run.updated", "threadId": "t", "run": run,
        "stream": {"threadId": "t", "epoch": 2, "sequence": 2}});
    rig.message(event.clone());
    let Some(Recovery::Uncertain { call: Some(shown), .. }) = rig.model().thread.recoveries().pop() else {
        unreachable!()
    };
    assert_eq!(shown.arguments, "{\n  \"ref\": 0\n}");
    let key = EntryKey::Tool(call.item_id);
    let state = |rig: &Rig| match &rig.model().thread.entry(&key).expect("a call").body {
        EntryBody::Tool { state, .. } => *state,
        _ => unreachable!(),
    };
    assert_eq!(state(&rig), ToolState::Uncertain);
    (event["run"]["state"], event["run"]["revision"]) = ("failed".into(), 99.into());
    event["stream"]["sequence"] = 3.into();
    rig.message(event);
    assert_eq!(state(&rig), ToolState::Proposed);
    assert_eq!(rig.model().thread.recoveries(), [Recovery::Failed { run_id, error: None }]);
}

#[test]
fn older_entries_come_page_by_page_and_stay_over_a_reconnect() {
    let mut engine = Engine::new("t");
    for number in 0..6 {
        engine.submit(id(&format!("s{number}")), &format!("message {number}"));
        engine.end_turn(RunState::Completed);
    }
    engine.drain();
    engine.page = 4;
    let mut rig = connected(&engine);
    assert!(rig.model().thread.can_load_older);
    rig.command(Command::LoadOlder);
    rig.command(Command::LoadOlder);
    assert_eq!((rig.sent.len(), rig.model().thread.loading_older), (1, true));
    let ask = rig.last_sent("thread.history");
    let Op::ThreadHistory(history) = &ask.op else { unreachable!() };
    assert_eq!(history.before, 3);
    let items = engine.items[..2].to_vec();
    let page = |id: &SubmissionId| ThreadPage {
        submission_id: id.clone(),
        thread_id: thread("t"),
        items: items.clone(),
        has_older: false,
    };
    rig.message(private(Event::ThreadPage(page(&id("someone-else")))));
    assert!(rig.model().thread.loading_older);
    rig.message(private(Event::ThreadPage(page(&ask.submission_id))));
    let texts: Vec<_> = rig.own_texts().into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["message 0", "message 1", "message 2", "message 3", "message 4", "message 5"]);
    assert!(!rig.model().thread.can_load_older && !rig.model().thread.loading_older);
    rig.lose_port();
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    rig.changes = crate::Changes::default();
    rig.message(engine.snapshot(&hello.submission_id));
    assert_eq!(rig.own_texts().len(), 6);
    assert!(!rig.changes.entry_list && rig.changes.entries.is_empty(), "nothing is drawn again");
}

#[test]
fn a_hole_between_a_snapshot_and_what_was_shown_drops_the_older_part() {
    let mut engine = Engine::new("t");
    engine.submit(id("s0"), "old");
    engine.end_turn(RunState::Completed);
    engine.drain();
    engine.page = 2;
    let mut rig = connected(&engine);
    rig.lose_port();
    for number in 1..5 {
        engine.submit(id(&format!("s{number}")), "new");
        engine.end_turn(RunState::Completed);
    }
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    rig.message(engine.snapshot(&hello.submission_id));
    assert_eq!(rig.own_texts().len(), 2);
    assert!(rig.model().thread.can_load_older);
}

#[test]
fn a_delta_touches_one_entry_and_no_list() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    engine.submit(id("s"), "hello");
    engine.start_message();
    engine.delta("# Title\n\nfirst", "");
    tell(&mut rig, &mut engine);
    let before: Vec<_> = rig.model().thread.entries().map(|entry| entry.revision).collect();
    rig.changes = crate::Changes::default();
    engine.delta(" and more", "thought");
    tell(&mut rig, &mut engine);
    let key = EntryKey::Assistant(engine.streaming().expect("a message"));
    let expected = crate::Changes { entries: [key.clone()].into(), ..crate::Changes::default() };
    assert_eq!(rig.changes, expected);
    let after: Vec<_> = rig.model().thread.entries().map(|entry| entry.revision).collect();
    assert_eq!((before[0], before[1] + 1), (after[0], after[1]));
    engine.finish_message(0);
    tell(&mut rig, &mut engine);
    let entry = rig.model().thread.entry(&key).expect("the message");
    let EntryBody::Assistant { document, reasoning, streaming, model, .. } = &entry.body else {
        unreachable!()
    };
    assert_eq!((document.text(), reasoning.as_str()), ("# Title\n\nfirst and more", "thought"));
    assert!(!streaming && model.is_some());
}

#[test]
fn settings_come_in_order_and_a_change_tells_how_it_went() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    let settings = |revision, theme| {
        let settings = SettingsView { revision, theme, ..SettingsView::default() };
        private(Event::SettingsUpdated(SettingsEvent { submission_id: None, settings }))
    };
    rig.message(settings(3, Theme::Dark));
    rig.message(settings(2, Theme::Light));
    assert_eq!(rig.model().settings.as_ref().map(|it| it.theme), Some(Theme::Dark));
    rig.message(settings(3, Theme::System));
    let theme = rig.model().settings.as_ref().map(|it| it.theme);
    assert_eq!(theme, Some(Theme::System), "a rule or a grant changes without the revision");
    let change = || vec![SettingsChange::SetTheme { theme: Theme::Light }];
    rig.command(Command::UpdateSettings { changes: change() });
    rig.command(Command::UpdateSettings { changes: change() });
    let sent = rig.take_sent();
    assert_eq!(sent.len(), 2, "two changes are two commands");
    rig.message(Engine::reject(&sent[0].submission_id, "storage_failed"));
    rig.message(engine.ack(&sent[1].submission_id));
    assert!(matches!(
        rig.settled[0],
        (CommandKind::Settings, Some(Refusal::Engine { code: ErrorCode::StorageFailed, .. }))
    ));
    assert_eq!(rig.settled[1], (CommandKind::Settings, None));
    assert_eq!(rig.model().last_error, None, "a later success takes the error back");
}

#[test]
fn a_try_of_a_connection_is_asked_again_after_a_reconnect_and_shows_its_result() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    let connection = ConnectionId::new("c").expect("an id");
    rig.command(Command::Verify { connection: connection.clone(), model: Some("m".into()) });
    assert_eq!(rig.model().verifications.get(&connection), Some(&Verification::Running));
    rig.lose_port();
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    rig.message(engine.initialized(&hello.submission_id));
    let verify = rig.last_sent("connection.verify");
    rig.message(
        json!({"type": "connection.verified", "submissionId": verify.submission_id, "connectionId": "c",
        "modelId": "m", "models": ["m", "n"], "error": null}),
    );
    let Some(Verification::Done(done)) = rig.model().verifications.get(&connection) else { unreachable!() };
    assert_eq!(done.models, ["m", "n"]);
    rig.command(Command::Verify { connection: connection.clone(), model: None });
    let verify = rig.last_sent("connection.verify");
    rig.message(Engine::reject(&verify.submission_id, "not_configured"));
    assert!(matches!(rig.model().verifications.get(&connection), Some(Verification::Refused(_))));
}

#[test]
fn a_text_that_cannot_be_a_message_stays_in_the_composer() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.say("  \n ");
    rig.say(&"x".repeat(500_001));
    assert_eq!((rig.sent.len(), rig.restored.len()), (0, 2));
    assert!(rig.settled.iter().all(|(_, refusal)| *refusal == Some(Refusal::TextDoesNotFit)));
}

#[test]
fn a_result_whose_call_is_not_loaded_finds_its_place_with_the_older_page() {
    let mut engine = Engine::new("t");
    engine.submit(id("s"), "go");
    engine.start_message();
    engine.finish_message(2);
    for _ in 0..2 {
        engine.start_call();
        engine.finish_call(true);
    }
    engine.drain();
    engine.page = 2;
    let mut rig = connected(&engine);
    let names = |rig: &Rig| {
        let tools = rig.model().thread.entries().filter_map(|entry| match &entry.body {
            EntryBody::Tool { name, state, .. } => Some((name.clone(), *state)),
            _ => None,
        });
        tools.collect::<Vec<_>>()
    };
    assert_eq!(names(&rig), [(String::new(), ToolState::Ok), (String::new(), ToolState::Ok)]);
    rig.command(Command::LoadOlder);
    let ask = rig.last_sent("thread.history");
    let older: Vec<_> = engine.items[..2].to_vec();
    assert!(matches!(older[1].body, ItemBody::AssistantMessage { .. }));
    let page = ThreadPage {
        submission_id: ask.submission_id,
        thread_id: thread("t"),
        items: older,
        has_older: false,
    };
    rig.message(private(Event::ThreadPage(page)));
    assert_eq!(names(&rig), [("click".to_owned(), ToolState::Ok), ("click".to_owned(), ToolState::Ok)]);
    engine.page = 1000;
    let fresh = connected(&engine);
    assert_eq!(picture(&rig.model().thread), picture(&fresh.model().thread));
}

#[test]
fn commands_for_a_thread_need_a_thread() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.command(Command::NewChat);
    assert_eq!(rig.focus, [Focus::Composer]);
    let run = RunId::new("r").expect("an id");
    let approval = ApprovalId::new("a").expect("an id");
    rig.command(Command::Stop);
    rig.command(Command::Resume { run });
    rig.command(Command::Answer { approval, decision: ApprovalDecision::Cancel });
    rig.command(Command::LoadOlder);
    assert_eq!((rig.sent.len(), rig.model().pending.len()), (0, 0));
}

#[test]
fn starting_twice_is_starting_once() {
    let mut rig = Rig::new("client", 1);
    rig.start(None, None);
    rig.start(Some(thread("t")), None);
    assert_eq!((rig.opened.len(), rig.model().thread.id.as_ref()), (1, None));
}
