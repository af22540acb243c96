//! Interactions: a call waits for the person's words or deeds, for a page, for a time, or for an answer that the server
//! which carries it out wants.
//!
//! Invariant: each is a record with a deadline, stored before any view shows it, and ends once. Only the looks at a watched page
//! live in memory: a worker that starts anew looks at once.

use panelot_base::json::{FromJson, ToJson, word};
use panelot_base::limits::{
    ELICITATION_TIMEOUT_MS, INTERACTION_TIMEOUT_MS, INTERACTION_VALUE_BYTES_MAX, LOOK_DELAY_MS,
    LOOK_INTERVAL_MAX_MS, LOOK_INTERVAL_MS,
};
use panelot_base::{ApprovalId, ItemId, RunId, Timestamp};
use panelot_gatekeeper as gate;
use panelot_protocol::event::{ErrorCode, Event, InteractionRequest, InteractionResolved};
use panelot_records::node::ResultOutcome;
use panelot_records::{Approval, ApprovalState, CallState, Response, WaitKind};
use panelot_tools::{Call, CallKind, Condition, Report, Target, TargetError, TargetFacts, came_about};
use serde_json::{Value, json};

use super::approvals::closed;
use super::outcome::Settled;
use super::{Context, Draft, ThreadMachine};
use crate::input::TargetPhase;
use crate::project;
use crate::receipt::{Admitted, Refused};
use crate::step::{Effect, TargetLookup};

/// The looks at a page that a call watches.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(super) approval: ApprovalId,
    item: ItemId,
    call: Call,
    pub(crate) tab_id: u32,
    /// Where it was judged; it is not read anywhere else.
    origin: String,
    since: Timestamp,
    /// Looks made so far.
    looks: u32,
    /// When the next one is due.
    pub(super) due: Option<Timestamp>,
    /// Whether one is under way.
    pub(super) is_looking: bool,
}

impl Watch {
    /// Texts are looked for now and then; an address that changes is told by the browser.
    fn wait_for_next_look(&mut self, now: Timestamp) {
        self.is_looking = false;
        if self.due.is_none() && reads(&self.call) {
            let pause = (now.ms_since(self.since) / 10).clamp(LOOK_INTERVAL_MS, LOOK_INTERVAL_MAX_MS);
            self.due = Some(now.plus_ms(pause));
        }
    }
}

fn condition(call: &Call) -> Option<&Condition> {
    match call.kind() {
        CallKind::WatchPage { condition, .. } => Some(condition),
        _ => None,
    }
}

/// Whether a call waits for an address, and this is one that it waits for.
fn is_at(call: &Call, url: &str) -> bool {
    matches!(condition(call), Some(Condition::Url(part)) if url.contains(part.as_str()))
}

/// Whether a call waits for what the page itself shows.
fn reads(call: &Call) -> bool {
    matches!(condition(call), Some(Condition::Text(_) | Condition::TextGone(_)))
}

/// What a call waits for, and for how long at most, in milliseconds; none for one that the browser carries out.
pub(super) fn wait_of(call: &Call) -> Option<(WaitKind, u64)> {
    let ms = |seconds: u32| u64::from(seconds) * 1000;
    match call.kind() {
        CallKind::AskUser => Some((WaitKind::AskUser, INTERACTION_TIMEOUT_MS)),
        CallKind::RequestUserAction => Some((WaitKind::UserAction, INTERACTION_TIMEOUT_MS)),
        CallKind::WatchPage { seconds, .. } => Some((WaitKind::WatchPage, ms(*seconds))),
        CallKind::ScheduleResume { seconds } => Some((WaitKind::Schedule, ms(*seconds))),
        _ => None,
    }
}

