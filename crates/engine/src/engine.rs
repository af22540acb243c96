//! The engine as a whole: the clients, the list of threads, and one machine for each thread that is awake.

use panelot_base::limits::{RESULTS_WINDOW_NODES, SNAPSHOT_PAGE_NODES};
use panelot_base::{ClientId, IdSource, SessionId, SortedMap, SortedSet, SubmissionId, ThreadId, Timestamp};
use panelot_protocol::event::{
    ActivityUpdated, DirectoryThread, ErrorCode, Event, Initialized, ReloadRequired, SettingsEvent, Stream,
    ThreadDeleted, ThreadSnapshotEvent, ThreadUpdated,
};
use panelot_protocol::op::Initialize;
use panelot_protocol::snapshot::{DirectorySnapshot, ThreadMeta};
use panelot_protocol::{DirectoryCursor, EventMessage, Op, PROTOCOL, RejectedOp, SCHEMA_HASH, StreamCursor};
use panelot_records::{Connection, Grant, Rule, Settings, Thread, ThreadHead, Vault};
use panelot_tools::Catalogue;

use crate::branches;
use crate::directory::{Directory, Protection};
use crate::input::{ConnectionHandle, Found, Input, Wanted};
use crate::project;
use crate::receipt::{Admitted, Command, Refused};
use crate::step::{Audience, Effect, Step};
use crate::thread::{Context, Draft, ThreadMachine};

mod answers;
mod commands;
mod fork;
mod outcomes;
mod queries;
mod retention;
mod secrets;
mod signals;
mod tries;

use answers::{answer, error_event, private, refused_step, removal_step, storage_failed};

/// What the engine is started with: what the store holds beside the threads' own records, and what comes from outside.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Which life of the worker this is; from 1, growing.
    pub epoch: u64,
    /// Which run of the browser; grants of another one are void.
    pub session: SessionId,
    /// 128 random bits for identifiers.
    pub seed: [u8; 16],
    /// Language of the browser, a BCP 47 tag.
    pub browser_language: String,
    /// The settings; none when the store holds none yet.
    pub settings: Option<Settings>,
    /// The model connections.
    pub connections: Vec<Connection>,
    /// How the credentials are protected; none while no passphrase is set.
    pub vault: Option<Vault>,
    /// Whether they can be opened all the same.
    pub unlocked: bool,
    /// The permission rules.
    pub rules: Vec<Rule>,
    /// Whether a stored rule could not be read.
    pub rules_unreadable: bool,
    /// The session grants.
    pub grants: Vec<Grant>,
    /// The heads of all threads.
    pub threads: Vec<Thread>,
    /// The messages that are being written.
    pub drafts: Vec<panelot_records::Draft>,
    /// Threads that trapped the engine too often and are left alone.
    pub quarantined: SortedSet<ThreadId>,
    /// What could not be read at the start, in English. Views are told; nothing is wiped.
    pub problems: Vec<String>,
}

/// A view.
#[derive(Clone, Debug, Default)]
struct Client {
    /// Known after `initialize`.
    id: Option<ClientId>,
    subscribed: Option<ThreadId>,
}

/// The engine. Built from what is stored; see [`Engine::handle`] for the rest.
#[derive(Debug)]
pub struct Engine {
    epoch: u64,
    ids: IdSource,
    catalogue: Catalogue,
    directory: Directory,
    clients: SortedMap<ConnectionHandle, Client>,
    machines: SortedMap<ThreadId, ThreadMachine>,
    /// The number of the newest event of each thread that is awake or watched; from 1.
    sequences: SortedMap<ThreadId, u64>,
    /// The highest number of the threads that went to sleep: one that wakes goes on from here, never below.
    sequence_floor: u64,
    directory_sequence: u64,
    quarantined: SortedSet<ThreadId>,
    /// Threads whose machine was dropped: views may have missed events of theirs.
    dropped: SortedSet<ThreadId>,
    problems: Vec<String>,
    /// Whether the passphrase that the operation that comes next brings is the right one.
    checked: Option<bool>,
    /// What was read for the operation that comes next.
    found: Option<(ThreadId, Found)>,
    sweep: Option<retention::Sweep>,
    /// The version that waits for being installed.
    update: Option<String>,
    /// Whether the person wants it now.
    update_now: bool,
}

