//! What the driver needs of the world.

use std::future::Future;
use std::pin::Pin;

use panelot_base::{Secret, ThreadId, Timestamp};
use panelot_engine::{ConnectionHandle, TargetLookup};
use panelot_model_client::Models;
use panelot_store::Store;
use panelot_tools::{Command, Report, TargetError, TargetFacts};
use serde_json::Value;

/// A task that runs beside the driver's loop.
pub type StepTask = Pin<Box<dyn Future<Output = ()>>>;

/// The way to tabs and pages.
#[expect(
    async_fn_in_trait,
    reason = "the driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Browser {
    /// Looks up what a call is aimed at.
    ///
    /// # Errors
    /// [`TargetError`] when it is aimed at nothing that can be worked on.
    async fn resolve(&self, lookup: &TargetLookup) -> Result<TargetFacts, TargetError>;

    /// Does one thing. `cancelled` resolves when nobody wants it any more; a write that may have begun is still
    /// followed to its end, so that its outcome can go on record.
    async fn run(&self, command: Command, cancelled: impl Future<Output = ()>) -> Report;
}

/// Everything outside.
#[expect(
    async_fn_in_trait,
    reason = "the driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Ports: 'static {
    /// The store.
    type Store: Store;
    /// The way to models.
    type Models: Models;
    /// The browser.
    type Browser: Browser;

    /// The store.
    fn store(&self) -> &Self::Store;
    /// The way to models.
    fn models(&self) -> &Self::Models;
    /// The browser.
    fn browser(&self) -> &Self::Browser;
    /// The time.
    fn now(&self) -> Timestamp;
    /// Waits.
    async fn sleep(&self, ms: u64);
    /// Lets everything else that is due run first.
    async fn yield_now(&self);
    /// Runs a task beside everything else.
    fn spawn(&self, task: StepTask);
    /// Sends a message to a view; one that is gone is passed over.
    fn post(&self, to: ConnectionHandle, message: &Value);
    /// Closes a Port.
    fn close(&self, to: ConnectionHandle);
    /// Has the worker woken at a time even if it sleeps by then; `None` takes it back.
    fn set_alarm(&self, at: Option<Timestamp>);
    /// Keeps until the browser closes, in memory only, what unlocks the credentials; `None` forgets it.
    fn keep_session_key(&self, key: Option<Secret>);
    /// Makes one trivial extension call, which counts as life.
    fn keep_alive(&self);
    /// Starts the extension anew, which installs a waiting update. It ends this worker.
    fn reload(&self);
    /// Notes which thread the pure code is about to work on, so that a trap can be laid at its door.
    fn entering(&self, thread: Option<&ThreadId>);
    /// Reports a fault that no view can be told of.
    fn log(&self, message: &str);
    /// Parks here when a test asked for it.
    #[cfg(feature = "failpoints")]
    async fn failpoint(&self, name: &'static str, thread: &ThreadId);
}
