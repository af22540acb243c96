//! What every store does with a commit before its transaction opens: seal, then turn records into rows.
//!
//! Nothing may be awaited and nothing may fail inside the transaction, so everything that can is done here.

use panelot_base::ThreadId;
use panelot_records::{Commit, Durability, Key, Precondition, Record, Row, Table, Write};

use crate::error::{CommitError, SealError, StoreError};
use crate::seal::NextVault;
use crate::store::Store;

/// A change of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Insert or replace a row.
    Put(Key, Row),
    /// Remove a row, if it is there.
    Delete(Key),
    /// Remove every row of a thread.
    DeleteOfThread(Table, ThreadId),
    /// Remove every row of a table.
    Clear(Table),
    /// Remove the sealing key that the browser keeps.
    ForgetDeviceKey,
    /// Keep the one that [`crate::Cipher::hand_device_key`] was given.
    KeepDeviceKey,
}

impl Change {
    /// The table that it touches; none for the sealing key, which is no record.
    #[must_use]
    pub const fn table(&self) -> Option<Table> {
        match self {
            Self::Put(key, _) | Self::Delete(key) => Some(key.table),
            Self::DeleteOfThread(table, _) | Self::Clear(table) => Some(*table),
            Self::ForgetDeviceKey | Self::KeepDeviceKey => None,
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
pub async fn prepare<S: Store>(commit: Commit, store: &S) -> Result<Prepared, CommitError> {
    let mut changes = Vec::with_capacity(commit.writes.len());
    for write in commit.writes {
        let change = match write {
            Write::Put(record) => Change::Put(record.key(), record.to_row()),
            Write::PutEnvironment { digest, environment } => {
                Change::Put(Key::environment(&digest), Record::Environment(environment).to_row())
            }
            Write::Delete(key) => Change::Delete(key),
            Write::Clear(table) => Change::Clear(table),
            Write::DeleteOfThread { table, thread } => Change::DeleteOfThread(table, thread),
            Write::Seal { connection, secret } => {
                let vault = store.vault().await.map_err(unread)?;
                put(store.sealer().seal(vault.as_ref(), &connection, &secret).await?)
            }
            Write::Protect { salt, iterations, key, current } => {
                protect(store, NextVault { salt, iterations, key, current }, &mut changes).await?;
                Change::ForgetDeviceKey
            }
            Write::Unprotect { current } => {
                let vault = store.vault().await.map_err(unread)?;
                let vault = vault.ok_or(SealError::WrongPassphrase)?;
                store.sealer().unprotect(&vault, &current).await?;
                changes.push(Change::Delete(Key::vault()));
                Change::KeepDeviceKey
            }
        };
        changes.push(change);
    }
    Ok(Prepared { preconditions: commit.preconditions, changes, durability: commit.durability })
}

fn put(record: impl Into<Record>) -> Change {
    let record = record.into();
    Change::Put(record.key(), record.to_row())
}

/// The new vault, and every credential that has to be sealed anew.
#[inline(never)]
async fn protect<S: Store>(store: &S, next: NextVault, changes: &mut Vec<Change>) -> Result<(), CommitError> {
    let vault = store.vault().await.map_err(unread)?;
    let present = store.sealed_secrets().await.map_err(unread)?;
    let (made, sealed) = store.sealer().protect(vault.as_ref(), next, present).await?;
    changes.push(put(made));
    changes.extend(sealed.into_iter().map(put));
    Ok(())
}

/// What has to be read before a commit cannot be read. Nothing was written.
fn unread(error: StoreError) -> CommitError {
    match error {
        StoreError::Record(error) => error.into(),
        StoreError::Seal(error) => error.into(),
        other => CommitError::Unavailable(other.to_string()),
    }
}
