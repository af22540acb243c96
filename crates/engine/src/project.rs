//! From stored records to what views see. Exhaustive, so that a new kind of record cannot leak by accident.

use panelot_base::json::{FromJson, word};
use panelot_base::limits::NOTE_CHARS_MAX;
use panelot_protocol::Text;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::op::{ApprovalDecision, InteractionAnswer, TabIdentity, TurnOverrides};
use panelot_protocol::settings::{self as wire_settings, PermissionPolicy};
use panelot_protocol::snapshot as wire;
use panelot_records::node::{self, Body, NoticeKind, ResultOutcome};
use panelot_records::run::{ModelChoice, Overrides, Steer};
use panelot_records::{Approval, Decision, Grant, Node, Response, Rule, Run, RunState, Thread, WaitKind};
use panelot_tools::Target;
use serde_json::Value;

use crate::branches::versions;
use crate::providers::effort_view;

/// Bytes of a tool's result that travel to views; the rest stays in the record.
const RESULT_PREVIEW_BYTES: usize = 6000;

/// A wire code as it is stored.
pub(crate) fn code_text(code: ErrorCode) -> String {
    word(&code)
}

/// The value that a stored word stands for; none for one that is not known any more.
pub(crate) fn of_word<T: FromJson>(word: &str) -> Option<T> {
    T::from_json(Value::from(word)).ok()
}

/// A stored code as it goes on the wire; one that is not known any more is a fault of the engine.
pub(crate) fn code_from_text(code: &str) -> ErrorCode {
    ErrorCode::from_json(Value::from(code)).unwrap_or(ErrorCode::Internal)
}

pub(crate) fn thread_meta(thread: &Thread, quarantined: bool) -> wire::ThreadMeta {
    wire::ThreadMeta {
        id: thread.id.clone(),
        revision: thread.revision,
        title: thread.title.clone(),
        created_at: thread.created_at,
        updated_at: thread.updated_at,
        pinned: thread.pinned,
        archived: thread.archived,
        folder_id: thread.folder.clone(),
        tags: thread.tags.clone(),
        preset: thread.preset.clone(),
        forked_from: thread.forked_from.clone(),
        turns: thread.stats.turns,
        total_tokens: thread.stats.total_tokens,
        cost: thread
            .stats
            .cost
            .map(|nanodollars| wire::Cost { nanodollars, at_least: thread.stats.unpriced }),
        model: thread.model.as_ref().map(model_choice),
        effort: thread.effort.map(effort_view),
        quarantined,
    }
}

pub(crate) const fn usage(usage: node::Usage) -> wire::Usage {
    wire::Usage {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
    }
}

fn tab(tab: &node::TabIdentity) -> TabIdentity {
    TabIdentity { tab_id: tab.tab_id, url: Text::clipped(&tab.url), title: Text::clipped(&tab.title) }
}

pub(crate) fn stored_call(call: &node::StoredCall) -> wire::CallView {
    wire::CallView {
        item_id: call.item.clone(),
        tool_name: call.name.clone(),
        arguments: call.arguments.clone(),
    }
}

/// `thread` is the head of the node's conversation, which knows the other versions of a message.
pub(crate) fn item(thread: &Thread, node: &Node) -> wire::SnapshotItem {
    let body = match &node.body {
        Body::User { text, default_tab, submission, steered } => wire::ItemBody::UserMessage {
            text: text.clone(),
            default_tab: default_tab.as_ref().map(tab),
            submission_id: submission.clone(),
            steered: *steered,
        },
        Body::Assistant {
            item,
            text,
            reasoning,
            calls,
            connection,
            model,
            usage: spent,
            incomplete,
            stop,
            vendor: _,
            cost,
        } => wire::ItemBody::AssistantMessage {
            item_id: item.clone(),
            text: text.clone(),
            reasoning: reasoning.clone(),
            calls: calls.iter().map(stored_call).collect(),
            connection_id: connection.clone(),
            model_id: model.clone(),
            usage: spent.map(usage),
            cost: *cost,
            incomplete: *incomplete,
            stop: stop.as_deref().and_then(|stop| FromJson::from_json(Value::from(stop)).ok()),
        },
        Body::ToolResult { item, outcome, content, details, foreign: _, origin } => {
            let shown = Text::<RESULT_PREVIEW_BYTES>::clipped(content);
            wire::ItemBody::ToolResult {
                item_id: item.clone(),
                outcome: result_outcome(*outcome),
                clipped: shown.len() < content.len(),
                content: shown.into_string(),
                details: details.clone(),
                origin: origin.clone(),
            }
        }
        Body::Decision { approval, item, decision: answer } => wire::ItemBody::ApprovalDecision {
            approval_id: approval.clone(),
            item_id: item.clone(),
            decision: decision(answer),
        },
        Body::Notice { kind, details } => {
            wire::ItemBody::SystemNotice { notice: notice(*kind), details: details.clone() }
        }
        Body::Removed => wire::ItemBody::Removed,
    };
    wire::SnapshotItem {
        seq: node.seq,
        at: node.at,
        turn_id: node.turn.clone(),
        versions: versions(thread, node.seq),
        body,
    }
}

