//! A view that comes later ends exactly like one that was there from the start.

use panelot_base::SubmissionId;
use panelot_protocol::snapshot::RunState;
use proptest::prelude::*;

use super::engine::Engine;
use super::rig::Rig;
use crate::model::{EntryBody, ThreadView};
use crate::{Command, Timer};

#[derive(Clone, Debug)]
enum Step {
    Submit,
    StartMessage,
    Delta(String, String),
    Checkpoint,
    FinishMessage(usize),
    Ask,
    Decide(bool),
    StartCall,
    FinishCall(bool),
    EndTurn(RunState),
    Restart,
    /// The late view comes, or comes again.
    Join,
    /// An event is lost on its way to the late view.
    Lose,
}

fn step() -> impl Strategy<Value = Step> {
    let text =
        prop::sample::select(vec!["Hello ", "**wor", "ld**\n\n", "- item\n", "```\ncode\n", "中", "| a |\n"]);
    let reasoning = prop::sample::select(vec!["", "hm ", "so\n"]);
    prop_oneof![
        3 => Just(Step::Submit),
        4 => Just(Step::StartMessage),
        12 => (text, reasoning).prop_map(|(text, reasoning)| Step::Delta(text.into(), reasoning.into())),
        2 => Just(Step::Checkpoint),
        4 => (0_usize..3).prop_map(Step::FinishMessage),
        3 => Just(Step::Ask),
        3 => any::<bool>().prop_map(Step::Decide),
        4 => Just(Step::StartCall),
        4 => any::<bool>().prop_map(Step::FinishCall),
        2 => prop::sample::select(vec![RunState::Completed, RunState::Failed, RunState::Cancelled]).prop_map(Step::EndTurn),
        1 => Just(Step::Restart),
        2 => Just(Step::Join),
        1 => Just(Step::Lose),
    ]
}

/// All that is shown, as text; not the revisions, and not when the view itself saw the turn begin.
pub(super) fn picture(thread: &ThreadView) -> String {
    let mut lines = Vec::new();
    for entry in thread.entries() {
        let body = match &entry.body {
            EntryBody::Assistant { document, .. } => {
                let blocks: Vec<_> = document.nodes().iter().map(|node| &node.block).collect();
                format!("{:?} {blocks:?} {:?}", document.text(), without_document(&entry.body))
            }
            body => format!("{body:?}"),
        };
        lines.push(format!("{:?} {:?} {:?} {body}", entry.key, entry.at, entry.turn_id));
    }
    lines.push(format!("{:?}", thread.active_turn.as_ref().map(|turn| (&turn.turn_id, &turn.run_id))));
    lines.push(format!("{:?} {:?}", thread.approvals, thread.runs));
    lines.push(format!("{:?} {:?} {}", thread.queued(), thread.recoveries(), thread.is_busy()));
    lines.push(format!("{:?} {} {}", thread.meta, thread.loading, thread.can_load_older));
    lines.join("\n")
}

fn without_document(body: &EntryBody) -> String {
    match body {
        EntryBody::Assistant { reasoning, streaming, incomplete, stop, usage, model, .. } => {
            format!("{reasoning:?} {streaming} {incomplete} {stop:?} {usage:?} {model:?}")
        }
        _ => String::new(),
    }
}

/// Answers what a client asked of its connection.
fn serve(rig: &mut Rig, engine: &Engine) {
    for message in rig.take_sent() {
        let follows = Rig::subscribed_to(&message).is_some();
        if message.op.name() == "initialize" {
            rig.message(engine.initialized(&message.submission_id));
        }
        if follows {
            rig.message(engine.snapshot(&message.submission_id));
        }
    }
}

fn run(engine: &mut Engine, step: &Step, number: usize) {
    match step {
        Step::Submit if engine.runs.len() < 4 => {
            engine.submit(
                SubmissionId::new(format!("s-{number}")).expect("an id"),
                &format!("message {number}"),
            );
        }
        Step::StartMessage => engine.start_message(),
        Step::Delta(text, reasoning) => engine.delta(text, reasoning),
        Step::Checkpoint => engine.checkpoint(),
        Step::FinishMessage(calls) => engine.finish_message(*calls),
        Step::Ask => engine.ask(),
        Step::Decide(accept) => engine.decide(*accept),
        Step::StartCall => engine.start_call(),
        Step::FinishCall(ok) => engine.finish_call(*ok),
        Step::EndTurn(state) => engine.end_turn(*state),
        Step::Submit | Step::Restart | Step::Join | Step::Lose => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_view_that_joins_at_any_moment_shows_what_one_from_the_start_shows(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut engine = Engine::new("t");
        let mut first = Rig::new("first", 1);
        first.start(Some(engine.id.clone()), None);
        serve(&mut first, &engine);
        let mut late: Option<Rig> = None;
        let mut lose = false;
        for (number, step) in steps.iter().enumerate() {
            run(&mut engine, step, number);
            match step {
                Step::Join => {
                    let mut rig = Rig::new("late", 2);
                    rig.start(Some(engine.id.clone()), None);
                    serve(&mut rig, &engine);
                    late = Some(rig);
                    lose = false;
                }
                Step::Lose => lose = true,
                Step::Restart => {
                    engine.restart();
                    for rig in std::iter::once(&mut first).chain(late.as_mut()) {
                        rig.lose_port();
                        rig.fire(Timer::Reconnect);
                        serve(rig, &engine);
                    }
                    engine.start_next();
                    lose = false;
                }
                _ => {}
            }
            for event in engine.drain() {
                first.message(event.clone());
                if let Some(rig) = &mut late && !std::mem::take(&mut lose) {
                    rig.message(event);
                    serve(rig, &engine);
                }
            }
            if let Some(rig) = late.as_ref().filter(|_| !lose) {
                let truth = picture(&first.model().thread);
                let behind = rig.model().thread.entries().count() == 0 && engine.items.is_empty();
                // A lost event is noticed with the next one.
                let lost = steps.get(..=number).is_some_and(|past| {
                    past.iter().rev().take_while(|step| !matches!(step, Step::Join)).any(|step| matches!(step, Step::Lose))
                });
                if !lost && !behind {
                    prop_assert_eq!(picture(&rig.model().thread), truth);
                }
            }
        }
        engine.submit(SubmissionId::new("last").expect("an id"), "last");
        engine.end_turn(RunState::Completed);
        engine.submit(SubmissionId::new("very-last").expect("an id"), "very last");
        for event in engine.drain() {
            first.message(event.clone());
            if let Some(rig) = &mut late {
                rig.message(event);
                serve(rig, &engine);
            }
        }
        let mut fresh = Rig::new("fresh", 3);
        fresh.start(None, None);
        serve(&mut fresh, &engine);
        fresh.command(Command::Open { thread: engine.id.clone() });
        serve(&mut fresh, &engine);
        let truth = picture(&first.model().thread);
        prop_assert_eq!(picture(&fresh.model().thread), truth.clone());
        if let Some(rig) = late {
            prop_assert_eq!(picture(&rig.model().thread), truth);
        }
    }
}
