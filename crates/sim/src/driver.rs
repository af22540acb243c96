//! The law, small and synchronous: apply the commit, then the effects; when it fails, drop the machine, restore it from
//! the store, and answer with a retryable error. The worker may die after any commit and any effect.

use std::collections::{BTreeMap, VecDeque};

use futures_util::FutureExt;
use panelot_base::limits::WAITING_OPS_MAX;
use panelot_base::{IdSource, SessionId, ThreadId};
use panelot_engine::{ConnectionHandle, Effect, Engine, Found, Input, Step, Wanted};
use panelot_protocol::event::{CommandRejected, ErrorCode};
use panelot_protocol::{Event, EventMessage, Op, OpMessage, Receipting};
use panelot_records::{Commit, Key, Record, Scan};
use panelot_runtime::{BootFacts, read_boot};
use panelot_store::{CommitError, HeadError, Store, StoreError};

use crate::bugs::{Bug, is_on};
use crate::invariant::Invariant;
use crate::outside::Task;
use crate::world::{Heard, World};

/// What is kept in order with what, as in the runtime's mailbox.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    Connection(u64),
    Directory,
    Thread(ThreadId),
}

/// A worker that lives.
pub(crate) struct Worker {
    pub(crate) engine: Engine,
    pub(crate) lanes: BTreeMap<Lane, VecDeque<Input>>,
    /// Models, lookups, tools and reads under way.
    pub(crate) tasks: Vec<Task>,
    /// Threads that are read anew, and when.
    pub(crate) reloads: Vec<(u64, ThreadId)>,
    /// What is swept, and when.
    pub(crate) sweeps: Vec<(u64, Scan)>,
    failed: BTreeMap<ThreadId, u32>,
    directory_stale: bool,
    /// The first threads are still being loaded; a bug stops there.
    gave_up_loading: bool,
}

fn lane_of(input: &Input) -> Lane {
    match input {
        Input::Connected(from) | Input::Disconnected(from) => Lane::Connection(from.0),
        Input::Malformed { from, .. } | Input::Overloaded { from, .. } => Lane::Connection(from.0),
        Input::Op { from, message, .. } | Input::Branch { from, message, .. } => match &message.op {
            Op::Initialize(_) | Op::Ping(_) => Lane::Connection(from.0),
            op => op.thread_id().map_or(Lane::Directory, |thread| Lane::Thread(thread.clone())),
        },
        input => thread_of(input).map_or(Lane::Directory, Lane::Thread),
    }
}

/// The thread in whose name an input is handled.
pub(crate) fn thread_of(input: &Input) -> Option<ThreadId> {
    match input {
        Input::Op { message, .. } | Input::Branch { message, .. } => match &message.op {
            Op::Initialize(initialize) => initialize.subscribe.clone(),
            op => op.thread_id().cloned(),
        },
        Input::Load { thread }
        | Input::Loaded { thread, .. }
        | Input::Unreadable { thread, .. }
        | Input::Found { thread, .. }
        | Input::Cut { thread, .. }
        | Input::Elicitation { thread, .. }
        | Input::Model { thread, .. }
        | Input::Target { thread, .. }
        | Input::Report { thread, .. }
        | Input::History { thread, .. } => Some(thread.clone()),
        _ => None,
    }
}

/// The name of an input for a trace.
fn name_of(input: &Input) -> String {
    match input {
        Input::Op { from, message, .. } => {
            format!(
                "{} {} by port {}: {}",
                message.op.name(),
                message.submission_id,
                from.0,
                message.op.params()
            )
        }
        Input::Loaded { thread, head } => {
            format!("loaded {thread} ({})", if head.is_some() { "found" } else { "none" })
        }
        other => format!("{other:?}").chars().take(260).collect(),
    }
}

