//! The loop: one input at a time, its commit, then its effects.
//!
//! Only commits and short reads are awaited here; models, tools and pages run beside it as tasks and come back as
//! inputs, so nothing that is slow ever holds anything up.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_channel::oneshot;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use panelot_base::limits::{ALARM_MIN_MS, KEEP_ALIVE_MS, SWEEP_DELAY_MS, SWEEP_PAUSE_MS};
use panelot_base::{
    ConnectionId, EnvironmentDigest, ItemId, Secret, SortedMap, SortedSet, ThreadId, Timestamp,
};
#[cfg(feature = "failpoints")]
use panelot_engine::TargetPhase;
use panelot_engine::{Boot, ConnectionHandle, Effect, Engine, Found, Input, PageSignal, Step, Wanted};
use panelot_protocol::{Op, Receipting, decode_op};
use panelot_records::{Commit, Environment, Key, Record, Response, Scan, Table, Write};
use panelot_store::{CommitError, HeadError, SealError, Store};
use serde_json::Value;

use crate::boot::read_boot;
use crate::mailbox::Mailbox;
use crate::ports::{Ports, StepTask};
use crate::tasks::Cancels;

/// First delay before a thread is read again whose commit failed; it doubles…
const RELOAD_MIN_MS: u64 = 500;
/// …up to this.
const RELOAD_MAX_MS: u64 = 60_000;

/// The attempt of a call whose server asks, and where the answer goes.
type Asking = (u32, oneshot::Sender<Response>);

/// The engine at work.
pub struct Runtime<P: Ports> {
    pub(crate) ports: Rc<P>,
    pub(crate) engine: RefCell<Engine>,
    mailbox: RefCell<Mailbox>,
    bell: UnboundedSender<()>,
    pub(crate) cancels: RefCell<Cancels>,
    /// What ends the tries of connections that are under way.
    pub(crate) tries: RefCell<SortedMap<(ConnectionHandle, ConnectionId), oneshot::Sender<()>>>,
    pub(crate) environments: RefCell<SortedMap<EnvironmentDigest, Rc<Environment>>>,
    /// Tasks under way.
    pub(crate) tasks: Cell<u32>,
    kept_alive: Cell<bool>,
    wake: Cell<Option<Timestamp>>,
    alarm: Cell<Option<Timestamp>>,
    /// Whether the alarm is a guard; see [`Self::set_alarm`].
    guarded: Cell<bool>,
    wake_timer: RefCell<Option<AbortHandle>>,
    /// Who waits for what the person answers to a server's question, by thread and call.
    elicited: RefCell<SortedMap<(ThreadId, ItemId), Asking>>,
    /// Commits of a thread, or tries to read it after one, that failed in a row.
    failed: RefCell<SortedMap<ThreadId, u32>>,
    /// Whether the directory could not be read anew after a failed commit.
    directory_stale: Cell<bool>,
}

impl<P: Ports> Runtime<P> {
    /// Starts the loop as a task of the ports. Inputs may come at once; they are handled in order.
    #[must_use]
    pub fn start(ports: P, boot: Boot) -> Rc<Self> {
        let (engine, steps) = Engine::new(boot);
        let (bell, rings) = unbounded();
        let runtime = Rc::new(Self {
            ports: Rc::new(ports),
            engine: RefCell::new(engine),
            mailbox: RefCell::default(),
            bell,
            cancels: RefCell::default(),
            tries: RefCell::default(),
            environments: RefCell::default(),
            tasks: Cell::new(0),
            kept_alive: Cell::new(false),
            wake: Cell::new(None),
            alarm: Cell::new(None),
            guarded: Cell::new(false),
            wake_timer: RefCell::new(None),
            elicited: RefCell::default(),
            failed: RefCell::default(),
            directory_stale: Cell::new(false),
        });
        let task = Rc::clone(&runtime);
        runtime.ports.spawn(Box::pin(async move { task.run(steps, rings).await }));
        runtime
    }

