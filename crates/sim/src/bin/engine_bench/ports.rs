//! The world around the measured runtime: nothing in it takes time of its own.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use futures_executor::LocalSpawner;
use futures_util::task::LocalSpawnExt as _;
use panelot_base::{ThreadId, Timestamp};
use panelot_engine::{ConnectionHandle, TargetLookup};
use panelot_model_client::{Answer, Body, Client, Network, NetworkError, World};
use panelot_provider::{HttpRequest, ResponseHead};
use panelot_runtime::{Browser, Ports, StepTask};
use panelot_store::MemoryStore;
use panelot_tools::{Command, Report, TargetError, TargetFacts};
use serde_json::Value;

/// Time that passes between two pieces of an answer: more than the time in which pieces are merged.
const PIECE_MS: u64 = 17;
const PIECE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"seven words of an answer go here \"}}]}\n\n";
const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// What was seen, and what the clock says.
pub(crate) struct Seen {
    now: Cell<u64>,
    /// Pieces of the next answer.
    pub(crate) pieces: Cell<u32>,
    /// When the newest request was sent.
    pub(crate) requested: Cell<Option<Instant>>,
    /// What the view was told, and when.
    pub(crate) told: RefCell<Vec<(Instant, Value)>>,
}

impl Seen {
    pub(crate) fn new(now: u64) -> Self {
        Self {
            now: Cell::new(now),
            pieces: Cell::new(1),
            requested: Cell::new(None),
            told: RefCell::default(),
        }
    }
}

pub(crate) struct BenchPorts {
    pub(crate) store: MemoryStore,
    pub(crate) outside: Outside,
    pub(crate) models: Client<Outside>,
    pub(crate) spawner: LocalSpawner,
}

/// The provider and the browser.
#[derive(Clone)]
pub(crate) struct Outside(pub(crate) Rc<Seen>);

pub(crate) struct Pieces {
    left: u32,
    ended: bool,
    seen: Rc<Seen>,
}

impl Body for Pieces {
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetworkError> {
        self.seen.now.set(self.seen.now.get() + PIECE_MS);
        if self.left > 0 {
            self.left -= 1;
            return Ok(Some(PIECE.into()));
        }
        Ok((!std::mem::replace(&mut self.ended, true)).then(|| END.into()))
    }
}

impl Network for Outside {
    type Body = Pieces;

    async fn send(&self, _: HttpRequest) -> Result<Answer<Pieces>, NetworkError> {
        self.0.requested.set(Some(Instant::now()));
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let body = Pieces { left: self.0.pieces.get(), ended: false, seen: Rc::clone(&self.0) };
        Ok(Answer { head: ResponseHead { status: 200, headers }, body })
    }
}

impl World for Outside {
    type Network = Self;

    fn network(&self) -> &Self {
        self
    }
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now.get())
    }
    async fn sleep(&self, _: u64) {
        // Time passes with what is received; what waits for it alone is not measured.
        std::future::pending().await
    }
    async fn yield_now(&self) {}
    fn entering(&self, _: Option<&ThreadId>) {}
}

impl Browser for Outside {
    async fn resolve(&self, _: &TargetLookup) -> Result<TargetFacts, TargetError> {
        Err(TargetError::NoDefaultTab)
    }

    async fn run(&self, _: Command, _: impl Future<Output = ()>) -> Report {
        Report::Tabs(Vec::new())
    }
}

impl Ports for BenchPorts {
    type Store = MemoryStore;
    type Models = Client<Outside>;
    type Browser = Outside;

    fn store(&self) -> &MemoryStore {
        &self.store
    }
    fn models(&self) -> &Client<Outside> {
        &self.models
    }
    fn browser(&self) -> &Outside {
        &self.outside
    }
    fn now(&self) -> Timestamp {
        Timestamp(self.outside.0.now.get())
    }
    async fn sleep(&self, _: u64) {
        std::future::pending().await
    }
    async fn yield_now(&self) {}
    fn spawn(&self, task: StepTask) {
        let _ = self.spawner.spawn_local(task);
    }
    fn post(&self, _: ConnectionHandle, message: &Value) {
        self.outside.0.told.borrow_mut().push((Instant::now(), message.clone()));
    }
    fn close(&self, _: ConnectionHandle) {}
    fn set_alarm(&self, _: Option<Timestamp>) {}
    fn keep_session_key(&self, _: Option<panelot_base::Secret>) {}
    fn keep_alive(&self) {}
    fn reload(&self) {}
    fn entering(&self, _: Option<&ThreadId>) {}
    fn log(&self, _: &str) {}
}
