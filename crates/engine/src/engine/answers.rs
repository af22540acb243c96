//! The forms in which a command is answered, and the step that removes what is left of a thread.

use panelot_base::{SubmissionId, ThreadId, Timestamp};
use panelot_protocol::EventMessage;
use panelot_protocol::event::{ErrorCode, ErrorEvent, Event};
use panelot_protocol::snapshot::ErrorView;
use panelot_records::{Commit, Durability};

use crate::input::ConnectionHandle;
use crate::receipt::{Command, Refused};
use crate::step::{Effect, Step};
use crate::thread::ThreadMachine;

pub(super) fn private(to: ConnectionHandle, event: Event) -> Effect {
    Effect::Send { to: vec![to], message: Box::new(EventMessage::private(event)) }
}

pub(super) fn answer(to: ConnectionHandle, event: Event) -> Step {
    Step { effects: vec![private(to, event)], ..Step::default() }
}

pub(super) fn error_event(
    submission_id: Option<SubmissionId>,
    code: ErrorCode,
    message: &str,
    retryable: bool,
) -> Event {
    let error = ErrorView { code, message: message.to_owned(), provider: None };
    Event::Error(ErrorEvent { submission_id, error, retryable })
}

pub(super) fn storage_failed(command: &Command) -> Event {
    command.refusal(&Refused::new(
        ErrorCode::StorageFailed,
        "the browser could not save this (its storage may be full); nothing was changed, try again",
    ))
}

/// A refusal with its receipt.
pub(super) fn refused_step(now: Timestamp, command: &Command, refused: &Refused) -> Step {
    let receipt = command.rejected(now, refused);
    let mut commit = Commit::default();
    let event = command.answer(&receipt.outcome);
    commit.put(receipt);
    Step {
        commit: Some(commit),
        effects: vec![private(command.from, event)],
        // Without its receipt it would be decided again when it is asked again, so it is no answer for ever.
        on_failure: vec![private(command.from, storage_failed(command))],
        ..Step::default()
    }
}

pub(super) fn removal_step(thread: &ThreadId) -> Step {
    let commit = Commit {
        writes: ThreadMachine::removal(thread),
        durability: Durability::Relaxed,
        ..Commit::default()
    };
    Step { commit: Some(commit), threads: vec![thread.clone()], ..Step::default() }
}
