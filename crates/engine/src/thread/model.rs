//! Model calls: asking, streaming, checkpoints, answers and failures.

use panelot_base::json::{ToJson, word};
use panelot_base::limits::{CHECKPOINT_BYTES, CHECKPOINT_INTERVAL_MS};
use panelot_base::{ItemId, ModelCallId, RunId, Timestamp};
use panelot_protocol::event::{ErrorCode, Event, ItemComplete, ItemDelta, ItemStart, TokenUsage};
use panelot_protocol::snapshot::{ItemKind, ItemMeta, StopReason};
use panelot_provider::retry::{self, Keys};
use panelot_provider::verify::refuses_pictures;
use panelot_provider::{ErrorKind, KnownFacts, ProviderError, Reason, Response};
use panelot_records::node::{StoredCall, Usage};
use panelot_records::run::{ModelChoice, RunError};
use panelot_records::{Batch, Body, Call, CallState, NoticeKind, RunState};
use serde_json::{Value, json};

use super::{Context, Draft, LiveModel, ThreadMachine};
use crate::input::ModelInput;
use crate::project::{code_text, usage as usage_view};
use crate::providers::access;
use crate::step::{Effect, ModelCall, Purpose, Reminder, Room};

impl ThreadMachine {
    /// Asks the model to go on with a run.
    pub(crate) fn call_model(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        reminders: Vec<Reminder>,
    ) {
        // The cutoff: what was added to the turn up to now goes into this request, what comes later into the next.
        self.deliver_steers(context.now, draft, id);
        self.ask_model(context, draft, id, reminders, None, Purpose::Answer(Room::Window));
    }

    /// Asks the model for something on behalf of a run; again with the keys that are left, or anew.
    pub(super) fn ask_model(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        reminders: Vec<Reminder>,
        keys: Option<Keys>,
        purpose: Purpose,
    ) {
        let Some(run) = self.run(id) else { return };
        let parts = (run.environment.clone(), run.model.clone(), run.leaf.or(self.thread.leaf));
        let (Some(environment), Some(model), Some(leaf)) = parts else { return };
        let turn_id = run.turn.clone();
        let Some(connection) = context.directory.connections.get(&model.connection) else {
            let error = RunError {
                code: code_text(ErrorCode::NotConfigured),
                message: "the connection of this conversation's model was removed".to_owned(),
                provider: None,
            };
            self.fail_run(context, draft, id, error);
            return;
        };
        if connection.has_key && context.directory.is_locked() {
            return self.pause_locked(draft, id);
        }
        // The credential that worked last comes first.
        let mut access = access(connection);
        let keys = keys.unwrap_or_else(|| Keys::new(access.keys.len(), 0));
        let slot = connection.slot_in_use(keys.current());
        access.keys = access.keys.into_iter().skip(keys.current()).take(1).collect();
        let facts = context.directory.facts(&model).settled();
        let (call, item) = (ModelCallId::mint(context.ids), ItemId::mint(context.ids));
        draft.effects.push(Effect::CallModel(Box::new(ModelCall {
            thread: self.thread.id.clone(),
            run: id.clone(),
            call: call.clone(),
            leaf,
            environment,
            connection: model.connection.clone(),
            access,
            facts,
            fence_seed: self.thread.fence_seed.clone(),
            purpose: purpose.clone(),
            reminders: reminders.clone(),
        })));
        draft.closing.push(Event::ItemStart(ItemStart {
            thread_id: self.thread.id.clone(),
            turn_id,
            item_id: item.clone(),
            kind: item_kind(&purpose),
            meta: ItemMeta::default(),
        }));
        if let Some(run) = self.run_mut(id) {
            run.model_calls += 1;
        }
        self.model = Some(LiveModel {
            call,
            item,
            text: String::new(),
            reasoning: String::new(),
            unsaved: 0,
            checkpoint_at: None,
            keys,
            slot,
            sees: facts.vision,
            retry_at: None,
            reminders,
            purpose,
        });
    }

    /// The run that the live model call works for.
    fn model_run(&self) -> Option<RunId> {
        self.model.as_ref()?;
        self.runs
            .iter()
            .find(|run| run.state == RunState::Running && run.batch.is_none())
            .map(|run| run.id.clone())
    }

