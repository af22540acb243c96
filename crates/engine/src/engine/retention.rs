//! What is not needed any more: old receipts, finished runs with their questions, environments that no run refers to,
//! grants of earlier browser sessions. Swept in slices, some time after a start, and never in a hurry.
//!
//! Invariant: what may still be referred to stays. A run that cannot be read may refer to anything.

use panelot_base::limits::{RECEIPT_AGE_MS, RECEIPTS_MAX, SWEEP_LIVES, SWEEP_SLICE_RECORDS};
use panelot_base::{EnvironmentDigest, RunId, SortedSet, ThreadId, Timestamp};
use panelot_records::{
    ApprovalState, Commit, Durability, Grant, Key, KeyPart, Record, RecordError, Scan, Table, Write,
};

use super::Engine;
use crate::step::{Effect, Step};

/// The shortest age to which receipts are cut back when there are too many.
const RECEIPT_AGE_MIN_MS: u64 = 60 * 60 * 1000;

/// A sweep under way.
#[derive(Debug)]
pub(super) struct Sweep {
    scan: Scan,
    /// The runs that stay.
    runs: SortedSet<(ThreadId, RunId)>,
    /// What they are bound to.
    environments: SortedSet<EnvironmentDigest>,
    /// Something could not be read, so nothing that it might refer to is removed.
    blind: bool,
    receipts: usize,
    receipt_age_ms: u64,
}

fn slice(table: Table) -> Scan {
    Scan { descending: true, limit: SWEEP_SLICE_RECORDS, ..Scan::table(table) }
}

/// The slice after this one; none at the end of the table.
fn next_slice(scan: &Scan, read: usize, last: Option<Key>) -> Option<Scan> {
    let mut parts = match last {
        Some(key) if read >= scan.limit => key.parts,
        // The rest of one thread's or client's records is through; those of the others come next.
        _ if !scan.prefix.is_empty() => scan.prefix.clone(),
        _ => return None,
    };
    let before: Option<KeyPart> = parts.pop();
    Some(Scan { prefix: parts, before, ..slice(scan.table) })
}

impl Sweep {
    pub(super) fn new() -> Self {
        Self {
            scan: slice(Table::Runs),
            runs: SortedSet::new(),
            environments: SortedSet::new(),
            blind: false,
            receipts: 0,
            receipt_age_ms: RECEIPT_AGE_MS,
        }
    }

    /// From now on nothing is removed that something else may refer to; a later life's sweep takes it.
    pub(super) const fn lose_sight(&mut self) {
        self.blind = true;
    }

    /// Whether a record is not needed any more. Runs are judged first, for the others depend on them.
    fn is_over(&mut self, now: Timestamp, record: &Record) -> bool {
        let is_old = |at: Timestamp| now.ms_since(at) >= RECEIPT_AGE_MS;
        match record {
            Record::Run(run) => {
                if run.state.is_end() && is_old(run.updated_at) {
                    return true;
                }
                self.runs.insert((run.thread.clone(), run.id.clone()));
                self.environments.extend(run.environment.clone());
                false
            }
            Record::Approval(it) => {
                let known = self.runs.contains(&(it.thread.clone(), it.run.clone()));
                !self.blind && !known && it.state != ApprovalState::Pending && is_old(it.requested_at)
            }
            Record::Environment(it) => !self.blind && !self.environments.contains(&it.digest()),
            Record::Receipt(it) => {
                let over = now.ms_since(it.at) >= self.receipt_age_ms;
                self.receipts += usize::from(!over);
                over
            }
            _ => false,
        }
    }

    /// The slice that comes next; none when all is done.
    fn advance(&mut self, read: usize, last: Option<Key>) -> Option<Scan> {
        let next = next_slice(&self.scan, read, last).or_else(|| match self.scan.table {
            Table::Runs => Some(slice(Table::Approvals)),
            Table::Approvals => Some(slice(Table::Environments)),
            Table::Environments => Some(slice(Table::Receipts)),
            // Too many young ones: a shorter age for another round.
            _ if self.receipts > RECEIPTS_MAX && self.receipt_age_ms > RECEIPT_AGE_MIN_MS => {
                (self.receipts, self.receipt_age_ms) = (0, self.receipt_age_ms / 2);
                Some(slice(Table::Receipts))
            }
            _ => None,
        })?;
        self.scan = next.clone();
        Some(next)
    }
}

