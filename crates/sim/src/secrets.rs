//! The passphrase that protects credentials: the store's real vault, and a browser that forgets what was unlocked.

use futures_util::FutureExt;
use panelot_base::{ClientId, Secret};
use panelot_engine::{Effect, Input};
use panelot_store::{SealError, Store};
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::world::World;

/// What passphrases give, in base64 as a view sends it. People know these only.
const KEYS: [&str; 2] =
    ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="];
const SALT: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

impl World {
    /// Whether credentials cannot be opened. One that cannot be read is not locked.
    pub(crate) fn is_locked(&self) -> bool {
        let Some(Ok(vault)) = self.store.vault().now_or_never() else { return false };
        !self.store.sealer().is_open(vault.as_ref())
    }

    /// A worker that starts takes over what the browser kept.
    pub(crate) fn restore_session(&self) {
        if let Some(kept) = &self.session_key {
            let _ = self.store.sealer().restore(kept).now_or_never();
        }
    }

    /// The browser is closed and opened again: what was unlocked is locked.
    pub(crate) fn close_browser(&mut self) {
        self.fault("browser closed");
        self.session_key = None;
    }

    /// Whether a passphrase is the right one, by the key that it gives; `unlock` makes use of it.
    fn check_passphrase(&self, key: &Secret, unlock: bool) -> Result<bool, String> {
        let unread = || Err("the store cannot be read".to_owned());
        let Some(Ok(vault)) = self.store.vault().now_or_never() else { return unread() };
        let Some(vault) = vault else { return Ok(true) };
        let sealer = self.store.sealer();
        let checked = if unlock {
            sealer.unlock(&vault, key).now_or_never()
        } else {
            sealer.check(&vault, key).now_or_never()
        };
        match checked {
            Some(Ok(())) => Ok(true),
            Some(Err(SealError::WrongPassphrase)) => Ok(false),
            Some(Err(error)) => Err(error.to_string()),
            None => unread(),
        }
    }

    /// What the engine must know of the present passphrase before it handles an operation.
    pub(crate) fn checked(&self, input: &Input) -> Option<Input> {
        let key = self.worker.as_ref()?.engine.wants_checked(input)?;
        Some(Input::Checked { right: matches!(self.check_passphrase(&key, false), Ok(true)) })
    }

    /// Carries out what the engine wants of the vault, as the runtime does.
    pub(crate) fn perform_secret(&mut self, effect: Effect) {
        match effect {
            Effect::Unlock { from, submission, key } => {
                let result = self.check_passphrase(&key, true);
                self.session_key = self.store.sealer().session_key();
                self.push(Input::Unlocked { from, submission, result });
            }
            Effect::Lock => {
                self.store.sealer().lock();
                self.session_key = None;
            }
            _ => {
                if !matches!(self.store.vault().now_or_never(), Some(Ok(Some(_)))) {
                    self.store.sealer().lock();
                }
                self.session_key = self.store.sealer().session_key();
            }
        }
    }

    /// An operation about the passphrase.
    pub(crate) fn of_secrets(&self, name: &str, chance: &mut Chance) -> Value {
        match name {
            "secrets.unlock" => json!({"key": chance.pick(&KEYS)}),
            "secrets.update" => json!({"change": self.secrets_change(chance)}),
            _ => json!({}),
        }
    }

    /// A change of how credentials are protected.
    fn secrets_change(&self, chance: &mut Chance) -> Value {
        let known = chance.pick(&KEYS).copied();
        match chance.below(8) {
            0 => json!({"type": "reset"}),
            1..=3 => json!({"type": "unprotect", "current": known}),
            _ if self.is_protected() => {
                json!({"type": "protect", "salt": SALT, "key": chance.pick(&KEYS), "current": known})
            }
            _ => json!({"type": "protect", "salt": SALT, "key": known}),
        }
    }

    fn is_protected(&self) -> bool {
        matches!(self.store.vault().now_or_never(), Some(Ok(Some(_))))
    }

    /// The person tries what they know; when nothing fits, they forget the credentials and enter them anew.
    pub(crate) fn unlock_by_all_means(&mut self, client: &ClientId) {
        for key in KEYS {
            self.say(client, json!({"type": "secrets.unlock", "key": key}));
        }
        self.flow();
        if self.is_locked() {
            self.say(client, json!({"type": "secrets.update", "change": {"type": "reset"}}));
            self.say(client, json!({"type": "settings.update", "changes": [crate::ops::connection()]}));
        }
    }
}
