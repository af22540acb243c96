//! Questions to the person: asked, answered, and answered by their deadline.

use panelot_base::json::ToJson;
use panelot_base::limits::APPROVAL_TIMEOUT_MS;
use panelot_base::{ApprovalId, ItemId, RuleId, RunId};
use panelot_gatekeeper as gate;
use panelot_protocol::event::{ApprovalRequest, ApprovalResolved, ErrorCode, Event};
use panelot_protocol::snapshot::StopReason;
use panelot_records::node::ResultOutcome;
use panelot_records::{Approval, ApprovalState, Body, CallState, Decision, Grant, Rule, RunState, Write};
use panelot_tools::TargetFacts;
use serde_json::json;

use super::outcome::Settled;
use super::{Context, Draft, ThreadMachine};
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
        let (Some(live), Some(run)) = (self.calls.remove(item), self.run(id)) else { return };
        let approval = Approval {
            id: ApprovalId::mint(context.ids),
            thread: self.thread.id.clone(),
            run: id.clone(),
            turn: run.turn.clone(),
            item: item.clone(),
            revision: 0,
            tool: live.call.name().to_owned(),
            arguments: live.call.arguments().clone(),
            origin: ask.origin.to_string(),
            flags: ask.flags.iter().map(|flag| flag.as_str().to_owned()).collect(),
            target: facts.target.as_ref().map(ToJson::to_json),
            preview: self.outline_line(&live.call),
            digest: ask.digest,
            state: ApprovalState::Pending,
            requested_at: context.now,
            deadline_at: context.now.plus_ms(APPROVAL_TIMEOUT_MS),
        };
        if let Some(call) = self.call_mut(id, item) {
            call.state = CallState::Waiting { approval: approval.id.clone() };
        }
        draft.closing.push(Event::ApprovalRequest(ApprovalRequest {
            thread_id: self.thread.id.clone(),
            approval: project::approval(&approval),
        }));
        self.approvals.push(approval);
        self.set_state(id, RunState::WaitingApproval);
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
        let Some(question) = self.approvals.iter().find(|it| it.id == *approval) else {
            return refuse("this question is closed");
        };
        let run = question.run.clone();
        match &question.state {
            ApprovalState::Pending => {}
            ApprovalState::Decided { decision: first, .. } if *first == decision => {
                return Ok(self.admitted(&run));
            }
            ApprovalState::Decided { by_deadline: true, .. } => {
                return refuse("this question was answered by its deadline");
            }
            ApprovalState::Decided { .. } | ApprovalState::Closed => {
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

    /// Answers every question whose deadline has come with a decline.
    #[inline(never)]
    pub(crate) fn expire_approvals(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        let due: Vec<ApprovalId> = self
            .pending_approvals()
            .filter(|approval| approval.deadline_at <= context.now)
            .map(|approval| approval.id.clone())
            .collect();
        for approval in due {
            self.decide(context, draft, &approval, Decision::Decline { note: None }, Answerer::Deadline);
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
        if self.run(&id).is_some_and(|run| self.pending_approvals().all(|other| other.run != run.id)) {
            self.set_state(&id, RunState::Running);
        }
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
                context.directory.grants.push(grant);
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

    /// Closes the open questions of a run that ends.
    pub(crate) fn close_approvals(&mut self, draft: &mut Draft, id: &RunId) {
        for approval in self.approvals.iter_mut().filter(|it| it.run == *id) {
            if approval.state == ApprovalState::Pending {
                approval.state = ApprovalState::Closed;
                draft.events.push(Event::ApprovalResolved(ApprovalResolved {
                    thread_id: self.thread.id.clone(),
                    approval_id: approval.id.clone(),
                    decision: None,
                }));
            }
        }
    }
}
