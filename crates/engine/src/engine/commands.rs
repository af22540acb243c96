//! The commands of views: each changes something and leaves its receipt in the same commit.

use panelot_base::{ThreadId, Timestamp};
use panelot_protocol::event::{ErrorCode, Event, Pong, ThreadDeleted};
use panelot_protocol::op::ThreadCreate;
use panelot_protocol::{Op, OpMessage};
use panelot_records::{Commit, Receipt, Thread, Write};

use super::answers::{answer, error_event, private, refused_step, removal_step, storage_failed};
use super::{Engine, project};
use crate::bugs::{Bug, is_on};
use crate::input::{ConnectionHandle, Found};
use crate::receipt::{Admitted, Command, Refused};
use crate::step::{Effect, Step};
use crate::thread::{Context, Draft, Submission, ThreadMachine};

impl Engine {
    #[inline(never)]
    pub(super) fn on_op(
        &mut self,
        now: Timestamp,
        from: ConnectionHandle,
        message: OpMessage,
        receipt: Option<Receipt>,
    ) -> Vec<Step> {
        if let Op::Initialize(initialize) = &message.op {
            let initialize = initialize.clone();
            return vec![self.on_initialize(from, &message.submission_id, initialize)];
        }
        if let Op::Ping(_) = &message.op {
            return vec![answer(from, Event::Pong(Pong { submission_id: message.submission_id }))];
        }
        let Some(client) = self.clients.get(&from).and_then(|client| client.id.clone()) else {
            let why = "send `initialize` first";
            return vec![answer(
                from,
                error_event(Some(message.submission_id), ErrorCode::Internal, why, true),
            )];
        };
        let command = Command { from, client, message };
        if !command.is_durable() {
            return vec![self.on_query(command)];
        }
        if let Some(receipt) = receipt {
            return vec![answer(from, command.replay(&receipt))];
        }
        self.on_command(now, command)
    }

    #[inline(never)]
    fn on_command(&mut self, now: Timestamp, command: Command) -> Vec<Step> {
        match command.message.op.clone() {
            Op::SettingsUpdate(update) => {
                let writes = self.directory.apply(update.changes, now);
                vec![self.on_settings(now, &command, writes)]
            }
            Op::SecretsUpdate(it) => self.on_secrets(now, &command, it.change),
            Op::RulePut(it) => {
                let writes = self.directory.put_rule(&it.rule, now).map(|write| vec![write]);
                vec![self.on_settings(now, &command, writes)]
            }
            Op::RuleRemove(it) => {
                let write = self.directory.remove_rule(&it.rule_id);
                vec![self.on_settings(now, &command, Ok(vec![write]))]
            }
            Op::GrantRevoke(it) => {
                let write = self.directory.revoke_grant(&it.granted_in, &it.tool, &it.origin);
                vec![self.on_settings(now, &command, Ok(vec![write]))]
            }
            Op::ThreadCreate(create) => vec![self.on_create(now, &command, create)],
            op => {
                let Some(thread) = op.thread_id().cloned() else {
                    return vec![refused_step(
                        now,
                        &command,
                        &Refused::new(ErrorCode::Internal, "no such command"),
                    )];
                };
                self.on_thread_command(now, &command, &thread, op)
            }
        }
    }

    /// Answers a command that changed what the settings say.
    #[inline(never)]
    pub(super) fn on_settings(
        &mut self,
        now: Timestamp,
        command: &Command,
        writes: Result<Vec<Write>, Refused>,
    ) -> Step {
        let writes = match writes {
            Ok(writes) => writes,
            Err(refused) => return refused_step(now, command, &refused),
        };
        let receipt = command.acknowledged(now, &Admitted::default());
        let mut commit = Commit { writes, ..Commit::default() };
        commit.put(receipt.clone());
        Step {
            commit: Some(commit),
            effects: vec![private(command.from, command.answer(&receipt.outcome)), self.settings_changed()],
            on_failure: vec![private(command.from, storage_failed(command))],
            threads: Vec::new(),
        }
    }

