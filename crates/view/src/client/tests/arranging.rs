//! What the person does beside asking: the queue, steering, branches, filing, drafts, and what a task waits for.

use panelot_base::{ApprovalId, RunId};
use panelot_protocol::event::{
    DirectoryThread, InteractionRequest, InteractionResolved, ThreadUpdated, UpdateAvailable,
};
use panelot_protocol::op::{InteractionAnswer, TurnOverrides};
use panelot_protocol::snapshot::{InteractionKind, InteractionOutcome, InteractionView, SteerView};
use panelot_protocol::{Event, Op};
use serde_json::json;

use super::engine::{Engine, meta};
use super::rig::{Rig, connected, id, tell, thread};
use crate::model::{CommandKind, EntryKey, Label, Refusal, ToolState};
use crate::{Arrangement, Command, Focus, Timer};

fn steer(text: &str) -> Command {
    Command::Steer { text: text.into(), browser_context: None, overrides: TurnOverrides::default() }
}

fn revise(sibling_of: u64, text: &str) -> Command {
    let overrides = TurnOverrides::default();
    Command::Revise { sibling_of, text: text.into(), browser_context: None, overrides }
}

fn arrange(title: Option<&str>, pinned: Option<bool>) -> Command {
    let change = Arrangement { title: title.map(str::to_owned), pinned, ..Arrangement::default() };
    Command::Arrange { thread: thread("t"), change }
}

fn texts(list: &[crate::model::QueuedMessage]) -> Vec<&str> {
    list.iter().map(|message| message.text.as_str()).collect()
}

#[test]
fn a_message_is_added_to_the_turn_that_the_person_saw() {
    let mut engine = Engine::new("t");
    engine.submit(id("first"), "first");
    engine.runs[0].steerable = true;
    let mut rig = connected(&engine);
    rig.command(steer("rather in blue"));
    let sent = rig.last_sent("turn.steer");
    let Op::TurnSteer(it) = &sent.op else { unreachable!() };
    assert_eq!(Some(&it.expected_turn_id), engine.active_turn.as_ref().map(|turn| &turn.turn_id));
    assert_eq!(texts(&rig.model().thread.steers()), ["rather in blue"]);
    assert_eq!(texts(&rig.model().thread.queued()), [""; 0]);
    engine.change_run(&engine.runs[0].run_id.clone(), |run| {
        let text = "rather in blue".into();
        run.pending_steers.push(SteerView { submission_id: sent.submission_id.clone(), text });
    });
    tell(&mut rig, &mut engine);
    assert_eq!(
        texts(&rig.model().thread.steers()),
        ["rather in blue"],
        "the echo became what the engine has"
    );
    rig.message(engine.ack(&sent.submission_id));
    engine.change_run(&engine.runs[0].run_id.clone(), |run| run.pending_steers.clear());
    tell(&mut rig, &mut engine);
    assert_eq!(texts(&rig.model().thread.steers()), [""; 0]);
}

#[test]
fn what_comes_too_late_to_be_added_returns_to_the_composer() {
    let mut engine = Engine::new("t");
    engine.submit(id("first"), "first");
    engine.runs[0].steerable = true;
    let mut rig = connected(&engine);
    rig.command(steer("too late"));
    let sent = rig.last_sent("turn.steer");
    rig.message(Engine::reject(&sent.submission_id, "no_active_turn"));
    assert_eq!(
        (rig.restored.as_slice(), rig.model().thread.steers().len()),
        (["too late".to_owned()].as_slice(), 0)
    );
}

#[test]
fn where_no_turn_takes_it_a_steer_is_a_message_of_its_own() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.command(steer("hello"));
    rig.last_sent("turn.submit");
    assert_eq!(rig.own_texts(), [("hello".to_owned(), true)]);
}