impl ThreadMachine {
    /// Lets a call that was judged wait.
    #[expect(clippy::too_many_arguments, reason = "what dispatching a call knows")]
    pub(super) fn begin_wait(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
        permit: gate::Permit,
        facts: &TargetFacts,
        (kind, ms): (WaitKind, u64),
    ) {
        let Some(live) = self.calls.remove(item) else { return };
        if facts.target.as_ref().is_some_and(|target| is_at(&live.call, &target.url)) {
            let response = Response::Submit { value: json!({"matched": true}) };
            let settled = settled(kind, live.call.arguments(), response, context.now);
            return self.settle(context, draft, id, item, settled);
        }
        let Some(approval) = self.open_question(context, id, item, &live.call, ms) else { return };
        approval.wait = Some(kind);
        approval.target = facts.target.as_ref().map(ToJson::to_json);
        let approval = approval.clone();
        self.announce_wait(draft, &approval);
        if let Some(watch) = watch_of(&approval, live.call) {
            self.watches.insert(item.clone(), watch);
            self.look(draft, item, permit);
        }
    }

    fn announce_wait(&mut self, draft: &mut Draft, approval: &Approval) {
        let interaction = project::interaction(approval);
        if let Some(interaction) = interaction {
            let thread_id = self.thread.id.clone();
            draft.closing.push(Event::InteractionRequest(InteractionRequest { thread_id, interaction }));
        }
        self.refresh_waiting(&approval.run);
    }

    /// A server that carries out a call asks the person something. The call stays dispatched: whether it had an effect is
    /// as open as before.
    pub(crate) fn on_elicitation(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        item: &ItemId,
        attempt: u32,
        asked: Value,
    ) {
        let Some(id) = self.run_of_call(item).map(|run| run.id.clone()) else { return };
        let dispatched = CallState::Dispatched { attempt, at: Timestamp(0) };
        let state = self.call_state(&id, item).cloned();
        let awaited = matches!(&state, Some(CallState::Dispatched { attempt: it, .. }) if *it == attempt);
        let busy = self.open_questions().any(|it| it.item == *item);
        let call = self.calls.get(item).filter(|_| awaited && !busy).map(|live| live.call.clone());
        let Some(call) = call else {
            let response = Response::Cancel { note: None };
            return draft.effects.push(self.elicited(item, attempt, response));
        };
        let Some(approval) = self.open_question(context, &id, item, &call, ELICITATION_TIMEOUT_MS) else {
            return;
        };
        approval.wait = Some(WaitKind::McpElicitation);
        approval.arguments = asked;
        let approval = approval.clone();
        if let Some(call) = self.call_mut(&id, item) {
            call.state = state.unwrap_or(dispatched);
        }
        self.announce_wait(draft, &approval);
    }

    fn elicited(&self, item: &ItemId, attempt: u32, response: Response) -> Effect {
        Effect::Elicited { thread: self.thread.id.clone(), item: item.clone(), attempt, response }
    }

    /// The person answers. The first answer counts; the same again is acknowledged, another one is refused.
    pub(crate) fn respond(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        interaction: &ApprovalId,
        response: Response,
    ) -> Result<Admitted, Refused> {
        let refuse = |why: &str| Err(Refused::new(ErrorCode::InvalidCommand, why));
        let open = self.approvals.iter().find(|it| it.id == *interaction && it.wait.is_some());
        let Some(open) = open else { return refuse("this wait is over") };
        let run = open.run.clone();
        match &open.state {
            ApprovalState::Pending => {}
            ApprovalState::Answered { response: first, .. } if *first == response => {
                return Ok(self.admitted(&run));
            }
            ApprovalState::Answered { response: Response::Timeout, .. } => {
                return refuse("this wait was ended by its deadline");
            }
            _ => return refuse("this wait was ended already"),
        }
        if let Response::Submit { value } = &response
            && !is_answer(open, value)
        {
            return refuse("this is no answer to what was asked");
        }
        self.end_wait(context, draft, interaction, response);
        Ok(self.admitted(&run))
    }

