//! The world of these tests: everything that a [`Ports`] needs, with virtual time and a worker that can be killed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use futures_channel::oneshot;
use futures_executor::{LocalPool, LocalSpawner};
use futures_util::task::LocalSpawnExt;
use panelot_base::{ItemId, Secret, SessionId, ThreadId, Timestamp};
use panelot_engine::{ConnectionHandle, PageSignal, TargetLookup};
use panelot_model_client::{Answer, Body, Client, Network, NetworkError};
use panelot_protocol::{PROTOCOL, SCHEMA_HASH};
use panelot_provider::{HeaderValue, HttpRequest, ResponseHead};
use panelot_records::{Commit, Key, Response, Scan};
use panelot_runtime::{BootFacts, Browser, Ports, Runtime, StepTask, read_boot};
use panelot_store::{CommitError, MemoryStore, ReadRecord, Sealer, Store, StoreError, TestCipher};
use panelot_tools::{
    Command, Failure, FailureKind, HostAccess, Reach, Report, TabFacts, Target, TargetError, TargetFacts,
    TargetKind,
};
use serde_json::{Value, json};

/// Virtual time: it moves only when nothing else can.
#[derive(Default)]
pub(crate) struct Clock {
    now: Cell<u64>,
    timers: RefCell<BTreeMap<(u64, u64), oneshot::Sender<()>>>,
    count: Cell<u64>,
}

impl Clock {
    async fn sleep(&self, ms: u64) {
        let (sender, receiver) = oneshot::channel();
        self.count.set(self.count.get() + 1);
        self.timers.borrow_mut().insert((self.now.get() + ms, self.count.get()), sender);
        let _ = receiver.await;
    }

    /// Moves to the next timer that somebody waits for and that is due by `until`.
    fn advance(&self, until: u64) -> bool {
        loop {
            let next = self.timers.borrow().keys().next().copied();
            let Some(key) = next.filter(|(at, _)| *at <= until) else {
                self.now.set(self.now.get().max(until));
                return false;
            };
            let sender = self.timers.borrow_mut().remove(&key).unwrap();
            if sender.is_canceled() {
                continue;
            }
            self.now.set(self.now.get().max(key.0));
            let _ = sender.send(());
            return true;
        }
    }
}

/// A piece of a scripted answer.
#[derive(Clone, Debug)]
pub(crate) enum Chunk {
    /// Bytes.
    Bytes(String),
    /// A pause.
    Wait(u64),
    /// Work that takes time and lets nothing else run.
    Busy(u64),
    /// The connection breaks.
    Break,
}

/// The address of a request, and its headers.
pub(crate) type Sent = (String, Vec<(String, String)>);

/// A scripted answer of the provider.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) chunks: Vec<Chunk>,
}

fn event(delta: Value, finish: Option<&str>) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
}

/// A piece of text, as a provider streams it.
pub(crate) fn word(text: &str) -> String {
    event(json!({"content": text}), None)
}

impl Reply {
    /// The same with what it cost, told before its end.
    pub(crate) fn costing(mut self, input: u64, output: u64) -> Self {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}});
        let told = format!("data: {usage}\n\ndata: [DONE]");
        if let Some(Chunk::Bytes(bytes)) = self.chunks.last_mut() {
            *bytes = bytes.replace("data: [DONE]", &told);
        }
        self
    }

    pub(crate) fn of(chunks: Vec<Chunk>) -> Self {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        Self { status: 200, headers, chunks }
    }

    /// An answer in words, one chunk each.
    pub(crate) fn text(words: &[&str]) -> Self {
        let mut chunks: Vec<Chunk> =
            words.iter().map(|word| Chunk::Bytes(event(json!({"content": word}), None))).collect();
        chunks.push(Chunk::Bytes(event(json!({}), Some("stop")) + "data: [DONE]\n\n"));
        Self::of(chunks)
    }

    /// An answer that never ends after its words.
    pub(crate) fn hanging(words: &[&str]) -> Self {
        let mut reply = Self::text(words);
        reply.chunks.pop();
        reply.chunks.push(Chunk::Wait(60_000));
        reply.chunks.push(Chunk::Bytes(event(json!({"content": "late"}), Some("stop"))));
        reply
    }

    /// Tool calls, all in one answer.
    pub(crate) fn calls(calls: &[(&str, Value)]) -> Self {
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                json!({"index": index, "id": format!("c{index}"), "type": "function",
                    "function": {"name": name, "arguments": arguments.to_string()}})
            })
            .collect();
        Self::of(vec![Chunk::Bytes(
            event(json!({"tool_calls": calls}), None)
                + &event(json!({}), Some("tool_calls"))
                + "data: [DONE]\n\n",
        )])
    }

    pub(crate) fn error(status: u16, body: Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, chunks: vec![Chunk::Bytes(body.to_string())] }
    }
}

