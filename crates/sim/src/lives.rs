//! Many lives, one thread for each core; each is lived twice, and must be the same both times.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::coverage::Coverage;
use crate::invariant::{Invariant, Violation};
use crate::life::{Lived, Look, Plan, live};

thread_local! {
    /// What the last panic of this thread said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics quiet: they are violations, and are told as such.
pub(crate) fn catch_panics() {
    std::panic::set_hook(Box::new(|info| PANIC.with(|slot| *slot.borrow_mut() = info.to_string())));
}

/// A life in which a panic is a violation.
pub(crate) fn guarded(life: impl FnOnce() -> Lived) -> Lived {
    catch_unwind(AssertUnwindSafe(life)).unwrap_or_else(|_| Lived {
        violation: Some(Violation::new(Invariant::Panic, PANIC.with(|slot| slot.borrow().clone()))),
        hash: 0,
        coverage: Coverage::default(),
        steps: 0,
        log: Vec::new(),
    })
}

/// A life that went wrong.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) plan: Plan,
    pub(crate) violation: Violation,
    pub(crate) steps: u64,
}

/// What came of many lives.
#[derive(Default)]
pub(crate) struct Summary {
    pub(crate) coverage: Coverage,
    pub(crate) failures: Vec<Failure>,
}

/// Lives the seeds from `first` on, on every core, and looks at each as `judge` does. It ends early when `enough`
/// failures were found.
pub(crate) fn run(
    first: u64,
    seeds: u64,
    inputs: u64,
    enough: usize,
    judge: &(impl Fn(&Plan) -> (Lived, Option<Violation>) + Sync),
) -> Summary {
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let next = AtomicU64::new(first);
    let stop = AtomicBool::new(false);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Coverage::default();
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        break;
                    }
                    let plan = Plan { seed, inputs, only: None };
                    let (lived, failure) = judge(&plan);
                    own.merge(&lived.coverage);
                    if let (Some(violation), Ok(mut all)) = (failure, summary.lock()) {
                        all.failures.push(Failure { plan, violation, steps: lived.steps });
                        if all.failures.len() >= enough {
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
                if let Ok(mut all) = summary.lock() {
                    all.coverage.merge(&own);
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_default();
    summary.failures.sort_by_key(|failure| failure.plan.seed);
    summary
}

/// Lives a life twice: it must be without a violation, and the same both times.
pub(crate) fn live_twice(plan: &Plan) -> (Lived, Option<Violation>) {
    let first = guarded(|| live(plan, Look::Judge));
    let mut violation = first.violation.clone();
    if violation.is_none() {
        let second = guarded(|| live(plan, Look::Replay));
        if second.hash != first.hash {
            let what = format!("hash {:016x}, then {:016x}", first.hash, second.hash);
            violation = Some(Violation::new(Invariant::Replay, what));
        }
    }
    (first, violation)
}
