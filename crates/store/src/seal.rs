//! How credentials are kept: sealed with a key that the store's records do not contain.
//!
//! Without a passphrase that key is one that the browser keeps and never hands out. With one it lies among the records,
//! encrypted with the key that the passphrase gives (the [`Vault`]), and is at hand for as long as the browser runs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use panelot_base::digest::sha256_hex;
use panelot_base::{ConnectionId, Secret};
use panelot_records::{SealedSecret, Vault};

use crate::error::SealError;

/// Bytes of a sealing key, and of one that a passphrase gives.
pub const KEY_BYTES: u32 = 32;
/// Random bytes in the name of a sealing key.
const NAME_BYTES: u32 = 12;

/// What a cipher makes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Initialisation vector, base64.
    pub iv: String,
    /// Ciphertext with its tag, base64.
    pub sealed: String,
}

/// An authenticated cipher (AES-256-GCM in a browser), and the key that the browser keeps.
#[expect(
    async_fn_in_trait,
    reason = "every driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Cipher {
    /// A key that is ready for use.
    type Key: Clone;

    /// So many random bytes, base64.
    ///
    /// # Errors
    /// [`SealError::Failed`] when there is no source of randomness.
    fn random(&self, bytes: u32) -> Result<Secret, SealError>;

    /// Makes a key of [`KEY_BYTES`] bytes in base64.
    ///
    /// # Errors
    /// [`SealError::Failed`] when they are no key.
    async fn import(&self, raw: &Secret) -> Result<Self::Key, SealError>;

    /// The key that the browser keeps. Where there is none and `make` is set a new one is stored first, in such a way
    /// that two contexts that do so at once get the same one.
    ///
    /// # Errors
    /// [`SealError::Failed`] when the browser's storage or cipher fails.
    async fn device_key(&self, make: bool) -> Result<Option<Self::Key>, SealError>;

    /// Takes the key that the browser is to keep by the commit that comes next and says so.
    fn hand_device_key(&self, key: Self::Key);

    /// Encrypts a text; `bound` is authenticated with it.
    ///
    /// # Errors
    /// [`SealError::Failed`] when the cipher fails.
    async fn encrypt(&self, key: &Self::Key, bound: &str, clear: &Secret) -> Result<Sealed, SealError>;

    /// Decrypts it.
    ///
    /// # Errors
    /// [`SealError::Changed`] for another key, another `bound` and changed bytes alike.
    async fn decrypt(&self, key: &Self::Key, bound: &str, sealed: &Sealed) -> Result<Secret, SealError>;
}

/// The sealing key while the person has it unlocked.
struct Session<K> {
    /// The name of the key, as its vault gives it.
    vault: String,
    raw: Secret,
    key: K,
}

/// Seals and opens credentials. A credential is bound to its connection: sealed for one, it opens for no other.
///
/// Nothing of what the store says is remembered here: each call is told the vault as it is stored.
pub struct Sealer<C: Cipher> {
    cipher: C,
    session: RefCell<Option<Session<C::Key>>>,
}

/// What is authenticated with the encrypted sealing key: all that is needed to read it.
fn header(vault: &Vault) -> String {
    format!("panelot-vault:1:PBKDF2-SHA-256:{}:{}:{}", vault.iterations, vault.salt, vault.id)
}

impl<C: Cipher> Sealer<C> {
    /// A sealer for which nothing is unlocked.
    #[must_use]
    pub const fn new(cipher: C) -> Self {
        Self { cipher, session: RefCell::new(None) }
    }

    /// The cipher.
    #[must_use]
    pub const fn cipher(&self) -> &C {
        &self.cipher
    }

    /// What the browser session must keep so that [`Self::restore`] can unlock again; none when nothing is unlocked.
    #[must_use]
    pub fn session_key(&self) -> Option<Secret> {
        let session = self.session.borrow();
        session.as_ref().map(|it| Secret::new(format!("{} {}", it.vault, it.raw.expose())))
    }

    /// Unlocks with what [`Self::session_key`] gave in an earlier life of the worker. What is no such text, or is of
    /// another vault, unlocks nothing.
    pub async fn restore(&self, kept: &Secret) {
        let Some((vault, raw)) = kept.expose().split_once(' ') else { return };
        let _ = self.take(vault, Secret::new(raw)).await;
    }

    /// Locks.
    pub fn lock(&self) {
        *self.session.borrow_mut() = None;
    }

    /// Whether credentials can be opened.
    #[must_use]
    pub fn is_open(&self, vault: Option<&Vault>) -> bool {
        let held = self.session.borrow();
        vault.is_none_or(|vault| held.as_ref().is_some_and(|session| session.vault == vault.id))
    }