/// What becomes of something that a page is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PageTurn {
    /// It does it and says so, after so many milliseconds.
    Works(u64),
    /// It does it, and the channel breaks before it can say so.
    Breaks,
    /// It is never told.
    Unreached,
}

type Provider = Box<dyn FnMut(&Value) -> Reply>;
type Page = Box<dyn FnMut() -> PageTurn>;

/// What outlives a worker: the provider, the page, the store.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) clock: Clock,
    pub(crate) replies: RefCell<VecDeque<Reply>>,
    pub(crate) requests: RefCell<Vec<Value>>,
    /// Answers to the requests for a title; without one the provider refuses.
    pub(crate) titles: RefCell<VecDeque<Reply>>,
    pub(crate) title_requests: RefCell<Vec<Value>>,
    /// Where each request went, but for those for titles, and its headers.
    pub(crate) sent: RefCell<Vec<Sent>>,
    /// Every write that reached the page.
    pub(crate) page_writes: RefCell<Vec<String>>,
    pub(crate) lookups: Cell<u32>,
    /// What the page says to whoever reads it; none for a page that is only acted on.
    pub(crate) page_text: RefCell<Option<String>>,
    /// Times that it was read.
    pub(crate) reads: Cell<u32>,
    /// Whether the tab was closed.
    pub(crate) tab_closed: Cell<bool>,
    pub(crate) path: RefCell<String>,
    /// From this lookup on the browser never answers lookups.
    pub(crate) stall_lookup: Cell<Option<u32>>,
    /// Whether the page does what it is told and the answer is lost.
    pub(crate) lose_reports: Cell<bool>,
    /// Whether the channel to the page breaks after it was told.
    pub(crate) channel_lost: Cell<bool>,
    pub(crate) document: RefCell<String>,
    pub(crate) origin: RefCell<String>,
    pub(crate) alarm: Cell<Option<Timestamp>>,
    pub(crate) kept_alive: Cell<u32>,
    /// What the browser session keeps in memory.
    pub(crate) session_key: RefCell<Option<Secret>>,
    pub(crate) reloads: Cell<u32>,
    /// Answers what no scripted reply is there for.
    pub(crate) provider: RefCell<Option<Provider>>,
    /// Decides what a page does; without it every page works.
    pub(crate) page: RefCell<Option<Page>>,
    /// Commits, requests and actions, each counted before and after, until the worker stops dead.
    pub(crate) fuse: Cell<Option<u32>>,
    pub(crate) dead: Cell<bool>,
}

impl Outside {
    /// A place at which the worker may die.
    async fn tick(&self) {
        match self.fuse.get() {
            Some(0) => self.dead.set(true),
            Some(left) => self.fuse.set(Some(left - 1)),
            None => {}
        }
        if self.dead.get() {
            std::future::pending::<()>().await;
        }
    }
}

/// The memory store, with a worker that may die before or after each commit.
struct WorldStore {
    inner: Rc<MemoryStore>,
    outside: Rc<Outside>,
}

impl Store for WorldStore {
    type Cipher = TestCipher;

