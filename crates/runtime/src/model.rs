//! One model call: its request from the stored path, its answer as a stream of merged deltas.

use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::pin_mut;
use panelot_base::limits::{DELTA_MERGE_MS, MODEL_FIRST_BYTE_TIMEOUT_MS, MODEL_IDLE_TIMEOUT_MS};
use panelot_base::{ConnectionId, EnvironmentDigest, Secret, ThreadId, Timestamp};
use panelot_engine::{Cut, Input, ModelCall, ModelInput, Purpose, context};
use panelot_provider::{
    Decoder, Endpoint, EndpointError, ErrorKind, Progress, ProviderError, Reason, Request, Response,
    StreamEvent, Wire, http_error, network_error,
};
use panelot_records::{Environment, Key, Node, Record};
use panelot_store::{HeadError, PathPage, Store};

use crate::driver::Runtime;
use crate::ports::{Answer, Body, Network, NetworkError, Ports};

/// Nodes of a path that are read at once.
const PATH_PAGE_NODES: usize = 400;
/// Bytes of an error's body that are read.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a list of models that are read.
const LIST_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why a call brought no answer.
enum CallError {
    /// The provider, or the way to it.
    Provider(ProviderError),
    /// Our side.
    Ours(String),
    /// The request would not fit.
    Full(Option<Cut>),
}

impl From<ProviderError> for CallError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

/// Where the deltas of a stream go.
pub(crate) enum Delivery<'a> {
    /// To the engine.
    Engine(&'a ModelCall),
    /// Nowhere: only the answer counts.
    Discard,
}

#[derive(Default)]
struct Pending {
    text: String,
    reasoning: String,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty()
    }

    fn take_in(&mut self, events: &mut Vec<StreamEvent>) {
        for event in events.drain(..) {
            match event {
                StreamEvent::Text(text) => self.text.push_str(&text),
                StreamEvent::Reasoning(text) => self.reasoning.push_str(&text),
                StreamEvent::ToolCallStarted { .. } | StreamEvent::ToolCallArguments { .. } => {}
            }
        }
    }
}

/// What to tell of an address that cannot be used. It was checked when it was saved, so it comes from elsewhere.
pub(crate) fn endpoint_error(error: &EndpointError) -> ProviderError {
    let mut told = ProviderError::new(ErrorKind::Protocol, Some(Reason::EndpointNotFound));
    told.upstream_message = Some(error.to_string());
    told
}

/// The credential of a connection; empty when none is stored.
pub(crate) async fn secret_of<S: Store>(
    store: &S,
    connection: &ConnectionId,
) -> Result<Secret, ProviderError> {
    store.secret(connection).await.map(Option::unwrap_or_default).map_err(|error| {
        let mut told = ProviderError::new(ErrorKind::Auth, Some(Reason::InvalidKey));
        told.upstream_message = Some(format!("the stored key cannot be opened ({error}); enter it again"));
        told
    })
}

/// A body's beginning, whatever becomes of the rest.
pub(crate) async fn read_whole(body: impl Body) -> Vec<u8> {
    read_up_to(body, LIST_BODY_BYTES_MAX).await
}

async fn read_up_to(mut body: impl Body, max: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < max {
        match body.chunk().await {
            Ok(Some(mut chunk)) => bytes.append(&mut chunk),
            Ok(None) | Err(_) => break,
        }
    }
    bytes
}

impl<P: Ports> Runtime<P> {
    #[inline(never)]
    pub(crate) fn spawn_model(self: &Rc<Self>, call: ModelCall) {
        let runtime = Rc::clone(self);
        let (ticket, cancelled) = self.cancels.borrow_mut().register(&call.thread, call.call.as_str());
        let (thread, id) = (call.thread.clone(), call.call.clone());
        self.spawn_task(async move {
            let answer = runtime.answer(&call);
            pin_mut!(answer);
            // A stop drops the request and everything that hangs on it.
            let event = match select(answer, cancelled).await {
                Either::Left((Ok(response), _)) => ModelInput::Completed(response),
                Either::Left((Err(CallError::Provider(error)), _)) => ModelInput::Failed(error),
                Either::Left((Err(CallError::Ours(why)), _)) => ModelInput::Broken(why),
                Either::Left((Err(CallError::Full(cut)), _)) => ModelInput::Full(cut),
                Either::Right(_) => return,
            };
            runtime.cancels.borrow_mut().finished(&thread, id.as_str(), ticket);
            runtime.push(Input::Model { thread, call: id, event });
        });
    }

