//! Why a store could not do what it was asked. Nothing is ever repaired or wiped silently: the cause goes to the person.

use panelot_records::{Key, RecordError};

/// Why a store cannot be opened or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database belongs to a newer version of the program. It is left as it is.
    #[error("the database is of a newer version than {supported}, which is the newest this program reads")]
    Newer {
        /// The newest schema version that this program reads.
        supported: u32,
    },
    /// Another page or worker holds the database open in an older version and does not let go.
    #[error("another window of the extension holds an older version of the database open; close it")]
    Blocked,
    /// The database is damaged or not of the expected shape. It is left as it is.
    #[error("the database cannot be used: {0}")]
    Broken(String),
    /// It cannot be reached now (closed for an upgrade, storage switched off); opening it again may help.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// A sealed credential cannot be opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The record that was needed cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why a commit was not applied. Except for [`CommitError::Unavailable`] nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A precondition does not hold: somebody else changed the record.
    #[error("the record {key:?} is not what the commit expected")]
    Conflict {
        /// The first record that differs.
        key: Key,
    },
    /// The disk or the browser's quota is full.
    #[error("there is no room left for the database")]
    Quota,
    /// A record cannot be written as a row.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A credential could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The database failed or went away. The commit may have been applied all the same: restore from the store.
    #[error("the database failed: {0}")]
    Unavailable(String),
}

/// Why a thread's head or path cannot be read. It concerns this thread only, unless the store itself failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// The store failed: no thread can be read now.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record that the head needs cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record that another one refers to does not exist.
    #[error("the record {key:?} is referred to and missing")]
    Missing {
        /// Where it should lie.
        key: Key,
    },
}

impl HeadError {
    /// Whether the store as a whole failed, and not just this thread's records.
    #[must_use]
    pub const fn is_store_failure(&self) -> bool {
        matches!(
            self,
            Self::Store(
                StoreError::Newer { .. }
                    | StoreError::Blocked
                    | StoreError::Broken(_)
                    | StoreError::Unavailable(_)
            )
        )
    }
}

/// Why a credential cannot be sealed or opened. Never carries anything of the credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The credentials are protected by a passphrase that was not given in this browser session.
    #[error("the keys are locked by a passphrase")]
    Locked,
    /// The passphrase is not the one that protects the credentials.
    #[error("this is not the passphrase")]
    WrongPassphrase,
    /// It was changed, or belongs to something else or to another key; a cipher cannot tell these apart.
    #[error(
        "the credential cannot be opened: it was changed, or belongs to another connection or another key"
    )]
    Changed,
    /// The cipher or its key is not available.
    #[error("the credential cannot be sealed or opened: {0}")]
    Failed(String),
}