const fn result_outcome(outcome: ResultOutcome) -> wire::ResultOutcome {
    match outcome {
        ResultOutcome::Ok => wire::ResultOutcome::Ok,
        ResultOutcome::Failed => wire::ResultOutcome::Failed,
        ResultOutcome::Declined => wire::ResultOutcome::Declined,
        ResultOutcome::Skipped => wire::ResultOutcome::Skipped,
        ResultOutcome::Uncertain => wire::ResultOutcome::Uncertain,
    }
}

const fn notice(kind: NoticeKind) -> wire::NoticeKind {
    match kind {
        NoticeKind::ModelError => wire::NoticeKind::ModelError,
        NoticeKind::TooManyFailures => wire::NoticeKind::TooManyFailures,
        NoticeKind::Looping => wire::NoticeKind::Looping,
        NoticeKind::Repaired => wire::NoticeKind::Repaired,
        NoticeKind::Summarized => wire::NoticeKind::Summarized,
    }
}

pub(crate) fn decision(decision: &Decision) -> ApprovalDecision {
    match decision {
        Decision::Accept => ApprovalDecision::Accept,
        Decision::AcceptForSession => ApprovalDecision::AcceptForSession,
        Decision::AcceptForSite => ApprovalDecision::AcceptForSite,
        Decision::Decline { note } => ApprovalDecision::Decline { note: note.as_deref().map(Text::clipped) },
        Decision::Cancel => ApprovalDecision::Cancel,
    }
}

/// A decision as it is stored; the note is cut to its bound.
pub(crate) fn decision_record(decision: &ApprovalDecision) -> Decision {
    match decision {
        ApprovalDecision::Accept => Decision::Accept,
        ApprovalDecision::AcceptForSession => Decision::AcceptForSession,
        ApprovalDecision::AcceptForSite => Decision::AcceptForSite,
        ApprovalDecision::Decline { note } => Decision::Decline { note: note_record(note.as_ref()) },
        ApprovalDecision::Cancel => Decision::Cancel,
    }
}

pub(crate) fn approval(approval: &Approval) -> wire::ApprovalView {
    let target: Option<Target> =
        approval.target.as_ref().and_then(|target| Target::from_json(target.clone()).ok());
    wire::ApprovalView {
        approval_id: approval.id.clone(),
        turn_id: approval.turn.clone(),
        item_id: approval.item.clone(),
        tool: approval.tool.clone(),
        params: approval.arguments.clone(),
        target_origin: approval.origin.clone(),
        target_title: target.map(|target| target.title).unwrap_or_default(),
        preview: approval.preview.clone(),
        flags: approval.flags.clone(),
        requested_at: approval.requested_at,
        deadline_at: approval.deadline_at,
    }
}

/// An interaction as views see it; none for a question.
pub(crate) fn interaction(open: &Approval) -> Option<wire::InteractionView> {
    let kind = match open.wait? {
        WaitKind::AskUser => wire::InteractionKind::AskUser,
        WaitKind::UserAction => wire::InteractionKind::UserAction,
        WaitKind::WatchPage => wire::InteractionKind::WatchPage,
        WaitKind::Schedule => wire::InteractionKind::Schedule,
        WaitKind::McpElicitation => wire::InteractionKind::McpElicitation,
    };
    let target = open.target.as_ref().and_then(|target| Target::from_json(target.clone()).ok());
    Some(wire::InteractionView {
        interaction_id: open.id.clone(),
        turn_id: open.turn.clone(),
        item_id: open.item.clone(),
        kind,
        params: open.arguments.clone(),
        tab: target.map(|target| TabIdentity {
            tab_id: target.tab_id,
            url: Text::clipped(&target.url),
            title: Text::clipped(&target.title),
        }),
        requested_at: open.requested_at,
        deadline_at: open.deadline_at,
    })
}

