//! Deliberate bugs, so that the simulator can show that it finds such ones. Each is asked for at the place where it
//! would be made. Without the feature `bugs` the question is a constant no, and nothing of this is compiled in.

/// A bug that the engine, or the simulator's driver, can be told to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// The receipt is stored in a commit of its own, after the change.
    ReceiptOutside,
    /// The driver runs effects before their commit.
    EffectBeforeCommit,
    /// A run that is resumed is taken for a new one.
    NewIsResumed,
    /// A write whose end was not seen is made again after a crash.
    ReplayedWrite,
    /// A call is dispatched and not recorded so.
    DispatchUnrecorded,
    /// A message that was added to a turn is acknowledged and not stored.
    LostSteer,
    /// A message that was added to a turn is written at once, between a call and its result.
    SteerBetween,
    /// The leaf moves to where another version of a message will stand, before there is a run for it.
    LeafBeforeRun,
    /// The queue is ordered by the clock.
    QueueByClock,
    /// A run ends and leaves its question open.
    LeakedWait,
    /// A second, different answer to a question counts too.
    TwoAnswers,
    /// A late result becomes a second result of its call.
    OrphanResult,
    /// A late result brings a deleted thread back.
    UndoneDelete,
    /// The driver takes up no thread after the first that cannot be read.
    RecoveryStops,
    /// A number of a thread's stream is left out.
    SequenceGap,
    /// A command that comes again is refused as a duplicate.
    DuplicateRejected,
    /// The final answer is stored in one commit, the end of its run in the next.
    TwoCommitEnd,
    /// A thread that traps sets every thread aside.
    TrapTakesAll,
}

#[cfg(feature = "bugs")]
mod switch {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        static ACTIVE: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Whether this thread's engine has a bug.
    #[must_use]
    pub fn is_on(bug: Bug) -> bool {
        ACTIVE.get() == Some(bug)
    }

    /// Gives this thread's engine a bug, or takes it away.
    pub fn set(bug: Option<Bug>) {
        ACTIVE.set(bug);
    }
}

#[cfg(feature = "bugs")]
pub use switch::{is_on, set};

/// Whether the engine has a bug: never, in this build.
#[cfg(not(feature = "bugs"))]
#[must_use]
pub const fn is_on(_: Bug) -> bool {
    false
}

#[cfg(feature = "bugs")]
mod spoil;
#[cfg(feature = "bugs")]
pub(crate) use spoil::spoil;