    /// Ends an interaction, and lets its call end with it.
    pub(super) fn end_wait(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        interaction: &ApprovalId,
        response: Response,
    ) {
        let Some(open) = self.approvals.iter_mut().find(|it| it.id == *interaction) else { return };
        let Some(kind) = open.wait else { return };
        open.state = ApprovalState::Answered { response: response.clone(), at: context.now };
        let (id, item, arguments) = (open.run.clone(), open.item.clone(), open.arguments.clone());
        draft.events.push(Event::InteractionResolved(InteractionResolved {
            thread_id: self.thread.id.clone(),
            interaction_id: interaction.clone(),
            outcome: Some(project::interaction_outcome(&response)),
        }));
        if let Some(watch) = self.watches.remove(&item) {
            debug_assert_eq!(watch.approval, *interaction, "a call has one wait at a time");
            // Also when no look is known to be under way: the report of one that an earlier machine of this thread sent
            // may have been taken for the newest one's.
            draft.effects.push(Effect::CancelTool { thread: self.thread.id.clone(), item: item.clone() });
        }
        self.refresh_waiting(&id);
        if kind == WaitKind::McpElicitation {
            let attempt = self.run(&id).and_then(|run| run.batch.as_ref()).and_then(|batch| {
                batch.calls.iter().find(|call| call.item == item).map(|call| call.attempts)
            });
            let effect = self.elicited(&item, attempt.unwrap_or_default(), response);
            return draft.effects.push(effect);
        }
        let settled = settled(kind, &arguments, response, context.now);
        self.settle(context, draft, &id, &item, settled);
        self.advance(context, draft, &id);
    }

    /// What was waited for came about.
    fn end_watch(&mut self, context: &mut Context<'_>, draft: &mut Draft, interaction: &ApprovalId) {
        let response = Response::Submit { value: json!({"matched": true}) };
        self.end_wait(context, draft, interaction, response);
    }

    /// Forgets the looks for a run that ends.
    pub(super) fn drop_looks(&mut self, draft: &mut Draft, id: &RunId) {
        let over: Vec<ItemId> = self
            .watches
            .iter()
            .filter(|(_, watch)| self.approvals.iter().any(|it| it.id == watch.approval && it.run == *id))
            .map(|(item, _)| item.clone())
            .collect();
        for item in over {
            self.watches.remove(&item);
            draft.effects.push(Effect::CancelTool { thread: self.thread.id.clone(), item });
        }
    }

    /// Takes up the interactions of a run after a restart: pages are looked at at once; what a server asked died with
    /// its call.
    pub(super) fn recover_waits(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId) {
        self.close_elicitations(draft, id);
        let watched: Vec<Approval> = self
            .open_questions()
            .filter(|it| it.run == *id && it.wait == Some(WaitKind::WatchPage))
            .cloned()
            .collect();
        for open in watched {
            let call = context.catalogue.parse(&open.tool, &open.arguments.to_string()).ok();
            if let Some(watch) = call.and_then(|call| watch_of(&open, call)) {
                self.watches.insert(open.item.clone(), Watch { due: Some(context.now), ..watch });
            }
        }
        self.refresh_waiting(id);
    }

    /// What a server asks ends with its call.
    pub(super) fn close_elicitations(&mut self, draft: &mut Draft, id: &RunId) {
        for open in self.approvals.iter_mut().filter(|it| it.run == *id) {
            if open.wait == Some(WaitKind::McpElicitation) && open.state == ApprovalState::Pending {
                open.state = ApprovalState::Closed;
                draft.events.push(closed(open));
            }
        }
        self.refresh_waiting(id);
    }

