//! What must never happen, numbered as in the design, section 8.

/// What a violation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Invariant {
    /// An effect ran before, or without, the commit that decided it.
    Law,
    /// 1: an acknowledged command is never lost and never applied twice.
    Acknowledged,
    /// 2: the same submission gets the same terminal answer for ever; a changed payload is refused.
    SameAnswer,
    /// 3: no write is dispatched twice for one attempt, and a further attempt is the person's order.
    WriteOnce,
    /// 4: every path rebuilds into a legal provider history.
    LegalHistory,
    /// 5: an ended run has no open wait and no open call, and one with its final answer has ended.
    EndCloses,
    /// 6: queue order is admission order.
    QueueOrder,
    /// 7: tree parents exist and the leaf reaches a root.
    Tree,
    /// 8: views end with the engine's state, without a gap in the sequence.
    Views,
    /// 9: nothing waits for ever.
    Liveness,
    /// 10: a stop leads to quiet.
    Quiet,
    /// 11: after quiet nothing of a deleted thread remains but its receipt.
    Deleted,
    /// 12: a poisoned record or a trap costs its own thread only.
    Isolation,
    /// A run moves only along its table of states.
    States,
    /// The first answer to a question counts.
    FirstAnswer,
    /// The same seed lives the same life.
    Replay,
    /// The engine or a client panicked.
    Panic,
}

impl Invariant {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Law => "law: effects wait for their commit",
            Self::Acknowledged => "1: acknowledged is durable, and applied once",
            Self::SameAnswer => "2: the same answer for ever",
            Self::WriteOnce => "3: a write happens at most once",
            Self::LegalHistory => "4: a legal history",
            Self::EndCloses => "5: an end closes waits and calls",
            Self::QueueOrder => "6: queue order is admission order",
            Self::Tree => "7: the tree is whole",
            Self::Views => "8: views agree, no gap",
            Self::Liveness => "9: nothing waits for ever",
            Self::Quiet => "10: a stop leads to quiet",
            Self::Deleted => "11: deleted is gone",
            Self::Isolation => "12: a fault costs its own thread only",
            Self::States => "runs move along their table",
            Self::FirstAnswer => "the first answer counts",
            Self::Replay => "a seed replays",
            Self::Panic => "no panic",
        }
    }
}

/// Something that must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn new(invariant: Invariant, what: impl Into<String>) -> Self {
        Self { invariant, what: what.into() }
    }
}
