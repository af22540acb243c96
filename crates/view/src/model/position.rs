//! Where an entry stands in the list.

/// Stored entries by their sequence, then what is only here so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Position {
    /// Stored: its sequence in the thread, then its place in that entry (a call after the message that asked for it).
    Stored(u64, usize),
    /// The person's own message, before the engine has it.
    Echo(u64),
    /// In flight, in order of arrival.
    Live(u64),
}
