//! Writing and reading the file.

use panelot_base::digest::sha256_hex;
use panelot_base::{SortedSet, Timestamp};
use panelot_records::{Connection, Key, Record, Row, Table};
use serde_json::{Value, json};

/// The name of the format.
const FORMAT: &str = "panelot-backup";
/// Its newest version.
const VERSION: u64 = 1;
/// Bytes that a whole file may have.
pub const FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes that a line may have: more than any record that is stored.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Writes a file line by line. Each line ends with a line feed.
#[derive(Debug)]
pub struct Writer {
    lines: u64,
    chain: String,
}

/// Each line's digest covers all before it.
fn link(chain: &str, line: &str) -> String {
    sha256_hex(format!("{chain}{line}").as_bytes())
}

impl Writer {
    /// Begins a file; the header is its first line.
    #[must_use]
    pub fn begin(at: Timestamp) -> (Self, String) {
        let mut writer = Self { lines: 0, chain: String::new() };
        let header =
            writer.line(&json!({"format": FORMAT, "version": VERSION, "exportedAt": at.0}).to_string());
        (writer, header)
    }

    /// The line of a record; none for one that no backup holds. A thread must come before its nodes, and those in their order.
    pub fn record(&mut self, record: &Record) -> Option<String> {
        let portable = portable(record.clone())?;
        let row = portable.to_row();
        let table = portable.key().table.name();
        Some(self.line(&format!(r#"{{"table":"{table}","version":{},"record":{}}}"#, row.version, row.json)))
    }

    /// The last line.
    #[must_use]
    pub fn end(mut self) -> String {
        let end = json!({"end": {"lines": self.lines, "digest": self.chain}});
        self.line(&end.to_string())
    }

    fn line(&mut self, text: &str) -> String {
        self.lines = self.lines.saturating_add(1);
        self.chain = link(&self.chain, text);
        format!("{text}\n")
    }
}

/// A record as it goes into a backup or comes out of one, without what belongs to one profile only; none for what no backup holds.
fn portable(record: Record) -> Option<Record> {
    Some(match record {
        // What is under way does not travel: a call without a result gets one when the thread is opened.
        Record::Thread(mut thread) => {
            if thread.deleted_at.is_some() {
                return None;
            }
            (thread.open_runs, thread.revision) = (Vec::new(), 0);
            thread.into()
        }
        Record::Connection(mut connection) => {
            connection.keys.clear();
            connection.headers.retain(|header| header.value.is_some());
            Connection { has_key: false, revision: 0, ..connection }.into()
        }
        Record::Node(_) | Record::Settings(_) | Record::Rule(_) => record,
        Record::Approval(_)
        | Record::Draft(_)
        | Record::Environment(_)
        | Record::Grant(_)
        | Record::Receipt(_)
        | Record::Run(_)
        | Record::Secret(_)
        | Record::Vault(_) => return None,
    })
}

/// Why a file is refused. Nothing of it is taken then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Damage {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub why: Why,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is no backup of this program's.
    #[error("this is no backup of Panelot")]
    Foreign,
    /// A newer version wrote it.
    #[error("a newer version of Panelot wrote this backup")]
    Newer,
    /// The file or a line has too many bytes.
    #[error("it is too large")]
    TooLarge,
    /// A line is no JSON, or none that belongs here.
    #[error("it is damaged")]
    Broken,
    /// A record cannot be read.
    #[error("a record cannot be read: {0}")]
    Record(String),
    /// A record comes twice.
    #[error("a record comes twice")]
    Twice,
    /// An entry is not of the conversation before it, or out of order, or follows a later one.
    #[error("an entry is out of place")]
    Misplaced,
    /// The end is missing.
    #[error("it is cut off")]
    CutOff,
    /// What was read is not what was written.
    #[error("it was changed")]
    Changed,
    /// Something follows the end.
    #[error("something follows the end")]
    AfterEnd,
}

/// What a whole and sound file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// When it was written.
    pub exported_at: u64,
    /// Conversations.
    pub threads: u64,
    /// Their entries.
    pub nodes: u64,
    /// Connections.
    pub connections: u64,
    /// Permission rules.
    pub rules: u64,
}

/// Reads a file line by line. Nothing may be taken before [`Self::end`] has said that the whole file is sound.
#[derive(Debug, Default)]
pub struct Reader {
    lines: u64,
    bytes: u64,
    chain: String,
    ended: bool,
    seen: SortedSet<Key>,
    /// The conversation that is being read, and the sequence of its newest entry.
    thread: Option<(panelot_base::ThreadId, u64)>,
    contents: Contents,
}

impl Reader {
    /// Takes in a line without its line feed; the record that it holds.
    ///
    /// # Errors
    /// [`Damage`]; the file is refused as a whole.
    pub fn line(&mut self, text: &str) -> Result<Option<Record>, Damage> {
        self.lines = self.lines.saturating_add(1);
        self.bytes = self.bytes.saturating_add(text.len() as u64).saturating_add(1);
        let read = self.read(text).map_err(|why| Damage { line: self.lines, why });
        self.chain = link(&self.chain, text);
        read
    }