impl Engine {
    /// The engine as it stands at the start, and what is left to do from before: deleted threads are removed, threads
    /// with open runs are loaded.
    #[must_use]
    pub fn new(boot: Boot) -> (Self, Vec<Step>) {
        let mut steps = Vec::new();
        let mut threads = SortedMap::new();
        let mut load = Step::default();
        for thread in boot.threads {
            if thread.deleted_at.is_some() {
                steps.push(removal_step(&thread.id));
                continue;
            }
            let quarantined = boot.quarantined.contains(&thread.id);
            if !thread.open_runs.is_empty() && !quarantined {
                load.effects.push(Effect::Load(thread.id.clone()));
            }
            threads.insert(thread.id.clone(), project::thread_meta(&thread, quarantined));
        }
        // Reading what is open comes before removing what nobody sees.
        if !load.effects.is_empty() {
            steps.insert(0, load);
        }
        let directory = Directory {
            session: boot.session,
            browser_language: boot.browser_language,
            settings: boot.settings.unwrap_or_default(),
            connections: boot.connections.into_iter().map(|it| (it.id.clone(), it)).collect(),
            vault: boot.vault.map(Protection::of),
            unlocked: boot.unlocked,
            rules: boot.rules.into_iter().map(|it| (it.id.clone(), it)).collect(),
            rules_unreadable: boot.rules_unreadable,
            grants: boot.grants,
            drafts: boot.drafts.into_iter().map(|it| (it.thread, it.text)).collect(),
            threads,
            activity: SortedMap::new(),
            findings: Vec::new(),
        };
        let mut engine = Self {
            epoch: boot.epoch,
            ids: IdSource::new(boot.seed),
            catalogue: Catalogue::builtin(),
            directory,
            clients: SortedMap::new(),
            machines: SortedMap::new(),
            sequences: SortedMap::new(),
            sequence_floor: 1,
            directory_sequence: 1,
            quarantined: boot.quarantined,
            dropped: SortedSet::new(),
            problems: boot.problems,
            checked: None,
            found: None,
            sweep: None,
            update: None,
            update_now: false,
        };
        steps.extend(engine.begin_sweep());
        (engine, steps)
    }

    /// The thread whose records must be loaded before an input can be handled.
    #[must_use]
    pub fn needs(&self, input: &Input) -> Option<ThreadId> {
        let thread = match input {
            Input::Load { thread } | Input::History { thread, .. } | Input::Cut { thread, .. } => {
                Some(thread)
            }
            Input::Op { from, message, receipt: None } => {
                let known = self.clients.get(from).is_some_and(|client| client.id.is_some());
                match &message.op {
                    Op::Initialize(initialize) => initialize.subscribe.as_ref(),
                    op if known => op.thread_id(),
                    _ => None,
                }
            }
            _ => None,
        }?;
        let exists = self.directory.threads.contains_key(thread) && !self.quarantined.contains(thread);
        (exists && !self.machines.contains_key(thread)).then(|| thread.clone())
    }

    /// The nodes that must be read before an operation of an awake thread can be handled, and handed over by
    /// [`Input::Found`].
    #[must_use]
    pub fn wants(&self, input: &Input) -> Option<(ThreadId, Wanted)> {
        let Input::Op { message, receipt: None, .. } = input else { return None };
        let machine = self.machines.get(message.op.thread_id()?)?;
        let wanted = match &message.op {
            Op::TurnFork(it) => Wanted::Branch { leaf: it.sibling_of, limit: SNAPSHOT_PAGE_NODES },
            Op::ThreadSelectBranch(it) => {
                let (leaf, _) = branches::newest_end(&machine.thread, it.node)?;
                Wanted::Branch { leaf, limit: SNAPSHOT_PAGE_NODES }
            }
            Op::MessageDelete(it) => {
                let limit = RESULTS_WINDOW_NODES;
                Wanted::Window { before: it.node.saturating_add(limit as u64), limit }
            }
            _ => return None,
        };
        Some((machine.id().clone(), wanted))
    }

    /// The id that a view gave in `initialize`.
    #[must_use]
    pub fn client_id(&self, handle: ConnectionHandle) -> Option<&ClientId> {
        self.clients.get(&handle).and_then(|client| client.id.as_ref())
    }

