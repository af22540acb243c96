//! Time as the gateway sees it: real in the worker, virtual in tests.

use std::future::Future;

use panelot_base::Timestamp;

/// A clock and its timers.
pub trait Clock {
    /// The present time.
    fn now(&self) -> Timestamp;

    /// Completes after `ms` milliseconds; dropping the future cancels it.
    fn sleep(&self, ms: u64) -> impl Future<Output = ()>;
}