    /// Takes in what a model call brought. Returns whether a checkpoint is due.
    #[inline(never)]
    pub(crate) fn on_model(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        call: &ModelCallId,
        event: ModelInput,
    ) -> bool {
        if self.title.as_ref().is_some_and(|live| live.call == *call) {
            self.on_title(context, draft, event);
            return false;
        }
        if self.model.as_ref().is_none_or(|live| live.call != *call) {
            return false;
        }
        let Some(run) = self.model_run() else { return false };
        if self.on_summary(context, draft, &run, &event) {
            return false;
        }
        match event {
            // Only a request for an answer is measured.
            ModelInput::Full(_) => false,
            ModelInput::Delta { text, reasoning } => self.on_delta(context.now, draft, text, reasoning),
            ModelInput::Completed(response) => {
                self.on_response(context, draft, &run, response);
                false
            }
            ModelInput::Failed(error) => {
                self.on_failure(context, draft, &run, error);
                false
            }
            ModelInput::Locked => {
                self.abandon_model(context.now, draft, &run);
                // The store knows better than the directory did.
                context.directory.unlocked = false;
                draft.settings_changed = true;
                self.pause_locked(draft, &run);
                false
            }
            ModelInput::Broken(message) => {
                let error = RunError { code: code_text(ErrorCode::Internal), message, provider: None };
                self.fail_run(context, draft, &run, error);
                false
            }
        }
    }

    fn on_delta(&mut self, now: Timestamp, draft: &mut Draft, text: String, reasoning: String) -> bool {
        let Some(live) = &mut self.model else { return false };
        live.text.push_str(&text);
        live.reasoning.push_str(&reasoning);
        live.unsaved += text.len() + reasoning.len();
        let item_id = live.item.clone();
        let elapsed = live.checkpoint_at.is_none_or(|at| now.ms_since(at) >= CHECKPOINT_INTERVAL_MS);
        let due = live.unsaved > 0 && (elapsed || live.unsaved >= CHECKPOINT_BYTES);
        draft.events.push(Event::ItemDelta(ItemDelta {
            thread_id: self.thread.id.clone(),
            item_id,
            text,
            reasoning,
        }));
        due
    }

    /// What is streamed so far goes into a node that is marked incomplete.
    #[inline(never)]
    pub(crate) fn checkpoint(&mut self, now: Timestamp, draft: &mut Draft) {
        draft.relaxed = true;
        let Some(run) = self.model_run() else { return };
        self.store_partial(now, &run);
    }

    /// Stores what was streamed and not yet stored; returns the node.
    fn store_partial(&mut self, now: Timestamp, id: &RunId) -> Option<u64> {
        let live = self.model.as_mut()?;
        live.unsaved = 0;
        live.checkpoint_at = Some(now);
        let live = live.clone();
        if matches!(live.purpose, Purpose::Summary(_)) {
            return None;
        }
        let run = self.run(id)?;
        let (partial, model) = (run.partial, run.model.clone()?);
        if live.text.is_empty() && live.reasoning.is_empty() {
            return partial;
        }
        let body = Body::Assistant {
            item: live.item,
            text: live.text,
            reasoning: live.reasoning,
            calls: Vec::new(),
            connection: model.connection,
            model: model.model,
            usage: None,
            incomplete: true,
            stop: None,
            vendor: serde_json::Map::new(),
            cost: None,
        };
        if let Some(seq) = partial {
            self.rewrite(seq, body);
            return Some(seq);
        }
        let seq = self.place(now, id, body);
        self.run_mut(id)?.partial = Some(seq);
        Some(seq)
    }

    /// Ends a live model call before its answer is there: what was streamed is kept, and views are told.
    pub(crate) fn abandon_model(&mut self, now: Timestamp, draft: &mut Draft, id: &RunId) {
        let Some(live) = self.model.clone() else { return };
        draft.effects.push(Effect::CancelModel { thread: self.thread.id.clone(), call: live.call });
        if let Some(seq) = self.store_partial(now, id) {
            draft.stored.push(seq);
        }
        if let Some(run) = self.run_mut(id) {
            run.partial = None;
        }
        self.model = None;
        draft.closing.push(self.item_complete(live.item, false));
    }

    pub(crate) fn item_complete(&self, item_id: ItemId, ok: bool) -> Event {
        Event::ItemComplete(ItemComplete { thread_id: self.thread.id.clone(), item_id, ok })
    }