    async fn answer(&self, call: &ModelCall) -> Result<Response, CallError> {
        let (request, delivery) = match &call.purpose {
            Purpose::Given(request) => (Request::clone(request), Delivery::Discard),
            Purpose::Answer(_) | Purpose::Summary(_) => (self.assembled(call).await?, Delivery::Engine(call)),
        };
        request
            .check()
            .map_err(|error| CallError::Ours(format!("the conversation cannot be sent: {error}")))?;
        let key = secret_of(self.ports.store(), &call.connection).await?;
        let endpoint = Endpoint::new(call.base_url.as_str(), key).map_err(|error| endpoint_error(&error))?;
        Ok(stream_answer(self, Wire::Openai, &request, &endpoint, delivery).await?)
    }

    /// The request of a conversation, from the stored path.
    async fn assembled(&self, call: &ModelCall) -> Result<Request, CallError> {
        let environment = self.environment(&call.environment).await?;
        let path = self.branch(&call.thread, call.leaf, Reach::Summary).await;
        let path = path.map_err(|error| CallError::Ours(error.to_string()))?;
        self.within(Some(&call.thread), || request(call, &environment, &path))
    }

    async fn environment(&self, digest: &EnvironmentDigest) -> Result<Rc<Environment>, CallError> {
        if let Some(known) = self.environments.borrow().get(digest) {
            return Ok(Rc::clone(known));
        }
        match self.ports.store().get(&Key::environment(digest)).await {
            Ok(Some(Ok(Record::Environment(environment)))) => {
                let environment = Rc::new(environment);
                self.keep_environment(digest.clone(), Rc::clone(&environment));
                Ok(environment)
            }
            Ok(Some(Err(error))) => Err(CallError::Ours(error.to_string())),
            Ok(_) => Err(CallError::Ours("what this run was bound to is missing from the store".to_owned())),
            Err(error) => Err(CallError::Ours(error.to_string())),
        }
    }

    pub(crate) fn keep_environment(&self, digest: EnvironmentDigest, environment: Rc<Environment>) {
        let mut known = self.environments.borrow_mut();
        // Two are in use at a time, in practice; the bound only keeps a long life from growing.
        if known.len() >= 16 {
            known.clear();
        }
        known.insert(digest, environment);
    }

    /// The nodes of a branch, oldest first.
    pub(crate) async fn branch(
        &self,
        thread: &ThreadId,
        leaf: u64,
        reach: Reach,
    ) -> Result<Vec<Node>, HeadError> {
        // What the newest summary stands for is not read.
        let mut summarized = None;
        let mut pages: Vec<Vec<Node>> = Vec::new();
        let mut from = Some(leaf);
        while let Some(leaf) = from {
            let mut page = match self.ports.store().path(thread, leaf, PATH_PAGE_NODES).await {
                // The page before it ended right at the broken link.
                Err(HeadError::Missing { .. }) if !pages.is_empty() => {
                    let first = pages.last_mut().map(std::mem::take).unwrap_or_default();
                    PathPage { nodes: first, older: None, is_cut: true }
                }
                page => page?,
            };
            self.tell_cut(thread, &page);
            if reach == Reach::Summary && summarized.is_none() {
                summarized = context::summarized_up_to(&page.nodes);
            }
            from = page.older.filter(|older| summarized.is_none_or(|up_to| *older > up_to));
            pages.push(std::mem::take(&mut page.nodes));
        }
        Ok(pages.into_iter().rev().flatten().collect())
    }

    /// Waits for an answer's head, but not for ever.
    pub(crate) async fn within_time<B>(
        &self,
        ms: u64,
        answer: impl Future<Output = Result<Answer<B>, NetworkError>>,
        endpoint: &Endpoint,
    ) -> Result<Answer<B>, ProviderError> {
        let sleep = self.ports.sleep(ms);
        pin_mut!(answer, sleep);
        match select(answer, sleep).await {
            Either::Left((Ok(answer), _)) => Ok(answer),
            Either::Left((Err(error), _)) => Err(network_error(&error.0, endpoint.key())),
            Either::Right(_) => {
                Err(network_error(&format!("no answer within {} seconds", ms / 1000), endpoint.key()))
            }
        }
    }
}

