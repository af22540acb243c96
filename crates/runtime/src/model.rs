//! One model call: its request from the stored path, its answer as a stream of merged deltas.

use std::rc::Rc;

use futures_util::future::{Either, select};
use futures_util::pin_mut;
use panelot_base::{EnvironmentDigest, Secret, ThreadId};
use panelot_engine::{Access, Credential, Cut, Input, ModelCall, ModelInput, Purpose, context};
use panelot_model_client::{Call, CallError, Delta, Models, Place, Secrets};
use panelot_provider::{ErrorKind, ProviderError, Reason, Request, Response, Wire};
use panelot_records::{Environment, Key, Node, ProviderWire, Record};
use panelot_store::{HeadError, PathPage, SealError, Store, StoreError};

use crate::driver::Runtime;
use crate::ports::Ports;

/// Nodes of a path that are read at once. A summary leaves about as many to read.
const PATH_PAGE_NODES: usize = 200;
/// Why a call brought no answer.
enum NoAnswer {
    /// The call was made.
    Failed(CallError),
    /// The credential is locked.
    Locked,
    /// The request would not fit.
    Full(Option<Cut>),
}

impl NoAnswer {
    fn ours(why: impl ToString) -> Self {
        Self::Failed(CallError::Ours(why.to_string()))
    }
}

impl From<CallError> for NoAnswer {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for NoAnswer {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Seal(SealError::Locked) => Self::Locked,
            error => Self::Failed(CallError::from(unopened(&error))),
        }
    }
}

/// Where a call goes, as the client takes it.
pub(crate) fn place(access: &Access) -> Place {
    Place {
        wire: wire(access.wire),
        base_url: access.base_url.as_str().to_owned(),
        quirks: access.quirks,
        headers: access.headers.iter().map(|(name, _)| name.clone()).collect(),
    }
}

/// The codec of a connection's protocol.
pub(crate) const fn wire(recorded: ProviderWire) -> Wire {
    match recorded {
        ProviderWire::Openai => Wire::Openai,
        ProviderWire::Anthropic => Wire::Anthropic,
        ProviderWire::Responses => Wire::Responses,
        ProviderWire::BuiltIn => Wire::BuiltIn,
    }
}

/// A credential that cannot be opened, as an error of its provider's.
pub(crate) fn unopened(error: &StoreError) -> ProviderError {
    let mut told = ProviderError::new(ErrorKind::Auth, Some(Reason::InvalidKey));
    told.upstream_message = Some(match error {
        StoreError::Seal(SealError::Locked) => {
            "the keys are locked by a passphrase; unlock them in the options".to_owned()
        }
        error => format!("the stored key cannot be opened ({error}); enter it again"),
    });
    told
}

impl<P: Ports> Runtime<P> {
    async fn secret(&self, credential: &Credential) -> Result<Secret, StoreError> {
        match credential {
            Credential::Given(secret) => Ok(secret.clone()),
            Credential::Stored(id) => Ok(self.ports.store().secret(id).await?.unwrap_or_default()),
        }
    }

    /// What a provider is shown, opened.
    pub(crate) async fn secrets_of(&self, access: &Access) -> Result<Secrets, StoreError> {
        let mut secrets = Secrets::default();
        for key in &access.keys {
            secrets.keys.push(self.secret(key).await?);
        }
        for (_, value) in &access.headers {
            secrets.headers.push(self.secret(value).await?);
        }
        Ok(secrets)
    }

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
                Either::Left((Err(NoAnswer::Failed(CallError::Provider(error))), _)) => {
                    ModelInput::Failed(error)
                }
                Either::Left((Err(NoAnswer::Failed(CallError::Ours(why))), _)) => ModelInput::Broken(why),
                Either::Left((Err(NoAnswer::Full(cut)), _)) => ModelInput::Full(cut),
                Either::Left((Err(NoAnswer::Locked), _)) => ModelInput::Locked,
                Either::Right(_) => return,
            };
            runtime.cancels.borrow_mut().finished(&thread, id.as_str(), ticket);
            runtime.push(Input::Model { thread, call: id, event });
        });
    }

    async fn answer(self: &Rc<Self>, call: &ModelCall) -> Result<Response, NoAnswer> {
        let request = match &call.purpose {
            Purpose::Given(request) => Request::clone(request),
            Purpose::Answer(_) | Purpose::Summary(_) => self.assembled(call).await?,
        };
        let secrets = self.secrets_of(&call.access).await?;
        let asked = Call {
            thread: call.thread.clone(),
            place: place(&call.access),
            sees: call.facts.vision,
            request,
        };
        Ok(self.ports.models().answer(asked, secrets, self.deltas(call)).await?)
    }

    /// Where the deltas of a call go: to the engine, unless only the whole answer counts.
    fn deltas(self: &Rc<Self>, call: &ModelCall) -> Box<dyn FnMut(Delta)> {
        if matches!(call.purpose, Purpose::Given(_)) {
            return Box::new(drop);
        }
        let runtime = Rc::clone(self);
        let (thread, call) = (call.thread.clone(), call.call.clone());
        Box::new(move |Delta { text, reasoning }| {
            let event = ModelInput::Delta { text, reasoning };
            runtime.push(Input::Model { thread: thread.clone(), call: call.clone(), event });
        })
    }

    /// The request of a conversation, from the stored path.
    async fn assembled(&self, call: &ModelCall) -> Result<Request, NoAnswer> {
        let environment = self.environment(&call.environment).await?;
        let path = self.branch(&call.thread, call.leaf, Reach::Summary).await.map_err(NoAnswer::ours)?;
        self.within(Some(&call.thread), || request(call, &environment, &path))
    }

    async fn environment(&self, digest: &EnvironmentDigest) -> Result<Rc<Environment>, NoAnswer> {
        if let Some(known) = self.environments.borrow().get(digest) {
            return Ok(Rc::clone(known));
        }
        match self.ports.store().get(&Key::environment(digest)).await {
            Ok(Some(Ok(Record::Environment(environment)))) => {
                let environment = Rc::new(environment);
                self.keep_environment(digest.clone(), Rc::clone(&environment));
                Ok(environment)
            }
            Ok(Some(Err(error))) => Err(NoAnswer::ours(error)),
            Ok(_) => Err(NoAnswer::ours("what this run was bound to is missing from the store")),
            Err(error) => Err(NoAnswer::ours(error)),
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
            // Of a branch the sequences may have gaps, so there are at most so many nodes left to read.
            let left = summarized.map_or(PATH_PAGE_NODES as u64, |up_to| leaf.saturating_sub(up_to));
            let limit = PATH_PAGE_NODES.min(left as usize);
            let mut page = match self.ports.store().path(thread, leaf, limit).await {
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
fn request(call: &ModelCall, environment: &Environment, path: &[Node]) -> Result<Request, NoAnswer> {
    match &call.purpose {
        Purpose::Given(request) => Ok(Request::clone(request)),
        Purpose::Summary(cut) => Ok(context::summary_request(environment, path, &call.fence_seed, cut)),
        Purpose::Answer(room) => {
            let request = context::assemble(environment, path, &call.fence_seed, &call.reminders);
            match context::overflow(&request, path, *room, call.facts.context_tokens) {
                Some(cut) => Err(NoAnswer::Full(cut)),
                None => Ok(request),
            }
        }
    }
}