    async fn run(self: Rc<Self>, first: Vec<Step>, mut rings: UnboundedReceiver<()>) {
        // What is left to remove from before keeps nobody waiting.
        let runtime = Rc::clone(&self);
        self.spawn_task(async move {
            for step in first {
                runtime.execute(step).await;
            }
        });
        while rings.next().await.is_some() {
            loop {
                let next = self.mailbox.borrow_mut().pop();
                let Some(input) = next else { break };
                self.process(input).await;
            }
            self.settle();
        }
    }

    /// Whether something is under way that a restart would cut off.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.engine.borrow().is_busy() || self.tasks.get() > 0
    }

    /// A view opened its Port.
    pub fn connect(&self, handle: ConnectionHandle) {
        self.engine.borrow_mut().handle(self.ports.now(), Input::Connected(handle));
    }

    /// A view's Port is gone.
    pub fn disconnect(&self, handle: ConnectionHandle) {
        self.engine.borrow_mut().handle(self.ports.now(), Input::Disconnected(handle));
        // An update may have waited for it.
        let _ = self.bell.unbounded_send(());
    }

    /// A view sent something.
    pub fn receive(&self, from: ConnectionHandle, message: &Value) {
        self.push(match decode_op(message) {
            Ok(message) => Input::Op { from, message, receipt: None },
            Err(rejected) => Input::Malformed { from, rejected },
        });
    }

    /// The alarm rang.
    pub fn wake_up(&self) {
        self.push(Input::Wake);
    }

    /// Something happened in a tab. Most tabs are nobody's business.
    pub fn page_signal(&self, tab_id: u32, signal: PageSignal) {
        if self.engine.borrow().watches(tab_id) {
            self.push(Input::Page { tab_id, signal });
        }
    }

    /// A new version of the extension waits for being installed.
    pub fn update_available(&self, version: String) {
        self.push(Input::UpdateAvailable { version });
    }

    /// For a tool that is under way and whose server asks the person something (`elicitation/create` of MCP): waits for
    /// the answer. `asked` holds `serverId`, `message` and `requestedSchema`. It resolves with a cancellation when the
    /// call is over or already asks something; dropping the future is what a cancelled call does.
    pub async fn elicit(&self, thread: ThreadId, item: ItemId, attempt: u32, asked: Value) -> Response {
        let (sender, receiver) = oneshot::channel();
        self.elicited.borrow_mut().insert((thread.clone(), item.clone()), (attempt, sender));
        self.push(Input::Elicitation { thread, item, attempt, asked });
        receiver.await.unwrap_or(Response::Cancel { note: None })
    }

    /// Puts an input in its queue.
    pub(crate) fn push(&self, input: Input) {
        self.mailbox.borrow_mut().push(input);
        let _ = self.bell.unbounded_send(());
    }

    async fn process(self: &Rc<Self>, input: Input) {
        if self.directory_stale.get() {
            boxed(self.reload_directory()).await;
        }
        let Some(input) = self.with_receipt(input).await else { return };
        let needed = self.engine.borrow().needs(&input);
        if let Some(thread) = needed {
            // Read here and not in a task: what the engine is given must be what the store holds at that moment.
            let loaded = match boxed(self.ports.store().head(&thread)).await {
                Ok(head) => Input::Loaded { thread, head: head.map(Box::new) },
                Err(error) if error.is_store_failure() && matches!(input, Input::Load { .. }) => {
                    return self.load_later(&thread);
                }
                Err(error) => Input::Unreadable { thread, why: error.to_string() },
            };
            self.enter(loaded).await;
        }
        let checked = self.engine.borrow().wants_checked(&input);
        if let Some(key) = checked {
            let right = matches!(boxed(self.check_passphrase(&key, false)).await, Ok(true));
            self.enter(Input::Checked { right }).await;
        }
        let wanted = self.engine.borrow().wants(&input);
        if let Some((thread, wanted)) = wanted {
            match self.find(&thread, wanted).await {
                Ok(found) => self.enter(Input::Found { thread, found }).await,
                Err(why) => {
                    if let Input::Op { from, message, .. } = &input {
                        self.refuse(*from, message, &why);
                    }
                    return;
                }
            }
        }
        self.enter(input).await;
    }

    /// Reads what an operation needs of the tree. What does not exist is not found, which is for the engine to say.
    async fn find(&self, thread: &ThreadId, wanted: Wanted) -> Result<Found, String> {
        match wanted {
            Wanted::Branch { leaf, limit } => match self.ports.store().path(thread, leaf, limit).await {
                Ok(page) => Ok(Found { has_older: page.older.is_some(), nodes: page.nodes }),
                Err(HeadError::Missing { .. }) => Ok(Found::default()),
                Err(error) => Err(error.to_string()),
            },
            Wanted::Window { before, limit } => {
                let scan = Scan::newest_nodes(thread, Some(before), limit);
                let read = self.ports.store().scan(&scan).await.map_err(|error| error.to_string())?;
                let node = |read| match read {
                    Ok(Record::Node(node)) => Some(node),
                    _ => None,
                };
                Ok(Found { nodes: read.into_iter().filter_map(node).collect(), has_older: false })
            }
        }
    }

    /// Hands an input to the engine and carries out what it decides.
    async fn enter(self: &Rc<Self>, input: Input) {
        let thread = thread_of(&input);
        #[cfg(feature = "failpoints")]
        if let Some(thread) = &thread {
            self.ports.failpoint("engine.enter", thread).await;
        }
        #[cfg(feature = "failpoints")]
        let streams = matches!(&input, Input::Model { event: panelot_engine::ModelInput::Delta { .. }, .. });
        let steps = self.within(thread.as_ref(), || self.engine.borrow_mut().handle(self.ports.now(), input));
        let mut dropped = SortedSet::new();
        for step in steps {
            let threads = step.threads.clone();
            // What the engine decided in a thread after a step that failed stands on ground that is gone.
            if threads.iter().any(|thread| dropped.contains(thread)) {
                continue;
            }
            if !self.execute(step).await {
                dropped.extend(threads);
            }
        }
        #[cfg(feature = "failpoints")]
        if let Some(thread) = thread.filter(|_| streams) {
            self.ports.failpoint("model.streaming", &thread).await;
        }
    }

    /// Runs pure code in the name of a thread.
    pub(crate) fn within<T>(&self, thread: Option<&ThreadId>, work: impl FnOnce() -> T) -> T {
        self.ports.entering(thread);
        let result = work();
        self.ports.entering(None);
        result
    }

    /// Looks up the stored answer to a durable command.
    async fn with_receipt(&self, input: Input) -> Option<Input> {
        let mut input = input;
        let (Input::Op { from, message, receipt } | Input::Branch { from, message, receipt, .. }) =
            &mut input
        else {
            return Some(input);
        };
        let client = self.engine.borrow().client_id(*from).cloned();
        let (Some(client), Receipting::Durable) = (client, message.op.receipting()) else {
            return Some(input);
        };
        match boxed(self.ports.store().get(&Key::receipt(&client, &message.submission_id))).await {
            Ok(Some(Ok(Record::Receipt(stored)))) => *receipt = Some(stored),
            Ok(None) => {}
            // Whether it was applied before cannot be told now, so it must not be applied.
            Ok(Some(_)) | Err(_) => {
                self.refuse(*from, message, "the browser's storage cannot be read; try again");
                return None;
            }
        }
        Some(input)
    }

    fn refuse(&self, from: ConnectionHandle, message: &panelot_protocol::OpMessage, why: &str) {
        let event = panelot_protocol::Event::CommandRejected(panelot_protocol::event::CommandRejected {
            submission_id: message.submission_id.clone(),
            code: panelot_protocol::event::ErrorCode::StorageFailed,
            message: why.to_owned(),
            retryable: true,
            thread_id: message.op.thread_id().cloned(),
        });
        self.ports.post(from, &panelot_protocol::EventMessage::private(event).to_json());
    }

    /// Applies a step's commit and runs its effects. Returns whether the commit succeeded.
    async fn execute(self: &Rc<Self>, step: Step) -> bool {
        #[cfg(feature = "failpoints")]
        let points = crate::failpoints::around(&step).zip(step.threads.first().cloned());
        #[cfg(feature = "failpoints")]
        if let Some(([before, _], thread)) = &points {
            self.ports.failpoint(before, thread).await;
        }
        if let Some(commit) = step.commit {
            let bound = environment_of(&commit);
            if let Err(error) = boxed(self.ports.store().apply(commit)).await {
                boxed(self.on_commit_failure(&step.threads, &error)).await;
                for effect in step.on_failure {
                    self.perform(effect).await;
                }
                return false;
            }
            if let Some((digest, environment)) = bound {
                self.keep_environment(digest, environment);
            }
        }
        #[cfg(feature = "failpoints")]
        if let Some(([_, after], thread)) = &points {
            self.ports.failpoint(after, thread).await;
        }
        for thread in &step.threads {
            self.failed.borrow_mut().remove(thread);
        }
        for effect in step.effects {
            self.perform(effect).await;
        }
        true
    }

    async fn on_commit_failure(self: &Rc<Self>, threads: &[ThreadId], error: &CommitError) {
        self.ports.log(&format!("a commit failed: {error}"));
        for thread in threads {
            self.cancels.borrow_mut().cancel_thread(thread);
            self.engine.borrow_mut().drop_thread(thread);
            self.load_later(thread);
        }
        self.reload_directory().await;
    }

    /// Has a thread read anew after a delay that doubles with each failure in a row. It is not work that must be kept
    /// alive: a worker that starts anew reads every thread with open runs in any case.
    fn load_later(self: &Rc<Self>, thread: &ThreadId) {
        let failures = {
            let mut failed = self.failed.borrow_mut();
            let failures = failed.get_or_insert_with(thread.clone(), || 0);
            *failures += 1;
            *failures
        };
        let delay = RELOAD_MIN_MS.saturating_mul(1 << (failures - 1).min(10)).min(RELOAD_MAX_MS);
        let (runtime, thread) = (Rc::clone(self), thread.clone());
        self.ports.spawn(Box::pin(async move {
            runtime.ports.sleep(delay).await;
            runtime.push(Input::Load { thread });
        }));
    }

    /// Reads a slice of what is swept. It is not work that must be kept alive.
    fn sweep_later(self: &Rc<Self>, scan: Scan) {
        let first = scan.prefix.is_empty() && scan.before.is_none() && scan.table == Table::Runs;
        let runtime = Rc::clone(self);
        self.ports.spawn(Box::pin(async move {
            runtime.ports.sleep(if first { SWEEP_DELAY_MS } else { SWEEP_PAUSE_MS }).await;
            // A store that cannot be read is no reason to do anything; another life sweeps again.
            if let Ok(found) = runtime.ports.store().scan(&scan).await {
                runtime.push(Input::Swept { found });
            }
        }));
    }

    /// Takes the settings, the rules, the grants and the list of threads from the store again. When it cannot be read
    /// nothing is allowed silently, and the next input tries again.
    async fn reload_directory(self: &Rc<Self>) {
        let read = read_boot(self.ports.store(), self.reload_facts()).await;
        self.directory_stale.set(read.is_err());
        match read {
            Ok(boot) => {
                let news = self.engine.borrow_mut().reload_directory(boot);
                self.perform(news).await;
            }
            Err(error) => {
                self.ports.log(&format!("the directory cannot be read: {error}"));
                self.engine.borrow_mut().distrust_directory();
            }
        }
    }

    async fn perform(self: &Rc<Self>, effect: Effect) {
        match effect {
            Effect::Send { to, message } => self.send(&to, &message).await,
            Effect::Close(handle) => {
                self.ports.close(handle);
                self.engine.borrow_mut().handle(self.ports.now(), Input::Disconnected(handle));
            }
            Effect::Load(thread) => self.push(Input::Load { thread }),
            Effect::CallModel(call) => self.spawn_model(*call),
            Effect::CancelModel { thread, call } => self.cancels.borrow_mut().cancel(&thread, call.as_str()),
            Effect::FindTarget(lookup) => {
                #[cfg(feature = "failpoints")]
                if lookup.phase == TargetPhase::Dispatch {
                    self.ports.failpoint("tool.before_dispatch", &lookup.thread).await;
                }
                self.spawn_lookup(*lookup);
            }
            Effect::Dispatch { thread, item, attempt, permit, command } => {
                self.spawn_dispatch(thread, item, attempt, *permit, *command);
            }
            Effect::CancelTool { thread, item } => {
                self.cancels.borrow_mut().cancel(&thread, item.as_str());
                self.elicited.borrow_mut().remove(&(thread, item));
            }
            Effect::Elicited { thread, item, attempt, response } => {
                let waiting = self.elicited.borrow_mut().remove(&(thread, item));
                if let Some((_, sender)) = waiting.filter(|(of, _)| *of == attempt) {
                    let _ = sender.send(response);
                }
            }
            Effect::Try(trial) => self.spawn_try(trial),
            Effect::CancelTry { from, connection } => self.cancel_tries(from, connection.as_ref()),
            Effect::Unlock { from, submission, key } => {
                let result = boxed(self.check_passphrase(&key, true)).await;
                self.ports.keep_session_key(self.ports.store().sealer().session_key());
                self.push(Input::Unlocked { from, submission, result });
            }
            Effect::Lock => {
                self.ports.store().sealer().lock();
                self.ports.keep_session_key(None);
            }
            Effect::KeepUnlocked => {
                let sealer = self.ports.store().sealer();
                // Without a vault there is nothing to unlock.
                if !matches!(boxed(self.ports.store().vault()).await, Ok(Some(_))) {
                    sealer.lock();
                }
                self.ports.keep_session_key(sealer.session_key());
            }
            Effect::Sweep(scan) => self.sweep_later(*scan),
            Effect::ReadBranch { from, message, thread, leaf } => {
                self.spawn_branch(from, *message, thread, leaf);
            }
            Effect::ReadHistory { from, submission, thread, before } => {
                self.spawn_history(from, submission, thread, before);
            }
        }
    }

    /// Whether a passphrase is the right one, by the key that it gives; `unlock` makes use of it.
    async fn check_passphrase(&self, key: &Secret, unlock: bool) -> Result<bool, String> {
        let store = self.ports.store();
        let Some(vault) = store.vault().await.map_err(|error| error.to_string())? else { return Ok(true) };
        let sealer = store.sealer();
        let checked = if unlock { sealer.unlock(&vault, key).await } else { sealer.check(&vault, key).await };
        match checked {
            Ok(()) => Ok(true),
            Err(SealError::WrongPassphrase) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn send(&self, to: &[ConnectionHandle], message: &panelot_protocol::EventMessage) {
        let json = message.to_json();
        for handle in to {
            self.ports.post(*handle, &json);
        }
        #[cfg(feature = "failpoints")]
        if let Some(thread) = message.event.thread_id() {
            match &message.event {
                panelot_protocol::Event::ItemDelta(_) => {
                    self.ports.failpoint("model.streaming", thread).await
                }
                panelot_protocol::Event::ApprovalRequest(_) => {
                    self.ports.failpoint("approval.pending", thread).await;
                }
                _ => {}
            }
        }
    }

    /// Runs a task that counts as work under way.
    pub(crate) fn spawn_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        // One kind of task, so that what counts it is compiled once.
        self.spawn_counted(Box::pin(task));
    }

    fn spawn_counted(self: &Rc<Self>, task: StepTask) {
        self.tasks.set(self.tasks.get() + 1);
        let runtime = Rc::clone(self);
        let counted: StepTask = Box::pin(async move {
            task.await;
            runtime.tasks.set(runtime.tasks.get() - 1);
            let _ = runtime.bell.unbounded_send(());
        });
        self.ports.spawn(counted);
        self.stay_alive();
    }

    /// After everything that was due: the next wake-up, and whether the worker must be kept alive.
    fn settle(self: &Rc<Self>) {
        let wake = self.engine.borrow().next_wake();
        let fired = wake.is_some() && self.wake_timer.borrow().is_none();
        if wake != self.wake.get() || fired {
            self.wake.set(wake);
            if let Some(timer) = self.wake_timer.borrow_mut().take() {
                timer.abort();
            }
            if let Some(at) = wake {
                self.start_wake_timer(at);
            }
        }
        self.stay_alive();
        self.set_alarm();
        if self.engine.borrow().wants_reload() {
            self.ports.reload();
        }
    }

    /// The alarm wakes a worker that sleeps by the time of the next wake-up. While the worker must live it is a guard
    /// instead: should the worker be ended all the same, another one takes up its work half a minute later.
    fn set_alarm(&self) {
        if self.must_live() {
            if !self.guarded.get() {
                self.set_guard();
            }
        } else if self.guarded.get() || self.wake != self.alarm {
            self.guarded.set(false);
            self.alarm.set(self.wake.get());
            self.ports.set_alarm(self.wake.get());
        }
    }

    fn set_guard(&self) {
        self.guarded.set(true);
        self.ports.set_alarm(Some(self.ports.now().plus_ms(ALARM_MIN_MS)));
    }

    fn start_wake_timer(self: &Rc<Self>, at: Timestamp) {
        let (handle, registration) = AbortHandle::new_pair();
        *self.wake_timer.borrow_mut() = Some(handle);
        let runtime = Rc::clone(self);
        let timer = async move {
            // A timer may fire a little early by the wall clock; then the engine would see nothing due.
            let wait = at.ms_since(runtime.ports.now()).saturating_add(1);
            runtime.ports.sleep(wait).await;
            runtime.wake_timer.borrow_mut().take();
            runtime.push(Input::Wake);
        };
        self.ports.spawn(Box::pin(async move {
            let _ = Abortable::new(timer, registration).await;
        }));
    }

    /// Work under way needs the worker; so does a wake-up that comes sooner than an alarm can ring.
    fn must_live(&self) -> bool {
        self.is_busy() || self.wake.get().is_some_and(|at| at.ms_since(self.ports.now()) < ALARM_MIN_MS)
    }

    fn stay_alive(self: &Rc<Self>) {
        if self.kept_alive.get() || !self.must_live() {
            return;
        }
        self.kept_alive.set(true);
        let runtime = Rc::clone(self);
        self.ports.spawn(Box::pin(async move {
            while runtime.must_live() {
                runtime.ports.keep_alive();
                runtime.set_guard();
                runtime.ports.sleep(KEEP_ALIVE_MS).await;
            }
            runtime.kept_alive.set(false);
            runtime.set_alarm();
        }));
    }

    /// Facts for reading the directory anew; those that concern the start are not used then.
    fn reload_facts(&self) -> crate::BootFacts {
        crate::BootFacts {
            epoch: 1,
            session: panelot_base::SessionId::mint(&mut panelot_base::IdSource::new([0; 16])),
            seed: [0; 16],
            browser_language: String::new(),
            quarantined: SortedSet::new(),
        }
    }
}

