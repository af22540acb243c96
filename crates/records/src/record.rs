//! A record of any kind, and its row in a database.

use panelot_base::json::{FromJson, ToJson, Value};

use crate::settings::{Connection, Draft, Grant, Rule, SealedSecret, Settings, Vault};
use crate::{Approval, Environment, Key, Node, Receipt, Run, Table, Thread};

/// The version of the record bodies that this code writes. A row of an older version is brought up on reading.
pub const RECORD_VERSION: u32 = 1;

/// A row as a database holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Version of the body.
    pub version: u32,
    /// Revision of the record, 0 where a record has none; preconditions compare it.
    pub revision: u64,
    /// The body as JSON text.
    pub json: String,
}

/// A row that this code cannot read. It concerns this one record only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record {key:?} cannot be read: {why}")]
pub struct RecordError {
    /// Where it lies.
    pub key: Key,
    /// What is wrong with it.
    pub why: String,
}

/// A record of any kind.
#[expect(
    clippy::large_enum_variant,
    reason = "records are moved once, into the commit; boxing would cost every reader"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A question to the person.
    Approval(Approval),
    /// A model connection.
    Connection(Connection),
    /// An unsent message.
    Draft(Draft),
    /// A run environment.
    Environment(Environment),
    /// A session grant.
    Grant(Grant),
    /// A message or a result.
    Node(Node),
    /// An answer to a command.
    Receipt(Receipt),
    /// A permission rule.
    Rule(Rule),
    /// A run.
    Run(Run),
    /// A sealed credential.
    Secret(SealedSecret),
    /// The settings.
    Settings(Settings),
    /// A conversation.
    Thread(Thread),
    /// How the sealing key is protected.
    Vault(Vault),
}

macro_rules! from_record {
    ($($variant:ident($inner:ty)),* $(,)?) => { $(
        impl From<$inner> for Record {
            fn from(inner: $inner) -> Self {
                Self::$variant(inner)
            }
        }
    )* };
}
from_record!(
    Approval(Approval),
    Connection(Connection),
    Draft(Draft),
    Environment(Environment),
    Grant(Grant),
    Node(Node),
    Receipt(Receipt),
    Rule(Rule),
    Run(Run),
    Secret(SealedSecret),
    Settings(Settings),
    Thread(Thread),
    Vault(Vault),
);

impl Environment {
    /// The digest under which it is stored.
    #[must_use]
    pub fn digest(&self) -> panelot_base::EnvironmentDigest {
        let value = self.to_json();
        let mut source = panelot_base::IdSource::new([0; 16]);
        panelot_base::EnvironmentDigest::new(panelot_base::digest::json_digest(&value))
            .unwrap_or_else(|_| panelot_base::EnvironmentDigest::mint(&mut source))
    }
}

impl Record {
    /// Where it lies.
    #[must_use]
    pub fn key(&self) -> Key {
        match self {
            Self::Approval(it) => Key::approval(&it.thread, &it.id),
            Self::Connection(it) => Key::connection(&it.id),
            Self::Draft(it) => Key::draft(it.thread.as_ref()),
            Self::Environment(it) => Key::environment(&it.digest()),
            Self::Grant(it) => Key::grant(&it.thread, &it.tool, &it.origin),
            Self::Node(it) => Key::node(&it.thread, it.seq),
            Self::Receipt(it) => Key::receipt(&it.client, &it.submission),
            Self::Rule(it) => Key::rule(&it.id),
            Self::Run(it) => Key::run(&it.thread, &it.id),
            Self::Secret(it) => Key::secret(&it.connection),
            Self::Settings(_) => Key::settings(),
            Self::Thread(it) => Key::thread(&it.id),
            Self::Vault(_) => Key::vault(),
        }
    }

    /// Its revision, 0 where a record has none.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        match self {
            Self::Approval(it) => it.revision,
            Self::Connection(it) => it.revision,
            Self::Run(it) => it.revision,
            Self::Settings(it) => it.revision,
            Self::Thread(it) => it.revision,
            Self::Draft(_)
            | Self::Environment(_)
            | Self::Grant(_)
            | Self::Node(_)
            | Self::Receipt(_)
            | Self::Rule(_)
            | Self::Secret(_)
            | Self::Vault(_) => 0,
        }
    }

    /// Its row.
    #[must_use]
    pub fn to_row(&self) -> Row {
        let json = match self {
            Self::Approval(it) => it.to_json(),
            Self::Connection(it) => it.to_json(),
            Self::Draft(it) => it.to_json(),
            Self::Environment(it) => it.to_json(),
            Self::Grant(it) => it.to_json(),
            Self::Node(it) => it.to_json(),
            Self::Receipt(it) => it.to_json(),
            Self::Rule(it) => it.to_json(),
            Self::Run(it) => it.to_json(),
            Self::Secret(it) => it.to_json(),
            Self::Settings(it) => it.to_json(),
            Self::Thread(it) => it.to_json(),
            Self::Vault(it) => it.to_json(),
        };
        Row { version: RECORD_VERSION, revision: self.revision(), json: json.to_string() }
    }

    /// Reads a row of a table back.
    ///
    /// # Errors
    /// [`RecordError`] when the row is of a newer version, is broken, or holds a record that belongs elsewhere.
    pub fn from_row(key: &Key, row: &Row) -> Result<Self, RecordError> {
        let fail = |why: String| RecordError { key: key.clone(), why };
        if row.version != RECORD_VERSION {
            return Err(fail(format!("its version is {}, this program reads {RECORD_VERSION}", row.version)));
        }
        let json: Value = serde_json::from_str(&row.json).map_err(|error| fail(error.to_string()))?;
        let record = match key.table {
            Table::Approvals => parse::<Approval>(json),
            Table::Connections => parse::<Connection>(json),
            Table::Environments => parse::<Environment>(json),
            Table::Grants => parse::<Grant>(json),
            Table::Nodes => parse::<Node>(json),
            Table::Receipts => parse::<Receipt>(json),
            Table::Rules => parse::<Rule>(json),
            Table::Runs => parse::<Run>(json),
            Table::Secrets => parse::<SealedSecret>(json),
            Table::Settings if *key == Key::settings() => parse::<Settings>(json),
            Table::Settings if *key == Key::vault() => parse::<Vault>(json),
            Table::Settings => parse::<Draft>(json),
            Table::Threads => parse::<Thread>(json),
        }
        .map_err(fail)?;
        // An environment is found by its content: a digest that differs means that the content was changed.
        if record.key() != *key {
            return Err(fail("its content belongs under another key".to_owned()));
        }
        Ok(record)
    }
}

fn parse<T: FromJson + Into<Record>>(value: Value) -> Result<Record, String> {
    T::from_json(value).map(Into::into).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
