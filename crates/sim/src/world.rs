//! One life: the store, the worker that may die, the views, and everything outside. All of it from one seed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use panelot_base::{ClientId, ItemId, Secret, SubmissionId, ThreadId, Timestamp};
use panelot_protocol::OpMessage;
use panelot_store::MemoryStore;
use serde_json::Value;

use crate::chance::Trail;
use crate::coverage::Coverage;
use crate::driver::Worker;
use crate::invariant::{Invariant, Violation};
use crate::shadow::Shadow;
use crate::view::View;

/// When every life begins.
pub(crate) const BEGINNING: u64 = 1_700_000_000_000;

/// What goes from the worker to a view.
pub(crate) enum ToView {
    /// Shared by all that hear it.
    Message(Rc<Value>),
    Closed,
}

/// Where a stream that a Port hears stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The next one is the next number.
    At(u64, u64),
    /// A commit failed: what was numbered and not sent is a gap that must show.
    Gap(u64, u64),
}

/// Who holds the other end of a Port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A view, by its place.
    View(usize),
    /// Somebody who speaks the wire by hand.
    Hand,
}

/// An open Port.
pub(crate) struct Port {
    pub(crate) holder: Holder,
    /// The view's number for it.
    pub(crate) number: u32,
    pub(crate) to_view: VecDeque<ToView>,
    pub(crate) to_worker: VecDeque<Value>,
    pub(crate) threads: BTreeMap<ThreadId, Heard>,
    pub(crate) directory: Option<Heard>,
}

/// What was sent under a submission, and how it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) message: OpMessage,
    pub(crate) payload: Value,
    /// The first answer that has a receipt.
    pub(crate) answer: Option<Value>,
}

/// Faults that wait for their moment.
#[derive(Default)]
pub(crate) struct Armed {
    /// Places (commits and effects) until the worker dies.
    pub(crate) fuse: Option<u64>,
    /// Commits until one fails, and whether it is applied all the same.
    pub(crate) commit: Option<(u64, bool)>,
    pub(crate) reads_fail: bool,
    /// The next input of this thread traps.
    pub(crate) trap: Option<ThreadId>,
}

/// Everything.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) now: u64,
    pub(crate) store: MemoryStore,
    pub(crate) shadow: Shadow,
    pub(crate) worker: Option<Worker>,
    /// The worker died while it worked; the rest of what it did never happened.
    pub(crate) dead: bool,
    pub(crate) epoch: u64,
    pub(crate) ports: BTreeMap<u64, Port>,
    pub(crate) next_port: u64,
    pub(crate) views: Vec<View>,
    /// The Port of whoever speaks by hand, and the client that it says it is.
    pub(crate) hand: Option<(u64, ClientId)>,
    pub(crate) sent: BTreeMap<(ClientId, SubmissionId), Sent>,
    /// Answers of the input under way, by Port, and whether a commit stands behind them.
    pub(crate) answers: Vec<(u64, SubmissionId, Value)>,
    pub(crate) dispatched: BTreeSet<(ItemId, u32)>,
    /// Retries of a write that the person ordered.
    pub(crate) retries: BTreeMap<ItemId, u32>,
    /// The input under way orders a retry.
    pub(crate) orders_retry: bool,
    /// The person wants the update that waits.
    pub(crate) update_now: bool,
    /// Model calls that were stopped, whose answers may still come.
    pub(crate) late: Vec<panelot_engine::ModelCall>,
    pub(crate) traps: BTreeMap<ThreadId, u32>,
    pub(crate) quarantined: BTreeSet<ThreadId>,
    pub(crate) armed: Armed,
    /// Texts, ids and elements are numbered through.
    pub(crate) counter: u64,
    pub(crate) document: u64,
    /// What the browser keeps so that the next worker finds the credentials unlocked.
    pub(crate) session_key: Option<Secret>,
    pub(crate) coverage: Coverage,
    pub(crate) trail: Trail,
    pub(crate) log: Option<Vec<String>>,
    pub(crate) violation: Option<Violation>,
    /// Nobody makes trouble any more.
    pub(crate) calm: bool,
    /// Whether the costly checks are made; not in the life that only shows that a seed replays.
    pub(crate) judged: bool,
}

impl World {
    pub(crate) fn new(seed: u64, logged: bool, judged: bool) -> Self {
        let mut world = Self {
            seed,
            now: BEGINNING,
            store: MemoryStore::of_records(),
            shadow: Shadow::new(judged),
            worker: None,
            dead: false,
            epoch: 0,
            ports: BTreeMap::new(),
            next_port: 1,
            views: Vec::new(),
            hand: None,
            sent: BTreeMap::new(),
            answers: Vec::new(),
            dispatched: BTreeSet::new(),
            retries: BTreeMap::new(),
            orders_retry: false,
            update_now: false,
            late: Vec::new(),
            traps: BTreeMap::new(),
            quarantined: BTreeSet::new(),
            armed: Armed::default(),
            counter: 0,
            document: 1,
            session_key: None,
            coverage: Coverage { lives: 1, ..Coverage::default() },
            trail: Trail::new(),
            log: logged.then(Vec::new),
            violation: None,
            calm: false,
            judged,
        };
        for place in 0..3 {
            world.views.push(View::new(seed, place));
            world.start_view(place, None);
        }
        world
    }

    pub(crate) const fn time(&self) -> Timestamp {
        Timestamp(self.now)
    }

    /// Milliseconds since the beginning, for a trace.
    pub(crate) const fn clock(&self) -> u64 {
        self.now - BEGINNING
    }

    pub(crate) fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// Notes what happens: always for the hash, and as a line when somebody reads it.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(what());
        }
    }

    pub(crate) fn fail(&mut self, invariant: Invariant, what: impl Into<String>) {
        self.violate(Violation::new(invariant, what));
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        if self.violation.is_none() {
            self.note(|| format!("VIOLATION {}: {}", violation.invariant.name(), violation.what));
            self.violation = Some(violation);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.violation.is_some()
    }

    /// A fault of a class happens.
    pub(crate) fn fault(&mut self, class: &'static str) {
        self.coverage.fault(class);
        self.note(|| format!("  fault: {class}"));
    }

    /// Threads that people can see and use.
    pub(crate) fn living_threads(&self) -> Vec<ThreadId> {
        self.shadow.threads.keys().filter(|thread| self.shadow.is_alive(thread)).cloned().collect()
    }

    pub(crate) fn submission(&mut self) -> String {
        format!("s{}", self.count())
    }
}