    fn sealer(&self) -> &Sealer<TestCipher> {
        self.inner.sealer()
    }
    async fn apply(&self, commit: Commit) -> Result<(), CommitError> {
        self.outside.tick().await;
        let result = self.inner.apply(commit).await;
        self.outside.tick().await;
        result
    }
    async fn get(&self, key: &Key) -> Result<Option<ReadRecord>, StoreError> {
        self.inner.get(key).await
    }
    async fn scan(&self, scan: &Scan) -> Result<Vec<ReadRecord>, StoreError> {
        self.inner.scan(scan).await
    }
    fn transactions(&self) -> u64 {
        self.inner.transactions()
    }
}

struct WorldNetwork(Rc<Outside>);

struct WorldBody {
    chunks: VecDeque<Chunk>,
    outside: Rc<Outside>,
}

impl Body for WorldBody {
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetworkError> {
        loop {
            match self.chunks.front() {
                None => return Ok(None),
                Some(Chunk::Wait(ms)) => {
                    let ms = *ms;
                    self.outside.clock.sleep(ms).await;
                    self.chunks.pop_front();
                }
                Some(Chunk::Busy(ms)) => {
                    let now = &self.outside.clock.now;
                    now.set(now.get() + ms);
                    self.chunks.pop_front();
                }
                Some(Chunk::Break) => return Err(NetworkError("connection reset".into())),
                Some(Chunk::Bytes(bytes)) => {
                    let bytes = bytes.clone().into_bytes();
                    self.chunks.pop_front();
                    return Ok(Some(bytes));
                }
            }
        }
    }
}

impl Network for WorldNetwork {
    type Body = WorldBody;

    async fn send(&self, request: HttpRequest) -> Result<Answer<WorldBody>, NetworkError> {
        let body: Value =
            request.body.as_deref().map(|body| serde_json::from_str(body).unwrap()).unwrap_or_default();
        self.0.tick().await;
        check_history(&body);
        let instruction = body["messages"][0]["content"].as_str().unwrap_or_default();
        let reply = if instruction.starts_with("Write a title") {
            self.0.title_requests.borrow_mut().push(body.clone());
            self.0.titles.borrow_mut().pop_front().unwrap_or_else(|| Reply::error(503, json!({})))
        } else {
            self.0.requests.borrow_mut().push(body.clone());
            let shown = |value: &HeaderValue| match value {
                HeaderValue::Plain(value) => value.clone(),
                HeaderValue::Secret(secret) => secret.expose().to_owned(),
            };
            let headers = request.headers.iter().map(|(name, value)| (name.clone(), shown(value)));
            self.0.sent.borrow_mut().push((request.url.as_str().to_owned(), headers.collect()));
            let scripted = self.0.replies.borrow_mut().pop_front();
            let improvised = || self.0.provider.borrow_mut().as_mut().map(|provider| provider(&body));
            scripted.or_else(improvised).expect("a scripted reply for every request")
        };
        let head = ResponseHead { status: reply.status, headers: reply.headers };
        Ok(Answer { head, body: WorldBody { chunks: reply.chunks.into(), outside: Rc::clone(&self.0) } })
    }
}

/// Every call of a request is answered exactly once, right after it: what real providers insist on.
fn check_history(body: &Value) {
    let mut open: Vec<String> = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let at = open.iter().position(|open| open == id).expect("a result answers an open call");
            open.remove(at);
            continue;
        }
        assert!(open.is_empty(), "calls without a result: {open:?}");
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            open.push(call["id"].as_str().unwrap().to_owned());
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}

struct WorldBrowser(Rc<Outside>);

impl WorldBrowser {
    fn target(&self, tab_id: u32) -> Target {
        Target {
            tab_id,
            frame_id: 0,
            document_id: Some(self.0.document.borrow().clone()),
            url: format!("{}/{}", self.0.origin.borrow(), self.0.path.borrow()),
            origin: self.0.origin.borrow().clone(),
            title: "Order".into(),
        }
    }
}

