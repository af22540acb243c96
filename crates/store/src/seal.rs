//! How credentials are kept: sealed with a key that the store's records do not contain.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use panelot_base::digest::sha256_hex;
use panelot_base::{ConnectionId, Secret};
use panelot_records::SealedSecret;

use crate::error::SealError;

/// Seals and opens credentials. A credential is bound to its connection: sealed for one, it opens for no other.
#[expect(
    async_fn_in_trait,
    reason = "every driver runs on one thread, so nobody needs these futures to be Send"
)]
pub trait Sealer {
    /// Seals a credential.
    ///
    /// # Errors
    /// [`SealError`] when the cipher or its key is not available.
    async fn seal(&self, connection: &ConnectionId, secret: &Secret) -> Result<SealedSecret, SealError>;

    /// Opens a sealed credential.
    ///
    /// # Errors
    /// [`SealError`] when it was changed, was sealed for another connection or with another key.
    async fn open(&self, sealed: &SealedSecret) -> Result<Secret, SealError>;
}

/// The sealer of the memory store: keeps credentials from being read by accident and notices every change.
/// It has no secret key, so it protects nothing on a disk; the memory store has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct TestSealer;

impl TestSealer {
    /// Mixes a text with a stream that is derived from the connection. Applying it twice gives the text back.
    fn mix(connection: &ConnectionId, bytes: &[u8]) -> Vec<u8> {
        let block = |index: usize| sha256_hex(format!("{connection} {index}").as_bytes());
        let blocks = bytes.len().div_ceil(64);
        let stream = (0..blocks).flat_map(|index| block(index).into_bytes());
        // A hexadecimal digit has no high bit; setting it keeps the text from staying printable.
        bytes.iter().zip(stream).map(|(byte, mask)| byte ^ (mask | 0x80)).collect()
    }

    fn tag(connection: &ConnectionId, clear: &[u8]) -> String {
        let mut bytes = format!("{connection} ").into_bytes();
        bytes.extend_from_slice(clear);
        STANDARD.encode(sha256_hex(&bytes))
    }
}

impl Sealer for TestSealer {
    async fn seal(&self, connection: &ConnectionId, secret: &Secret) -> Result<SealedSecret, SealError> {
        let clear = secret.expose().as_bytes();
        Ok(SealedSecret {
            connection: connection.clone(),
            iv: Self::tag(connection, clear),
            sealed: STANDARD.encode(Self::mix(connection, clear)),
        })
    }

    async fn open(&self, sealed: &SealedSecret) -> Result<Secret, SealError> {
        let bytes = STANDARD.decode(&sealed.sealed).map_err(|error| SealError(error.to_string()))?;
        let clear = Self::mix(&sealed.connection, &bytes);
        if Self::tag(&sealed.connection, &clear) != sealed.iv {
            return Err(SealError("it was changed or belongs to another connection".to_owned()));
        }
        String::from_utf8(clear).map(Secret::new).map_err(|_| SealError("it is not text".to_owned()))
    }
}