    /// Begins the looks that are due.
    pub(crate) fn start_looks(&mut self, now: Timestamp, draft: &mut Draft) {
        let due = |watch: &&mut Watch| !watch.is_looking && watch.due.is_some_and(|due| due <= now);
        let thread = self.thread.id.clone();
        for watch in self.watches.values_mut().filter(|watch| due(watch)) {
            watch.is_looking = true;
            watch.due = None;
            draft.effects.push(Effect::FindTarget(Box::new(TargetLookup {
                thread: thread.clone(),
                item: watch.item.clone(),
                phase: TargetPhase::Look,
                call: watch.call.clone(),
                default_tab: Some(watch.tab_id),
            })));
        }
    }

    /// The page that is to be looked at was found, or was not. It is judged again each time.
    pub(super) fn on_look_target(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        item: &ItemId,
        found: Result<TargetFacts, TargetError>,
    ) {
        let Some(watch) = self.watches.get_mut(item).filter(|watch| watch.is_looking) else { return };
        let interaction = watch.approval.clone();
        let target = match &found {
            Err(TargetError::TabGone { .. }) => return self.end_gone(context, draft, &interaction),
            Err(TargetError::NotAWebPage { url, .. }) if is_at(&watch.call, url) => {
                return self.end_watch(context, draft, &interaction);
            }
            Ok(facts) => facts.target.as_ref(),
            Err(_) => None,
        };
        if target.is_some_and(|target| is_at(&watch.call, &target.url)) {
            return self.end_watch(context, draft, &interaction);
        }
        let same_site = target.is_some_and(|target| target.origin == watch.origin);
        watch.wait_for_next_look(context.now);
        let call = watch.call.clone();
        if let Ok(facts) = &found
            && same_site
            && reads(&call)
            && let Some(permit) = self.look_permit(context, item, &call, facts)
        {
            self.look(draft, item, permit);
        }
    }

    /// Judges one look. What would be asked is not asked again and again: the page is left alone until it may be read.
    fn look_permit(
        &self,
        context: &Context<'_>,
        item: &ItemId,
        call: &Call,
        facts: &TargetFacts,
    ) -> Option<gate::Permit> {
        let run = self.run_of_call(item)?;
        let policy = context.directory.policy(&run.overrides);
        let question = gate::Question {
            tool: context.catalogue.find(call.name())?,
            arguments: call.arguments(),
            facts,
            destination: None,
            field: gate::Field::Unknown,
        };
        let rules = context.directory.gate_rules();
        let grants = context.directory.gate_grants(&self.thread.id);
        match gate::decide(policy, &rules, &grants, &question) {
            gate::Verdict::Allow(permit) => Some(permit),
            gate::Verdict::Deny(_) => None,
            gate::Verdict::Ask(_) => {
                let batch = run.batch.as_ref()?;
                let agreed = batch.calls.iter().find(|call| call.item == *item)?.approval.as_ref()?;
                let agreed = self.approvals.iter().find(|it| it.id == *agreed)?;
                self.recheck(agreed, policy, &rules, &question).ok()
            }
        }
    }

    /// Sends a look to the page that was judged.
    fn look(&mut self, draft: &mut Draft, item: &ItemId, permit: gate::Permit) {
        let Some(watch) = self.watches.get_mut(item) else { return };
        if !reads(&watch.call) {
            return;
        }
        let Ok(command) = watch.call.command(permit.target()) else { return };
        watch.looks += 1;
        watch.is_looking = true;
        watch.due = None;
        draft.effects.push(Effect::Dispatch {
            thread: self.thread.id.clone(),
            item: item.clone(),
            attempt: watch.looks,
            permit: Box::new(permit),
            command: Box::new(command),
        });
    }

    /// Takes in what a look has seen. Returns whether it was one.
    pub(super) fn on_look(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        item: &ItemId,
        attempt: u32,
        report: &Report,
    ) -> bool {
        let Some(watch) = self.watches.get_mut(item) else { return false };
        if watch.is_looking && watch.looks == attempt {
            let matched = condition(&watch.call).is_some_and(|condition| came_about(condition, report));
            watch.wait_for_next_look(context.now);
            let interaction = watch.approval.clone();
            if matched {
                self.end_watch(context, draft, &interaction);
            }
        }
        true
    }