impl Browser for WorldBrowser {
    async fn resolve(&self, lookup: &TargetLookup) -> Result<TargetFacts, TargetError> {
        let number = self.0.lookups.get() + 1;
        self.0.lookups.set(number);
        if self.0.stall_lookup.get().is_some_and(|from| number >= from) {
            std::future::pending::<()>().await;
        }
        if lookup.call.target_kind() == TargetKind::Browser {
            return Ok(TargetFacts { target: None, host_access: HostAccess::Granted });
        }
        let tab = lookup.call.tab_id().or(lookup.default_tab).ok_or(TargetError::NoDefaultTab)?;
        if self.0.tab_closed.get() {
            return Err(TargetError::TabGone { tab_id: tab });
        }
        Ok(TargetFacts { target: Some(self.target(tab)), host_access: HostAccess::Granted })
    }

    async fn run(&self, command: Command, _cancelled: impl Future<Output = ()>) -> Report {
        let failed = |kind, reach| Report::Failed(Failure { kind, reach, detail: "by chance".into() });
        let turn = self.0.page.borrow_mut().as_mut().map(|page| page());
        self.0.tick().await;
        match turn {
            Some(PageTurn::Unreached) => return failed(FailureKind::TargetGone, Reach::NotStarted),
            Some(PageTurn::Breaks) => {
                let done = self.act(command).await;
                let write = !matches!(done, Report::Tabs(_));
                let reach = if write { Reach::Unknown } else { Reach::NotStarted };
                return failed(FailureKind::ChannelLost, reach);
            }
            Some(PageTurn::Works(ms)) => self.0.clock.sleep(ms).await,
            None => {}
        }
        let report = self.act(command).await;
        self.0.tick().await;
        report
    }
}

impl WorldBrowser {
    async fn act(&self, command: Command) -> Report {
        match command {
            Command::ListTabs => Report::Tabs(vec![TabFacts {
                tab_id: 7,
                window_id: 1,
                url: "https://shop.test/order".into(),
                title: "Order".into(),
                active: true,
                last_accessed_ms: 1,
            }]),
            Command::Navigate { tab_id, url } => {
                self.0.page_writes.borrow_mut().push(format!("navigate {url}"));
                Report::Navigated(self.target(tab_id.unwrap_or(9)))
            }
            Command::Page { action: panelot_page_protocol::Action::ReadPage {}, .. }
                if self.0.page_text.borrow().is_some() =>
            {
                self.0.reads.set(self.0.reads.get() + 1);
                let text = self.0.page_text.borrow().clone();
                Report::Page(Ok(panelot_page_protocol::ActionResult::Page {
                    page: serde_json::from_value(json!({"url": "https://shop.test/order", "title": "Order",
                        "loading": false, "viewport": {"width": 1, "height": 1, "scrollY": 0, "pageHeight": 1},
                        "nodes": [{"type": "text", "depth": 0, "text": text}]}))
                    .unwrap(),
                }))
            }
            Command::Page { target, action } => {
                self.0
                    .page_writes
                    .borrow_mut()
                    .push(format!("{action:?} in {}", target.document_id.unwrap()));
                if self.0.lose_reports.get() {
                    std::future::pending::<()>().await;
                }
                self.0.clock.sleep(5).await;
                if self.0.channel_lost.get() {
                    return Report::Failed(Failure {
                        kind: FailureKind::ChannelLost,
                        reach: Reach::Unknown,
                        detail: "channel closed".into(),
                    });
                }
                Report::Page(
                    serde_json::from_value(json!({"Ok": {"type": "clicked", "observed": {
                    "subject": {"role": "button", "name": "Order"}, "effects": ["formSubmitted"],
                    "url": "https://shop.test/order", "settled": true}}}))
                    .unwrap(),
                )
            }
        }
    }
}

/// What a client of models needs, in this world.
struct ClientWorld(WorldNetwork);

impl panelot_model_client::World for ClientWorld {
    type Network = WorldNetwork;