    async fn take(&self, vault: &str, raw: Secret) -> Result<C::Key, SealError> {
        let key = self.cipher.import(&raw).await?;
        let session = Session { vault: vault.to_owned(), raw, key: key.clone() };
        *self.session.borrow_mut() = Some(session);
        Ok(key)
    }

    fn key_of_session(&self, vault: &Vault) -> Result<C::Key, SealError> {
        let session = self.session.borrow();
        let session = session.as_ref().filter(|session| session.vault == vault.id);
        session.map(|session| session.key.clone()).ok_or(SealError::Locked)
    }

    async fn key(&self, vault: Option<&Vault>, make: bool) -> Result<C::Key, SealError> {
        match vault {
            Some(vault) => self.key_of_session(vault),
            None => {
                let key = self.cipher.device_key(make).await?;
                key.ok_or_else(|| SealError::Failed("its key is gone".to_owned()))
            }
        }
    }

    /// Seals a credential.
    ///
    /// # Errors
    /// [`SealError::Locked`], or [`SealError::Failed`] when the cipher or its key is not available.
    pub async fn seal(
        &self,
        vault: Option<&Vault>,
        connection: &ConnectionId,
        secret: &Secret,
    ) -> Result<SealedSecret, SealError> {
        let key = self.key(vault, true).await?;
        self.seal_with(&key, connection, secret).await
    }

    async fn seal_with(
        &self,
        key: &C::Key,
        connection: &ConnectionId,
        secret: &Secret,
    ) -> Result<SealedSecret, SealError> {
        let Sealed { iv, sealed } = self.cipher.encrypt(key, connection.as_str(), secret).await?;
        Ok(SealedSecret { connection: connection.clone(), iv, sealed })
    }

    /// Opens a sealed credential.
    ///
    /// # Errors
    /// [`SealError::Locked`]; [`SealError::Changed`] when it was changed, was sealed for another connection or with
    /// another key; [`SealError::Failed`] when the cipher or its key is not available.
    pub async fn open(&self, vault: Option<&Vault>, sealed: &SealedSecret) -> Result<Secret, SealError> {
        let key = self.key(vault, false).await?;
        let text = Sealed { iv: sealed.iv.clone(), sealed: sealed.sealed.clone() };
        self.cipher.decrypt(&key, sealed.connection.as_str(), &text).await
    }

    /// The sealing key that a vault holds, by the key that its passphrase gives.
    async fn unwrap(&self, vault: &Vault, key: &Secret) -> Result<Secret, SealError> {
        let key = self.cipher.import(key).await?;
        let text = Sealed { iv: vault.iv.clone(), sealed: vault.wrapped.clone() };
        match self.cipher.decrypt(&key, &header(vault), &text).await {
            Err(SealError::Changed) => Err(SealError::WrongPassphrase),
            raw => raw,
        }
    }

    /// Whether a passphrase is the right one, by the key that it gives.
    ///
    /// # Errors
    /// [`SealError::WrongPassphrase`], or [`SealError::Failed`].
    pub async fn check(&self, vault: &Vault, key: &Secret) -> Result<(), SealError> {
        self.unwrap(vault, key).await.map(drop)
    }

    /// Unlocks.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn unlock(&self, vault: &Vault, key: &Secret) -> Result<(), SealError> {
        let raw = self.unwrap(vault, key).await?;
        self.take(&vault.id, raw).await.map(drop)
    }

    /// Makes the vault of a new passphrase, and seals anew what `present` holds where its key is a new one. What comes
    /// of it must be stored in one commit. A secret that cannot be opened is left as it is: nothing can open it later
    /// either.
    ///
    /// # Errors
    /// As [`Self::check`], of `current`.
    pub(crate) async fn protect(
        &self,
        vault: Option<&Vault>,
        next: NextVault,
        present: Vec<SealedSecret>,
    ) -> Result<(Vault, Vec<SealedSecret>), SealError> {
        let NextVault { salt, iterations, key: wrapping, current } = next;
        let (id, raw) = match (vault, current) {
            (Some(vault), Some(current)) => (vault.id.clone(), self.unwrap(vault, &current).await?),
            (Some(_), None) => return Err(SealError::WrongPassphrase),
            (None, _) => {
                (self.cipher.random(NAME_BYTES)?.expose().to_owned(), self.cipher.random(KEY_BYTES)?)
            }
        };
        let mut sealed = Vec::new();
        if vault.is_none() {
            let key = self.cipher.import(&raw).await?;
            for secret in present {
                if let Ok(clear) = self.open(None, &secret).await {
                    sealed.push(self.seal_with(&key, &secret.connection, &clear).await?);
                }
            }
        }
        let wrapping = self.cipher.import(&wrapping).await?;
        let mut made = Vault { id, salt, iterations, iv: String::new(), wrapped: String::new() };
        let wrapped = self.cipher.encrypt(&wrapping, &header(&made), &raw).await?;
        (made.iv, made.wrapped) = (wrapped.iv, wrapped.sealed);
        // Until the commit has succeeded no stored vault has this name, and then nothing is unlocked by it.
        self.take(&made.id, raw).await?;
        Ok((made, sealed))
    }

    /// Hands the sealing key to the browser; the commit that comes next keeps it and removes the vault.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub(crate) async fn unprotect(&self, vault: &Vault, current: &Secret) -> Result<(), SealError> {
        let raw = self.unwrap(vault, current).await?;
        self.cipher.hand_device_key(self.cipher.import(&raw).await?);
        Ok(())
    }
}