    /// Something happened in a tab.
    pub(crate) fn on_page_signal(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        tab_id: u32,
        signal: &crate::input::PageSignal,
    ) {
        let watched: Vec<ItemId> = self
            .watches
            .iter()
            .filter(|(_, watch)| watch.tab_id == tab_id)
            .map(|(item, _)| item.clone())
            .collect();
        for item in watched {
            let Some(watch) = self.watches.get_mut(&item) else { continue };
            let interaction = watch.approval.clone();
            match signal {
                crate::input::PageSignal::Gone => self.end_gone(context, draft, &interaction),
                crate::input::PageSignal::Changed { url } => {
                    if url.as_deref().is_some_and(|url| is_at(&watch.call, url)) {
                        self.end_watch(context, draft, &interaction);
                    } else if reads(&watch.call) {
                        let soon = context.now.plus_ms(LOOK_DELAY_MS);
                        watch.due = Some(watch.due.map_or(soon, |due| due.min(soon)));
                    }
                }
            }
        }
    }

    fn end_gone(&mut self, context: &mut Context<'_>, draft: &mut Draft, interaction: &ApprovalId) {
        let note = Some("The tab was closed.".to_owned());
        self.end_wait(context, draft, interaction, Response::Cancel { note });
    }
}

fn watch_of(approval: &Approval, call: Call) -> Option<Watch> {
    let target = Target::from_json(approval.target.clone()?).ok()?;
    condition(&call)?;
    Some(Watch {
        approval: approval.id.clone(),
        item: approval.item.clone(),
        call,
        tab_id: target.tab_id,
        origin: target.origin,
        since: approval.requested_at,
        looks: 0,
        due: None,
        is_looking: false,
    })
}

/// Whether a value can be an answer to what was asked.
fn is_answer(asked: &Approval, value: &Value) -> bool {
    let fits = match asked.wait {
        Some(WaitKind::AskUser) => {
            let questions = asked.arguments.get("questions").and_then(Value::as_array);
            let asks = |id: &str| {
                let ids = questions.into_iter().flatten().filter_map(|it| it.get("id")?.as_str());
                ids.into_iter().any(|it| it == id)
            };
            value.as_object().is_some_and(|answers| {
                !answers.is_empty() && answers.iter().all(|(id, answer)| asks(id) && answer.is_string())
            })
        }
        Some(WaitKind::McpElicitation) => value.is_object(),
        _ => value.is_null(),
    };
    fits && value.to_string().len() <= INTERACTION_VALUE_BYTES_MAX
}

/// What the model reads of an interaction that ended.
fn settled(kind: WaitKind, arguments: &Value, response: Response, now: Timestamp) -> Settled {
    let (outcome, status, key, value) = match response {
        Response::Submit { value } => {
            let value = match kind {
                WaitKind::Schedule => json!({"resumedAt": now, "reason": arguments.get("reason")}),
                // The person went on without it.
                WaitKind::WatchPage if value.is_null() => json!({"matched": false}),
                WaitKind::UserAction => json!({"done": true}),
                _ => value,
            };
            (ResultOutcome::Ok, "submitted", "value", value)
        }
        Response::Cancel { note } => (ResultOutcome::Declined, "cancelled", "note", note.to_json()),
        // That it did not come about is an answer.
        Response::Timeout if kind == WaitKind::WatchPage => {
            (ResultOutcome::Ok, "timed_out", "value", json!({"matched": false}))
        }
        Response::Timeout => (ResultOutcome::Declined, "timed_out", "value", Value::Null),
    };
    let content = json!({"status": status, key: value});
    let mut details = content.clone();
    if let Some(fields) = details.as_object_mut() {
        fields.insert("type".to_owned(), "interaction".into());
        fields.insert("kind".to_owned(), word(&kind).into());
    }
    Settled::new(outcome, content.to_string(), details)
}