    fn network(&self) -> &WorldNetwork {
        &self.0
    }
    fn now(&self) -> Timestamp {
        Timestamp(self.0.0.clock.now.get())
    }
    async fn sleep(&self, ms: u64) {
        self.0.0.clock.sleep(ms).await;
    }
    async fn yield_now(&self) {
        self.0.0.clock.sleep(0).await;
    }
    fn entering(&self, _: Option<&ThreadId>) {}
}

struct WorldPorts {
    outside: Rc<Outside>,
    store: WorldStore,
    models: Client<ClientWorld>,
    browser: WorldBrowser,
    spawner: LocalSpawner,
    inbox: Rc<RefCell<BTreeMap<u64, Vec<Value>>>>,
}

impl Ports for WorldPorts {
    type Store = WorldStore;
    type Models = Client<ClientWorld>;
    type Browser = WorldBrowser;

    fn store(&self) -> &WorldStore {
        &self.store
    }
    fn models(&self) -> &Client<ClientWorld> {
        &self.models
    }
    fn browser(&self) -> &WorldBrowser {
        &self.browser
    }
    fn now(&self) -> Timestamp {
        Timestamp(self.outside.clock.now.get())
    }
    async fn sleep(&self, ms: u64) {
        self.outside.clock.sleep(ms).await;
    }
    async fn yield_now(&self) {
        self.outside.clock.sleep(0).await;
    }
    fn spawn(&self, task: StepTask) {
        self.spawner.spawn_local(task).unwrap();
    }
    fn post(&self, to: ConnectionHandle, message: &Value) {
        self.inbox.borrow_mut().entry(to.0).or_default().push(message.clone());
    }
    fn close(&self, to: ConnectionHandle) {
        self.inbox.borrow_mut().entry(to.0).or_default().push(json!({"type": "(closed)"}));
    }
    fn set_alarm(&self, at: Option<Timestamp>) {
        self.outside.alarm.set(at);
    }
    fn keep_session_key(&self, key: Option<Secret>) {
        *self.outside.session_key.borrow_mut() = key;
    }
    fn keep_alive(&self) {
        self.outside.kept_alive.set(self.outside.kept_alive.get() + 1);
    }
    fn reload(&self) {
        self.outside.reloads.set(self.outside.reloads.get() + 1);
    }
    fn entering(&self, _: Option<&ThreadId>) {}
    fn log(&self, _: &str) {}
    #[cfg(feature = "failpoints")]
    async fn failpoint(&self, _: &'static str, _: &ThreadId) {}
}

/// A worker in the world, and what its views have received.
pub(crate) struct World {
    pub(crate) outside: Rc<Outside>,
    pub(crate) store: MemoryStore,
    /// The store as this worker opened it: where faults are set.
    pub(crate) opened: Rc<MemoryStore>,
    pool: LocalPool,
    runtime: Rc<Runtime<WorldPorts>>,
    inbox: Rc<RefCell<BTreeMap<u64, Vec<Value>>>>,
    epoch: u64,
    submissions: Cell<u64>,
}

impl World {
    /// A fresh browser profile with a connection set up and one view, number 1, that is initialized.
    pub(crate) fn new() -> Self {
        let outside = Rc::new(Outside::default());
        outside.clock.now.set(1_000_000);
        outside.document.replace("doc-1".into());
        outside.origin.replace("https://shop.test".into());
        outside.path.replace("order".into());
        let mut world = Self::start(outside, MemoryStore::new(), 1);
        world.open_view(1);
        world.send(
            1,
            json!({"type": "settings.update", "changes": [{"type": "putConnection", "id": "conn", "name": "Test",
                "baseUrl": "http://localhost:1/v1", "models": ["m"], "key": "sk-secret"}]}),
        );
        world.settle();
        world
    }