impl Engine {
    /// What a sweep begins with, in the lives of the worker that have one.
    pub(super) fn begin_sweep(&mut self) -> Option<Step> {
        if self.epoch % SWEEP_LIVES != 1 {
            return None;
        }
        let sweep = Sweep::new();
        let effects = vec![Effect::Sweep(Box::new(sweep.scan.clone()))];
        self.sweep = Some(sweep);
        Some(Step { effects, ..Step::default() })
    }

    /// Judges a slice, and asks for the next one.
    pub(super) fn on_swept(&mut self, now: Timestamp, found: Vec<Result<Record, RecordError>>) -> Vec<Step> {
        let Some(mut sweep) = self.sweep.take() else { return Vec::new() };
        let in_use = self.machines.values().flat_map(|machine| &machine.runs);
        sweep.environments.extend(in_use.filter_map(|run| run.environment.clone()));
        let read = found.len();
        let mut commit = Commit { durability: Durability::Relaxed, ..Commit::default() };
        let mut last = None;
        for record in found {
            match record {
                Ok(record) => {
                    let key = record.key();
                    if sweep.is_over(now, &record) {
                        commit.writes.push(Write::Delete(key.clone()));
                    }
                    last = Some(key);
                }
                Err(error) => {
                    sweep.blind = true;
                    last = Some(error.key);
                }
            }
        }
        let mut effects = Vec::new();
        match sweep.advance(read, last) {
            Some(scan) => {
                effects.push(Effect::Sweep(Box::new(scan)));
                self.sweep = Some(sweep);
            }
            None => commit.writes.extend(self.void_grants()),
        }
        vec![Step { commit: Some(commit), effects, ..Step::default() }]
    }

    /// The removal of the grants of earlier browser sessions.
    fn void_grants(&self) -> Vec<Write> {
        let grants = &self.directory.grants;
        let key = |grant: &Grant| Key::grant(&grant.thread, &grant.tool, &grant.origin);
        let is_void = |grant: &&Grant| grant.session != self.directory.session;
        grants.iter().filter(is_void).map(|grant| Write::Delete(key(grant))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Sweep, next_slice, slice};
    use panelot_base::limits::SWEEP_SLICE_RECORDS;
    use panelot_base::{ClientId, SubmissionId, Timestamp};
    use panelot_records::{Key, KeyPart, Record, Table};

    fn receipt(client: &str, submission: &str) -> Key {
        Key::receipt(&ClientId::new(client).unwrap(), &SubmissionId::new(submission).unwrap())
    }

    #[test]
    fn slices_go_down_through_a_table_and_leave_nothing_out() {
        let whole = slice(Table::Receipts);
        assert_eq!(next_slice(&whole, 3, Some(receipt("b", "5"))), None, "a short table is one slice");
        let full = next_slice(&whole, SWEEP_SLICE_RECORDS, Some(receipt("b", "5"))).unwrap();
        assert_eq!((full.prefix.clone(), full.before.clone()), (vec!["b".into()], Some(KeyPart::from("5"))));
        let more = next_slice(&full, SWEEP_SLICE_RECORDS, Some(receipt("b", "2"))).unwrap();
        assert_eq!((more.prefix, more.before), (vec!["b".into()], Some("2".into())));
        for last in [Some(receipt("b", "1")), None] {
            let below = next_slice(&full, 1, last).unwrap();
            assert_eq!((below.prefix.clone(), below.before.clone()), (vec![], Some("b".into())));
            assert_eq!(next_slice(&below, 1, Some(receipt("a", "9"))), None);
        }
    }

    #[test]
    fn a_sweep_that_lost_sight_of_a_thread_leaves_what_its_runs_may_refer_to() {
        let environment = Record::Environment(panelot_records::Environment {
            system: String::new(),
            tools: Vec::new(),
            model: serde_json::from_value(serde_json::json!({"connection": "c", "model": "m"})).unwrap(),
            parameters: serde_json::Value::Null,
        });
        let mut sweep = Sweep::new();
        assert!(sweep.is_over(Timestamp(0), &environment), "no run refers to it");
        sweep.lose_sight();
        assert!(!sweep.is_over(Timestamp(0), &environment));
    }

    #[test]
    fn too_many_young_receipts_get_a_shorter_age_until_few_enough_stay() {
        let mut sweep = Sweep::new();
        sweep.scan = slice(Table::Receipts);
        let age = sweep.receipt_age_ms;
        sweep.receipts = 20_000;
        assert!(sweep.advance(0, None).is_some());
        assert_eq!((sweep.receipts, sweep.receipt_age_ms), (0, age / 2));
        sweep.receipts = 10_000;
        assert_eq!(sweep.advance(0, None), None);
    }
}
