//! Decisions of the engine alone: what it answers, what it ignores, what it survives.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ItemId, ModelCallId, RunId, SessionId, SubmissionId, ThreadId, Timestamp, TurnId};
use panelot_protocol::event::ErrorCode;
use panelot_protocol::{Event, OpMessage, PROTOCOL, SCHEMA_HASH};
use panelot_records::run::{Batch, Call, Overrides};
use panelot_records::thread::{Stats, TitleSource};
use panelot_records::{Body, CallState, Connection, Node, Record, Run, RunState, Thread, ThreadHead, Write};
use panelot_tools::TargetError;
use serde_json::{Value, json};

use super::{Boot, Engine};
use crate::input::{ConnectionHandle, Input, ModelInput, TargetPhase};
use crate::step::{Effect, Step};

const VIEW: ConnectionHandle = ConnectionHandle(1);
const NOW: Timestamp = Timestamp(1_000_000);

fn thread(open_runs: Vec<RunId>, leaf: Option<u64>) -> Thread {
    Thread {
        id: ThreadId::new("thread").unwrap(),
        revision: 3,
        title: "Order".into(),
        title_source: TitleSource::FirstLine,
        created_at: NOW,
        updated_at: NOW,
        leaf,
        next_seq: leaf.map_or(1, |leaf| leaf + 1),
        next_order: 2,
        open_runs,
        pinned: false,
        archived: false,
        folder: None,
        preset: None,
        model: None,
        effort: None,
        tags: Vec::new(),
        stats: Stats::default(),
        forked_from: None,
        chain: 0,
        chains: Vec::new(),
        fence_seed: "seed".into(),
        deleted_at: None,
    }
}

fn connection() -> Connection {
    Connection {
        name: "Test".into(),
        models: vec!["m".into()],
        ..Connection::new(
            panelot_base::ConnectionId::new("conn").unwrap(),
            panelot_records::ProviderWire::Openai,
            panelot_base::SafeUrl::new("http://localhost:1/v1"),
            NOW,
        )
    }
}

fn boot(threads: Vec<Thread>) -> Boot {
    Boot {
        vault: None,
        unlocked: false,
        epoch: 1,
        session: SessionId::new("session").unwrap(),
        seed: [1; 16],
        browser_language: "en".into(),
        settings: None,
        connections: vec![connection()],
        rules: Vec::new(),
        rules_unreadable: false,
        grants: Vec::new(),
        drafts: Vec::new(),
        threads,
        quarantined: Default::default(),
        problems: Vec::new(),
    }
}

fn op(engine: &mut Engine, id: &str, mut op: Value) -> Vec<Step> {
    op["submissionId"] = json!(id);
    let message: OpMessage = panelot_protocol::decode_op(&op).unwrap();
    let input = Input::Op { from: VIEW, message, receipt: None };
    engine.handle(NOW, input)
}

fn initialize(engine: &mut Engine, subscribe: Option<&str>) -> Vec<Event> {
    let mut message =
        json!({"type": "initialize", "protocol": PROTOCOL, "schemaHash": SCHEMA_HASH, "clientId": "client"});
    if let Some(thread) = subscribe {
        message["subscribe"] = json!(thread);
    }
    events(&op(engine, "hello", message))
}

/// An engine with one view, and what is stored of one thread.
fn engine_with(head: ThreadHead) -> (Engine, Vec<Step>) {
    let (mut engine, _) = Engine::new(boot(vec![head.thread.clone()]));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let thread = head.thread.id.clone();
    let steps = engine.handle(NOW, Input::Loaded { thread, head: Some(Box::new(head)) });
    (engine, steps)
}

fn events(steps: &[Step]) -> Vec<Event> {
    let sent = |effect: &Effect| match effect {
        Effect::Send { message, .. } => Some(message.event.clone()),
        _ => None,
    };
    steps.iter().flat_map(|step| &step.effects).filter_map(sent).collect()
}

fn written_run(steps: &[Step]) -> Option<Run> {
    let writes = steps.iter().filter_map(|step| step.commit.as_ref()).flat_map(|commit| &commit.writes);
    let run = |write: &Write| match write {
        Write::Put(Record::Run(run)) => Some(run.clone()),
        _ => None,
    };
    writes.filter_map(run).next_back()
}

