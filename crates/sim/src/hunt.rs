//! Whether the simulator can fail: each deliberate bug is switched on and must be found.

use std::time::Instant;

use panelot_engine::bugs::{Bug, set};

use crate::lives;

/// Every bug, in the order and words of the issue.
const BUGS: &[(Bug, &str)] = &[
    (Bug::ReceiptOutside, "receipt outside the commit"),
    (Bug::EffectBeforeCommit, "effect before commit"),
    (Bug::NewIsResumed, "one state for new and resuming"),
    (Bug::ReplayedWrite, "replayed write"),
    (Bug::DispatchUnrecorded, "dispatch not recorded"),
    (Bug::LostSteer, "lost steer"),
    (Bug::SteerBetween, "steer between call and result"),
    (Bug::QueueByClock, "queue by clock"),
    (Bug::LeakedWait, "leaked wait at a run's end"),
    (Bug::TwoAnswers, "two answers accepted"),
    (Bug::OrphanResult, "orphan tool result"),
    (Bug::LeafBeforeRun, "leaf moved before the run"),
    (Bug::UndoneDelete, "delete that a late write undoes"),
    (Bug::RecoveryStops, "recovery that stops at the first bad run"),
    (Bug::SequenceGap, "gap in the sequence"),
    (Bug::DuplicateRejected, "duplicate answered with a rejection"),
    (Bug::TwoCommitEnd, "final answer and run end in two commits"),
    (Bug::TrapTakesAll, "trap that takes every thread"),
];

/// Looks for every bug in at most `seeds` lives each. Returns whether all were found.
pub(crate) fn hunt(seeds: u64, inputs: u64) -> bool {
    println!("{:<44} {:>8} {:>8}  found by", "bug", "seed", "seconds");
    let mut all = true;
    for (bug, name) in BUGS {
        let started = Instant::now();
        let summary = lives::run(1, seeds, inputs, false, 1, &|| set(Some(*bug)));
        let seconds = started.elapsed().as_secs_f32();
        match summary.failures.first() {
            Some(failure) => {
                println!(
                    "{name:<44} {:>8} {seconds:>8.1}  {}",
                    failure.plan.seed,
                    failure.violation.invariant.name()
                );
            }
            None => {
                all = false;
                println!("{name:<44} {:>8} {seconds:>8.1}  NOT FOUND", "-");
            }
        }
    }
    all
}
