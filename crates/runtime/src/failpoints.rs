//! What a commit is about, in the words by which a test names the points before and after it.

use panelot_engine::{Effect, Step};
use panelot_records::{ApprovalState, Body, Commit, NoticeKind, Outcome, Receipt, Record, RunState, Write};

/// The points before and after a commit.
pub(crate) type Points = [&'static str; 2];

macro_rules! around {
    ($what:literal) => {
        Some([concat!($what, ".before_commit"), concat!($what, ".after_commit")])
    };
}

/// The points around a step's commit; none where it is no moment of a run's course that a test stops at.
pub(crate) fn around(step: &Step) -> Option<Points> {
    let commit = step.commit.as_ref()?;
    of_command(commit).or_else(|| of_course(step, commit))
}

/// What a person asked for is in the commit that holds its receipt.
fn of_command(commit: &Commit) -> Option<Points> {
    let acknowledged = |receipt: &&Receipt| matches!(receipt.outcome, Outcome::Acknowledged { .. });
    let receipt = records(commit).find_map(|record| match record {
        Record::Receipt(receipt) => Some(receipt),
        _ => None,
    });
    match receipt.filter(acknowledged)?.op.as_str() {
        "thread.create" | "turn.submit" if has_node(commit, |body| matches!(body, Body::User { .. })) => {
            around!("submit")
        }
        "thread.delete" => around!("delete"),
        "thread.fork" => around!("fork"),
        "approval.response" => around!("approve"),
        "interaction.response" => around!("respond"),
        _ => None,
    }
}

/// What the engine does by itself.
fn of_course(step: &Step, commit: &Commit) -> Option<Points> {
    let run_is = |wanted: fn(RunState) -> bool| {
        records(commit).any(|record| matches!(record, Record::Run(run) if wanted(run.state)))
    };
    let asked = records(commit).find_map(|record| match record {
        Record::Approval(approval) if approval.state == ApprovalState::Pending => Some(approval),
        _ => None,
    });
    match asked {
        Some(approval) if approval.wait.is_some() => return around!("wait"),
        Some(_) => return around!("ask"),
        None => {}
    }
    if step.effects.iter().any(|effect| matches!(effect, Effect::Dispatch { .. })) {
        return around!("dispatch");
    }
    if run_is(RunState::is_end) && run_is(|state| state == RunState::Running) {
        return around!("queue");
    }
    if has_node(commit, |body| matches!(body, Body::Notice { kind: NoticeKind::Summarized, .. })) {
        return around!("summary");
    }
    if has_node(commit, |body| matches!(body, Body::ToolResult { .. })) {
        return around!("result");
    }
    if has_node(commit, |body| matches!(body, Body::Assistant { incomplete: true, .. })) {
        return around!("checkpoint");
    }
    if run_is(|state| state == RunState::Completed) {
        return around!("answer");
    }
    None
}

fn records(commit: &Commit) -> impl Iterator<Item = &Record> {
    commit.writes.iter().filter_map(|write| match write {
        Write::Put(record) => Some(record),
        _ => None,
    })
}

fn has_node(commit: &Commit, wanted: fn(&Body) -> bool) -> bool {
    records(commit).any(|record| matches!(record, Record::Node(node) if wanted(&node.body)))
}