    fn on_response(&mut self, context: &mut Context<'_>, draft: &mut Draft, id: &RunId, response: Response) {
        if response.text.trim().is_empty() && response.tool_calls.is_empty() {
            let mut error = ProviderError::new(ErrorKind::Protocol, Some(Reason::ResponseFormat));
            error.upstream_message = Some("the model ended its answer without saying anything".to_owned());
            return self.on_failure(context, draft, id, error);
        }
        let Some(live) = self.model.take() else { return };
        let Some(model) = self.run(id).and_then(|run| run.model.clone()) else { return };
        if let Some(slot) = live.slot {
            draft.writes.extend(context.directory.key_worked(&model.connection, slot));
        }
        let finalizing = live.reminders.iter().any(Reminder::is_last);
        let calls: Vec<StoredCall> = if finalizing {
            Vec::new()
        } else {
            let mint = |call: panelot_provider::ToolCall| StoredCall {
                item: ItemId::mint(context.ids),
                name: call.name,
                arguments: call.arguments,
                vendor: call.vendor,
            };
            response.tool_calls.into_iter().map(mint).collect()
        };
        let usage = response.usage.map(usage_record);
        let cost = response.usage.and_then(|usage| cost_of(context, &model, &usage));
        let reason = match response.stop_reason {
            panelot_provider::StopReason::MaxTokens => StopReason::MaxTokens,
            panelot_provider::StopReason::ContentFilter => StopReason::ContentFilter,
            panelot_provider::StopReason::End | panelot_provider::StopReason::ToolUse => StopReason::End,
        };
        let states = calls.iter().map(proposed).collect::<Vec<_>>();
        let body = Body::Assistant {
            item: live.item.clone(),
            text: response.text,
            reasoning: response.reasoning,
            calls,
            connection: model.connection,
            model: model.model,
            usage,
            incomplete: reason != StopReason::End,
            stop: (reason != StopReason::End).then(|| word(&reason)),
            vendor: response.vendor,
            cost,
        };
        let seq = self.store_answer(context.now, draft, id, body);
        draft.closing.push(self.item_complete(live.item, true));
        self.count_usage(context, draft, id, usage);
        self.ask_for_title(context, draft, id);
        if !states.is_empty() {
            if let Some(run) = self.run_mut(id) {
                run.batch = Some(Batch { assistant_seq: seq, calls: states });
            }
            return self.advance(context, draft, id);
        }
        if finalizing {
            self.append_ending(context, draft, id);
            return self.end_run(context, draft, id, RunState::Failed, StopReason::Error);
        }
        if self.run(id).is_some_and(|run| !run.steers.is_empty()) {
            return self.go_on(context, draft, id);
        }
        self.end_run(context, draft, id, RunState::Completed, reason);
    }

    fn store_answer(&mut self, now: Timestamp, draft: &mut Draft, id: &RunId, body: Body) -> u64 {
        let partial = self.run_mut(id).and_then(|run| run.partial.take());
        match partial {
            Some(seq) => {
                self.rewrite(seq, body);
                draft.stored.push(seq);
                seq
            }
            None => self.append(draft, now, id, body),
        }
    }

    /// Counts the tokens of a call, and what they cost where the price is known.
    pub(super) fn charge(
        &mut self,
        context: &Context<'_>,
        model: &ModelChoice,
        usage: panelot_provider::Usage,
    ) -> Option<u64> {
        let cost = cost_of(context, model, &usage);
        let stats = &mut self.thread.stats;
        stats.total_tokens += usage.input + usage.output;
        match cost {
            Some(cost) => stats.cost = Some(stats.cost.unwrap_or_default().saturating_add(cost)),
            None => stats.unpriced = true,
        }
        cost
    }

    pub(super) fn count_usage(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        usage: Option<Usage>,
    ) {
        let Some(usage) = usage else { return };
        let Some(model) = self.run(id).and_then(|run| run.model.clone()) else { return };
        let cost = self.charge(context, &model, usage_of(usage));
        let Some(run) = self.run_mut(id) else { return };
        run.usage.input += usage.input;
        run.usage.output += usage.output;
        run.usage.cache_read += usage.cache_read;
        run.usage.cache_write += usage.cache_write;
        let turn_id = run.turn.clone();
        draft.events.push(Event::TokenUsage(TokenUsage {
            thread_id: self.thread.id.clone(),
            turn_id,
            usage: usage_view(usage),
            cost,
        }));
    }

