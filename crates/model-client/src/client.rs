//! The one client: a call and a probe over any world.

use futures_util::future::{Either, select};
use futures_util::pin_mut;
use panelot_base::Secret;
use panelot_base::limits::MODEL_FIRST_BYTE_TIMEOUT_MS;
use panelot_provider::retry::{Keys, Output, Step as RetryStep};
use panelot_provider::verify::{self, Step, StepOutcome, StepReport, Tried};
use panelot_provider::{
    Endpoint, EndpointError, ErrorKind, ListedModel, ProviderError, Reason, Request, Response, Wire,
    explained, http_error, network_error, stalled,
};

use crate::call::{Call, CallError, Delta, Models, Place, Probe, Secrets};
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

    /// What a provider lists.
    async fn list(&self, wire: Wire, endpoint: &Endpoint) -> Result<Vec<ListedModel>, ProviderError> {
        let sent = self.world.network().send(wire.list_models(endpoint));
        let answer = self.within_time(LIST_TIMEOUT_MS, sent, endpoint).await?;
        let body = self.read_up_to(answer.body, LIST_BODY_BYTES_MAX).await;
        wire.read_listing(&answer.head, &body, endpoint)
    }

    /// A request of a try, whose answer counts only as a whole.
    async fn ask(
        &self,
        wire: Wire,
        request: &Request,
        endpoint: &Endpoint,
    ) -> Result<Response, ProviderError> {
        let asked = Asked { thread: None, wire, request, endpoint };
        let answer = self.stream(asked, verify::TIMEOUT_MS, Box::new(drop)).await;
        answer.map_err(|error| explained(error, endpoint))
    }

    /// Whether the model calls a tool and takes its result; `None` when that cannot be said.
    async fn try_tools(&self, wire: Wire, model: &str, endpoint: &Endpoint, told: &mut Told) -> Option<bool> {
        let first = self.ask(wire, &verify::tool_request(model), endpoint).await;
        let next = match first {
            Ok(response) => verify::tool_result_request(model, response),
            Err(error) => return told.failed(Step::Tools, error),
        };
        let Some(next) = next else {
            told.say(Step::Tools, StepOutcome::Failed, None);
            return Some(false);
        };
        match self.ask(wire, &next, endpoint).await {
            Ok(_) => {
                told.say(Step::Tools, StepOutcome::Passed, None);
                Some(true)
            }
            Err(error) => told.failed(Step::Tools, error),
        }
    }

    /// Whether the model sees a picture; `None` when that cannot be said.
    async fn try_image(&self, wire: Wire, model: &str, endpoint: &Endpoint, told: &mut Told) -> Option<bool> {
        match self.ask(wire, &verify::image_request(model), endpoint).await {
            Ok(response) => {
                let sees = verify::has_seen(&response);
                told.say(Step::Image, if sees { StepOutcome::Passed } else { StepOutcome::Failed }, None);
                Some(sees)
            }
            Err(error) => told.failed(Step::Image, error),
        }
    }

    /// Asks the model for a word, with one key after the other until one is taken.
    async fn try_word(
        &self,
        wire: Wire,
        model: &str,
        endpoints: &[Endpoint],
        keys: &mut Keys,
    ) -> Result<(), ProviderError> {
        let request = verify::request(model);
        loop {
            let Some(endpoint) = endpoints.get(keys.current()) else { return Err(no_endpoint()) };
            match verify::read(self.ask(wire, &request, endpoint).await) {
                Err(error) if matches!(keys.after(&error, Output::None, 0), RetryStep::Key(_)) => {}
                ended => return ended,
            }
        }
    }

    /// The list, with one key after the other until one is taken.
    async fn try_list(
        &self,
        wire: Wire,
        endpoints: &[Endpoint],
        keys: &mut Keys,
    ) -> Result<Vec<ListedModel>, ProviderError> {
        loop {
            let Some(endpoint) = endpoints.get(keys.current()) else { return Err(no_endpoint()) };
            match self.list(wire, endpoint).await.map_err(|error| explained(error, endpoint)) {
                Err(error) if matches!(keys.after(&error, Output::None, 0), RetryStep::Key(_)) => {}
                ended => return ended,
            }
        }
    }
}

/// How long the answer to the question for the models may take.
const LIST_TIMEOUT_MS: u64 = 15_000;

/// Whom the parts of a try are told to.
struct Told(Box<dyn FnMut(StepReport)>);

impl Told {
    fn say(&mut self, step: Step, outcome: StepOutcome, error: Option<ProviderError>) {
        (self.0)(StepReport { step, outcome, error });
    }

    /// A part that the provider failed at. A refusal of the request says that the model cannot do it; any other failure
    /// says nothing of it.
    fn failed(&mut self, step: Step, error: ProviderError) -> Option<bool> {
        let refused = error.kind == ErrorKind::Protocol && error.reason == Some(Reason::InvalidRequest);
        self.say(step, StepOutcome::Failed, Some(error));
        refused.then_some(false)
    }
}

