//! What every store does with a commit before its transaction opens: seal, then turn records into rows.
//!
//! Nothing may be awaited and nothing may fail inside the transaction, so everything that can is done here.

use panelot_base::ThreadId;
use panelot_records::{Commit, Durability, Key, Precondition, Record, Row, Table, Write};

use crate::error::CommitError;
use crate::seal::Sealer;

/// A change of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Insert or replace a row.
    Put(Key, Row),
    /// Remove a row, if it is there.
    Delete(Key),
    /// Remove every row of a thread.
    DeleteOfThread(Table, ThreadId),
}

impl Change {
    /// The table that it touches.
    #[must_use]
    pub const fn table(&self) -> Table {
        match self {
            Self::Put(key, _) | Self::Delete(key) => key.table,
            Self::DeleteOfThread(table, _) => *table,
        }
    }
}

/// A commit that is ready for its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Checks, made before the first change.
    pub preconditions: Vec<Precondition>,
    /// Changes, in order.
    pub changes: Vec<Change>,
    /// How sure the commit must be.
    pub durability: Durability,
}

/// Seals the credentials of a commit and turns its records into rows.
///
/// # Errors
/// [`CommitError::Seal`] or [`CommitError::Record`].
pub async fn prepare<S: Sealer>(commit: Commit, sealer: &S) -> Result<Prepared, CommitError> {
    let mut changes = Vec::with_capacity(commit.writes.len());
    for write in commit.writes {
        changes.push(match write {
            Write::Put(record) => Change::Put(record.key(), record.to_row()),
            Write::PutEnvironment { digest, environment } => {
                Change::Put(Key::environment(&digest), Record::Environment(environment).to_row())
            }
            Write::Delete(key) => Change::Delete(key),
            Write::DeleteOfThread { table, thread } => Change::DeleteOfThread(table, thread),
            Write::Seal { connection, secret } => {
                let record = Record::from(sealer.seal(&connection, &secret).await?);
                Change::Put(record.key(), record.to_row())
            }
        });
    }
    Ok(Prepared { preconditions: commit.preconditions, changes, durability: commit.durability })
}
