//! Reads one streamed answer: merges its deltas, notices silence, lets the event loop run.

use futures_util::future::{Either, select};
use futures_util::pin_mut;
use panelot_base::limits::{DELTA_MERGE_MS, MODEL_IDLE_TIMEOUT_MS};
use panelot_base::{Secret, ThreadId, Timestamp};
use panelot_provider::{
    Decoder, ErrorKind, Progress, ProviderError, Reason, Response, StreamEvent, network_error, stalled,
};

use crate::call::Delta;
use crate::world::{Body, NetworkError, World};

enum Broken {
    Silence,
    Network(NetworkError),
}

pub(crate) struct Stream<'a, W> {
    world: &'a W,
    /// Whose answer it is; none for a try.
    thread: Option<&'a ThreadId>,
    decoder: Decoder,
    deltas: Box<dyn FnMut(Delta)>,
    pending: Delta,
    flushed: Option<Timestamp>,
    /// How long the next bytes may take; generous until the first ones are there.
    wait: u64,
}

impl<'a, W: World> Stream<'a, W> {
    pub(crate) fn new(
        world: &'a W,
        thread: Option<&'a ThreadId>,
        decoder: Decoder,
        deltas: Box<dyn FnMut(Delta)>,
        wait: u64,
    ) -> Self {
        Self { world, thread, decoder, deltas, pending: Delta::default(), flushed: None, wait }
    }

    /// The whole answer.
    pub(crate) async fn answer(mut self, body: impl Body, key: &Secret) -> Result<Response, ProviderError> {
        let broken = self.read(body).await;
        self.flush().await;
        match (broken, self.decoder.finish()) {
            // When the model's last word had arrived, a connection that breaks afterwards does not matter.
            (_, Ok(response)) => Ok(response),
            (Some(Broken::Silence), Err(_)) => Err(stalled(self.wait)),
            (Some(Broken::Network(error)), Err(decoded)) if decoded.kind == ErrorKind::Network => {
                Err(truncated(&error.0, key))
            }
            (_, Err(error)) => Err(error),
        }
    }

    /// Reads until the end, an error, or a silence that is too long.
    async fn read(&mut self, mut body: impl Body) -> Option<Broken> {
        let mut events = Vec::new();
        loop {
            let chunk = match self.next_chunk(&mut body).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return None,
                Err(broken) => return Some(broken),
            };
            self.wait = self.wait.min(MODEL_IDLE_TIMEOUT_MS);
            self.world.entering(self.thread);
            let progress = self.decoder.push(&chunk, &mut events);
            self.world.entering(None);
            self.take_in(&mut events);
            if self.flushed.is_none_or(|at| self.world.now().ms_since(at) >= DELTA_MERGE_MS) {
                self.flush().await;
            }
            if !matches!(progress, Ok(Progress::More)) {
                return None;
            }
        }
    }

    fn take_in(&mut self, events: &mut Vec<StreamEvent>) {
        for event in events.drain(..) {
            match event {
                StreamEvent::Text(text) => self.pending.text.push_str(&text),
                StreamEvent::Reasoning(text) => self.pending.reasoning.push_str(&text),
                StreamEvent::ToolCallStarted { .. } | StreamEvent::ToolCallArguments { .. } => {}
            }
        }
    }

    /// The next bytes; what is pending is flushed when its time comes meanwhile.
    async fn next_chunk(&mut self, body: &mut impl Body) -> Result<Option<Vec<u8>>, Broken> {
        let started = self.world.now();
        loop {
            let now = self.world.now();
            let silence = self.wait.saturating_sub(now.ms_since(started));
            let wait = if self.pending.is_empty() {
                silence
            } else {
                DELTA_MERGE_MS.saturating_sub(self.flushed.map_or(DELTA_MERGE_MS, |at| now.ms_since(at)))
            };
            let due = {
                let chunk = body.chunk();
                let sleep = self.world.sleep(wait);
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

    /// Tells what is pending, and lets the event loop run, so that a server that sends everything at once still streams.
    async fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.flushed = Some(self.world.now());
        (self.deltas)(std::mem::take(&mut self.pending));
        self.world.yield_now().await;
    }
}

/// An answer that broke off.
fn truncated(why: &str, key: &Secret) -> ProviderError {
    let mut error = network_error(why, key);
    error.reason = Some(Reason::Truncated);
    error
}
