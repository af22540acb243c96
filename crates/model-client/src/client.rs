//! The one client: a call and a probe over any world.

use futures_util::future::{Either, select};
use futures_util::pin_mut;
use panelot_base::Secret;
use panelot_base::limits::MODEL_FIRST_BYTE_TIMEOUT_MS;
use panelot_provider::{
    Endpoint, EndpointError, ErrorKind, ProviderError, Reason, Request, Response, Wire, explained,
    http_error, network_error, stalled, verify,
};

use crate::call::{Call, CallError, Delta, Models, Probe};
use crate::stream::Stream;
use crate::world::{Answer, Body, Network, NetworkError, World};

/// Bytes of an error's body that are read.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a list of models that are read.
const LIST_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long the rest of an answer that is no stream may take: it is small and was ready with its head.
const BODY_TIMEOUT_MS: u64 = 10_000;

/// Calls models over a [`World`].
pub struct Client<W> {
    world: W,
}

impl<W: World> Client<W> {
    /// A client over `world`.
    pub const fn new(world: W) -> Self {
        Self { world }
    }

    /// A body's beginning, whatever becomes of the rest.
    async fn read_up_to(&self, mut body: impl Body, max: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let deadline = self.world.sleep(BODY_TIMEOUT_MS);
        pin_mut!(deadline);
        while bytes.len() < max {
            let chunk = body.chunk();
            pin_mut!(chunk);
            match select(chunk, deadline.as_mut()).await {
                Either::Left((Ok(Some(mut chunk)), _)) => bytes.append(&mut chunk),
                Either::Left((Ok(None) | Err(_), _)) | Either::Right(_) => break,
            }
        }
        bytes
    }

    /// Waits for an answer's head, but not for ever.
    async fn within_time<B>(
        &self,
        ms: u64,
        answer: impl Future<Output = Result<Answer<B>, NetworkError>>,
        endpoint: &Endpoint,
    ) -> Result<Answer<B>, ProviderError> {
        let sleep = self.world.sleep(ms);
        pin_mut!(answer, sleep);
        match select(answer, sleep).await {
            Either::Left((Ok(answer), _)) => Ok(answer),
            Either::Left((Err(error), _)) => Err(network_error(&error.0, endpoint.key())),
            Either::Right(_) => Err(stalled(ms)),
        }
    }

    /// Sends a request and reads its answer to the end. `wait` is how long its head and its first bytes may take.
    async fn stream(
        &self,
        asked: Asked<'_>,
        wait: u64,
        deltas: Box<dyn FnMut(Delta)>,
    ) -> Result<Response, ProviderError> {
        let Asked { wire, request, endpoint, .. } = asked;
        let sent = self.world.network().send(wire.encode(request, endpoint));
        let answer = self.within_time(wait, sent, endpoint).await?;
        if !(200..300).contains(&answer.head.status) {
            let body = self.read_up_to(answer.body, ERROR_BODY_BYTES_MAX).await;
            return Err(http_error(&answer.head, &body, endpoint.key()));
        }
        let decoder = wire.decoder(&answer.head, endpoint).for_request(request);
        Stream::new(&self.world, asked.thread, decoder, deltas, wait)
            .answer(answer.body, endpoint.key())
            .await
    }

    /// The names that a provider lists.
    async fn list(&self, wire: Wire, endpoint: &Endpoint) -> Result<Vec<String>, ProviderError> {
        let sent = self.world.network().send(wire.list_models(endpoint));
        let answer = self.within_time(verify::TIMEOUT_MS, sent, endpoint).await?;
        let body = self.read_up_to(answer.body, LIST_BODY_BYTES_MAX).await;
        wire.read_models(&answer.head, &body, endpoint)
    }
}

/// What a stream answers.
#[derive(Clone, Copy)]
struct Asked<'a> {
    thread: Option<&'a panelot_base::ThreadId>,
    wire: Wire,
    request: &'a Request,
    endpoint: &'a Endpoint,
}

impl<W: World> Models for Client<W> {
    async fn answer(
        &self,
        call: Call,
        key: Secret,
        deltas: Box<dyn FnMut(Delta)>,
    ) -> Result<Response, CallError> {
        let Call { thread, wire, base_url, request } = call;
        request
            .check()
            .map_err(|error| CallError::Ours(format!("the conversation cannot be sent: {error}")))?;
        let endpoint = endpoint(&base_url, key)?;
        let asked = Asked { thread: Some(&thread), wire, request: &request, endpoint: &endpoint };
        let answer = self.stream(asked, MODEL_FIRST_BYTE_TIMEOUT_MS, deltas).await;
        Ok(answer.map_err(|error| explained(error, &endpoint))?)
    }

    async fn verify(&self, probe: Probe, key: Secret) -> Result<Vec<String>, CallError> {
        let Probe { wire, base_url, model } = probe;
        let endpoint = endpoint(&base_url, key)?;
        let listed = self.list(wire, &endpoint).await;
        let model = match (&listed, model.is_empty()) {
            (Ok(models), true) => models.first().cloned().unwrap_or_default(),
            _ => model,
        };
        if model.is_empty() {
            return Ok(listed.map_err(|error| explained(error, &endpoint))?);
        }
        let request = verify::request(&model);
        let asked = Asked { thread: None, wire, request: &request, endpoint: &endpoint };
        let answer = self.stream(asked, verify::TIMEOUT_MS, Box::new(drop)).await;
        verify::read(answer).map_err(|error| explained(error, &endpoint))?;
        Ok(listed.unwrap_or_default())
    }
}

/// Checks an address. It was checked when it was saved, so one that cannot be used comes from elsewhere.
fn endpoint(base_url: &str, key: Secret) -> Result<Endpoint, ProviderError> {
    Endpoint::new(base_url, key).map_err(|error: EndpointError| {
        let mut told = ProviderError::new(ErrorKind::Protocol, Some(Reason::EndpointNotFound));
        told.upstream_message = Some(error.to_string());
        told
    })
}