    fn start(outside: Rc<Outside>, store: MemoryStore, epoch: u64) -> Self {
        let mut pool = LocalPool::new();
        let facts = BootFacts {
            epoch,
            session: SessionId::new("browser-session").unwrap(),
            seed: [u8::try_from(epoch).unwrap(); 16],
            browser_language: "en".into(),
            quarantined: panelot_base::SortedSet::new(),
        };
        let opened = Rc::new(store.reopen());
        let kept = outside.session_key.borrow().clone();
        if let Some(kept) = kept {
            pool.run_until(opened.sealer().restore(&kept));
        }
        let boot = pool.run_until(read_boot(&*opened, facts)).unwrap();
        let inbox = Rc::new(RefCell::new(BTreeMap::new()));
        let ports = WorldPorts {
            outside: Rc::clone(&outside),
            store: WorldStore { inner: Rc::clone(&opened), outside: Rc::clone(&outside) },
            models: Client::new(ClientWorld(WorldNetwork(Rc::clone(&outside)))),
            browser: WorldBrowser(Rc::clone(&outside)),
            spawner: pool.spawner(),
            inbox: Rc::clone(&inbox),
        };
        let runtime = Runtime::start(ports, boot);
        Self { outside, store, opened, pool, runtime, inbox, epoch, submissions: Cell::new(epoch * 1000) }
    }

    /// Kills the worker: everything in memory is gone, nothing more is said. Then starts another.
    pub(crate) fn kill(self) -> Self {
        let Self { outside, store, pool, runtime, epoch, .. } = self;
        drop(pool);
        drop(runtime);
        outside.clock.timers.borrow_mut().clear();
        outside.fuse.set(None);
        outside.dead.set(false);
        let mut world = Self::start(outside, store, epoch + 1);
        world.settle();
        world.open_view(1);
        world.settle();
        world
    }

    /// The browser closes, and with it all that it kept in memory; then it is opened again.
    pub(crate) fn restart_browser(self) -> Self {
        *self.outside.session_key.borrow_mut() = None;
        self.kill()
    }

    /// Makes the next commit fail without effect.
    pub(crate) fn fail_next_commit(&self, error: CommitError) {
        self.opened.fail_next(error);
    }

    pub(crate) fn now(&self) -> u64 {
        self.outside.clock.now.get()
    }

    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.outside.replies.borrow_mut().extend(replies);
    }

    pub(crate) fn open_view(&mut self, view: u64) {
        self.connect_only(view);
        self.initialize(view);
    }

    pub(crate) fn initialize(&mut self, view: u64) {
        let client = format!("client-{view}");
        self.send(
            view,
            json!({"type": "initialize", "protocol": PROTOCOL, "schemaHash": SCHEMA_HASH, "clientId": client}),
        );
    }

    pub(crate) fn disconnect(&mut self, view: u64) {
        self.runtime.disconnect(ConnectionHandle(view));
    }

    pub(crate) fn connect_only(&mut self, view: u64) {
        self.runtime.connect(ConnectionHandle(view));
    }

    /// Sends an operation and returns its submission id.
    pub(crate) fn send(&mut self, view: u64, mut op: Value) -> String {
        let id = match op.get("submissionId").and_then(Value::as_str) {
            Some(id) => id.to_owned(),
            None => {
                self.submissions.set(self.submissions.get() + 1);
                format!("s{}", self.submissions.get())
            }
        };
        op["submissionId"] = json!(id);
        self.runtime.receive(ConnectionHandle(view), &op);
        id
    }

    /// Sends whatever this is.
    pub(crate) fn send_raw(&self, view: u64, message: &Value) {
        self.runtime.receive(ConnectionHandle(view), message);
    }

    /// Something happens in a tab.
    pub(crate) fn page_signal(&self, tab: u32, signal: PageSignal) {
        self.runtime.page_signal(tab, signal);
    }

    /// A new version waits.
    pub(crate) fn update_available(&self) {
        self.runtime.update_available("2.0.0".into());
    }

    /// A server asks the person something; what it hears comes later.
    pub(crate) fn elicit(&self, thread: ThreadId, item: ItemId, asked: Value) -> Rc<RefCell<Vec<Response>>> {
        let (runtime, answers) = (Rc::clone(&self.runtime), Rc::new(RefCell::new(Vec::new())));
        let heard = Rc::clone(&answers);
        let task = async move {
            let answer = runtime.elicit(thread, item, 1, asked).await;
            heard.borrow_mut().push(answer);
        };
        self.pool.spawner().spawn_local(task).unwrap();
        answers
    }