fn no_endpoint() -> ProviderError {
    ProviderError::new(ErrorKind::Protocol, Some(Reason::EndpointNotFound))
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
        secrets: Secrets,
        deltas: Box<dyn FnMut(Delta)>,
    ) -> Result<Response, CallError> {
        let Call { thread, place, sees, mut request } = call;
        if !sees {
            request.say_pictures();
        }
        request
            .check()
            .map_err(|error| CallError::Ours(format!("the conversation cannot be sent: {error}")))?;
        let mut endpoints = endpoints(&place, secrets)?;
        let endpoint = endpoints.swap_remove(0);
        let asked = Asked { thread: Some(&thread), wire: place.wire, request: &request, endpoint: &endpoint };
        let answer = self.stream(asked, MODEL_FIRST_BYTE_TIMEOUT_MS, deltas).await;
        Ok(answer.map_err(|error| explained(error, &endpoint))?)
    }

    async fn verify(
        &self,
        probe: Probe,
        secrets: Secrets,
        told: Box<dyn FnMut(StepReport)>,
    ) -> Result<Tried, CallError> {
        let Probe { place, model, only_lists } = probe;
        let mut tried = Tried { model, ..Tried::default() };
        let mut told = Told(told);
        let endpoints = match endpoints(&place, secrets) {
            Ok(endpoints) => endpoints,
            Err(error) => {
                told.say(Step::Reachable, StepOutcome::Failed, Some(error.clone()));
                tried.error = Some(error);
                return Ok(tried);
            }
        };
        let wire = place.wire;
        let mut keys = Keys::new(endpoints.len(), 0);
        let listed = self.try_list(wire, &endpoints, &mut keys).await;
        if only_lists {
            match listed {
                Ok(models) => tried.listed = Some(models),
                Err(error) => tried.error = Some(error),
            }
            return Ok(tried);
        }
        if let Ok(models) = &listed
            && tried.model.is_empty()
        {
            tried.model = verify::first_chat_model(models).unwrap_or_default().to_owned();
        }
        // What a list is refused for need not hold for a chat; but a key that nobody knows is known to nobody.
        let is_over = listed.as_ref().is_err_and(|error| error.reason == Some(Reason::InvalidKey));
        let word = if tried.model.is_empty() || is_over {
            None
        } else {
            // Keys that the list was refused with are tried again: some may chat and not list.
            keys = Keys::new(endpoints.len(), keys.current());
            Some(self.try_word(wire, &tried.model, &endpoints, &mut keys).await)
        };
        self.tell_first(&mut told, &mut tried, listed, word);
        let works = tried.error.is_none();
        if let (true, Some(endpoint)) = (works, endpoints.get(keys.current())) {
            let model = tried.model.clone();
            tried.facts.tools = self.try_tools(wire, &model, endpoint, &mut told).await;
            tried.facts.vision = self.try_image(wire, &model, endpoint, &mut told).await;
        }
        Ok(tried)
    }
}

impl<W: World> Client<W> {
    /// Tells of the first parts: whether anything answers is known only when the list or the word has ended.
    #[expect(clippy::unused_self, reason = "it belongs to the try")]
    fn tell_first(
        &self,
        told: &mut Told,
        tried: &mut Tried,
        listed: Result<Vec<ListedModel>, ProviderError>,
        word: Option<Result<(), ProviderError>>,
    ) {
        let answers = |error: &ProviderError| error.status.is_some();
        let word_came = word.as_ref().is_some_and(|word| word.as_ref().map_or_else(answers, |()| true));
        let unreachable = listed.as_ref().err().filter(|error| !answers(error) && !word_came).cloned();
        if let Some(error) = unreachable {
            told.say(Step::Reachable, StepOutcome::Failed, Some(error.clone()));
            tried.error = Some(error);
            return;
        }
        told.say(Step::Reachable, StepOutcome::Passed, None);
        let no_list = match listed {
            Ok(models) => {
                told.say(Step::Models, StepOutcome::Passed, None);
                tried.listed = Some(models);
                None
            }
            Err(error) if verify::has_no_list(&error) => {
                told.say(Step::Models, StepOutcome::Skipped, None);
                Some(error)
            }
            Err(error) => {
                told.say(Step::Models, StepOutcome::Failed, Some(error.clone()));
                Some(error)
            }
        };
        match word {
            Some(Ok(())) => told.say(Step::Stream, StepOutcome::Passed, None),
            Some(Err(error)) => {
                told.say(Step::Stream, StepOutcome::Failed, Some(error.clone()));
                tried.error = Some(error);
            }
            None => {
                told.say(Step::Stream, StepOutcome::Skipped, None);
                let unknown = || ProviderError::new(ErrorKind::Protocol, Some(Reason::ModelNotFound));
                tried.error = Some(no_list.unwrap_or_else(unknown));
            }
        }
    }
}

/// The endpoint of each key; one for a server that needs none.
fn endpoints(place: &Place, secrets: Secrets) -> Result<Vec<Endpoint>, ProviderError> {
    let Secrets { mut keys, headers } = secrets;
    if keys.is_empty() {
        keys.push(Secret::default());
    }
    let of_key = |key: Secret| {
        let named = place.headers.iter().cloned().zip(headers.iter().cloned()).collect();
        endpoint(&place.base_url, key)?
            .with_quirks(place.quirks)
            .with_headers(named)
            .map_err(|error| refused(&error))
    };
    keys.into_iter().map(of_key).collect()
}

/// Checks an address. It was checked when it was saved, so one that cannot be used comes from elsewhere.
fn endpoint(base_url: &str, key: Secret) -> Result<Endpoint, ProviderError> {
    Endpoint::new(base_url, key).map_err(|error| refused(&error))
}

fn refused(error: &EndpointError) -> ProviderError {
    let mut told = ProviderError::new(ErrorKind::Protocol, Some(Reason::EndpointNotFound));
    told.upstream_message = Some(error.to_string());
    told
}