    pub(super) fn on_failure(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        error: ProviderError,
    ) {
        let Some(live) = &mut self.model else { return };
        let seen = !live.text.is_empty() || !live.reasoning.is_empty();
        let output = if seen { retry::Output::Seen } else { retry::Output::None };
        let jitter = jitter(&context.ids.next_uuid());
        let sees = live.sees && !seen && refuses_pictures(&error);
        match live.keys.after(&error, output, jitter) {
            retry::Step::Key(_) => {
                live.retry_at = Some(context.now);
                return self.retry_model(context, draft);
            }
            retry::Step::Wait(delay) => {
                live.retry_at = Some(context.now.plus_ms(delay));
                return;
            }
            retry::Step::GiveUp if sees => {
                let Some(model) = self.run(id).and_then(|run| run.model.clone()) else { return };
                let facts = KnownFacts { vision: Some(false), ..KnownFacts::default() };
                if let (Some(write), Some(live)) =
                    (context.directory.found_out(&model, facts), &mut self.model)
                {
                    // Asked again, it is told of the pictures in words.
                    draft.writes.push(write);
                    draft.settings_changed = true;
                    live.retry_at = Some(context.now);
                    return self.retry_model(context, draft);
                }
            }
            retry::Step::GiveUp => {}
        }
        let provider = Some(error.to_json());
        let error = RunError {
            code: code_text(ErrorCode::ProviderError),
            message: format!("{error}").chars().take(2000).collect(),
            provider,
        };
        self.fail_run(context, draft, id, error);
    }

    /// Ends a run with an error that the conversation shows.
    pub(crate) fn fail_run(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        error: RunError,
    ) {
        self.abandon_model(context.now, draft, id);
        let details = error_details(&error);
        self.append(draft, context.now, id, Body::Notice { kind: NoticeKind::ModelError, details });
        if let Some(run) = self.run_mut(id) {
            run.error = Some(error);
        }
        self.end_run(context, draft, id, RunState::Failed, StopReason::Error);
    }

    /// Asks again when a back-off has run out.
    #[inline(never)]
    pub(crate) fn retry_model(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        let due = |live: &LiveModel| live.retry_at.is_some_and(|at| at <= context.now);
        let Some(live) = self.model.clone().filter(due) else { return };
        let Some(id) = self.model_run() else { return };
        // The failed attempt has shown nothing; its item ends and a new one begins.
        draft.events.push(self.item_complete(live.item, false));
        self.model = None;
        self.ask_model(context, draft, &id, live.reminders, Some(live.keys), live.purpose);
    }

    /// Whether what was streamed should be stored although nothing new came.
    pub(crate) fn is_checkpoint_due(&self, now: Timestamp) -> bool {
        self.model.as_ref().is_some_and(|live| {
            live.unsaved > 0 && live.checkpoint_at.is_none_or(|at| now.ms_since(at) >= CHECKPOINT_INTERVAL_MS)
        })
    }
}

/// What views are told of a call to a model.
pub(super) const fn item_kind(purpose: &Purpose) -> ItemKind {
    match purpose {
        Purpose::Answer(_) | Purpose::Given(_) => ItemKind::AssistantMessage,
        Purpose::Summary(_) => ItemKind::Summary,
    }
}

/// What the conversation says of a run's error.
pub(super) fn error_details(error: &RunError) -> Value {
    json!({"code": error.code, "message": error.message, "provider": error.provider})
}

fn proposed(call: &StoredCall) -> Call {
    Call { item: call.item.clone(), state: CallState::Proposed, target: None, attempts: 0, approval: None }
}

/// What the tokens of a call cost, in nanodollars; none when nobody knows the price.
fn cost_of(context: &Context<'_>, model: &ModelChoice, usage: &panelot_provider::Usage) -> Option<u64> {
    context.directory.facts(model).price.map(|price| price.nanodollars(usage))
}

const fn usage_of(usage: Usage) -> panelot_provider::Usage {
    panelot_provider::Usage {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
    }
}

pub(super) const fn usage_record(usage: panelot_provider::Usage) -> Usage {
    Usage {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
    }
}

/// A number that the engine's seeded source makes, for spreading retries.
fn jitter(uuid: &str) -> u64 {
    uuid.get(..8).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
}
