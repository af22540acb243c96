//! From a life that breaks an invariant to the shortest one that was found to break the same.

use crate::life::{Look, Plan, live};
use crate::lives::guarded;

/// Lives that are tried at most.
const TRIES_MAX: usize = 1200;

/// Leaves out steps, in halves first and one by one at last, while the same invariant breaks.
pub(crate) fn shrink(plan: &Plan, steps: u64) -> Plan {
    let Some(broken) = guarded(|| live(plan, Look::Judge)).violation else { return plan.clone() };
    let mut best: Vec<u64> = plan.only.clone().unwrap_or_else(|| (0..steps).collect());
    let mut tries = 0;
    let mut size = best.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut shorter = false;
        while at < best.len() && tries < TRIES_MAX {
            let mut candidate = best.clone();
            candidate.drain(at..(at + size).min(candidate.len()));
            tries += 1;
            let lived =
                guarded(|| live(&Plan { only: Some(candidate.clone()), ..plan.clone() }, Look::Judge));
            if lived.violation.is_some_and(|it| it.invariant == broken.invariant) {
                best = candidate;
                shorter = true;
            } else {
                at += size;
            }
        }
        if tries >= TRIES_MAX || (size == 1 && !shorter) {
            return Plan { only: Some(best), ..plan.clone() };
        }
        if !shorter || size > 1 {
            size = (size / 2).max(1);
        }
    }
}
