//! What a view shows: plain data that a shell renders, and a note of what changed since it last looked.
//!
//! Only [`crate::Client`] writes it. Read next: `model/thread.rs`, `model/entry.rs`.

mod changes;
mod entry;
mod position;
mod thread;

use std::collections::{BTreeMap, BTreeSet};

use panelot_base::{ApprovalId, ConnectionId, RunId, ThreadId, Timestamp};
use panelot_protocol::event::{ConnectionVerified, ErrorCode};
use panelot_protocol::settings::SettingsView;
use panelot_protocol::snapshot::{Activity, ThreadMeta};

pub use changes::Changes;
pub use entry::{Entry, EntryBody, EntryKey, ToolResultView, ToolState};
pub(crate) use thread::Echo;
pub use thread::{QueuedMessage, Recovery, ThreadView, is_for_the_person};

/// How the conversation with the engine stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// The first handshake is under way.
    #[default]
    Connecting,
    /// The engine answered.
    Connected,
    /// The engine is gone (Chrome stops an idle worker) and is being called back.
    Reconnecting {
        /// Since when; a short absence need not be shown.
        since: Timestamp,
        /// Tries so far.
        attempts: u32,
    },
    /// The extension was updated under this page: only loading the page again helps.
    ReloadRequired {
        /// What the engine says, in English.
        message: String,
    },
    /// The engine said something that this page cannot read. No further try is made until the person asks for one.
    Mismatch {
        /// What was wrong, in English, for a report.
        detail: String,
    },
}

/// The list of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Whether the list is known yet.
    pub loaded: bool,
    pub(crate) threads: BTreeMap<ThreadId, ThreadMeta>,
    pub(crate) activity: BTreeMap<ThreadId, Activity>,
    /// The message that is being written for a new chat.
    pub draft: String,
    /// The version of the extension that waits for being installed.
    pub update: Option<String>,
}

impl Directory {
    /// The threads: pinned ones first, then the newest change first. Archived ones are included.
    #[must_use]
    pub fn sorted(&self) -> Vec<&ThreadMeta> {
        let mut list: Vec<_> = self.threads.values().collect();
        list.sort_by(|a, b| (b.pinned, b.updated_at, &a.id).cmp(&(a.pinned, a.updated_at, &b.id)));
        list
    }

    /// The folders that threads lie in, then the labels that they have, each once and by name.
    #[must_use]
    pub fn labels(&self) -> Vec<Label> {
        let all = self.threads.values();
        let labels = all.flat_map(|meta| {
            let tags = meta.tags.iter().cloned().map(Label::Tag);
            tags.chain(meta.folder_id.clone().map(Label::Folder))
        });
        labels.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The threads that have the label, if one is asked for, and whose titles hold each word of a query, in the order of
    /// [`Self::sorted`].
    #[must_use]
    pub fn matching(&self, query: &str, label: Option<&Label>) -> Vec<&ThreadMeta> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut list = self.sorted();
        if let Some(label) = label {
            list.retain(|meta| label.is_of(meta));
        }
        if !words.is_empty() {
            list.retain(|meta| {
                let title = meta.title.to_lowercase();
                words.iter().all(|word| title.contains(word.as_str()))
            });
        }
        list
    }

    /// A thread of the list.
    #[must_use]
    pub fn thread(&self, id: &ThreadId) -> Option<&ThreadMeta> {
        self.threads.get(id)
    }

    /// What goes on in a thread; none when nothing does.
    #[must_use]
    pub fn activity(&self, id: &ThreadId) -> Option<&Activity> {
        self.activity.get(id)
    }
}

/// What threads of the list have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// They lie in this folder.
    Folder(String),
    /// They have this label.
    Tag(String),
}

impl Label {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Folder(name) | Self::Tag(name) => name,
        }
    }

    fn is_of(&self, meta: &ThreadMeta) -> bool {
        match self {
            Self::Folder(name) => meta.folder_id.as_ref() == Some(name),
            Self::Tag(name) => meta.tags.contains(name),
        }
    }
}

/// What kind of command of the person something is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// A message, the first of a thread included.
    Submit,
    /// A stop.
    Stop,
    /// An answer to an approval or an interaction.
    Answer(ApprovalId),
    /// Going on with an interrupted run.
    Resume(RunId),
    /// A word on an uncertain write.
    Resolve(RunId),
    /// A deletion.
    Delete(ThreadId),
    /// A change of a message that waits its turn, or its removal.
    Queue(RunId),
    /// A change of a thread's place in the list or of its tree.
    Arrange,
    /// A change of the settings.
    Settings,
    /// A change of how credentials are protected, or unlocking them.
    Secrets,
    /// A try of a connection.
    Verify(ConnectionId),
    /// Opening a thread.
    Open(ThreadId),
    /// Older messages.
    LoadOlder,
}

/// Why something the person wanted did not happen.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The engine refused or failed; views have the words for the code.
    Engine {
        /// What kind of error.
        code: ErrorCode,
        /// What happened, in English.
        message: String,
        /// Whether trying again may help.
        retryable: bool,
        /// The provider's error, when it is one.
        provider: Option<serde_json::Value>,
    },
    /// The browser could not keep the message safe before it was sent, so it was not sent.
    OutboxFailed,
    /// The text is longer than a message may be, or blank.
    TextDoesNotFit,
    /// The thread is just being made from an earlier message.
    StillCreating,
    /// This page can no longer talk to the engine.
    Unreachable,
}

/// The last thing that went wrong, until the person dismisses it or the same kind of command succeeds.
#[derive(Clone, Debug, PartialEq)]
pub struct LastError {
    /// What the person had asked for; none when nobody asked.
    pub about: Option<CommandKind>,
    /// What went wrong.
    pub refusal: Refusal,
}

/// How the try of a connection stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Verification {
    /// It is under way.
    Running,
    /// It is over; its `error` is empty when the connection works.
    Done(Box<ConnectionVerified>),
    /// The engine did not try it.
    Refused(Refusal),
}

/// All that a view shows.
#[derive(Clone, Debug, Default)]
pub struct ViewModel {
    /// How the conversation with the engine stands.
    pub connection: ConnectionState,
    /// The list of threads.
    pub directory: Directory,
    /// The open thread, or the draft of a new one (`id` is none then).
    pub thread: ThreadView,
    /// The settings; none before the first handshake.
    pub settings: Option<SettingsView>,
    /// The last thing that went wrong.
    pub last_error: Option<LastError>,
    /// Tries of connections.
    pub verifications: BTreeMap<ConnectionId, Verification>,
    /// Commands that the engine has not answered yet, oldest first.
    pub pending: Vec<CommandKind>,
}

impl ViewModel {
    /// Whether a command of this kind waits for its answer.
    #[must_use]
    pub fn is_pending(&self, kind: &CommandKind) -> bool {
        self.pending.contains(kind)
    }
}