/// The environment that a commit stores: the request that follows needs it, and need not read it.
fn environment_of(commit: &Commit) -> Option<(EnvironmentDigest, Rc<Environment>)> {
    commit.writes.iter().find_map(|write| match write {
        Write::PutEnvironment { digest, environment } => Some((digest.clone(), Rc::new(environment.clone()))),
        _ => None,
    })
}

/// A future behind a pointer: a browser compiles a function whole when it is first called, and what a start does not need
/// is to be no part of the function that it runs.
fn boxed<'a, T>(future: impl Future<Output = T> + 'a) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    Box::pin(future)
}

/// The thread in whose name an input is handled.
fn thread_of(input: &Input) -> Option<ThreadId> {
    match input {
        Input::Op { message, .. } | Input::Branch { message, .. } => match &message.op {
            Op::Initialize(initialize) => initialize.subscribe.clone(),
            op => op.thread_id().cloned(),
        },
        Input::Load { thread }
        | Input::Loaded { thread, .. }
        | Input::Found { thread, .. }
        | Input::Cut { thread, .. }
        | Input::Unreadable { thread, .. }
        | Input::Model { thread, .. }
        | Input::Target { thread, .. }
        | Input::Report { thread, .. }
        | Input::Elicitation { thread, .. }
        | Input::History { thread, .. } => Some(thread.clone()),
        Input::Connected(_)
        | Input::Disconnected(_)
        | Input::Malformed { .. }
        | Input::Overloaded { .. }
        | Input::Swept { .. }
        | Input::Checked { .. }
        | Input::Unlocked { .. }
        | Input::Page { .. }
        | Input::UpdateAvailable { .. }
        | Input::Wake
        | Input::TryStep { .. }
        | Input::Tried { .. } => None,
    }
}
