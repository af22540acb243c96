//! Waiting with a deadline and a cancellation: no wait of the gateway goes without.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::{Either, LocalBoxFuture, select};

use crate::clock::Clock;

/// The person's stop. Once it happened it stays so.
pub(super) struct Cancel<'a> {
    signal: LocalBoxFuture<'a, ()>,
    happened: bool,
}

impl<'a> Cancel<'a> {
    pub(super) fn new(signal: impl Future<Output = ()> + 'a) -> Self {
        Self { signal: signal.boxed_local(), happened: false }
    }

    pub(super) fn is_cancelled(&mut self) -> bool {
        self.now_or_never().is_some()
    }
}

impl Future for Cancel<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.happened && self.signal.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.happened = true;
        Poll::Ready(())
    }
}

/// Why a wait ended without what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    /// It took too long.
    Late,
    /// The person stopped it.
    Cancelled,
}

/// Waits for `work`, `ms` milliseconds at most, or until the cancellation. What is ready at once wins.
pub(super) async fn race<T>(
    clock: &impl Clock,
    work: impl Future<Output = T>,
    ms: u64,
    cancel: &mut Cancel<'_>,
) -> Result<T, Interruption> {
    let timer = pin!(clock.sleep(ms));
    let stop = pin!(select(cancel, timer));
    match select(pin!(work), stop).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right((Either::Left(_), _)) => Err(Interruption::Cancelled),
        Either::Right((Either::Right(_), _)) => Err(Interruption::Late),
    }
}