    fn read(&mut self, text: &str) -> Result<Option<Record>, Why> {
        if self.bytes > FILE_BYTES_MAX || text.len() > LINE_BYTES_MAX {
            return Err(Why::TooLarge);
        }
        if self.ended {
            return Err(Why::AfterEnd);
        }
        let first = self.lines == 1;
        let value: Value =
            serde_json::from_str(text).map_err(|_| if first { Why::Foreign } else { Why::Broken })?;
        if first {
            return self.header(&value).map(|()| None);
        }
        if let Some(end) = value.get("end") {
            return self.check_end(end).map(|()| None);
        }
        let record = record_of(&value)?;
        self.place(&record)?;
        Ok(Some(record))
    }

    fn header(&mut self, value: &Value) -> Result<(), Why> {
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(Why::Foreign);
        }
        match number("version") {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(Why::Newer),
            _ => return Err(Why::Foreign),
        }
        self.contents.exported_at = number("exportedAt").ok_or(Why::Broken)?;
        Ok(())
    }

    fn check_end(&mut self, end: &Value) -> Result<(), Why> {
        let whole = end.get("lines").and_then(Value::as_u64) == Some(self.lines.saturating_sub(1))
            && end.get("digest").and_then(Value::as_str) == Some(self.chain.as_str());
        self.ended = true;
        if whole { Ok(()) } else { Err(Why::Changed) }
    }

    /// Notes a record where it may stand.
    fn place(&mut self, record: &Record) -> Result<(), Why> {
        let (contents, mut thread) = (&mut self.contents, None);
        let count = match record {
            Record::Node(node) => {
                let (of, newest) = self.thread.as_mut().ok_or(Why::Misplaced)?;
                if node.thread != *of || node.seq <= *newest || node.parent.is_some_and(|it| it >= node.seq) {
                    return Err(Why::Misplaced);
                }
                *newest = node.seq;
                contents.nodes = contents.nodes.saturating_add(1);
                // In order, so none comes twice.
                return Ok(());
            }
            Record::Thread(it) => {
                thread = Some((it.id.clone(), 0));
                &mut contents.threads
            }
            Record::Connection(_) => &mut contents.connections,
            Record::Rule(_) => &mut contents.rules,
            _ => &mut 0,
        };
        *count = count.saturating_add(1);
        self.thread = thread;
        if self.seen.insert(record.key()) { Ok(()) } else { Err(Why::Twice) }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// [`Damage`] when its end is missing.
    pub fn end(self) -> Result<Contents, Damage> {
        if self.ended {
            return Ok(self.contents);
        }
        let why = if self.lines == 0 { Why::Foreign } else { Why::CutOff };
        Err(Damage { line: self.lines, why })
    }
}

/// The record of a line, in the form in which it may be taken.
fn record_of(value: &Value) -> Result<Record, Why> {
    let table = value.get("table").and_then(Value::as_str).ok_or(Why::Broken)?;
    let table = Table::ALL.into_iter().find(|it| it.name() == table).ok_or(Why::Broken)?;
    let version = value.get("version").and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
    let record = value.get("record").ok_or(Why::Broken)?;
    let row = Row { version: version.ok_or(Why::Broken)?, revision: 0, json: record.to_string() };
    let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = record.get("seq").and_then(Value::as_u64).unwrap_or_default();
    let key = match table {
        Table::Threads | Table::Connections | Table::Rules => Key { table, parts: vec![text("id").into()] },
        Table::Nodes => Key { table, parts: vec![text("thread").into(), number.into()] },
        Table::Settings => Key::settings(),
        _ => return Err(Why::Broken),
    };
    let record = Record::from_row(&key, &row).map_err(|error| Why::Record(error.why))?;
    portable(record).ok_or(Why::Broken)
}

#[cfg(test)]
mod tests;