#[test]
fn waiting_messages_are_changed_and_taken_back_in_the_order_of_their_admission() {
    let mut engine = Engine::new("t");
    for text in ["first", "second", "third"] {
        engine.submit(id(text), text);
    }
    (engine.runs[1].order, engine.runs[2].order) = (7, 3);
    let mut rig = connected(&engine);
    assert_eq!(texts(&rig.model().thread.queued()), ["third", "second"]);
    let run = engine.runs[2].run_id.clone();
    rig.command(Command::ChangeQueued { run: run.clone(), text: "third, better".into() });
    let sent = rig.last_sent("queue.update");
    assert!(rig.model().is_pending(&CommandKind::Queue(run.clone())));
    rig.message(Engine::reject(&sent.submission_id, "invalid_command"));
    assert_eq!(rig.restored, ["third, better"], "it had begun; what was written is not lost");
    rig.command(Command::ChangeQueued { run: run.clone(), text: "  ".into() });
    assert_eq!(rig.settled.last(), Some(&(CommandKind::Queue(run.clone()), Some(Refusal::TextDoesNotFit))));
    rig.command(Command::RemoveQueued { run });
    rig.last_sent("queue.remove");
}

#[test]
fn another_version_names_the_message_it_stands_beside_and_comes_with_its_branch() {
    let mut engine = Engine::new("t");
    engine.submit(id("first"), "first");
    engine.start_message();
    engine.delta("answer", "");
    engine.finish_message(0);
    engine.end_turn(panelot_protocol::snapshot::RunState::Completed);
    let mut rig = connected(&engine);
    let answer = rig.model().thread.keys().last().expect("an answer").clone();
    let (node, text) = rig.model().thread.asked_by(&answer).expect("a question");
    assert_eq!((node, text.as_str()), (engine.items[0].seq, "first"));
    assert_eq!(rig.model().thread.sequence(&EntryKey::User(id("first"))), Some(node));
    rig.command(revise(node, "first, but other"));
    let sent = rig.last_sent("turn.fork");
    let Op::TurnFork(it) = &sent.op else { unreachable!() };
    assert_eq!((it.sibling_of, &*it.input.text), (node, "first, but other"));
    assert_eq!(rig.own_texts(), [("first".to_owned(), false)], "no echo at the end of the old branch");
    rig.message(Engine::reject(&sent.submission_id, "turn_mismatch"));
    assert_eq!(rig.restored, ["first, but other"]);
    rig.command(Command::ShowVersion { node });
    rig.last_sent("thread.selectBranch");
    rig.command(Command::DeleteEntry { node });
    rig.last_sent("message.delete");
}

#[test]
fn a_copy_is_shown_once_it_is_made_unless_another_chat_is_open_by_then() {
    for stays in [true, false] {
        let mut engine = Engine::new("t");
        engine.submit(id("first"), "first");
        let mut rig = connected(&engine);
        rig.command(Command::Copy { node: 1 });
        let sent = rig.last_sent("thread.fork");
        if !stays {
            rig.command(Command::NewChat);
        }
        let mut ack = engine.ack(&sent.submission_id);
        ack["threadId"] = json!("copy");
        rig.message(ack);
        let shown = rig.model().thread.id.clone();
        assert_eq!(shown, stays.then(|| thread("copy")));
        if stays {
            assert_eq!(Rig::subscribed_to(&rig.last_sent("thread.subscribe")), shown);
        }
    }
}

#[test]
fn two_different_changes_of_the_list_are_two_commands_and_a_second_click_is_none() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.command(arrange(None, Some(true)));
    rig.command(arrange(None, Some(true)));
    rig.command(arrange(Some(" New name "), None));
    assert_eq!(rig.sent_names(), ["thread.update", "thread.update"]);
    let Op::ThreadUpdate(it) = &rig.sent[1].op else { unreachable!() };
    assert_eq!((it.title.as_deref(), it.pinned), (Some("New name"), None));
}

#[test]
fn the_list_is_searched_by_the_words_of_titles_whatever_their_case() {
    let mut engine = Engine::new("t");
    let named = |id: &str, title: &str| panelot_protocol::snapshot::ThreadMeta {
        title: title.into(),
        ..meta(id, 9, false)
    };
    engine.threads =
        vec![meta("t", 5, false), named("a", "Cheapest TRAIN to Lyon"), named("b", "Ürlaub in Lyon")];
    let rig = connected(&engine);
    let found = |query: &str| -> Vec<String> {
        rig.model().directory.matching(query, None).iter().map(|meta| meta.id.to_string()).collect()
    };
    assert_eq!(found("lyon train"), ["a"]);
    assert_eq!(found("ÜRLAUB"), ["b"]);
    assert_eq!(found("  ").len(), 3);
    assert_eq!(found("nowhere"), [""; 0]);
}