/// What a new passphrase gives.
pub(crate) struct NextVault {
    pub(crate) salt: String,
    pub(crate) iterations: u32,
    pub(crate) key: Secret,
    pub(crate) current: Option<Secret>,
}

/// The cipher of the memory store: keeps credentials from being read by accident and notices every change.
/// It is no real cipher, so it protects nothing on a disk; the memory store has none.
#[derive(Clone, Debug, Default)]
pub struct TestCipher {
    count: Rc<Cell<u64>>,
    kept: Rc<RefCell<Option<String>>>,
    handed: RefCell<Option<String>>,
}

impl TestCipher {
    /// Keeps the key that was handed over: the commit that does so has succeeded.
    pub(crate) fn keep_handed(&self) {
        *self.kept.borrow_mut() = self.handed.take();
    }

    /// Forgets the key that the browser keeps.
    pub(crate) fn forget(&self) {
        *self.kept.borrow_mut() = None;
    }

    /// Mixes bytes with a stream of the key and vector. Applying it twice gives the text back.
    fn mix(key: &str, iv: &str, bytes: &[u8]) -> Vec<u8> {
        let block = |index: usize| sha256_hex(format!("{key} {iv} {index}").as_bytes());
        let blocks = bytes.len().div_ceil(64);
        let stream = (0..blocks).flat_map(|index| block(index).into_bytes());
        // A hexadecimal digit has no high bit; setting it keeps the text from staying printable.
        bytes.iter().zip(stream).map(|(byte, mask)| byte ^ (mask | 0x80)).collect()
    }

    fn tag(key: &str, bound: &str, clear: &[u8]) -> String {
        let mut bytes = format!("{key} {bound} ").into_bytes();
        bytes.extend_from_slice(clear);
        STANDARD.encode(sha256_hex(&bytes))
    }
}

impl Cipher for TestCipher {
    type Key = String;

    fn random(&self, bytes: u32) -> Result<Secret, SealError> {
        self.count.set(self.count.get().saturating_add(1));
        let text = sha256_hex(format!("random {}", self.count.get()).as_bytes());
        let taken = text.as_bytes().iter().copied().take(usize::try_from(bytes).unwrap_or(64));
        Ok(Secret::new(STANDARD.encode(taken.collect::<Vec<u8>>())))
    }

    async fn import(&self, raw: &Secret) -> Result<String, SealError> {
        Ok(raw.expose().to_owned())
    }

    async fn device_key(&self, make: bool) -> Result<Option<String>, SealError> {
        if make && self.kept.borrow().is_none() {
            *self.kept.borrow_mut() = Some(self.random(KEY_BYTES)?.expose().to_owned());
        }
        Ok(self.kept.borrow().clone())
    }

    fn hand_device_key(&self, key: String) {
        *self.handed.borrow_mut() = Some(key);
    }

    async fn encrypt(&self, key: &String, bound: &str, clear: &Secret) -> Result<Sealed, SealError> {
        let clear = clear.expose().as_bytes();
        let iv = Self::tag(key, bound, clear);
        Ok(Sealed { sealed: STANDARD.encode(Self::mix(key, &iv, clear)), iv })
    }

    async fn decrypt(&self, key: &String, bound: &str, sealed: &Sealed) -> Result<Secret, SealError> {
        let bytes = STANDARD.decode(&sealed.sealed).map_err(|_| SealError::Changed)?;
        let clear = Self::mix(key, &sealed.iv, &bytes);
        if Self::tag(key, bound, &clear) != sealed.iv {
            return Err(SealError::Changed);
        }
        String::from_utf8(clear).map(Secret::new).map_err(|_| SealError::Changed)
    }
}