pub(crate) const fn interaction_outcome(response: &Response) -> wire::InteractionOutcome {
    match response {
        Response::Submit { .. } => wire::InteractionOutcome::Submitted,
        Response::Cancel { .. } => wire::InteractionOutcome::Cancelled,
        Response::Timeout => wire::InteractionOutcome::TimedOut,
    }
}

/// An answer as it is stored.
pub(crate) fn response_record(answer: InteractionAnswer) -> Response {
    match answer {
        InteractionAnswer::Submit { value } => Response::Submit { value },
        InteractionAnswer::Cancel { note } => Response::Cancel { note: note_record(note.as_ref()) },
    }
}

/// A note, cut to its bound; none when it is blank.
fn note_record<const N: usize>(note: Option<&Text<N>>) -> Option<String> {
    let note = note?.trim().chars().take(NOTE_CHARS_MAX).collect::<String>();
    (!note.is_empty()).then_some(note)
}

pub(crate) const fn run_state(state: RunState) -> wire::RunState {
    match state {
        RunState::Queued => wire::RunState::Queued,
        RunState::Running => wire::RunState::Running,
        RunState::WaitingApproval => wire::RunState::WaitingApproval,
        RunState::WaitingInteraction => wire::RunState::WaitingInteraction,
        RunState::PausedBudget => wire::RunState::PausedBudget,
        RunState::PausedUncertain => wire::RunState::PausedUncertain,
        RunState::PausedLocked => wire::RunState::PausedLocked,
        RunState::Interrupted => wire::RunState::Interrupted,
        RunState::Completed => wire::RunState::Completed,
        RunState::Failed => wire::RunState::Failed,
        RunState::Cancelled => wire::RunState::Cancelled,
    }
}

/// What the person chose for one message, as views see it.
fn overrides(overrides: &Overrides) -> TurnOverrides {
    TurnOverrides {
        model: overrides.model.as_ref().map(model_choice),
        permission_policy: overrides
            .policy
            .as_deref()
            .and_then(|policy| PermissionPolicy::from_json(Value::from(policy)).ok()),
        effort: overrides.effort.map(effort_view),
    }
}

pub(crate) fn model_choice(choice: &ModelChoice) -> wire_settings::ModelChoice {
    wire_settings::ModelChoice {
        connection_id: choice.connection.clone(),
        model_id: Text::clipped(&choice.model),
    }
}

/// `uncertain` is the call whose end was not seen, which the caller finds in the batch's assistant message.
pub(crate) fn run(run: &Run, uncertain: Option<&node::StoredCall>, steerable: bool) -> wire::RunView {
    let steer = |it: &Steer| wire::SteerView { submission_id: it.submission.clone(), text: it.text.clone() };
    wire::RunView {
        run_id: run.id.clone(),
        turn_id: run.turn.clone(),
        state: run_state(run.state),
        revision: run.revision,
        queued_text: run.queued_text.clone(),
        order: run.order,
        overrides: if run.queued_text.is_some() {
            overrides(&run.overrides)
        } else {
            TurnOverrides::default()
        },
        submission_id: run.submission.clone(),
        steerable,
        pending_steers: run.steers.iter().map(steer).collect(),
        uncertain: uncertain.map(stored_call),
        error: run.error.as_ref().map(|error| wire::ErrorView {
            code: code_from_text(&error.code),
            message: error.message.clone(),
            provider: error.provider.clone(),
        }),
    }
}

pub(crate) fn grant(grant: &Grant) -> wire_settings::GrantView {
    wire_settings::GrantView {
        granted_in: grant.thread.clone(),
        tool: Text::clipped(&grant.tool),
        origin: Text::clipped(&grant.origin),
        at: grant.at,
    }
}

pub(crate) fn rule(rule: &Rule) -> wire_settings::RuleView {
    wire_settings::RuleView {
        id: rule.id.clone(),
        verdict: match rule.verdict.as_str() {
            "allow" => wire_settings::RuleVerdict::Allow,
            "deny" => wire_settings::RuleVerdict::Deny,
            _ => wire_settings::RuleVerdict::Ask,
        },
        tool: Text::clipped(&rule.tool),
        origin: Text::clipped(&rule.origin),
    }
}
