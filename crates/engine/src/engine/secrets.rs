//! The passphrase that protects the credentials: setting, changing and removing it, unlocking, and forgetting them all.
//!
//! The ciphers are the store's business. The engine decides what is asked of it, and what stands still meanwhile.

use panelot_base::{Secret, Timestamp};
use panelot_protocol::event::{ErrorCode, Event, SettingsEvent};
use panelot_protocol::settings::SecretsChange;
use panelot_protocol::{KDF_ITERATIONS, Op};
use panelot_records::{Key, Table, Write};

use super::{ConnectionHandle, Effect, Engine, Step, SubmissionId, answer, error_event, private};
use crate::directory::Protection;
use crate::input::Input;
use crate::receipt::{Command, Refused};

impl Engine {
    /// The key of the present passphrase that an operation brings: whether it is the right one must be known before the
    /// operation is handled, and is handed over by [`Input::Checked`].
    #[must_use]
    pub fn wants_checked(&self, input: &Input) -> Option<Secret> {
        let Input::Op { message, receipt: None, .. } = input else { return None };
        let Op::SecretsUpdate(update) = &message.op else { return None };
        let (SecretsChange::Protect { current: Some(current), .. } | SecretsChange::Unprotect { current }) =
            &update.change
        else {
            return None;
        };
        self.directory.vault.as_ref().map(|_| current.clone().into_secret())
    }

    #[inline(never)]
    pub(super) fn on_secrets(
        &mut self,
        now: Timestamp,
        command: &Command,
        change: SecretsChange,
    ) -> Vec<Step> {
        let right = self.checked.take().unwrap_or_default();
        let was_locked = self.directory.is_locked();
        let writes = self.change_secrets(change, right);
        let changed = writes.is_ok();
        let mut step = self.on_settings(now, command, writes);
        if changed {
            step.effects.insert(0, Effect::KeepUnlocked);
        }
        let mut steps = vec![step];
        if changed && was_locked {
            steps.extend(self.resume_locked(now));
        }
        steps
    }

    fn change_secrets(&mut self, change: SecretsChange, right: bool) -> Result<Vec<Write>, Refused> {
        let directory = &mut self.directory;
        if directory.vault.is_some() && !right && !matches!(change, SecretsChange::Reset {}) {
            return Err(Refused::new(ErrorCode::WrongPassphrase, "this is not the present passphrase"));
        }
        match change {
            SecretsChange::Protect { salt, key, current } => {
                let salt = salt.into_string();
                directory.vault = Some(Protection { salt: salt.clone(), iterations: KDF_ITERATIONS });
                directory.unlocked = true;
                let (key, current) = (key.into_secret(), current.map(|current| current.into_secret()));
                Ok(vec![Write::Protect { salt, iterations: KDF_ITERATIONS, key, current }])
            }
            SecretsChange::Unprotect { current } => {
                if directory.vault.take().is_none() {
                    return Err(Refused::new(ErrorCode::InvalidCommand, "there is no passphrase"));
                }
                Ok(vec![Write::Unprotect { current: current.into_secret() }])
            }
            SecretsChange::Reset {} => {
                (directory.vault, directory.unlocked) = (None, false);
                let mut writes = vec![Write::Clear(Table::Secrets), Write::Delete(Key::vault())];
                let seals = |it: &&mut panelot_records::Connection| {
                    it.has_key || it.headers.iter().any(|header| header.value.is_none())
                };
                for connection in directory.connections.values_mut().filter(seals) {
                    connection.has_key = false;
                    connection.keys.clear();
                    connection.headers.retain(|header| header.value.is_some());
                    connection.revision += 1;
                    writes.push(Write::Put(connection.clone().into()));
                }
                directory.settings.revision += 1;
                writes.push(Write::Put(directory.settings.clone().into()));
                Ok(writes)
            }
        }
    }

    #[inline(never)]
    pub(super) fn on_lock(&mut self, from: ConnectionHandle, submission: SubmissionId) -> Step {
        self.directory.unlocked = false;
        Step {
            effects: vec![Effect::Lock, self.settings_for(from, submission), self.settings_changed()],
            ..Step::default()
        }
    }

    /// The settings as the answer to a command.
    fn settings_for(&self, from: ConnectionHandle, submission: SubmissionId) -> Effect {
        let settings = self.directory.settings_view();
        private(from, Event::SettingsUpdated(SettingsEvent { submission_id: Some(submission), settings }))
    }

    #[inline(never)]
    pub(super) fn on_unlocked(
        &mut self,
        now: Timestamp,
        from: ConnectionHandle,
        submission: SubmissionId,
        result: Result<bool, String>,
    ) -> Vec<Step> {
        let refused = |code, why: &str, retryable| {
            vec![answer(from, error_event(Some(submission.clone()), code, why, retryable))]
        };
        match result {
            Ok(true) => {}
            Ok(false) => return refused(ErrorCode::WrongPassphrase, "this is not the passphrase", false),
            Err(why) => return refused(ErrorCode::StorageFailed, &why, true),
        }
        self.directory.unlocked = true;
        let effects = vec![self.settings_for(from, submission), self.settings_changed()];
        let mut steps = vec![Step { effects, ..Step::default() }];
        steps.extend(self.resume_locked(now));
        steps
    }

    /// Has every run go on that stands still for want of a passphrase. A thread with such a run is always awake.
    fn resume_locked(&mut self, now: Timestamp) -> Vec<Step> {
        let waiting = self.machines.iter().filter(|(_, machine)| machine.locked_run().is_some());
        let waiting: Vec<_> = waiting.map(|(thread, _)| thread.clone()).collect();
        let resume = |thread| {
            self.on_thread(now, thread, |machine, context, draft| machine.resume_locked(context, draft))
        };
        waiting.iter().flat_map(resume).collect()
    }
}