    #[inline(never)]
    pub(super) fn on_create(&mut self, now: Timestamp, command: &Command, create: ThreadCreate) -> Step {
        let thread = Thread {
            folder: create.folder_id.map(panelot_protocol::Text::into_string),
            preset: create.preset.map(panelot_protocol::Text::into_string),
            ..self.new_thread(now)
        };
        let id = thread.id.clone();
        let mut machine = ThreadMachine::create(thread);
        let mut draft = Draft::default();
        let mut context =
            Context { now, ids: &mut self.ids, directory: &mut self.directory, catalogue: &self.catalogue };
        let mut admitted = Admitted { thread: Some(id.clone()), run: None, revision: Some(0) };
        if let Some(input) = create.input {
            let submission = Submission {
                client: &command.client,
                submission: &command.message.submission_id,
                input,
                overrides: &create.overrides,
                supersedes: true,
            };
            draft.writes.extend(context.directory.take_draft(None));
            admitted = match machine.submit(&mut context, &mut draft, submission) {
                Ok(admitted) => admitted,
                Err(refused) => return refused_step(now, command, &refused),
            };
        }
        // Whoever makes a thread follows it, so that nothing of its first turn is missed.
        if let Some(client) = self.clients.get_mut(&command.from) {
            client.subscribed = Some(id.clone());
        }
        let step = self.finish(now, &mut machine, draft, Some((command, admitted)));
        self.machines.insert(id, machine);
        step
    }

    /// An empty thread.
    pub(super) fn new_thread(&mut self, now: Timestamp) -> Thread {
        Thread {
            id: ThreadId::mint(&mut self.ids),
            revision: 0,
            title: String::new(),
            title_source: panelot_records::thread::TitleSource::None,
            created_at: now,
            updated_at: now,
            leaf: None,
            chain: 0,
            chains: Vec::new(),
            next_seq: 1,
            next_order: 1,
            open_runs: Vec::new(),
            pinned: false,
            archived: false,
            folder: None,
            preset: None,
            model: None,
            effort: None,
            tags: Vec::new(),
            forked_from: None,
            stats: panelot_records::thread::Stats::default(),
            fence_seed: self.ids.next_uuid(),
            deleted_at: None,
        }
    }

    #[inline(never)]
    fn on_thread_command(
        &mut self,
        now: Timestamp,
        command: &Command,
        thread: &ThreadId,
        op: Op,
    ) -> Vec<Step> {
        let found = self.found.take().filter(|(of, _)| of == thread).map(|(_, found)| found);
        let mut refused = None;
        if self.quarantined.contains(thread) && !matches!(op, Op::ThreadDelete(_)) {
            refused = Some((
                ErrorCode::Quarantined,
                "this conversation was set aside after it stopped the engine twice",
            ));
        } else if !self.directory.threads.contains_key(thread) {
            refused = Some((ErrorCode::ThreadNotFound, "this conversation does not exist any more"));
        }
        if let Some((code, why)) = refused {
            let refused = Refused { thread: Some(thread.clone()), ..Refused::new(code, why) };
            return vec![refused_step(now, command, &refused)];
        }
        if matches!(op, Op::ThreadDelete(_)) && !self.machines.contains_key(thread) {
            return self.delete_unread(now, command, thread);
        }
        if let Op::ThreadFork(fork) = op {
            let message = Box::new(command.message.clone());
            let effect =
                Effect::ReadBranch { from: command.from, message, thread: fork.thread_id, leaf: fork.node };
            return vec![Step { effects: vec![effect], ..Step::default() }];
        }
        let Some(mut machine) = self.machines.remove(thread) else {
            // It may be read another time, so it is no answer for ever.
            let why = "this conversation's records cannot be read; try again";
            let refused = Refused::new(ErrorCode::StorageFailed, why);
            return vec![answer(command.from, command.refusal(&refused))];
        };
        let mut draft = Draft::default();
        let mut context =
            Context { now, ids: &mut self.ids, directory: &mut self.directory, catalogue: &self.catalogue };
        let admitted = match dispatch_command(&mut machine, &mut context, &mut draft, command, op, found) {
            Ok(admitted) => admitted,
            Err(refused) => {
                let refused = Refused { thread: Some(thread.clone()), ..refused };
                self.machines.insert(thread.clone(), machine);
                return vec![refused_step(now, command, &refused)];
            }
        };
        let step = self.finish(now, &mut machine, draft, Some((command, admitted)));
        let mut steps = vec![step];
        if machine.thread.deleted_at.is_some() {
            steps.push(removal_step(thread));
        }
        if machine.thread.deleted_at.is_none() || is_on(Bug::UndoneDelete) {
            self.machines.insert(thread.clone(), machine);
        }
        steps
    }

