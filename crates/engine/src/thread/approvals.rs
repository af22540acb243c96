//! Questions to the person: asked, answered, and answered by their deadline.

use panelot_base::json::ToJson;
use panelot_base::limits::APPROVAL_TIMEOUT_MS;
use panelot_base::{ApprovalId, ItemId, RuleId, RunId};
use panelot_gatekeeper as gate;
use panelot_protocol::event::{ApprovalRequest, ApprovalResolved, ErrorCode, Event, InteractionResolved};
use panelot_protocol::snapshot::StopReason;
use panelot_records::node::ResultOutcome;
use panelot_records::{
    Approval, ApprovalState, Body, CallState, Decision, Grant, Response, Rule, RunState, WaitKind, Write,
};
use panelot_tools::TargetFacts;
use serde_json::json;

use super::outcome::Settled;
use super::{Context, Draft, ThreadMachine};
use crate::bugs::{Bug, is_on};
use crate::project;
use crate::receipt::{Admitted, Refused};
use panelot_prompts::wording;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answerer {
    Person,
    Deadline,
}

impl ThreadMachine {
    pub(crate) fn ask(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
        facts: &TargetFacts,
        ask: gate::Ask,
    ) {
        let Some(live) = self.calls.remove(item) else { return };
        let preview = self.outline_line(&live.call);
        let Some(approval) = self.open_question(context, id, item, &live.call, APPROVAL_TIMEOUT_MS) else {
            return;
        };
        approval.origin = ask.origin.to_string();
        approval.flags = ask.flags.iter().map(|flag| flag.as_str().to_owned()).collect();
        approval.target = facts.target.as_ref().map(ToJson::to_json);
        approval.preview = preview;
        approval.digest = ask.digest;
        let approval = project::approval(approval);
        draft
            .closing
            .push(Event::ApprovalRequest(ApprovalRequest { thread_id: self.thread.id.clone(), approval }));
        self.refresh_waiting(id);
    }

    /// Stores that a call waits. The caller fills in what for.
    pub(super) fn open_question(
        &mut self,
        context: &mut Context<'_>,
        id: &RunId,
        item: &ItemId,
        call: &panelot_tools::Call,
        ms: u64,
    ) -> Option<&mut Approval> {
        let approval = Approval {
            id: ApprovalId::mint(context.ids),
            thread: self.thread.id.clone(),
            run: id.clone(),
            wait: None,
            turn: self.run(id)?.turn.clone(),
            item: item.clone(),
            revision: 0,
            tool: call.name().to_owned(),
            arguments: call.arguments().clone(),
            origin: String::new(),
            flags: Vec::new(),
            target: None,
            preview: None,
            digest: String::new(),
            state: ApprovalState::Pending,
            requested_at: context.now,
            deadline_at: context.now.plus_ms(ms),
        };
        if let Some(call) = self.call_mut(id, item) {
            call.state = CallState::Waiting { approval: approval.id.clone() };
        }
        self.approvals.push(approval);
        self.approvals.last_mut()
    }

    /// A run's state says what it waits for, a question before anything else.
    pub(super) fn refresh_waiting(&mut self, id: &RunId) {
        let waits = |interaction: bool| {
            self.open_questions().any(|it| it.run == *id && it.wait.is_some() == interaction)
        };
        let state = if waits(false) {
            RunState::WaitingApproval
        } else if waits(true) {
            RunState::WaitingInteraction
        } else {
            RunState::Running
        };
        if self.run(id).is_some_and(|run| run.state.is_under_way()) {
            self.set_state(id, state);
        }
    }

    /// What the newest look at the page said of the element that a call acts on, so that the person reads
    /// `button "Place order"` and not a reference.
    pub(super) fn outline_line(&self, call: &panelot_tools::Call) -> Option<String> {
        let element = call.element()?;
        self.nodes().iter().rev().find_map(|node| match &node.body {
            Body::ToolResult { content, foreign: true, .. } => {
                panelot_tools::line_of(content, element.as_str()).map(str::to_owned)
            }
            _ => None,
        })
    }

    /// The person answers. The first answer counts; the same again is acknowledged, another one is refused.
    pub(crate) fn answer(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        approval: &ApprovalId,
        decision: Decision,
    ) -> Result<Admitted, Refused> {
        let refuse = |why: &str| Err(Refused::new(ErrorCode::InvalidCommand, why));
        let question = self.approvals.iter().find(|it| it.id == *approval && it.wait.is_none());
        let Some(question) = question else {
            return refuse("this question is closed");
        };
        let run = question.run.clone();
        match &question.state {
            ApprovalState::Pending => {}
            ApprovalState::Decided { .. } if is_on(Bug::TwoAnswers) => {}
            ApprovalState::Decided { decision: first, .. } if *first == decision => {
                return Ok(self.admitted(&run));
            }
            ApprovalState::Decided { by_deadline: true, .. } => {
                return refuse("this question was answered by its deadline");
            }
            ApprovalState::Decided { .. } | ApprovalState::Answered { .. } | ApprovalState::Closed => {
                return refuse("this question was answered already");
            }
        }
        self.decide(context, draft, approval, decision, Answerer::Person);
        Ok(self.admitted(&run))
    }