fn model_calls(steps: &[Step]) -> Vec<ModelCallId> {
    let call = |effect: &Effect| match effect {
        Effect::CallModel(call) => Some(call.call.clone()),
        _ => None,
    };
    steps.iter().flat_map(|step| &step.effects).filter_map(call).collect()
}

fn run(batch: Option<Batch>, leaf: u64) -> Run {
    Run {
        tool_levels: None,
        id: RunId::new("run").unwrap(),
        thread: ThreadId::new("thread").unwrap(),
        turn: TurnId::new("turn").unwrap(),
        revision: 2,
        state: RunState::Running,
        order: 1,
        client: panelot_base::ClientId::new("client").unwrap(),
        submission: SubmissionId::new("s").unwrap(),
        queued_text: None,
        default_tab: None,
        overrides: Overrides::default(),
        environment: Some(environment_digest()),
        model: Some(panelot_records::run::ModelChoice { connection: connection().id, model: "m".into() }),
        leaf: Some(leaf),
        partial: None,
        batch,
        model_calls: 1,
        failures: 0,
        steers: Vec::new(),
        trail: Vec::new(),
        token_limit: None,
        usage: panelot_records::node::Usage::default(),
        stop_reason: None,
        error: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn environment_digest() -> panelot_base::EnvironmentDigest {
    let environment = panelot_records::Environment {
        system: "system".into(),
        tools: Vec::new(),
        model: panelot_records::run::ModelChoice { connection: connection().id, model: "m".into() },
        parameters: Value::Null,
    };
    environment.digest()
}

fn assistant(seq: u64, calls: Vec<panelot_records::StoredCall>) -> Node {
    Node {
        thread: ThreadId::new("thread").unwrap(),
        seq,
        parent: None,
        chain: 0,
        at: NOW,
        turn: TurnId::new("turn").unwrap(),
        body: Body::Assistant {
            item: ItemId::new("message").unwrap(),
            text: String::new(),
            reasoning: String::new(),
            calls,
            connection: connection().id,
            model: "m".into(),
            usage: None,
            incomplete: false,
            stop: None,
            vendor: Default::default(),
            cost: None,
        },
    }
}

fn stored_call(name: &str) -> panelot_records::StoredCall {
    panelot_records::StoredCall {
        item: ItemId::new("call").unwrap(),
        name: name.into(),
        arguments: "{}".into(),
        vendor: Default::default(),
    }
}

fn head_with_batch(calls: Vec<panelot_records::StoredCall>, state: CallState) -> ThreadHead {
    let item = ItemId::new("call").unwrap();
    let call = Call { item, state, target: None, attempts: 0, approval: None };
    let run = run(Some(Batch { assistant_seq: 1, calls: vec![call] }), 1);
    ThreadHead {
        thread: thread(vec![run.id.clone()], Some(1)),
        runs: vec![run],
        approvals: Vec::new(),
        page: vec![assistant(1, calls)],
        has_older: false,
        is_cut: false,
        leaf_lost: false,
    }
}

#[test]
fn a_damaged_batch_whose_call_its_message_does_not_have_is_passed_over() {
    let (_, steps) = engine_with(head_with_batch(Vec::new(), CallState::Proposed));
    assert_eq!(model_calls(&steps).len(), 1, "the run goes on");
}

#[test]
fn a_read_that_a_death_cut_off_is_looked_up_again_and_a_target_that_nobody_awaits_is_ignored() {
    let state = CallState::Dispatched { attempt: 1, at: NOW };
    let (mut engine, steps) = engine_with(head_with_batch(vec![stored_call("read_page")], state));
    let looked_up = |step: &Step| step.effects.iter().any(|effect| matches!(effect, Effect::FindTarget(_)));
    assert!(steps.iter().any(looked_up));
    let target = |phase| Input::Target {
        thread: ThreadId::new("thread").unwrap(),
        item: ItemId::new("call").unwrap(),
        phase,
        found: Err(TargetError::NoDefaultTab),
    };
    let ignored = engine.handle(NOW, target(TargetPhase::Dispatch));
    assert!(ignored.iter().all(|step| step.commit.is_none() && step.effects.is_empty()), "{ignored:?}");
    let stop = op(&mut engine, "stop", json!({"type": "turn.interrupt", "threadId": "thread"}));
    assert_eq!(written_run(&stop).unwrap().state, RunState::Cancelled);
    let late = engine.handle(NOW, target(TargetPhase::Judge));
    assert!(late.iter().all(|step| step.commit.is_none() && step.effects.is_empty()), "{late:?}");
}

#[test]
fn what_a_dropped_thread_had_under_way_moves_nothing_when_it_comes_back() {
    let (mut engine, _) = Engine::new(boot(Vec::new()));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let made = op(&mut engine, "new", json!({"type": "thread.create", "input": {"text": "hi"}}));
    let call = model_calls(&made).pop().unwrap();
    let thread = made[0].threads[0].clone();
    engine.drop_thread(&thread);
    assert!(!engine.is_busy());
    let event = ModelInput::Delta { text: "late".into(), reasoning: String::new() };
    let late = engine.handle(NOW, Input::Model { thread, call, event });
    assert!(events(&late).is_empty());
}

#[test]
fn a_thread_that_is_dropped_again_while_it_comes_back_still_says_how_it_stands() {
    let stored = thread(Vec::new(), None);
    let head = || {
        let head = ThreadHead { runs: Vec::new(), ..head_with_batch(Vec::new(), CallState::Proposed) };
        Some(Box::new(ThreadHead { thread: stored.clone(), page: Vec::new(), ..head }))
    };
    let (mut engine, _) = Engine::new(boot(vec![stored.clone()]));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    engine.drop_thread(&stored.id);
    engine.handle(NOW, Input::Loaded { thread: stored.id.clone(), head: head() });
    // What its recovery stored is reported as failed; the load that was asked for is handled after that.
    engine.drop_thread(&stored.id);
    engine.handle(NOW, Input::Load { thread: stored.id.clone() });
    let back = events(&engine.handle(NOW, Input::Loaded { thread: stored.id.clone(), head: head() }));
    assert!(back.iter().any(|event| matches!(event, Event::ActivityUpdated(_))), "{back:?}");
}

#[test]
fn a_thread_that_is_set_aside_says_so_to_every_command_but_its_deletion() {
    let stored = thread(vec![RunId::new("run").unwrap()], Some(1));
    let mut boot = boot(vec![stored.clone()]);
    boot.quarantined.insert(stored.id.clone());
    let (mut engine, steps) = Engine::new(boot);
    let loads = steps.iter().flat_map(|step| &step.effects).any(|effect| matches!(effect, Effect::Load(_)));
    assert!(!loads, "it is not even loaded");
    engine.handle(NOW, Input::Connected(VIEW));
    let code = |events: &[Event]| {
        events.iter().find_map(|event| match event {
            Event::Error(it) => Some(it.error.code),
            Event::CommandRejected(it) => Some(it.code),
            _ => None,
        })
    };
    assert_eq!(code(&initialize(&mut engine, Some("thread"))), Some(ErrorCode::Quarantined));
    let subscribe = op(&mut engine, "a", json!({"type": "thread.subscribe", "threadId": "thread"}));
    assert_eq!(code(&events(&subscribe)), Some(ErrorCode::Quarantined));
    let submit = json!({"type": "turn.submit", "threadId": "thread", "input": {"text": "hi"}});
    assert_eq!(code(&events(&op(&mut engine, "b", submit))), Some(ErrorCode::Quarantined));
    assert_eq!(engine.needs(&Input::Load { thread: stored.id }), None);
    let delete = events(&op(&mut engine, "c", json!({"type": "thread.delete", "threadId": "thread"})));
    assert!(matches!(delete[0], Event::CommandAck(_)), "{delete:?}");
}

#[test]
fn a_second_handshake_on_a_port_replaces_the_first_with_its_subscription() {
    let head = ThreadHead {
        thread: thread(Vec::new(), None),
        runs: Vec::new(),
        approvals: Vec::new(),
        page: Vec::new(),
        has_older: false,
        is_cut: false,
        leaf_lost: false,
    };
    let (mut engine, _) = engine_with(head);
    let first = initialize(&mut engine, Some("thread"));
    assert!(first.iter().any(|event| matches!(event, Event::ThreadSnapshot(_))));
    initialize(&mut engine, None);
    let submit = json!({"type": "turn.submit", "threadId": "thread", "input": {"text": "hi"}});
    let heard = events(&op(&mut engine, "a", submit));
    assert!(
        heard.iter().all(|event| !matches!(event, Event::TurnStart(_) | Event::ItemStored(_))),
        "{heard:?}"
    );
}

#[test]
fn a_view_that_moves_to_another_thread_hears_nothing_more_of_the_first() {
    let (mut engine, _) = Engine::new(boot(Vec::new()));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let first = op(&mut engine, "a", json!({"type": "thread.create", "input": {"text": "one"}}));
    let call = model_calls(&first).pop().unwrap();
    op(&mut engine, "b", json!({"type": "thread.create"}));
    let event = ModelInput::Delta { text: "word".into(), reasoning: String::new() };
    let thread = first[0].threads[0].clone();
    let heard = events(&engine.handle(NOW, Input::Model { thread, call, event }));
    assert!(heard.iter().all(|event| event.thread_id().is_none()), "{heard:?}");
}

#[test]
fn nothing_wakes_an_engine_in_which_nothing_waits() {
    let (mut engine, _) = engine_with(head_with_batch(vec![stored_call("read_page")], CallState::Proposed));
    assert_eq!(engine.next_wake(), None, "a target that is looked up has no time of its own");
    op(&mut engine, "stop", json!({"type": "turn.interrupt", "threadId": "thread"}));
    assert_eq!(engine.next_wake(), None);
}

#[test]
fn a_sweep_ends_with_the_grants_of_earlier_browser_sessions() {
    let grant = |session: &str, tool: &str| panelot_records::Grant {
        session: SessionId::new(session).unwrap(),
        thread: ThreadId::new("thread").unwrap(),
        tool: tool.into(),
        origin: "https://shop.test".into(),
        at: NOW,
    };
    let mut boot = boot(Vec::new());
    boot.grants = vec![grant("earlier", "click"), grant("session", "type")];
    let (mut engine, mut steps) = Engine::new(boot);
    let mut writes = Vec::new();
    let mut slices = 0;
    while steps.iter().flat_map(|step| &step.effects).any(|effect| matches!(effect, Effect::Sweep(_))) {
        slices += 1;
        steps = engine.handle(NOW, Input::Swept { found: Vec::new() });
        writes.extend(steps.iter().flat_map(|step| &step.commit).flat_map(|commit| commit.writes.clone()));
    }
    let key = panelot_records::Key::grant(&ThreadId::new("thread").unwrap(), "click", "https://shop.test");
    assert_eq!((slices, writes), (4, vec![Write::Delete(key)]));
}

fn commits(steps: &[Step]) -> Vec<&panelot_records::Commit> {
    steps.iter().filter_map(|step| step.commit.as_ref()).collect()
}

/// The records that a commit puts, by name.
fn puts(commit: &panelot_records::Commit) -> Vec<&'static str> {
    let name = |write: &Write| match write {
        Write::Put(Record::Thread(_)) => Some("thread"),
        Write::Put(Record::Run(_)) => Some("run"),
        Write::Put(Record::Approval(_)) => Some("approval"),
        Write::Put(Record::Receipt(_)) => Some("receipt"),
        Write::Put(Record::Node(node)) => Some(match node.body {
            Body::User { .. } => "message",
            Body::Assistant { .. } => "answer",
            Body::ToolResult { .. } => "result",
            Body::Decision { .. } => "decision",
            _ => "other node",
        }),
        _ => None,
    };
    let mut names: Vec<_> = commit.writes.iter().filter_map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_last_answer_and_the_end_of_its_run_are_one_commit_before_anybody_hears_of_it() {
    let (mut engine, _) = Engine::new(boot(Vec::new()));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let made = op(&mut engine, "new", json!({"type": "thread.create", "input": {"text": "hi"}}));
    assert_eq!(commits(&made).len(), 1);
    assert_eq!(puts(commits(&made)[0]), ["message", "receipt", "run", "thread"]);
    let (call, thread) = (model_calls(&made).pop().unwrap(), made[0].threads[0].clone());
    let usage = panelot_provider::Usage { input: 3, output: 2, cache_read: 0, cache_write: 0 };
    let response = panelot_provider::Response {
        text: "Hello.".into(),
        reasoning: String::new(),
        tool_calls: Vec::new(),
        usage: Some(usage),
        vendor: Default::default(),
        stop_reason: panelot_provider::StopReason::End,
    };
    let event = ModelInput::Completed(response);
    let ended = engine.handle(NOW, Input::Model { thread, call, event });
    assert_eq!(commits(&ended).len(), 1);
    assert_eq!(puts(commits(&ended)[0]), ["answer", "run", "thread"]);
    let run = written_run(&ended).unwrap();
    assert_eq!(
        (run.state, run.stop_reason.as_deref(), run.usage.input),
        (RunState::Completed, Some("end"), 3)
    );
    let tells = |step: &Step| {
        events(std::slice::from_ref(step)).iter().any(|it| matches!(it, Event::TurnComplete(_)))
    };
    assert!(
        ended.iter().all(|step| !tells(step) || step.commit.is_some()),
        "it is told by what waits for the commit"
    );
}

/// An engine in which a click waits for the person, and the steps that asked for it.
fn asking() -> (Engine, Vec<Step>) {
    let click =
        panelot_records::StoredCall { arguments: "{\"ref\": \"k7q2-1\"}".into(), ..stored_call("click") };
    let (mut engine, _) = engine_with(head_with_batch(vec![click], CallState::Proposed));
    op(&mut engine, "follow", json!({"type": "thread.subscribe", "threadId": "thread"}));
    let target = panelot_tools::Target {
        tab_id: 7,
        frame_id: 0,
        document_id: Some("doc".into()),
        url: "https://shop.test/".into(),
        origin: "https://shop.test".into(),
        title: "Shop".into(),
    };
    let facts =
        panelot_tools::TargetFacts { target: Some(target), host_access: panelot_tools::HostAccess::Granted };
    let asked = engine.handle(
        NOW,
        Input::Target {
            thread: ThreadId::new("thread").unwrap(),
            item: ItemId::new("call").unwrap(),
            phase: TargetPhase::Judge,
            found: Ok(facts),
        },
    );
    (engine, asked)
}

#[test]
fn a_question_is_stored_with_its_run_before_any_view_hears_of_it() {
    let (_, asked) = asking();
    assert_eq!(commits(&asked).len(), 1);
    assert_eq!(puts(commits(&asked)[0]), ["approval", "run", "thread"]);
    let step = asked.iter().find(|step| step.commit.is_some()).unwrap();
    let told = events(std::slice::from_ref(step));
    assert!(told.iter().any(|event| matches!(event, Event::ApprovalRequest(_))), "{told:?}");
    assert_eq!(written_run(&asked).unwrap().state, RunState::WaitingApproval);
}

#[test]
fn an_answer_to_a_question_and_all_that_it_ends_are_one_commit_with_its_receipt() {
    for (kind, all) in [
        ("accept", vec!["approval", "decision", "receipt", "run", "thread"]),
        ("decline", vec!["approval", "decision", "receipt", "result", "run", "thread"]),
        ("cancel", vec!["approval", "decision", "receipt", "result", "run", "thread"]),
    ] {
        let (mut engine, asked) = asking();
        let question = events(&asked).into_iter().find_map(|event| match event {
            Event::ApprovalRequest(it) => Some(it.approval.approval_id),
            _ => None,
        });
        let answer = json!({"type": "approval.response", "threadId": "thread", "approvalId": question.unwrap(), "decision": {"kind": kind}});
        let steps = op(&mut engine, "answer", answer);
        assert_eq!(commits(&steps).len(), 1, "{kind}");
        assert_eq!(puts(commits(&steps)[0]), all, "{kind}");
    }
}

#[test]
fn a_handshake_that_names_a_thread_that_is_gone_is_answered_and_nothing_else_is_said() {
    let (mut engine, _) = Engine::new(boot(Vec::new()));
    engine.handle(NOW, Input::Connected(VIEW));
    let answers = initialize(&mut engine, Some("gone"));
    assert!(matches!(answers.as_slice(), [Event::Initialized(_)]), "{answers:?}");
}

#[test]
fn a_subscription_that_fails_leaves_the_one_before() {
    let (mut engine, _) = Engine::new(boot(Vec::new()));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let made = op(&mut engine, "new", json!({"type": "thread.create", "input": {"text": "hi"}}));
    let (call, thread) = (model_calls(&made).pop().unwrap(), made[0].threads[0].clone());
    let refused = events(&op(&mut engine, "gone", json!({"type": "thread.subscribe", "threadId": "gone"})));
    let Some(Event::Error(error)) = refused.first() else { unreachable!() };
    assert_eq!(error.error.code, ErrorCode::ThreadNotFound);
    assert_eq!(error.submission_id.as_ref().map(SubmissionId::as_str), Some("gone"));
    let event = ModelInput::Delta { text: "word".into(), reasoning: String::new() };
    let heard = events(&engine.handle(NOW, Input::Model { thread, call, event }));
    assert!(heard.iter().any(|event| matches!(event, Event::ItemDelta(_))), "{heard:?}");
}

#[test]
fn a_tool_that_an_update_took_away_fails_its_call_alone_and_leaves_a_dispatched_one_in_doubt() {
    let (_, steps) = engine_with(head_with_batch(vec![stored_call("teleport")], CallState::Proposed));
    assert_eq!(puts(commits(&steps)[0]), ["result", "run", "thread"]);
    assert_eq!(model_calls(&steps).len(), 1, "the model reads it and goes on");
    let state = CallState::Dispatched { attempt: 1, at: NOW };
    let (_, steps) = engine_with(head_with_batch(vec![stored_call("teleport")], state));
    assert_eq!(written_run(&steps).unwrap().state, RunState::PausedUncertain);
}

#[test]
fn what_is_kept_of_threads_that_sleep_does_not_grow_and_their_numbers_go_on() {
    let (mut engine, _) = Engine::new(boot(Vec::new()));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let mut threads = Vec::new();
    for number in 0..5 {
        let made = op(&mut engine, &format!("new-{number}"), json!({"type": "thread.create"}));
        threads.push(made[0].threads[0].clone());
        let rename = json!({"type": "thread.update", "threadId": threads[number], "title": "x"});
        op(&mut engine, &format!("name-{number}"), rename);
    }
    assert_eq!((engine.machines.len(), engine.sequences.len()), (1, 1), "only the one that is watched");
    let highest = engine.sequence_floor.max(engine.sequences.values().copied().max().unwrap());
    let head = ThreadHead {
        thread: Thread { id: threads[0].clone(), ..thread(Vec::new(), None) },
        runs: Vec::new(),
        approvals: Vec::new(),
        page: Vec::new(),
        has_older: false,
        is_cut: false,
        leaf_lost: false,
    };
    engine.handle(NOW, Input::Loaded { thread: threads[0].clone(), head: Some(Box::new(head)) });
    op(&mut engine, "back", json!({"type": "thread.subscribe", "threadId": threads[0]}));
    assert!(engine.sequences.get(&threads[0]).is_some_and(|number| *number > 1 && *number <= highest + 1));
}

#[test]
fn a_command_for_a_thread_that_cannot_be_read_may_come_again() {
    let (mut engine, _) = Engine::new(boot(vec![thread(Vec::new(), Some(1))]));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let steps = op(&mut engine, "a", json!({"type": "turn.interrupt", "threadId": "thread"}));
    assert!(steps.iter().all(|step| step.commit.is_none()), "no receipt, so it is no answer for ever");
    assert!(matches!(&events(&steps)[..], [Event::CommandRejected(it)] if it.retryable), "{steps:?}");
}

#[test]
fn a_refusal_whose_receipt_is_not_stored_may_come_again() {
    let (mut engine, _) = Engine::new(boot(Vec::new()));
    engine.handle(NOW, Input::Connected(VIEW));
    initialize(&mut engine, None);
    let steps = op(&mut engine, "a", json!({"type": "turn.interrupt", "threadId": "gone"}));
    let [Step { commit: Some(_), on_failure, .. }] = &steps[..] else { panic!("{steps:?}") };
    let [Effect::Send { message, .. }] = &on_failure[..] else { panic!("{on_failure:?}") };
    assert!(matches!(&message.event, Event::CommandRejected(it) if it.retryable), "{message:?}");
}

#[test]
fn what_was_granted_in_a_thread_is_not_shown_after_its_deletion() {
    for awake in [true, false] {
        let head = head_with_batch(vec![stored_call("read_page")], CallState::Proposed);
        let mut boot = boot(vec![head.thread.clone()]);
        boot.grants = vec![panelot_records::Grant {
            session: SessionId::new("session").unwrap(),
            thread: head.thread.id.clone(),
            tool: "click".into(),
            origin: "https://shop.test".into(),
            at: NOW,
        }];
        let (mut engine, _) = Engine::new(boot);
        engine.handle(NOW, Input::Connected(VIEW));
        initialize(&mut engine, None);
        if awake {
            let thread = head.thread.id.clone();
            engine.handle(NOW, Input::Loaded { thread, head: Some(Box::new(head)) });
        }
        let told = events(&op(&mut engine, "a", json!({"type": "thread.delete", "threadId": "thread"})));
        let grants = told.iter().find_map(|event| match event {
            Event::SettingsUpdated(it) => Some(it.settings.grants.len()),
            _ => None,
        });
        assert_eq!(grants, Some(0), "awake: {awake}, {told:?}");
    }
}

/// A run whose call watches a page for a text.
fn watching_head() -> ThreadHead {
    let approval = panelot_base::ApprovalId::new("wait").unwrap();
    let arguments = json!({"condition": "text", "value": "Hello"});
    let call = panelot_records::StoredCall { arguments: arguments.to_string(), ..stored_call("watch_page") };
    let mut head = head_with_batch(vec![call], CallState::Waiting { approval: approval.clone() });
    head.runs[0].state = RunState::WaitingInteraction;
    head.approvals = vec![panelot_records::Approval {
        id: approval,
        thread: head.thread.id.clone(),
        run: head.runs[0].id.clone(),
        wait: Some(panelot_records::WaitKind::WatchPage),
        turn: head.runs[0].turn.clone(),
        item: ItemId::new("call").unwrap(),
        revision: 0,
        tool: "watch_page".into(),
        arguments,
        origin: "https://shop.test".into(),
        flags: Vec::new(),
        target: Some(page_target().to_json()),
        preview: None,
        digest: String::new(),
        state: panelot_records::ApprovalState::Pending,
        requested_at: NOW,
        deadline_at: NOW.plus_ms(60_000),
    }];
    head
}

fn page_target() -> panelot_tools::Target {
    panelot_tools::Target {
        tab_id: 7,
        frame_id: 0,
        document_id: Some("D".into()),
        url: "https://shop.test/order".into(),
        origin: "https://shop.test".into(),
        title: "Order".into(),
    }
}

#[test]
fn a_look_is_stopped_with_its_wait_even_when_a_report_of_an_earlier_machine_ends_it() {
    let (mut engine, _) = engine_with(watching_head());
    let thread = ThreadId::new("thread").unwrap();
    let item = ItemId::new("call").unwrap();
    engine.handle(NOW, Input::Wake);
    let facts = panelot_tools::TargetFacts {
        target: Some(page_target()),
        host_access: panelot_tools::HostAccess::Granted,
    };
    let found = Ok(facts);
    let looked = engine.handle(
        NOW,
        Input::Target { thread: thread.clone(), item: item.clone(), phase: TargetPhase::Look, found },
    );
    let dispatched = looked.iter().flat_map(|step| &step.effects).find_map(|effect| match effect {
        Effect::Dispatch { attempt, .. } => Some(*attempt),
        _ => None,
    });
    // The machine was built anew while its predecessor's first look was under way, so this one is the first as well.
    let attempt = dispatched.expect("the page is read");
    let page = json!({"type": "page", "page": {"url": "https://shop.test/order", "title": "Order", "loading": false,
        "viewport": {"width": 800, "height": 600, "scrollY": 0, "pageHeight": 600},
        "nodes": [{"type": "text", "depth": 0, "text": "Hello"}]}});
    let report = panelot_tools::Report::Page(Ok(FromJson::from_json(page).unwrap()));
    let steps = engine.handle(NOW, Input::Report { thread, item, attempt, report });
    let effects: Vec<_> = steps.iter().flat_map(|step| &step.effects).collect();
    assert!(effects.iter().any(|effect| matches!(effect, Effect::CancelTool { .. })), "{effects:?}");
}
