//! Which parts of a view model changed.

use std::collections::BTreeSet;

use super::EntryKey;

/// What a renderer must look at again. Several can be merged, so that it draws once per frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part changes on its own")]
pub struct Changes {
    /// `connection`.
    pub connection: bool,
    /// `directory`.
    pub directory: bool,
    /// `settings`.
    pub settings: bool,
    /// Another thread (or a draft) is shown: everything of `thread` is new.
    pub thread_switched: bool,
    /// Something of `thread` beside its entries: head, turn, approvals, runs, queue, recovery, loading.
    pub thread: bool,
    /// Entries came, went or moved: the list of keys is another one.
    pub entry_list: bool,
    /// Entries whose content changed.
    pub entries: BTreeSet<EntryKey>,
    /// `last_error`.
    pub last_error: bool,
    /// `verifications`.
    pub verifications: bool,
    /// `pending`.
    pub pending: bool,
}

impl Changes {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what changed later.
    pub fn merge(&mut self, later: Self) {
        self.connection |= later.connection;
        self.directory |= later.directory;
        self.settings |= later.settings;
        self.thread_switched |= later.thread_switched;
        self.thread |= later.thread;
        self.entry_list |= later.entry_list;
        self.entries.extend(later.entries);
        self.last_error |= later.last_error;
        self.verifications |= later.verifications;
        self.pending |= later.pending;
    }
}
