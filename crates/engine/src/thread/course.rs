//! Whether a run gets anywhere: failures in a row, calls that repeat, and the tokens it may use.
//!
//! All of it is decided from the run's record, so that a restart forgets nothing of it.

use panelot_base::limits::{FAILURES_REMIND, FAILURES_STOP, LOOP_REMIND, LOOP_STOP, TRAIL_CALLS_MAX};
use panelot_base::{ItemId, RunId};
use panelot_protocol::snapshot::StopReason;
use panelot_records::node::ResultOutcome;
use panelot_records::{Body, NoticeKind, Run, RunState};
use serde_json::{Value, json};

use super::outcome::Settled;
use super::{Context, Draft, ThreadMachine};
use crate::step::Reminder;

/// The longest pattern of calls that is looked for: a call, two in turn, three in turn.
const PATTERN_CALLS_MAX: usize = 3;

impl ThreadMachine {
    /// Asks the model to go on after calls or an added message, unless the run has used up its tokens.
    pub(crate) fn go_on(&mut self, context: &mut Context<'_>, draft: &mut Draft, id: &RunId) {
        let Some(run) = self.run(id) else { return };
        if run.token_limit.is_some_and(|limit| spent(run) > limit) {
            self.set_state(id, RunState::PausedBudget);
            return self.complete_turn(draft, id, StopReason::BudgetPause);
        }
        self.deliver_steers(context.now, draft, id);
        let reminders = self.run(id).map(reminders_for).unwrap_or_default();
        self.call_model(context, draft, id, reminders);
    }

    /// Gives a run that paused as many tokens again as the settings allow a turn now.
    pub(crate) fn extend_budget(&mut self, context: &Context<'_>, id: &RunId) {
        let budget = context.directory.settings.turn_token_budget;
        if let Some(run) = self.run_mut(id) {
            run.token_limit = budget.map(|budget| spent(run).saturating_add(budget));
        }
    }

    /// Notes a call and what came back, so that a loop shows.
    pub(crate) fn note_call(&mut self, id: &RunId, item: &ItemId, settled: &Settled) {
        let Some(call) = self.run(id).and_then(|run| self.stored_call(run, item)) else { return };
        let outcome = if settled.outcome == ResultOutcome::Ok { "ok" } else { "not ok" };
        let print = fingerprint(&[&call.name, &call.arguments, outcome, &settled.content]);
        // The last bit says whether the page stayed as it was.
        let print = (print & !1) | u32::from(!changed_page(&settled.details));
        if let Some(run) = self.run_mut(id) {
            if run.trail.len() >= TRAIL_CALLS_MAX {
                run.trail.remove(0);
            }
            run.trail.push(print);
        }
    }

    /// What the person reads when a turn was ended with the model's last words.
    pub(crate) fn append_ending(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId) {
        let Some(run) = self.run(id) else { return };
        let body = if run.failures >= FAILURES_STOP {
            Body::Notice { kind: NoticeKind::TooManyFailures, details: json!({"failures": run.failures}) }
        } else {
            Body::Notice { kind: NoticeKind::Looping, details: json!({"times": repetitions(&run.trail)}) }
        };
        self.append(draft, context.now, id, body);
    }
}

const fn spent(run: &Run) -> u64 {
    run.usage.input.saturating_add(run.usage.output)
}

/// What a model is told beside the conversation after its calls.
pub(crate) fn reminders_for(run: &Run) -> Vec<Reminder> {
    let repeats = repetitions(&run.trail);
    vec![if run.failures >= FAILURES_STOP {
        Reminder::Finalize
    } else if repeats >= LOOP_STOP {
        Reminder::FinalizeLoop
    } else if run.failures >= FAILURES_REMIND {
        Reminder::ChangeApproach(run.failures)
    } else if repeats >= LOOP_REMIND {
        Reminder::BreakLoop(repeats)
    } else {
        return Vec::new();
    }]
}

/// Whether an action was seen to change its page. Moving the focus is no change, and a form that refused none either.
fn changed_page(details: &Value) -> bool {
    let effects = details.get("effects").and_then(Value::as_array);
    effects.is_some_and(|effects| {
        effects.iter().any(|effect| !matches!(effect.as_str(), Some("focusMoved" | "formRefused")))
    })
}

/// FNV-1a over the parts and where they end. Only equality within one run counts.
fn fingerprint(parts: &[&str]) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    parts.iter().fold(0x811c_9dc5, |hash, part| step(part.bytes().fold(hash, step), 0xff))
}

/// How often the same call, or the same two or three in turn, stand at the end of a trail, when at least one of them
/// showed that nothing had changed.
fn repetitions(trail: &[u32]) -> u32 {
    let of_length = |length: usize| {
        let pattern = trail.iter().rev().take(length);
        if pattern.clone().count() < length || pattern.clone().all(|print| print & 1 == 0) {
            return 0;
        }
        let same = trail.iter().rev().zip(pattern.cycle()).take_while(|(print, wanted)| print == wanted);
        same.count() / length
    };
    let most = (1..=PATTERN_CALLS_MAX).map(of_length).max().unwrap_or_default();
    u32::try_from(most).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{changed_page, fingerprint, repetitions};
    use serde_json::json;

    #[test]
    fn equal_and_alternating_calls_are_counted_from_the_newest_back() {
        for (trail, times) in [
            (&[][..], 0),
            (&[1][..], 1),
            (&[3, 1, 1, 1], 3),
            (&[1, 1, 1, 3], 1),
            (&[1, 3, 1, 3, 1, 3], 3),
            (&[3, 1, 3, 1, 3], 2),
            (&[1, 3, 5, 1, 3, 5], 2),
            (&[1, 3, 5, 7, 1, 3, 5, 7], 1),
        ] {
            assert_eq!(repetitions(trail), times, "{trail:?}");
        }
    }

    #[test]
    fn calls_that_each_change_the_page_are_no_loop_until_a_look_shows_the_same() {
        assert_eq!(repetitions(&[2, 2, 2, 2, 2]), 0, "turning pages one by one");
        assert_eq!(repetitions(&[2, 5, 2, 5, 2, 5]), 3, "turning a page and seeing what was there before");
    }

    #[test]
    fn parts_are_told_apart_and_effects_that_change_nothing_too() {
        assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
        assert_ne!(fingerprint(&["ab"]), fingerprint(&["ba"]));
        for (details, changed) in [
            (json!({}), false),
            (json!({"effects": []}), false),
            (json!({"effects": ["focusMoved"]}), false),
            (json!({"effects": ["focusMoved", "contentChanged"]}), true),
        ] {
            assert_eq!(changed_page(&details), changed, "{details}");
        }
    }
}
