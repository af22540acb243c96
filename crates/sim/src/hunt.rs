//! Whether the simulator can fail: each deliberate bug is switched on and must be found.

use std::time::Instant;

use panelot_engine::bugs::{Bug, set};

use crate::invariant::{Invariant, Violation};
use crate::life::{Lived, Look, Plan, live};
use crate::lives::{self, guarded};

/// Every bug in the order and words of the issue, with the invariants that it breaks: found by another, it would not be
/// found for its own reason.
const BUGS: &[(Bug, &str, &[Invariant])] = &[
    (Bug::ReceiptOutside, "receipt outside the commit", &[Invariant::Acknowledged, Invariant::SameAnswer]),
    (
        Bug::EffectBeforeCommit,
        "effect before commit",
        &[Invariant::Law, Invariant::Acknowledged, Invariant::WriteOnce],
    ),
    (Bug::NewIsResumed, "one state for new and resuming", &[Invariant::Acknowledged]),
    (Bug::ReplayedWrite, "replayed write", &[Invariant::WriteOnce]),
    (Bug::DispatchUnrecorded, "dispatch not recorded", &[Invariant::WriteOnce]),
    (Bug::LostSteer, "lost steer", &[Invariant::Acknowledged]),
    (Bug::SteerBetween, "steer between call and result", &[Invariant::LegalHistory]),
    (Bug::QueueByClock, "queue by clock", &[Invariant::QueueOrder]),
    (Bug::LeakedWait, "leaked wait at a run's end", &[Invariant::EndCloses]),
    (Bug::TwoAnswers, "two answers accepted", &[Invariant::FirstAnswer]),
    (Bug::OrphanResult, "orphan tool result", &[Invariant::LegalHistory]),
    (Bug::LeafBeforeRun, "leaf moved before the run", &[Invariant::Tree]),
    (Bug::UndoneDelete, "delete that a late write undoes", &[Invariant::Deleted]),
    (
        Bug::RecoveryStops,
        "recovery that stops at the first bad run",
        &[Invariant::Liveness, Invariant::Isolation],
    ),
    (Bug::SequenceGap, "gap in the sequence", &[Invariant::Views]),
    (Bug::DuplicateRejected, "duplicate answered with a rejection", &[Invariant::SameAnswer]),
    (Bug::TwoCommitEnd, "final answer and run end in two commits", &[Invariant::EndCloses]),
    (Bug::TrapTakesAll, "trap that takes every thread", &[Invariant::Isolation]),
];

/// Looks for every bug in at most `seeds` lives each. Returns whether all were found.
pub(crate) fn hunt(seeds: u64, inputs: u64) -> bool {
    println!("{:<42} {:>6} {:>8}  breaks", "bug", "seed", "seconds");
    let mut all = true;
    for (bug, name, reasons) in BUGS {
        let started = Instant::now();
        let summary = lives::run(1, seeds, inputs, 1, &|plan: &Plan| with_bug(plan, *bug, reasons));
        let seconds = started.elapsed().as_secs_f32();
        let found = summary.failures.first();
        all &= found.is_some();
        let seed = found.map_or_else(|| "-".to_owned(), |failure| failure.plan.seed.to_string());
        let by = found.map_or("NOT FOUND", |failure| failure.violation.invariant.name());
        println!("{name:<42} {seed:>6} {seconds:>8.1}  {by}");
    }
    all
}

/// A life with a bug. It counts as found when what breaks is what the bug breaks, and nothing breaks without it.
fn with_bug(plan: &Plan, bug: Bug, reasons: &[Invariant]) -> (Lived, Option<Violation>) {
    set(Some(bug));
    let lived = guarded(|| live(plan, Look::Judge));
    set(None);
    let found = lived.violation.clone().filter(|violation| reasons.contains(&violation.invariant));
    let found = found.filter(|_| guarded(|| live(plan, Look::Judge)).violation.is_none());
    (lived, found)
}