    /// Whether work is under way that the death of the worker would cut off.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.machines.values().any(ThreadMachine::is_busy)
    }

    /// When the engine wants [`Input::Wake`] next.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.machines.values().filter_map(ThreadMachine::next_wake).min()
    }

    /// Forgets a thread whose commit failed; it is loaded anew by [`Input::Load`], or earlier when it is needed.
    pub fn drop_thread(&mut self, thread: &ThreadId) {
        self.machines.remove(thread);
        // A run that began while a sweep was under way may be known to that machine alone.
        self.sweep.iter_mut().for_each(retention::Sweep::lose_sight);
        self.dropped.insert(thread.clone());
        // What was numbered and never sent is a gap that views see, and they subscribe anew.
        *self.sequence_of(thread) += 1;
    }

    fn sequence_of(&mut self, thread: &ThreadId) -> &mut u64 {
        let floor = self.sequence_floor;
        self.sequences.get_or_insert_with(thread.clone(), || floor)
    }

    /// Takes in anew what is not of one thread, after a commit failed. Of `stored` only that is used. The effect tells
    /// views the settings: a commit whose answer alone was lost has changed them.
    #[must_use]
    pub fn reload_directory(&mut self, stored: Boot) -> Effect {
        let directory = &mut self.directory;
        directory.settings = stored.settings.unwrap_or_default();
        directory.connections = stored.connections.into_iter().map(|it| (it.id.clone(), it)).collect();
        (directory.vault, directory.unlocked) = (stored.vault.map(Protection::of), stored.unlocked);
        directory.rules = stored.rules.into_iter().map(|it| (it.id.clone(), it)).collect();
        directory.rules_unreadable = stored.rules_unreadable;
        directory.grants = stored.grants;
        directory.drafts = stored.drafts.into_iter().map(|it| (it.thread, it.text)).collect();
        // A machine that is awake knows its thread best; the others' failed creations and deletions never happened.
        let awake = &self.machines;
        directory.threads.retain(|thread, _| awake.contains_key(thread));
        for thread in stored.threads.into_iter().filter(|thread| thread.deleted_at.is_none()) {
            let quarantined = self.quarantined.contains(&thread.id);
            let meta = project::thread_meta(&thread, quarantined);
            directory.threads.get_or_insert_with(thread.id, || meta);
        }
        let known = &directory.threads;
        directory.activity.retain(|thread, _| known.contains_key(thread));
        self.settings_changed()
    }

    /// Says that the rules and grants in memory may not be those in the store: nothing is allowed silently until
    /// [`Self::reload_directory`] has succeeded.
    pub fn distrust_directory(&mut self) {
        self.directory.rules_unreadable = true;
        self.directory.grants.clear();
    }

    /// Decides what follows from something that happened.
    ///
    /// A browser compiles a function of wasm whole when it is first called. So that a worker's start compiles little, each
    /// input and command is handled by a function that is not made part of its caller (`#[inline(never)]`).
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Step> {
        // A thread is loaded because something about it comes next.
        let loads = matches!(input, Input::Loaded { .. } | Input::Found { .. } | Input::Checked { .. });
        let steps = self.decide(now, input);
        #[cfg(feature = "bugs")]
        let steps = crate::bugs::spoil(steps);
        if !loads {
            self.unload_idle();
        }
        steps
    }

    fn decide(&mut self, now: Timestamp, input: Input) -> Vec<Step> {
        match input {
            Input::Connected(from) => {
                self.clients.insert(from, Client::default());
                Vec::new()
            }
            Input::Disconnected(from) => {
                self.clients.remove(&from);
                // Nobody waits for what it tries.
                let effects = vec![Effect::CancelTry { from, connection: None }];
                vec![Step { effects, ..Step::default() }]
            }
            Input::Op { from, message, receipt } => self.on_op(now, from, message, receipt),
            Input::Checked { right } => {
                self.checked = Some(right);
                Vec::new()
            }
            Input::Unlocked { from, submission, result } => self.on_unlocked(now, from, submission, result),
            Input::Found { thread, found } => {
                self.found = Some((thread, found));
                Vec::new()
            }
            Input::Swept { found } => self.on_swept(now, found),
            Input::Branch { from, message, receipt, path } => {
                vec![self.on_branch(now, from, message, receipt, path)]
            }
            Input::Malformed { from, rejected } => vec![self.on_malformed(from, &rejected)],
            Input::Overloaded { from, message } => vec![self.on_overloaded(from, message)],
            Input::Load { thread } => self.on_load(&thread),
            Input::Loaded { thread, head } => self.on_loaded(now, &thread, head),
            Input::Unreadable { thread, why } => self.on_unreadable(&thread, &why),
            Input::Cut { thread, node } => {
                self.on_thread(now, &thread, |machine, context, draft| machine.mend(context, draft, *node))
            }
            Input::Model { thread, call, event } => self.on_model(now, &thread, &call, event),
            Input::Target { thread, item, phase, found } => self.on_target(now, &thread, &item, phase, found),
            Input::Report { thread, item, attempt, report } => {
                self.on_report(now, &thread, &item, attempt, report)
            }
            Input::Elicitation { thread, item, attempt, asked } => {
                self.on_thread(now, &thread, |machine, context, draft| {
                    machine.on_elicitation(context, draft, &item, attempt, asked);
                })
            }
            Input::Page { tab_id, signal } => self.on_page(now, tab_id, &signal),
            Input::UpdateAvailable { version } => vec![self.on_update(version)],
            Input::Wake => self.on_wake(now),
            Input::TryStep { trial, report } => vec![self.on_try_step(*trial, &report)],
            Input::Tried { trial, result } => vec![self.on_tried(now, *trial, result)],
            Input::History { from, submission, thread, page } => {
                vec![self.on_history(from, submission, thread, page)]
            }
        }
    }

    #[inline(never)]
    fn on_loaded(&mut self, now: Timestamp, thread: &ThreadId, head: Option<Box<ThreadHead>>) -> Vec<Step> {
        let Some(head) = head else {
            self.dropped.remove(thread);
            self.directory.activity.remove(thread);
            let known = self.directory.threads.remove(thread).is_some();
            return known.then(|| self.tell_gone(thread)).into_iter().collect();
        };
        if self.machines.contains_key(thread) {
            return Vec::new();
        }
        self.machines.insert(thread.clone(), ThreadMachine::from_head(*head));
        let mut steps =
            self.on_thread(now, thread, |machine, context, draft| machine.recover(context, draft));
        steps.extend(self.on_load(thread));
        steps
    }

    /// Tells the list of threads that one is not there (any more): its deletion was durable though its commit failed, or
    /// its creation was not.
    fn tell_gone(&mut self, thread: &ThreadId) -> Step {
        let event = ThreadDeleted { deleted_thread_id: thread.clone() };
        Step { effects: vec![self.broadcast(Event::ThreadDeleted(event))], ..Step::default() }
    }

    /// Tells the views of a thread that was dropped how it stands now. Its number shows them that they have missed
    /// something, even if nothing else ever happens in the thread.
    #[inline(never)]
    fn on_load(&mut self, thread: &ThreadId) -> Vec<Step> {
        // One that was dropped again before it could tell anything stays marked until it is back.
        let is_awake = self.machines.contains_key(thread);
        if !is_awake && self.directory.threads.contains_key(thread) || !self.dropped.remove(thread) {
            return Vec::new();
        }
        let Some(machine) = self.machines.get(thread) else { return vec![self.tell_gone(thread)] };
        let (meta, activity) = (machine.meta(), machine.activity());
        let updated = ThreadUpdated { thread_id: thread.clone(), meta: meta.clone() };
        let mut effects: Vec<Effect> =
            self.publish(thread, Event::ThreadUpdated(updated)).into_iter().collect();
        effects.push(self.broadcast(Event::DirectoryThread(DirectoryThread { thread: meta })));
        effects.push(self.broadcast(Event::ActivityUpdated(ActivityUpdated { activity })));
        vec![Step { effects, threads: vec![thread.clone()], ..Step::default() }]
    }

    /// Runs a handler of a thread that is awake and turns what it left into a step.
    fn on_thread(
        &mut self,
        now: Timestamp,
        thread: &ThreadId,
        handler: impl FnOnce(&mut ThreadMachine, &mut Context<'_>, &mut Draft),
    ) -> Vec<Step> {
        let Some(mut machine) = self.machines.remove(thread) else { return Vec::new() };
        let mut draft = Draft::default();
        let mut context =
            Context { now, ids: &mut self.ids, directory: &mut self.directory, catalogue: &self.catalogue };
        handler(&mut machine, &mut context, &mut draft);
        let step = self.finish(now, &mut machine, draft, None);
        self.machines.insert(thread.clone(), machine);
        vec![step]
    }

    /// Turns what a handler left into a step: commit, receipt, answer, events, effects; in this order.
    #[inline(never)]
    fn finish(
        &mut self,
        now: Timestamp,
        machine: &mut ThreadMachine,
        mut draft: Draft,
        answered: Option<(&Command, Admitted)>,
    ) -> Step {
        let thread = machine.id().clone();
        let mut commit = machine.finish(&mut draft, now);
        let mut effects = Vec::new();
        let mut on_failure = Vec::new();
        if let Some((command, mut admitted)) = answered {
            // The revisions that the commit makes, not those before it.
            admitted.revision = match &admitted.run {
                Some(run) => commit.as_ref().and_then(|it| it.revision_of_run(run)).or(admitted.revision),
                None => Some(machine.thread.revision),
            };
            let receipt = command.acknowledged(now, &admitted);
            effects.push(private(command.from, command.answer(&receipt.outcome)));
            on_failure.push(private(command.from, storage_failed(command)));
            commit.get_or_insert_default().put(receipt);
            if draft.replaced {
                let event = Event::ThreadSnapshot(ThreadSnapshotEvent {
                    submission_id: command.message.submission_id.clone(),
                    thread_id: thread.clone(),
                    snapshot: machine.snapshot(&self.directory),
                });
                draft.events = vec![event];
            }
        }
        for event in std::mem::take(&mut draft.events) {
            effects.extend(self.publish(&thread, event));
        }
        if draft.settings_changed {
            effects.push(self.settings_changed());
        }
        effects.extend(self.directory_events(machine));
        effects.append(&mut draft.effects);
        Step { commit, effects, on_failure, threads: vec![thread] }
    }

    /// Numbers an event of a thread and addresses it.
    fn publish(&mut self, thread: &ThreadId, event: Event) -> Option<Effect> {
        let sequence = self.sequence_of(thread);
        *sequence += 1;
        let sequence = *sequence;
        let stream = StreamCursor { thread_id: thread.clone(), epoch: self.epoch, sequence };
        let to: Audience = self
            .clients
            .iter()
            .filter(|(_, client)| client.id.is_some() && client.subscribed.as_ref() == Some(thread))
            .map(|(handle, _)| *handle)
            .collect();
        let message = EventMessage { stream: Some(stream), directory: None, event };
        (!to.is_empty()).then(|| Effect::Send { to, message: Box::new(message) })
    }

    fn everyone(&self) -> Audience {
        self.clients.iter().filter(|(_, client)| client.id.is_some()).map(|(handle, _)| *handle).collect()
    }

    fn broadcast(&mut self, event: Event) -> Effect {
        debug_assert_eq!(event.stream(), Stream::Directory, "only the list of threads is told to everyone");
        self.directory_sequence += 1;
        let directory = Some(DirectoryCursor { epoch: self.epoch, sequence: self.directory_sequence });
        Effect::Send {
            to: self.everyone(),
            message: Box::new(EventMessage { stream: None, directory, event }),
        }
    }

    fn settings_changed(&self) -> Effect {
        let event = SettingsEvent { submission_id: None, settings: self.directory.settings_view() };
        Effect::Send {
            to: self.everyone(),
            message: Box::new(EventMessage::private(Event::SettingsUpdated(event))),
        }
    }

    /// Tells the list of threads what changed in it.
    fn directory_events(&mut self, machine: &ThreadMachine) -> Vec<Effect> {
        let thread = machine.id();
        let mut effects = Vec::new();
        if machine.thread.deleted_at.is_some() {
            self.directory.activity.remove(thread);
            self.directory.drafts.remove(&Some(thread.clone()));
            if self.directory.threads.remove(thread).is_some() {
                let event = ThreadDeleted { deleted_thread_id: thread.clone() };
                effects.push(self.broadcast(Event::ThreadDeleted(event)));
            }
            return effects;
        }
        let meta = machine.meta();
        // A revision alone, such as a checkpoint's, is no news.
        let shown = |meta: &ThreadMeta| ThreadMeta { revision: 0, ..meta.clone() };
        if self.directory.threads.get(thread).map(shown) != Some(shown(&meta)) {
            self.directory.threads.insert(thread.clone(), meta.clone());
            effects.push(self.broadcast(Event::DirectoryThread(DirectoryThread { thread: meta })));
        }
        let activity = machine.activity();
        let quiet =
            !activity.running && activity.pending_approvals == 0 && activity.pending_interactions == 0;
        let before = self.directory.activity.get(thread);
        if before.map_or(quiet, |before| *before == activity) {
            return effects;
        }
        if quiet {
            self.directory.activity.remove(thread);
        } else {
            self.directory.activity.insert(thread.clone(), activity.clone());
        }
        effects.push(self.broadcast(Event::ActivityUpdated(ActivityUpdated { activity })));
        effects
    }

    /// Lets machines go that nobody watches and nothing happens in.
    fn unload_idle(&mut self) {
        let watched: SortedSet<&ThreadId> =
            self.clients.values().filter_map(|client| client.subscribed.as_ref()).collect();
        self.machines.retain(|thread, machine| !machine.is_idle() || watched.contains(thread));
        let (machines, floor) = (&self.machines, &mut self.sequence_floor);
        self.sequences.retain(|thread, sequence| {
            let stays = machines.contains_key(thread) || watched.contains(thread);
            *floor = (*floor).max(*sequence);
            stays
        });
    }
}

#[cfg(test)]
mod tests;
