//! One atomic change of the store.

use panelot_base::{ConnectionId, EnvironmentDigest, RunId, Secret};

use crate::{Key, Record};

/// How sure a commit must be on disk before it counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Flushed to disk: acknowledgements and dispatch records (IndexedDB `durability: "strict"`).
    #[default]
    Strict,
    /// Handed to the operating system: checkpoints, which a crash of the machine may take.
    Relaxed,
}

/// What must be true of a record for a commit to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No such record exists.
    Absent,
    /// It exists with this revision.
    Revision(u64),
}

/// A check that is made inside the commit's transaction, before anything is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    /// The record.
    pub key: Key,
    /// What must be true of it.
    pub expected: Expected,
}

/// One change inside a commit.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every write puts a record, which is moved once; boxing would cost every one"
)]
pub enum Write {
    /// Insert or replace a record.
    Put(Record),
    /// Insert or replace an environment, whose digest is known. Its key is made of that: the prompt is not hashed again.
    PutEnvironment {
        /// Its digest.
        digest: EnvironmentDigest,
        /// The environment.
        environment: crate::Environment,
    },
    /// Remove a record; nothing happens when there is none.
    Delete(Key),
    /// Remove every record of a thread from a table.
    DeleteOfThread {
        /// The table.
        table: crate::Table,
        /// The thread.
        thread: panelot_base::ThreadId,
    },
    /// Remove every record of a table.
    Clear(crate::Table),
    /// Seal a credential and store it. The driver seals before it opens the transaction; no record ever holds it in the clear.
    Seal {
        /// Whose credential it is.
        connection: ConnectionId,
        /// The credential.
        secret: Secret,
    },
    /// Protect the sealing key by a passphrase, or by another one. Where there was none before, the sealing key is a new
    /// one and every credential is sealed anew with it.
    Protect {
        /// Salt of the new passphrase's key.
        salt: String,
        /// How often PBKDF2 was iterated for it.
        iterations: u32,
        /// The key that the new passphrase gives: base64 of 32 bytes.
        key: Secret,
        /// The key that the present passphrase gives, where there is one.
        current: Option<Secret>,
    },
    /// Have the browser keep the sealing key again, without a passphrase.
    Unprotect {
        /// The key that the present passphrase gives.
        current: Secret,
    },
}

/// One atomic read-write transaction: every precondition holds and every write is made, or nothing happens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commit {
    /// Checks.
    pub preconditions: Vec<Precondition>,
    /// Changes, applied in order.
    pub writes: Vec<Write>,
    /// How sure it must be.
    pub durability: Durability,
}

impl Commit {
    /// Adds a write of a record.
    pub fn put(&mut self, record: impl Into<Record>) {
        self.writes.push(Write::Put(record.into()));
    }

    /// Adds a precondition.
    pub fn expect(&mut self, key: Key, expected: Expected) {
        self.preconditions.push(Precondition { key, expected });
    }

    /// The revision that it gives to a run; none when it does not change it.
    #[must_use]
    pub fn revision_of_run(&self, run: &RunId) -> Option<u64> {
        self.writes.iter().find_map(|write| match write {
            Write::Put(Record::Run(it)) if it.id == *run => Some(it.revision),
            _ => None,
        })
    }

    /// Whether it would do nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.preconditions.is_empty()
    }
}
