//! The one interface to what is stored.

use panelot_base::{ConnectionId, Secret, ThreadId};
use panelot_records::{Commit, Key, Record, RecordError, Scan, SealedSecret, Table, ThreadHead, Vault};

use crate::error::{CommitError, HeadError, StoreError};
use crate::head::{self, PathPage};
use crate::seal::{Cipher, Sealer};

/// A record as it was read: a row that cannot be read is an error of that row only.
pub type ReadRecord = Result<Record, RecordError>;

/// A place for records. One engine owns it; it is used from one thread and dispatched statically.
#[expect(
    async_fn_in_trait,
    reason = "every driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Store {
    /// What encrypts this store's credentials.
    type Cipher: Cipher;

    /// The sealer of this store.
    fn sealer(&self) -> &Sealer<Self::Cipher>;

    /// Applies a commit: every precondition holds and every write is made, in order, or nothing happens.
    /// An empty commit succeeds without a transaction.
    ///
    /// # Errors
    /// See [`CommitError`].
    async fn apply(&self, commit: Commit) -> Result<(), CommitError>;

    /// One record; `None` when there is none.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    async fn get(&self, key: &Key) -> Result<Option<ReadRecord>, StoreError>;

    /// The records of a scan, in key order: numbers before texts, texts by UTF-16 code units, a shorter key before
    /// its extensions.
    ///
    /// # Errors
    /// [`StoreError`] when the store itself cannot be read.
    async fn scan(&self, scan: &Scan) -> Result<Vec<ReadRecord>, StoreError>;

    /// Read-write transactions that were started since this store was opened.
    fn transactions(&self) -> u64;

    /// Everything a thread's machine is built from; `None` for a thread that does not exist or is deleted.
    ///
    /// # Errors
    /// See [`HeadError`]: all but a failure of the store concern this thread only.
    async fn head(&self, thread: &ThreadId) -> Result<Option<ThreadHead>, HeadError> {
        head::read_head(self, thread).await
    }

    /// Up to `limit` nodes of the branch that ends in `leaf`, the leaf included, followed from child to parent.
    /// The page before it begins at [`PathPage::older`].
    ///
    /// # Errors
    /// See [`HeadError`].
    async fn path(&self, thread: &ThreadId, leaf: u64, limit: usize) -> Result<PathPage, HeadError> {
        head::read_path(self, thread, leaf, limit, u64::MAX).await
    }

    /// The credential of a connection, unsealed; `None` when none is stored.
    ///
    /// # Errors
    /// [`StoreError::Seal`] when it was sealed with another key or was changed, [`StoreError::Record`] when its row
    /// cannot be read, else a failure of the store.
    async fn secret(&self, connection: &ConnectionId) -> Result<Option<Secret>, StoreError> {
        match self.get(&Key::secret(connection)).await? {
            Some(Ok(Record::Secret(sealed))) => {
                let vault = self.vault().await?;
                Ok(Some(self.sealer().open(vault.as_ref(), &sealed).await?))
            }
            Some(Err(error)) => Err(error.into()),
            // A row of the table of secrets is read as a secret or as an error, never as another record.
            Some(Ok(_)) | None => Ok(None),
        }
    }

    /// How the credentials are protected; `None` while no passphrase is set.
    ///
    /// # Errors
    /// [`StoreError::Record`] when its row cannot be read, else a failure of the store.
    async fn vault(&self) -> Result<Option<Vault>, StoreError> {
        match self.get(&Key::vault()).await? {
            Some(Ok(Record::Vault(vault))) => Ok(Some(vault)),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(_)) | None => Ok(None),
        }
    }

    /// All credentials that can be read, sealed as they are.
    ///
    /// # Errors
    /// A failure of the store.
    async fn sealed_secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        let read = self.scan(&Scan::table(Table::Secrets)).await?;
        let secret = |read| match read {
            Ok(Record::Secret(sealed)) => Some(sealed),
            _ => None,
        };
        Ok(read.into_iter().filter_map(secret).collect())
    }
}