    pub(crate) fn admitted(&self, run: &RunId) -> Admitted {
        Admitted {
            thread: Some(self.thread.id.clone()),
            run: Some(run.clone()),
            revision: self.run(run).map(|run| run.revision),
        }
    }

    /// Answers every question whose deadline has come with a decline, and ends every interaction whose deadline has.
    #[inline(never)]
    pub(crate) fn expire_approvals(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        let due: Vec<(ApprovalId, Option<WaitKind>)> = self
            .open_questions()
            .filter(|approval| approval.deadline_at <= context.now)
            .map(|approval| (approval.id.clone(), approval.wait))
            .collect();
        for (approval, wait) in due {
            // What an earlier one of them led to may have ended the run.
            if self.open_questions().all(|it| it.id != approval) {
                continue;
            }
            match wait {
                None => {
                    let decline = Decision::Decline { note: None };
                    self.decide(context, draft, &approval, decline, Answerer::Deadline);
                }
                Some(WaitKind::Schedule) => {
                    let response = Response::Submit { value: serde_json::Value::Null };
                    self.end_wait(context, draft, &approval, response);
                }
                Some(_) => self.end_wait(context, draft, &approval, Response::Timeout),
            }
        }
    }

    fn decide(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        approval: &ApprovalId,
        decision: Decision,
        by: Answerer,
    ) {
        let now = context.now;
        let Some(question) = self.approvals.iter_mut().find(|it| it.id == *approval) else { return };
        question.state = ApprovalState::Decided {
            decision: decision.clone(),
            at: now,
            by_deadline: by == Answerer::Deadline,
        };
        let question = question.clone();
        let (id, item) = (question.run.clone(), question.item.clone());
        draft.events.push(Event::ApprovalResolved(ApprovalResolved {
            thread_id: self.thread.id.clone(),
            approval_id: approval.clone(),
            decision: Some(project::decision(&decision)),
        }));
        let body =
            Body::Decision { approval: approval.clone(), item: item.clone(), decision: decision.clone() };
        self.append(draft, now, &id, body);
        if decision.is_accept() {
            self.remember(context, draft, &question, &decision);
            if let Some(call) = self.call_mut(&id, &item) {
                call.state = CallState::Approved { approval: approval.clone() };
                call.approval = Some(approval.clone());
            }
        }
        if decision == Decision::Cancel {
            return self.stop_run(context, draft, &id, StopReason::Interrupted);
        }
        self.refresh_waiting(&id);
        if let Decision::Decline { note } = &decision {
            let content = match by {
                Answerer::Person => wording::declined(note.as_deref()),
                Answerer::Deadline => wording::approval_expired(),
            };
            let details = json!({"type": "declined", "note": note, "byDeadline": by == Answerer::Deadline});
            self.settle(context, draft, &id, &item, Settled::new(ResultOutcome::Declined, content, details));
        }
        self.advance(context, draft, &id);
    }

    /// Stores what an answer says about the next time, in the same commit.
    fn remember(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        question: &Approval,
        decision: &Decision,
    ) {
        match decision {
            Decision::AcceptForSession => {
                let grant = Grant {
                    session: context.directory.session.clone(),
                    thread: self.thread.id.clone(),
                    tool: question.tool.clone(),
                    origin: question.origin.clone(),
                    at: context.now,
                };
                draft.writes.push(Write::Put(grant.clone().into()));
                // A grant of an earlier browser session lies under the same key.
                let _ = context.directory.revoke_grant(&grant.thread, &grant.tool, &grant.origin);
                context.directory.grants.push(grant);
                draft.settings_changed = true;
            }
            Decision::AcceptForSite => {
                // The question's own id makes the rule's, so that the same answer can never add two rules.
                let Ok(id) = RuleId::new(format!("approval:{}", question.id)) else { return };
                let rule = Rule {
                    id: id.clone(),
                    verdict: gate::RuleVerdict::Allow.as_str().to_owned(),
                    tool: question.tool.clone(),
                    origin: question.origin.clone(),
                    created_at: context.now,
                };
                if gate::Rule::parse(&rule.verdict, &rule.tool, &rule.origin).is_err() {
                    return;
                }
                draft.writes.push(Write::Put(rule.clone().into()));
                context.directory.rules.insert(id, rule);
                draft.settings_changed = true;
            }
            Decision::Accept | Decision::Decline { .. } | Decision::Cancel => {}
        }
    }

    /// Closes the open questions and interactions of a run that ends.
    pub(crate) fn close_approvals(&mut self, draft: &mut Draft, id: &RunId) {
        if is_on(Bug::LeakedWait) {
            return;
        }
        for approval in self.approvals.iter_mut().filter(|it| it.run == *id) {
            if approval.state == ApprovalState::Pending {
                approval.state = ApprovalState::Closed;
                draft.events.push(closed(approval));
            }
        }
        self.drop_looks(draft, id);
    }
}

/// What views are told of a question or interaction that nobody can answer any more.
pub(super) fn closed(approval: &Approval) -> Event {
    let thread_id = approval.thread.clone();
    if approval.wait.is_some() {
        let interaction_id = approval.id.clone();
        return Event::InteractionResolved(InteractionResolved { thread_id, interaction_id, outcome: None });
    }
    Event::ApprovalResolved(ApprovalResolved { thread_id, approval_id: approval.id.clone(), decision: None })
}