#[test]
fn the_list_is_narrowed_to_a_folder_or_a_label_and_both_are_known_once() {
    let mut engine = Engine::new("t");
    let filed = |id: &str, folder: Option<&str>, tags: &[&str]| panelot_protocol::snapshot::ThreadMeta {
        title: format!("Title {id}"),
        folder_id: folder.map(str::to_owned),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..meta(id, 9, false)
    };
    engine.threads = vec![
        meta("t", 5, false),
        filed("a", Some("Travel"), &["urgent", "Zoo"]),
        filed("b", Some("Travel"), &[]),
        filed("c", None, &["urgent"]),
    ];
    let mut rig = connected(&engine);
    let directory = &rig.model().directory;
    let found = |query: &str, label: Label| -> Vec<String> {
        directory.matching(query, Some(&label)).iter().map(|meta| meta.id.to_string()).collect()
    };
    let (folder, urgent) = (|| Label::Folder("Travel".into()), || Label::Tag("urgent".into()));
    assert_eq!(directory.labels(), [folder(), Label::Tag("Zoo".into()), urgent()]);
    assert_eq!(
        (found("", folder()), found("", urgent())),
        (vec!["a".into(), "b".into()], vec!["a".into(), "c".into()])
    );
    assert_eq!(found("b", folder()), ["b"], "both narrow");
    assert_eq!(found("", Label::Tag("Travel".into())), [""; 0], "a folder is no label");

    let change =
        Arrangement { folder: Some(" ".into()), tags: Some(vec!["later".into()]), ..Arrangement::default() };
    rig.command(Command::Arrange { thread: thread("a"), change });
    let Op::ThreadUpdate(it) = &rig.last_sent("thread.update").op else { unreachable!() };
    assert_eq!((it.folder_id.as_deref(), it.title.as_deref()), (Some(""), None), "out of its folder");
    assert_eq!(
        it.tags.as_ref().map(|tags| tags.iter().map(|tag| tag.to_string()).collect()),
        Some(vec!["later".to_owned()])
    );
}

#[test]
fn a_waiting_message_is_told_now_and_no_word_of_it_is_given_back() {
    let mut engine = Engine::new("t");
    engine.submit(id("first"), "first");
    engine.runs[0].steerable = true;
    engine.submit(id("second"), "second");
    let run = engine.runs[1].run_id.clone();
    let mut rig = connected(&engine);
    rig.command(Command::Promote { run: run.clone(), text: "second".into() });
    let sent = rig.last_sent("turn.steer");
    let Op::TurnSteer(it) = &sent.op else { unreachable!() };
    assert_eq!((it.promotes.as_ref(), &*it.input.text), (Some(&run), "second"));
    assert!(rig.model().is_pending(&CommandKind::Queue(run)), "its buttons rest meanwhile");
    assert_eq!(texts(&rig.model().thread.steers()), [""; 0], "it is shown once");
    rig.message(Engine::reject(&sent.submission_id, "turn_mismatch"));
    assert_eq!(rig.restored, [""; 0], "it waits on");
    assert_eq!(texts(&rig.model().thread.queued()), ["second"]);
}