    /// Deletes a thread that cannot be read or must not be run: its records go, whatever they say.
    #[inline(never)]
    fn delete_unread(&mut self, now: Timestamp, command: &Command, thread: &ThreadId) -> Vec<Step> {
        self.directory.threads.remove(thread);
        self.directory.drafts.remove(&Some(thread.clone()));
        self.directory.activity.remove(thread);
        let receipt =
            command.acknowledged(now, &Admitted { thread: Some(thread.clone()), ..Admitted::default() });
        let mut step = removal_step(thread);
        step.commit.get_or_insert_default().put(receipt.clone());
        step.effects.push(private(command.from, command.answer(&receipt.outcome)));
        let event = ThreadDeleted { deleted_thread_id: thread.clone() };
        step.effects.push(self.broadcast(Event::ThreadDeleted(event)));
        if self.directory.forget_grants(thread) {
            step.effects.push(self.settings_changed());
        }
        step.on_failure.push(private(command.from, storage_failed(command)));
        vec![step]
    }
}

/// What a durable command of a thread does.
fn dispatch_command(
    machine: &mut ThreadMachine,
    context: &mut Context<'_>,
    draft: &mut Draft,
    command: &Command,
    op: Op,
    found: Option<Found>,
) -> Result<Admitted, Refused> {
    let supersedes = !matches!(op, Op::TurnEnqueue(_));
    let submission = |input, overrides| Submission {
        client: &command.client,
        submission: &command.message.submission_id,
        input,
        overrides,
        supersedes,
    };
    match op {
        Op::TurnSubmit(it) | Op::TurnEnqueue(it) => {
            machine.submit(context, draft, submission(it.input, &it.overrides))
        }
        Op::TurnFork(it) => {
            machine.fork_turn(context, draft, submission(it.input, &it.overrides), it.sibling_of, found)
        }
        Op::ThreadUpdate(update) => machine.update(context, draft, update),
        Op::ThreadSelectBranch(it) => machine.select_branch(context, draft, it.node, found),
        Op::MessageDelete(it) => machine.remove_message(draft, it.node, found),
        Op::TurnSteer(steer) => {
            let admitted = machine.steer(context, draft, &command.message.submission_id, steer);
            #[cfg(feature = "bugs")]
            machine.steer_at_once(context, draft);
            admitted
        }
        Op::QueueUpdate(update) => {
            machine.update_queued(context, &update.run_id, update.input, update.overrides.as_ref())
        }
        Op::QueueRemove(remove) => machine.remove_queued(context, draft, &remove.run_id),
        Op::TurnInterrupt(_) => Ok(machine.interrupt(context, draft)),
        Op::ApprovalResponse(response) => {
            let decision = project::decision_record(&response.decision);
            machine.answer(context, draft, &response.approval_id, decision)
        }
        Op::InteractionResponse(response) => {
            let answer = project::response_record(response.response);
            machine.respond(context, draft, &response.interaction_id, answer)
        }
        Op::RunResume(resume) => machine.resume(context, draft, &resume.run_id),
        Op::RunResolveUncertain(resolve) => {
            machine.resolve_uncertain(context, draft, &resolve.run_id, resolve.resolution)
        }
        Op::ThreadDelete(_) => {
            machine.delete(context, draft);
            Ok(Admitted { thread: Some(machine.id().clone()), ..Admitted::default() })
        }
        Op::ConnectionCancel(_)
        | Op::ConnectionModels(_)
        | Op::ConnectionVerify(_)
        | Op::GrantRevoke(_)
        | Op::DraftUpdate(_)
        | Op::Initialize(_)
        | Op::Ping(_)
        | Op::RulePut(_)
        | Op::RuleRemove(_)
        | Op::ThreadFork(_)
        | Op::SecretsLock(_)
        | Op::SecretsUnlock(_)
        | Op::SecretsUpdate(_)
        | Op::SettingsGet(_)
        | Op::SettingsUpdate(_)
        | Op::ThreadCreate(_)
        | Op::ThreadHistory(_)
        | Op::ThreadSubscribe(_)
        | Op::UpdateApply(_) => Err(Refused::new(ErrorCode::Internal, "not a command of a conversation")),
    }
}
