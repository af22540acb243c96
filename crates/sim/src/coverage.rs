//! What was reached: a simulator that never comes to a place proves nothing about it.

use std::collections::BTreeMap;

use panelot_protocol::Op;
use panelot_records::RunState;

/// How often each thing must be hit in [`FULL_SEEDS`] seeds.
const WANTED: u64 = 50;
const FULL_SEEDS: u64 = 2000;

/// Every class of fault. A new class is added here and in `faults.rs`; one that is never hit fails the run.
pub(crate) const FAULTS: &[&str] = &[
    "commit refused",
    "commit's answer lost",
    "reads fail",
    "crash between inputs",
    "crash before a commit",
    "crash after a commit",
    "crash after an effect",
    "trap",
    "poisoned record",
    "port cut",
    "document reloaded",
    "outbox cannot be saved",
    "duplicate command",
    "changed payload",
    "stale id",
    "malformed message",
    "message before the handshake",
    "overload",
    "wake too early",
    "wake late",
    "clock set back",
    "model: no connection",
    "model: rate limit",
    "model: refused key",
    "model: broke off",
    "model: our fault",
    "model: context too long",
    "model: empty answer",
    "model: cut by its limit",
    "model: unknown tool",
    "model: wrong arguments",
    "model: late after a stop",
    "target gone",
    "target moved",
    "no host access",
    "tool: not reached",
    "tool: end not seen",
    "tool: refused by the page",
    "tool: report of another tool",
    "tool: late after a stop",
    "connection removed",
    "a server asks",
    "watched page closed",
    "update installed",
    "browser closed",
];

/// Run states that the engine does not enter yet. Take one out when it does; the run fails if it is entered.
const NOT_YET: &[RunState] = &[];

pub(crate) const STATES: [RunState; 11] = [
    RunState::Queued,
    RunState::Running,
    RunState::WaitingApproval,
    RunState::WaitingInteraction,
    RunState::PausedBudget,
    RunState::PausedUncertain,
    RunState::PausedLocked,
    RunState::Interrupted,
    RunState::Completed,
    RunState::Failed,
    RunState::Cancelled,
];

/// Counts of a life, or of all lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    /// Inputs that the engine was given.
    pub(crate) inputs: u64,
    pub(crate) commits: u64,
    pub(crate) lives: u64,
    pub(crate) ops: BTreeMap<&'static str, (u64, u64)>,
    pub(crate) crashes: BTreeMap<RunState, u64>,
    pub(crate) faults: BTreeMap<&'static str, u64>,
    /// Effects, and those that a crash followed at once.
    pub(crate) effects: BTreeMap<&'static str, (u64, u64)>,
}

impl Coverage {
    pub(crate) fn fault(&mut self, class: &'static str) {
        debug_assert!(FAULTS.contains(&class), "{class} is not in the list");
        *self.faults.entry(class).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.commits += other.commits;
        self.lives += other.lives;
        for (name, (tried, done)) in &other.ops {
            let entry = self.ops.entry(name).or_default();
            *entry = (entry.0 + tried, entry.1 + done);
        }
        for (name, (tried, done)) in &other.effects {
            let entry = self.effects.entry(name).or_default();
            *entry = (entry.0 + tried, entry.1 + done);
        }
        for (state, count) in &other.crashes {
            *self.crashes.entry(*state).or_default() += count;
        }
        for (class, count) in &other.faults {
            *self.faults.entry(class).or_default() += count;
        }
    }

    /// The table, and what is missing for `seeds` seeds. Fewer than a hundred say nothing about coverage.
    pub(crate) fn report(&self, seeds: u64) -> (String, Vec<String>) {
        let wanted = if seeds < 100 { 0 } else { (WANTED * seeds).div_ceil(FULL_SEEDS).min(WANTED) };
        let mut lines = Vec::new();
        let mut missing = Vec::new();
        let mut judge = |what: String, count: u64| {
            if count < wanted {
                missing.push(format!("{what}: {count}, at least {wanted} wanted"));
            }
        };
        lines.push("operations: sent, and answered with a yes".to_owned());
        for name in Op::NAMES {
            let (sent, done) = self.ops.get(name).copied().unwrap_or_default();
            lines.push(format!("  {name:<24} {sent:>9} {done:>9}"));
            judge(format!("operation {name}"), done);
        }
        lines.push("run states crossed with a crash".to_owned());
        for state in STATES {
            let count = self.crashes.get(&state).copied().unwrap_or_default();
            let later = NOT_YET.contains(&state);
            let note = if later { "  (the engine does not enter it yet)" } else { "" };
            lines.push(format!("  {:<24} {count:>9}{note}", format!("{state:?}")));
            if !later {
                judge(format!("a crash in the state {state:?}"), count);
            }
        }
        lines.push("faults".to_owned());
        for class in FAULTS {
            let count = self.faults.get(class).copied().unwrap_or_default();
            lines.push(format!("  {class:<30} {count:>9}"));
            judge(format!("fault \"{class}\""), count);
        }
        lines.push("effects, and those that a crash followed at once".to_owned());
        for (name, (all, crashed)) in &self.effects {
            lines.push(format!("  {name:<24} {all:>9} {crashed:>9}"));
        }
        for state in NOT_YET.iter().filter(|state| self.crashes.contains_key(state)) {
            missing.push(format!("{state:?} is entered now: take it out of NOT_YET in coverage.rs"));
        }
        (lines.join("\n"), missing)
    }
}