pub(crate) fn effect_name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Send { .. } => "send",
        Effect::Close(_) => "close",
        Effect::Load(_) => "load",
        Effect::CallModel(_) => "call model",
        Effect::CancelModel { .. } => "cancel model",
        Effect::FindTarget(_) => "find target",
        Effect::Dispatch { .. } => "dispatch",
        Effect::CancelTool { .. } => "cancel tool",
        Effect::Try(_) => "try",
        Effect::CancelTry { .. } => "cancel try",
        Effect::Unlock { .. } => "unlock",
        Effect::Lock => "lock",
        Effect::KeepUnlocked => "keep unlocked",
        Effect::ReadHistory { .. } => "read history",
        Effect::ReadBranch { .. } => "read branch",
        Effect::Sweep(_) => "sweep",
        Effect::Elicited { .. } => "elicited",
        #[expect(unreachable_patterns, reason = "a new effect must not stop others from building")]
        _ => "unknown",
    }
}

impl World {
    fn facts(&self) -> BootFacts {
        let mut seed = [0; 16];
        let words = [self.seed, self.epoch];
        for (byte, from) in seed.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
            *byte = from;
        }
        BootFacts {
            epoch: self.epoch,
            session: SessionId::mint(&mut IdSource::new([7; 16])),
            seed,
            browser_language: "en".to_owned(),
            quarantined: self.quarantined.iter().cloned().collect(),
        }
    }

    fn read<T>(&self, read: impl Future<Output = T>) -> Option<T> {
        // The memory store never waits.
        read.now_or_never()
    }

    /// Starts a worker, when none lives. Reads that fail keep it from starting.
    pub(crate) fn boot(&mut self) {
        if self.worker.is_some() || self.is_over() {
            return;
        }
        self.epoch += 1;
        self.dead = false;
        self.store = self.store.reopen();
        self.restore_session();
        self.fail_reads();
        let facts = self.facts();
        let boot = match self.read(read_boot(&self.store, facts)) {
            Some(Ok(boot)) => boot,
            _ => return self.note(|| "the worker cannot read its store".to_owned()),
        };
        let epoch = self.epoch;
        self.note(|| format!("worker {epoch} starts"));
        let (engine, steps) = Engine::new(boot);
        self.worker = Some(Worker {
            engine,
            lanes: BTreeMap::new(),
            tasks: Vec::new(),
            reloads: Vec::new(),
            sweeps: Vec::new(),
            failed: BTreeMap::new(),
            directory_stale: false,
            gave_up_loading: false,
        });
        for step in steps {
            self.execute(step);
        }
        self.bury();
    }

    fn fail_reads(&self) {
        let error = self.armed.reads_fail.then(|| StoreError::Unavailable("by chance".into()));
        self.store.fail_reads(error);
    }

    /// Sets whether the store can be read.
    pub(crate) fn set_reads(&mut self, fail: bool) {
        self.armed.reads_fail = fail;
        self.fail_reads();
    }

    /// What a worker that died leaves behind.
    pub(crate) fn bury(&mut self) {
        if !self.dead {
            return;
        }
        self.dead = false;
        self.crash("the worker is dead");
    }

    /// The worker is gone: its memory, its tasks and its Ports.
    pub(crate) fn crash(&mut self, why: &str) {
        if self.worker.take().is_none() {
            return;
        }
        self.note(|| format!("CRASH: {why}"));
        self.armed.fuse = None;
        self.armed.commit = None;
        for run in self.shadow.runs.values() {
            // An old end says nothing of this moment.
            if !run.state.is_end() || run.updated_at.0 + 100 >= self.now {
                *self.coverage.crashes.entry(run.state).or_default() += 1;
            }
        }
        self.close_all_ports();
    }

    /// A place at which the worker may die. Returns whether it is dead.
    fn may_die(&mut self, class: &'static str) -> bool {
        if self.dead {
            return true;
        }
        match self.armed.fuse {
            Some(0) => {
                self.armed.fuse = None;
                self.dead = true;
                self.fault(class);
            }
            Some(left) => self.armed.fuse = Some(left - 1),
            None => {}
        }
        self.dead
    }

    /// Puts an input into its lane. An operation that finds too many others waiting is put aside.
    pub(crate) fn push(&mut self, input: Input) {
        let Some(worker) = &mut self.worker else { return };
        let mut lane = lane_of(&input);
        let mut input = input;
        let waiting = worker
            .lanes
            .get(&lane)
            .map_or(0, |lane| lane.iter().filter(|input| matches!(input, Input::Op { .. })).count());
        let mut overloaded = false;
        if waiting >= WAITING_OPS_MAX
            && let Input::Op { from, message, .. } = input
        {
            lane = Lane::Connection(from.0);
            input = Input::Overloaded { from, message };
            overloaded = true;
        }
        worker.lanes.entry(lane).or_default().push_back(input);
        if overloaded {
            self.fault("overload");
        }
    }

    /// Lanes that have something.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        self.worker.iter().flat_map(|worker| worker.lanes.keys().cloned()).collect()
    }

    /// Handles the first input of a lane.
    pub(crate) fn handle_lane(&mut self, lane: &Lane) {
        let Some(worker) = &mut self.worker else { return };
        let Some(queue) = worker.lanes.get_mut(lane) else { return };
        let input = queue.pop_front();
        if queue.is_empty() {
            worker.lanes.remove(lane);
        }
        if let Some(input) = input {
            self.process(input);
        }
        self.bury();
        self.install_update();
    }

    /// An update that waits is installed when the engine says so: never while anything works, unless the person said so.
    fn install_update(&mut self) {
        let wants = self
            .worker
            .as_ref()
            .is_some_and(|worker| worker.lanes.is_empty() && worker.engine.wants_reload());
        if !wants {
            return;
        }
        let works = |task: &Task| matches!(task, Task::Model { .. } | Task::Tool { cancelled: false, .. });
        if !self.update_now && self.worker.iter().flat_map(|worker| &worker.tasks).any(works) {
            return self.fail(Invariant::Quiet, "an update was installed while something was under way");
        }
        self.update_now = false;
        self.fault("update installed");
        self.crash("an update is installed");
    }

    fn process(&mut self, input: Input) {
        if self.worker.as_ref().is_some_and(|worker| worker.directory_stale) {
            self.reload_directory();
        }
        if self.dead {
            return;
        }
        let Some(input) = self.with_receipt(input) else { return };
        let needed = self.worker.as_ref().and_then(|worker| worker.engine.needs(&input));
        if let Some(thread) = needed {
            if self.stops_loading(&input) {
                return;
            }
            let loaded = match self.read(self.store.head(&thread)) {
                Some(Ok(head)) => Input::Loaded { thread, head: head.map(Box::new) },
                Some(Err(error)) if error.is_store_failure() && matches!(input, Input::Load { .. }) => {
                    return self.load_later(&thread);
                }
                Some(Err(error)) => {
                    if is_on(Bug::RecoveryStops)
                        && let Some(worker) = &mut self.worker
                    {
                        worker.gave_up_loading = true;
                    }
                    Input::Unreadable { thread, why: error.to_string() }
                }
                None => return,
            };
            self.enter(loaded);
        }
        if let Some(checked) = self.checked(&input) {
            self.enter(checked);
        }
        if self.worker.is_some() && !self.dead && self.find(&input) && self.worker.is_some() {
            self.enter(input);
        }
    }

    /// A deliberate bug: after one thread that cannot be read the others are not taken up.
    fn stops_loading(&self, input: &Input) -> bool {
        matches!(input, Input::Load { .. })
            && self.worker.as_ref().is_some_and(|worker| worker.gave_up_loading)
    }

    /// Looks up the stored answer to a durable command.
    fn with_receipt(&mut self, input: Input) -> Option<Input> {
        let mut input = input;
        let (Input::Op { from, message, receipt } | Input::Branch { from, message, receipt, .. }) =
            &mut input
        else {
            return Some(input);
        };
        let client = self.worker.as_ref().and_then(|worker| worker.engine.client_id(*from).cloned());
        let (Some(client), Receipting::Durable) = (client, message.op.receipting()) else {
            return Some(input);
        };
        match self.read(self.store.get(&Key::receipt(&client, &message.submission_id))) {
            Some(Ok(Some(Ok(Record::Receipt(stored))))) => *receipt = Some(stored),
            Some(Ok(None)) => {}
            _ => {
                let (from, message) = (*from, message.clone());
                self.post_refusal(from, &message, "the browser's storage cannot be read; try again");
                return None;
            }
        }
        Some(input)
    }

    /// Reads the nodes that an operation needs. Returns whether it can be handled.
    fn find(&mut self, input: &Input) -> bool {
        let wanted = self.worker.as_ref().and_then(|worker| worker.engine.wants(input));
        let Some((thread, wanted)) = wanted else { return true };
        let found = match wanted {
            Wanted::Branch { leaf, limit } => match self.read(self.store.path(&thread, leaf, limit)) {
                Some(Ok(page)) => Ok(Found { has_older: page.older.is_some(), nodes: page.nodes }),
                Some(Err(HeadError::Missing { .. })) => Ok(Found::default()),
                Some(Err(error)) => Err(error.to_string()),
                None => Err("the memory store waits".to_owned()),
            },
            Wanted::Window { before, limit } => {
                let scan = Scan::newest_nodes(&thread, Some(before), limit);
                let node = |read| if let Ok(Record::Node(node)) = read { Some(node) } else { None };
                match self.read(self.store.scan(&scan)) {
                    Some(Ok(read)) => {
                        Ok(Found { nodes: read.into_iter().filter_map(node).collect(), has_older: false })
                    }
                    _ => Err("the store cannot be read".to_owned()),
                }
            }
        };
        match found {
            Ok(found) => self.enter(Input::Found { thread, found }),
            Err(why) => {
                if let Input::Op { from, message, .. } = input {
                    self.post_refusal(*from, message, &why);
                }
                return false;
            }
        }
        true
    }

    fn post_refusal(&mut self, from: ConnectionHandle, message: &OpMessage, why: &str) {
        let event = Event::CommandRejected(CommandRejected {
            submission_id: message.submission_id.clone(),
            code: ErrorCode::StorageFailed,
            message: why.to_owned(),
            retryable: true,
            thread_id: message.op.thread_id().cloned(),
        });
        self.post(&[from], &EventMessage::private(event));
    }

    /// Hands an input to the engine and carries out what it decides.
    fn enter(&mut self, input: Input) {
        let thread = thread_of(&input);
        if thread.is_some() && thread == self.armed.trap {
            return self.trap(thread);
        }
        self.coverage.inputs += 1;
        let clock = self.clock();
        self.note(|| format!("{clock} {}", name_of(&input)));
        let asked = self.asked(&input);
        let now = self.time();
        let Some(worker) = &mut self.worker else { return };
        let steps = worker.engine.handle(now, input);
        let mut dropped: Vec<ThreadId> = Vec::new();
        for step in steps {
            let threads = step.threads.clone();
            if threads.iter().any(|thread| dropped.contains(thread)) {
                continue;
            }
            if !self.execute(step) {
                dropped.extend(threads);
            }
            if self.dead || self.is_over() {
                break;
            }
        }
        self.check_answer(asked);
    }

    /// The engine traps while it works on a thread: the instance is gone, and the thread is charged.
    fn trap(&mut self, thread: Option<ThreadId>) {
        self.armed.trap = None;
        let Some(thread) = thread else { return };
        self.fault("trap");
        let traps = self.traps.entry(thread.clone()).or_default();
        *traps += 1;
        if *traps >= panelot_base::limits::THREAD_TRAPS_MAX {
            self.note(|| format!("{thread} is set aside"));
            if is_on(Bug::TrapTakesAll) {
                self.quarantined.extend(self.shadow.threads.keys().cloned());
            }
            self.quarantined.insert(thread);
        }
        self.crash("a trap");
    }

    /// Applies a step's commit and runs its effects. Returns whether the commit succeeded.
    fn execute(&mut self, step: Step) -> bool {
        if is_on(Bug::EffectBeforeCommit) && step.commit.is_some() {
            return self.execute_backwards(step);
        }
        if let Some(commit) = step.commit.filter(|commit| !commit.is_empty())
            && let Err(error) = self.apply(commit)
        {
            if self.dead {
                return false;
            }
            self.on_commit_failure(&step.threads, &error);
            for effect in step.on_failure {
                if !self.dead {
                    self.perform(effect);
                }
            }
            return false;
        }
        if let Some(worker) = &mut self.worker {
            for thread in &step.threads {
                worker.failed.remove(thread);
            }
        }
        for effect in step.effects {
            if self.dead || self.is_over() {
                return true;
            }
            self.perform(effect);
        }
        self.check_quiet(&step.threads);
        true
    }

    /// A deliberate bug: what the engine wants done is done before it is durable.
    fn execute_backwards(&mut self, step: Step) -> bool {
        for effect in step.effects {
            if self.dead || self.is_over() {
                return true;
            }
            self.perform(effect);
        }
        if let Some(commit) = step.commit
            && let Err(error) = self.apply(commit)
        {
            if !self.dead {
                self.on_commit_failure(&step.threads, &error);
            }
            return false;
        }
        true
    }

    fn apply(&mut self, commit: Commit) -> Result<(), CommitError> {
        let died = || CommitError::Unavailable("the worker is dead".to_owned());
        if self.may_die("crash before a commit") {
            return Err(died());
        }
        self.coverage.commits += 1;
        let fault = match self.armed.commit {
            Some((0, applied)) => {
                self.armed.commit = None;
                self.fault(if applied { "commit's answer lost" } else { "commit refused" });
                Some(applied)
            }
            Some((left, applied)) => {
                self.armed.commit = Some((left - 1, applied));
                None
            }
            None => None,
        };
        if fault == Some(false) {
            return Err(CommitError::Quota);
        }
        self.note(|| format!("  commit {}", commit_text(&commit)));
        let copy = commit.clone();
        match self.read(self.store.apply(commit)) {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                self.note(|| format!("  commit failed: {error}"));
                return Err(error);
            }
            None => return Err(CommitError::Unavailable("the memory store waits".to_owned())),
        }
        match self.shadow.apply(copy) {
            Ok(changes) => {
                for item in changes.retried.into_iter().filter(|_| self.orders_retry) {
                    *self.retries.entry(item).or_default() += 1;
                }
            }
            Err(violation) => self.violate(violation),
        }
        if self.may_die("crash after a commit") {
            return Err(died());
        }
        if fault == Some(true) {
            Err(CommitError::Unavailable("the answer was lost".to_owned()))
        } else {
            Ok(())
        }
    }

    fn on_commit_failure(&mut self, threads: &[ThreadId], error: &CommitError) {
        self.note(|| format!("  the commit failed: {error}"));
        for port in self.ports.values_mut() {
            for thread in threads {
                if let Some(heard) = port.threads.get_mut(thread)
                    && let Heard::At(epoch, sequence) = *heard
                {
                    *heard = Heard::Gap(epoch, sequence);
                }
            }
            if let Some(Heard::At(epoch, sequence)) = port.directory {
                port.directory = Some(Heard::Gap(epoch, sequence));
            }
        }
        for thread in threads {
            self.cancel_thread(thread);
            if let Some(worker) = &mut self.worker {
                worker.engine.drop_thread(thread);
            }
            self.load_later(thread);
        }
        self.reload_directory();
    }

    fn load_later(&mut self, thread: &ThreadId) {
        let now = self.now;
        let Some(worker) = &mut self.worker else { return };
        let failures = worker.failed.entry(thread.clone()).or_default();
        *failures += 1;
        let delay = 500_u64.saturating_mul(1 << (*failures - 1).min(10)).min(60_000);
        worker.reloads.push((now + delay, thread.clone()));
    }

    /// Reads what is swept and is due.
    pub(crate) fn sweep(&mut self) {
        let now = self.now;
        let Some(worker) = &mut self.worker else { return };
        let due: Vec<Scan> =
            worker.sweeps.extract_if(.., |(at, _)| *at <= now).map(|(_, scan)| scan).collect();
        for scan in due {
            if let Some(Ok(found)) = self.read(self.store.scan(&scan)) {
                self.push(Input::Swept { found });
            }
        }
    }

    /// Takes the settings, the rules, the grants and the list of threads from the store again.
    fn reload_directory(&mut self) {
        let facts = self.facts();
        let read = self.read(read_boot(&self.store, facts));
        let Some(worker) = &mut self.worker else { return };
        match read {
            Some(Ok(boot)) => {
                worker.directory_stale = false;
                let news = worker.engine.reload_directory(boot);
                self.perform(news);
            }
            _ => {
                worker.directory_stale = true;
                worker.engine.distrust_directory();
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        let name = effect_name(&effect);
        self.coverage.effects.entry(name).or_default().0 += 1;
        self.trail.add(name.as_bytes());
        match effect {
            Effect::Send { to, message } => {
                self.post(&to, &message);
            }
            Effect::Close(handle) => {
                self.close_port(handle.0);
                let now = self.time();
                if let Some(worker) = &mut self.worker {
                    worker.engine.handle(now, Input::Disconnected(handle));
                }
            }
            Effect::Load(thread) => self.push(Input::Load { thread }),
            Effect::CallModel(call) => self.start_model(*call),
            Effect::CancelModel { thread, call } => {
                self.note(|| format!("  cancel model {call}"));
                self.cancel_model(&thread, &call);
            }
            Effect::FindTarget(lookup) => self.start_lookup(*lookup),
            Effect::Dispatch { thread, item, attempt, command, .. } => {
                self.start_tool(thread, item, attempt, *command);
            }
            Effect::CancelTool { thread, item } => self.cancel_tool(&thread, &item),
            Effect::Try(trial) => self.start(Task::Try(trial)),
            Effect::CancelTry { from, connection } => {
                let Some(worker) = &mut self.worker else { return };
                let is_other = |task: &Task| match task {
                    Task::Try(trial) => {
                        trial.from != from || connection.as_ref().is_some_and(|it| *it != trial.connection)
                    }
                    _ => true,
                };
                worker.tasks.retain(is_other);
            }
            Effect::Elicited { item, response, .. } => {
                self.note(|| format!("  the server of {item} is told {response:?}"));
            }
            effect @ (Effect::Unlock { .. } | Effect::Lock | Effect::KeepUnlocked) => {
                self.perform_secret(effect)
            }
            Effect::ReadBranch { from, message, thread, leaf } => {
                self.start(Task::Branch { from, message, thread, leaf });
            }
            Effect::Sweep(scan) => {
                let at = self.now + panelot_base::limits::SWEEP_PAUSE_MS;
                if let Some(worker) = &mut self.worker {
                    worker.sweeps.push((at, *scan));
                }
            }
            Effect::ReadHistory { from, submission, thread, before } => {
                self.start(Task::History { from, submission, thread, leaf: before });
            }
            #[expect(unreachable_patterns, reason = "a new effect must not stop others from building")]
            other => self.fail(Invariant::Law, format!("the simulator does not know the effect {other:?}")),
        }
        if self.may_die("crash after an effect")
            && let Some(entry) = self.coverage.effects.get_mut(name)
        {
            entry.1 += 1;
        }
    }
}

fn commit_text(commit: &Commit) -> String {
    let write = |write: &panelot_records::Write| match write {
        panelot_records::Write::Put(record) => {
            let key = record.key();
            let id: Vec<String> = key.parts.iter().map(|part| format!("{part:?}")).collect();
            let state = match record {
                Record::Run(run) => format!(
                    " {:?} calls {:?}",
                    run.state,
                    run.batch.iter().flat_map(|it| &it.calls).map(|it| it.state.clone()).collect::<Vec<_>>()
                ),
                Record::Node(node) => {
                    format!(" {}", format!("{:?}", node.body).chars().take(90).collect::<String>())
                }
                Record::Approval(approval) => format!(" {:?}", approval.state),
                Record::Receipt(receipt) => format!(" {:?}", receipt.outcome),
                Record::Thread(thread) => format!(" leaf {:?} open {}", thread.leaf, thread.open_runs.len()),
                _ => String::new(),
            };
            format!("\n      {} {}{state}", key.table.name(), id.join(" "))
        }
        other => format!("\n      {}", format!("{other:?}").chars().take(120).collect::<String>()),
    };
    commit.writes.iter().map(write).collect()
}
