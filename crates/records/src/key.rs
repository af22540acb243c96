//! Where a record is found: a table and an ordered key, so that a thread's records lie together.

use panelot_base::{
    ApprovalId, ClientId, ConnectionId, EnvironmentDigest, RuleId, RunId, SubmissionId, ThreadId,
};
use serde::{Deserialize, Serialize};

/// A kind of record, and the object store that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Table {
    /// Questions to the person, by thread.
    Approvals,
    /// Model connections.
    Connections,
    /// Run environments, by digest.
    Environments,
    /// Permissions for this browser session.
    Grants,
    /// Messages and results, by thread and sequence.
    Nodes,
    /// Answers to commands, by client and submission.
    Receipts,
    /// Saved permission rules.
    Rules,
    /// Runs, by thread.
    Runs,
    /// Sealed credentials.
    Secrets,
    /// Single records.
    Settings,
    /// Conversations.
    Threads,
}

impl Table {
    /// Every table, in the order of their names.
    pub const ALL: [Self; 11] = [
        Self::Approvals,
        Self::Connections,
        Self::Environments,
        Self::Grants,
        Self::Nodes,
        Self::Receipts,
        Self::Rules,
        Self::Runs,
        Self::Secrets,
        Self::Settings,
        Self::Threads,
    ];

    /// The name of the table on disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approvals => "approvals",
            Self::Connections => "connections",
            Self::Environments => "environments",
            Self::Grants => "grants",
            Self::Nodes => "nodes",
            Self::Receipts => "receipts",
            Self::Rules => "rules",
            Self::Runs => "runs",
            Self::Secrets => "secrets",
            Self::Settings => "settings",
            Self::Threads => "threads",
        }
    }
}

/// One component of a key. Numbers sort before texts, as in IndexedDB.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeyPart {
    /// A whole number up to 2^53 - 1 (IndexedDB keys are doubles).
    Number(u64),
    /// A text.
    Text(String),
}

impl From<&str> for KeyPart {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for KeyPart {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

/// The address of one record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The table.
    pub table: Table,
    /// The components, most significant first; never empty.
    pub parts: Vec<KeyPart>,
}

impl Key {
    fn new<const N: usize>(table: Table, parts: [KeyPart; N]) -> Self {
        Self { table, parts: parts.into() }
    }

    /// The key of a thread.
    #[must_use]
    pub fn thread(thread: &ThreadId) -> Self {
        Self::new(Table::Threads, [thread.as_str().into()])
    }

    /// The key of a node.
    #[must_use]
    pub fn node(thread: &ThreadId, seq: u64) -> Self {
        Self::new(Table::Nodes, [thread.as_str().into(), seq.into()])
    }

    /// The key of a run.
    #[must_use]
    pub fn run(thread: &ThreadId, run: &RunId) -> Self {
        Self::new(Table::Runs, [thread.as_str().into(), run.as_str().into()])
    }

    /// The key of an approval.
    #[must_use]
    pub fn approval(thread: &ThreadId, approval: &ApprovalId) -> Self {
        Self::new(Table::Approvals, [thread.as_str().into(), approval.as_str().into()])
    }

    /// The key of a receipt.
    #[must_use]
    pub fn receipt(client: &ClientId, submission: &SubmissionId) -> Self {
        Self::new(Table::Receipts, [client.as_str().into(), submission.as_str().into()])
    }

    /// The key of a run environment.
    #[must_use]
    pub fn environment(digest: &EnvironmentDigest) -> Self {
        Self::new(Table::Environments, [digest.as_str().into()])
    }

    /// The key of the one settings record.
    #[must_use]
    pub fn settings() -> Self {
        Self::new(Table::Settings, ["global".into()])
    }

    /// The key of the record that says how credentials are protected. It lies among the single records.
    #[must_use]
    pub fn vault() -> Self {
        Self::new(Table::Settings, ["vault".into()])
    }

    /// The key of an unsent message: of a thread, or of the thread that does not exist yet. It lies among the single
    /// records.
    #[must_use]
    pub fn draft(thread: Option<&ThreadId>) -> Self {
        let of = thread.map(|thread| KeyPart::from(thread.as_str()));
        Self { table: Table::Settings, parts: std::iter::once("draft".into()).chain(of).collect() }
    }

    /// The key of a connection.
    #[must_use]
    pub fn connection(connection: &ConnectionId) -> Self {
        Self::new(Table::Connections, [connection.as_str().into()])
    }

    /// The key of a connection's sealed credential.
    #[must_use]
    pub fn secret(connection: &ConnectionId) -> Self {
        Self::new(Table::Secrets, [connection.as_str().into()])
    }

    /// The key of a saved rule.
    #[must_use]
    pub fn rule(rule: &RuleId) -> Self {
        Self::new(Table::Rules, [rule.as_str().into()])
    }

    /// The key of a session grant.
    #[must_use]
    pub fn grant(thread: &ThreadId, tool: &str, origin: &str) -> Self {
        Self::new(Table::Grants, [thread.as_str().into(), tool.into(), origin.into()])
    }
}

/// A read of several records that lie together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The table.
    pub table: Table,
    /// Only keys that begin with these components; empty for the whole table.
    pub prefix: Vec<KeyPart>,
    /// Only keys whose next component is below this one.
    pub before: Option<KeyPart>,
    /// From the greatest key down.
    pub descending: bool,
    /// At most this many.
    pub limit: usize,
}

impl Scan {
    /// The whole of a table, ascending.
    #[must_use]
    pub const fn table(table: Table) -> Self {
        Self { table, prefix: Vec::new(), before: None, descending: false, limit: usize::MAX }
    }

    /// All records of a table that belong to a thread, ascending.
    #[must_use]
    pub fn of_thread(table: Table, thread: &ThreadId) -> Self {
        Self { prefix: vec![thread.as_str().into()], ..Self::table(table) }
    }

    /// A page of a thread's nodes from the newest back: those below `before`, or the very newest.
    #[must_use]
    pub fn newest_nodes(thread: &ThreadId, before: Option<u64>, limit: usize) -> Self {
        Self {
            before: before.map(KeyPart::Number),
            descending: true,
            limit,
            ..Self::of_thread(Table::Nodes, thread)
        }
    }
}
