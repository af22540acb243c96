//! What a client needs of the world.

use panelot_base::{ThreadId, Timestamp};
use panelot_provider::{HttpRequest, ResponseHead};

/// Why no answer came. The text is the browser's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetworkError(pub String);

/// The head of an answer, and its body to be read.
pub struct Answer<B> {
    /// Status and headers.
    pub head: ResponseHead,
    /// The body.
    pub body: B,
}

/// A body that is read piece by piece. Dropping it ends the request.
#[expect(
    async_fn_in_trait,
    reason = "the driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Body {
    /// The next piece; `None` at the end. A future that is dropped loses nothing.
    ///
    /// # Errors
    /// [`NetworkError`] when the connection broke.
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetworkError>;
}

/// The way to providers.
#[expect(
    async_fn_in_trait,
    reason = "the driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Network {
    /// What an answer's body is.
    type Body: Body;

    /// Sends a request and waits for the head of the answer. Dropping the future ends the request.
    ///
    /// # Errors
    /// [`NetworkError`] when no answer came.
    async fn send(&self, request: HttpRequest) -> Result<Answer<Self::Body>, NetworkError>;
}

/// Network, time, and a place to note what is being worked on.
#[expect(
    async_fn_in_trait,
    reason = "the driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait World {
    /// The network.
    type Network: Network;

    /// The network.
    fn network(&self) -> &Self::Network;
    /// The time.
    fn now(&self) -> Timestamp;
    /// Waits.
    async fn sleep(&self, ms: u64);
    /// Lets everything else that is due run first.
    async fn yield_now(&self);
    /// Notes whose bytes are about to be read, so that a trap can be laid at that thread's door.
    fn entering(&self, thread: Option<&ThreadId>);
}