#[test]
fn drafts_go_to_the_engine_once_it_is_there_and_what_was_written_meanwhile_is_newer() {
    let engine = Engine::new("t");
    let mut rig = connected(&engine);
    rig.lose_port();
    rig.command(Command::SaveDraft { thread: Some(thread("t")), text: "ol".into() });
    rig.command(Command::SaveDraft { thread: Some(thread("t")), text: "older".into() });
    rig.command(Command::SaveDraft { thread: None, text: "for later".into() });
    assert_eq!(rig.sent, []);
    rig.fire(Timer::Reconnect);
    let hello = rig.last_sent("initialize");
    let mut snapshot = engine.snapshot(&hello.submission_id);
    snapshot["snapshot"]["draft"] = json!("from another day");
    rig.take_sent();
    rig.message(snapshot);
    rig.message(engine.initialized(&hello.submission_id));
    assert_eq!(
        (rig.model().thread.draft.as_str(), rig.model().directory.draft.as_str()),
        ("older", "for later")
    );
    let kept: Vec<_> = rig.take_sent().into_iter().map(|message| message.op).collect();
    let texts: Vec<_> =
        kept.iter().map(|op| if let Op::DraftUpdate(it) = op { &*it.text } else { "" }).collect();
    assert_eq!(texts, ["for later", "older"]);
}

#[test]
fn what_a_call_waits_for_is_shown_answered_once_and_gone() {
    let mut engine = Engine::new("t");
    engine.submit(id("first"), "first");
    engine.start_message();
    engine.finish_message(1);
    let call = engine.open_calls().remove(0);
    let mut rig = connected(&engine);
    let interaction_id = ApprovalId::new("wait").expect("an id");
    let interaction = InteractionView {
        interaction_id: interaction_id.clone(),
        turn_id: engine.active_turn.clone().expect("a turn").turn_id,
        item_id: call.item_id.clone(),
        kind: InteractionKind::AskUser,
        params: json!({"questions": [{"id": "q", "question": "Which?"}]}),
        tab: None,
        requested_at: rig.now,
        deadline_at: rig.now,
    };
    engine.emit(Event::InteractionRequest(InteractionRequest { thread_id: thread("t"), interaction }));
    tell(&mut rig, &mut engine);
    assert_eq!(rig.focus.last(), Some(&Focus::Approval(interaction_id.clone())));
    let state = |rig: &Rig| match &rig
        .model()
        .thread
        .entry(&EntryKey::Tool(call.item_id.clone()))
        .expect("it")
        .body
    {
        crate::model::EntryBody::Tool { state, .. } => *state,
        _ => unreachable!(),
    };
    assert_eq!((rig.model().thread.interactions.len(), state(&rig)), (1, ToolState::Waiting));
    for value in ["a", "b"] {
        let answer = InteractionAnswer::Submit { value: json!({"q": value}) };
        rig.command(Command::Respond { interaction: interaction_id.clone(), answer });
    }
    assert_eq!(rig.sent_names(), ["interaction.response"], "the first answer counts");
    let outcome = Some(InteractionOutcome::Submitted);
    engine.emit(Event::InteractionResolved(InteractionResolved {
        thread_id: thread("t"),
        interaction_id,
        outcome,
    }));
    tell(&mut rig, &mut engine);
    assert_eq!((rig.model().thread.interactions.len(), state(&rig)), (0, ToolState::Proposed));
}

#[test]
fn a_rename_from_elsewhere_and_a_waiting_update_are_shown() {
    let mut engine = Engine::new("t");
    let mut rig = connected(&engine);
    let renamed =
        panelot_protocol::snapshot::ThreadMeta { title: "Renamed".into(), revision: 2, ..meta("t", 6, true) };
    rig.message(engine.directory(Event::DirectoryThread(DirectoryThread { thread: renamed.clone() }), 2));
    engine.emit(Event::ThreadUpdated(ThreadUpdated { thread_id: thread("t"), meta: renamed }));
    tell(&mut rig, &mut engine);
    assert_eq!(rig.model().thread.meta.as_ref().expect("a head").title, "Renamed");
    assert!(rig.model().directory.thread(&thread("t")).expect("it").pinned);
    rig.message(engine.directory(Event::UpdateAvailable(UpdateAvailable { version: "2.0".into() }), 3));
    assert_eq!(rig.model().directory.update.as_deref(), Some("2.0"));
    rig.command(Command::ApplyUpdate);
    rig.last_sent("update.apply");
    let run = RunId::new("r").expect("an id");
    rig.command(Command::RemoveQueued { run });
    rig.last_sent("queue.remove");
}