/// Sends a request and reads its answer to the end.
pub(crate) async fn stream_answer<P: Ports>(
    runtime: &Runtime<P>,
    wire: Wire,
    request: &Request,
    endpoint: &Endpoint,
    delivery: Delivery<'_>,
) -> Result<Response, ProviderError> {
    let sent = runtime.ports.network().send(wire.encode(request, endpoint));
    let wait = match delivery {
        Delivery::Engine(_) => MODEL_FIRST_BYTE_TIMEOUT_MS,
        Delivery::Discard => panelot_provider::verify::TIMEOUT_MS,
    };
    let answer = runtime.within_time(wait, sent, endpoint).await?;
    if !(200..300).contains(&answer.head.status) {
        let body = read_up_to(answer.body, ERROR_BODY_BYTES_MAX).await;
        return Err(http_error(&answer.head, &body, endpoint.key()));
    }
    let decoder = wire.decoder(&answer.head, endpoint);
    let mut stream = Stream { runtime, delivery, decoder, pending: Pending::default(), flushed: None, wait };
    let broken = stream.read(answer.body).await;
    stream.flush().await;
    match (broken, stream.decoder.finish()) {
        // When the model's last word had arrived, a connection that breaks afterwards does not matter.
        (_, Ok(response)) => Ok(response),
        (Some(Broken::Silence), Err(_)) => {
            let seconds = MODEL_IDLE_TIMEOUT_MS / 1000;
            let mut error = network_error(&format!("nothing came for {seconds} seconds"), endpoint.key());
            error.reason = Some(Reason::Truncated);
            Err(error)
        }
        (Some(Broken::Network(error)), Err(decoded)) if decoded.kind == ErrorKind::Network => {
            let mut told = network_error(&error.0, endpoint.key());
            told.reason = Some(Reason::Truncated);
            Err(told)
        }
        (_, Err(error)) => Err(error),
    }
}

/// How far back a branch is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To its root.
    Root,
    /// To the end of what its newest summary stands for.
    Summary,
}

/// The request of a call, or that it would not fit.
fn request(call: &ModelCall, environment: &Environment, path: &[Node]) -> Result<Request, CallError> {
    match &call.purpose {
        Purpose::Given(request) => Ok(Request::clone(request)),
        Purpose::Summary(cut) => Ok(context::summary_request(environment, path, &call.fence_seed, cut)),
        Purpose::Answer(room) => {
            let request = context::assemble(environment, path, &call.fence_seed, &call.reminders);
            match context::overflow(&request, path, *room) {
                Some(cut) => Err(CallError::Full(cut)),
                None => Ok(request),
            }
        }
    }
}

enum Broken {
    Silence,
    Network(NetworkError),
}

struct Stream<'a, P: Ports> {
    runtime: &'a Runtime<P>,
    delivery: Delivery<'a>,
    decoder: Decoder,
    pending: Pending,
    flushed: Option<Timestamp>,
    /// How long the next bytes may take; generous until the first ones are there.
    wait: u64,
}

impl<P: Ports> Stream<'_, P> {
    /// Reads until the end, an error, or a silence that is too long.
    async fn read(&mut self, mut body: impl Body) -> Option<Broken> {
        let mut events = Vec::new();
        loop {
            let chunk = match self.next_chunk(&mut body).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return None,
                Err(broken) => return Some(broken),
            };
            self.wait = MODEL_IDLE_TIMEOUT_MS;
            let thread = match &self.delivery {
                Delivery::Engine(call) => Some(&call.thread),
                Delivery::Discard => None,
            };
            let decoder = &mut self.decoder;
            let progress = self.runtime.within(thread, || decoder.push(&chunk, &mut events));
            self.pending.take_in(&mut events);
            if self.flushed.is_none_or(|at| self.runtime.ports.now().ms_since(at) >= DELTA_MERGE_MS) {
                self.flush().await;
            }
            if !matches!(progress, Ok(Progress::More)) {
                return None;
            }
        }
    }

    /// The next bytes; what is pending is flushed when its time comes meanwhile.
    async fn next_chunk(&mut self, body: &mut impl Body) -> Result<Option<Vec<u8>>, Broken> {
        let started = self.runtime.ports.now();
        loop {
            let now = self.runtime.ports.now();
            let silence = self.wait.saturating_sub(now.ms_since(started));
            let wait = if self.pending.is_empty() {
                silence
            } else {
                DELTA_MERGE_MS.saturating_sub(self.flushed.map_or(DELTA_MERGE_MS, |at| now.ms_since(at)))
            };
            let due = {
                let chunk = body.chunk();
                let sleep = self.runtime.ports.sleep(wait);
                pin_mut!(chunk, sleep);
                match select(chunk, sleep).await {
                    Either::Left((chunk, _)) => return chunk.map_err(Broken::Network),
                    Either::Right(_) => !self.pending.is_empty(),
                }
            };
            if due {
                self.flush().await;
            } else {
                return Err(Broken::Silence);
            }
        }
    }

    /// Hands what is pending to the engine, and lets the event loop run, so that a server that sends everything at once
    /// still streams.
    async fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let Pending { text, reasoning } = std::mem::take(&mut self.pending);
        self.flushed = Some(self.runtime.ports.now());
        if let Delivery::Engine(call) = &self.delivery {
            self.runtime.push(Input::Model {
                thread: call.thread.clone(),
                call: call.call.clone(),
                event: ModelInput::Delta { text, reasoning },
            });
            self.runtime.ports.yield_now().await;
        }
    }
}