    /// Runs everything that needs no time.
    pub(crate) fn run(&mut self) {
        self.pool.run_until_stalled();
    }

    /// Lets `ms` pass while nothing runs.
    pub(crate) fn skip(&self, ms: u64) {
        self.outside.clock.now.set(self.now() + ms);
    }

    /// Lets `ms` pass.
    pub(crate) fn pass(&mut self, ms: u64) {
        let until = self.now() + ms;
        self.run();
        while self.outside.clock.advance(until) {
            self.run();
        }
        self.run();
    }

    /// Lets enough time pass for everything short.
    pub(crate) fn settle(&mut self) {
        self.pass(200);
    }

    /// What a view has received, and forgets it.
    pub(crate) fn take(&self, view: u64) -> Vec<Value> {
        self.inbox.borrow_mut().remove(&view).unwrap_or_default()
    }

    /// What a view has received of one type, but for the turns that look for a title.
    pub(crate) fn seen(&self, view: u64, kind: &str) -> Vec<Value> {
        let titles = self.all_seen(view, "turn.start");
        let of_title = |event: &Value| {
            titles.iter().any(|it| it["turnKind"] == "title" && it["turnId"] == event["turnId"])
        };
        self.all_seen(view, kind).into_iter().filter(|event| !of_title(event)).collect()
    }

    /// What a view has received of one type.
    pub(crate) fn all_seen(&self, view: u64, kind: &str) -> Vec<Value> {
        let inbox = self.inbox.borrow();
        inbox.get(&view).into_iter().flatten().filter(|message| message["type"] == kind).cloned().collect()
    }

    /// The one answer to a submission.
    pub(crate) fn answer(&self, view: u64, submission: &str) -> Value {
        let inbox = self.inbox.borrow();
        let answers: Vec<&Value> = inbox
            .get(&view)
            .into_iter()
            .flatten()
            .filter(|it| it["submissionId"] == submission)
            .filter(|it| {
                it["type"] == "command.ack" || it["type"] == "command.rejected" || it["type"] == "error"
            })
            .collect();
        assert_eq!(answers.len(), 1, "answers to {submission}: {answers:?}");
        answers[0].clone()
    }

    /// The newest acknowledgement of a submission that view 1 was sent.
    pub(crate) fn acknowledged(&self, submission: &str) -> Value {
        let acks = self.seen(1, "command.ack");
        acks.into_iter().rfind(|it| it["submissionId"] == submission).expect("an acknowledgement")
    }

    /// Creates a thread with a first message beside tab 7; returns its id.
    pub(crate) fn ask(&mut self, text: &str) -> String {
        let op = json!({"type": "thread.create", "input": {"text": text, "browserContext": {"capturedAt": 1,
            "defaultTab": {"tabId": 7, "url": "https://shop.test/order", "title": "Order"}}}});
        let submission = self.send(1, op);
        self.run();
        let ack = self.answer(1, &submission);
        assert_eq!(ack["type"], "command.ack", "{ack}");
        ack["threadId"].as_str().unwrap().to_owned()
    }

    /// Subscribes a view and returns the snapshot.
    pub(crate) fn snapshot(&mut self, view: u64, thread: &str) -> Value {
        let submission = self.send(view, json!({"type": "thread.subscribe", "threadId": thread}));
        self.run();
        let found = self
            .seen(view, "thread.snapshot")
            .into_iter()
            .find(|it| it["submissionId"] == submission.as_str());
        found.expect("a snapshot")["snapshot"].clone()
    }

    pub(crate) fn writes(&self) -> Vec<String> {
        self.outside.page_writes.borrow().clone()
    }
}

/// The kinds of a snapshot's entries.
pub(crate) fn kinds(snapshot: &Value) -> Vec<String> {
    snapshot["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["body"]["kind"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn click() -> Reply {
    Reply::calls(&[("click", json!({"ref": "k7q2-1"}))])
}
