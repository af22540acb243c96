//! The key that a passphrase gives, by the browser's PBKDF2.

use js_sys::{Array, JsString, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{CryptoKey, SubtleCrypto};

/// Bits of the key.
const KEY_BITS: u32 = 256;

/// The browser cannot derive a key: it has no PBKDF2, or the salt is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the browser cannot derive a key from the passphrase")]
pub struct NoKey;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = subtle, thread_local_v2)]
    static SUBTLE: SubtleCrypto;
    #[wasm_bindgen(catch)]
    fn btoa(binary: &str) -> Result<String, JsValue>;
    #[wasm_bindgen(catch)]
    fn atob(base64: &str) -> Result<String, JsValue>;
}

/// Bytes as base64 (HTML, 8.3).
///
/// # Errors
/// [`NoKey`] never, in a browser.
pub fn to_base64(bytes: &[u8]) -> Result<String, NoKey> {
    btoa(&bytes.iter().copied().map(char::from).collect::<String>()).map_err(|_| NoKey)
}

/// PBKDF2-SHA-256 of a passphrase: 32 bytes in base64. The passphrase is brought into the form NFKC first, so that it is the
/// same whatever keyboard wrote it. It takes about a second for 600,000 iterations, and the page goes on meanwhile.
///
/// # Errors
/// See [`NoKey`].
pub async fn derive_key(passphrase: &str, salt: &str, iterations: u32) -> Result<String, NoKey> {
    derive(passphrase, salt, iterations).await.map_err(|_| NoKey)
}

async fn derive(passphrase: &str, salt: &str, iterations: u32) -> Result<String, JsValue> {
    let normal = String::from(JsString::from(passphrase).normalize("NFKC"));
    let bytes = Uint8Array::from(normal.as_bytes());
    let salt: Vec<u8> = atob(salt)?.chars().filter_map(|it| u8::try_from(u32::from(it)).ok()).collect();
    let parameters = Object::new();
    Reflect::set(&parameters, &"name".into(), &"PBKDF2".into())?;
    Reflect::set(&parameters, &"hash".into(), &"SHA-256".into())?;
    Reflect::set(&parameters, &"iterations".into(), &iterations.into())?;
    Reflect::set(&parameters, &"salt".into(), &Uint8Array::from(salt.as_slice()))?;
    let uses = Array::of1(&"deriveBits".into());
    let import = SUBTLE.with(|subtle| subtle.import_key_with_str("raw", &bytes, "PBKDF2", false, &uses))?;
    let key: CryptoKey = JsFuture::from(import).await?.unchecked_into();
    let bits = SUBTLE.with(|subtle| subtle.derive_bits_with_object(&parameters, &key, KEY_BITS))?;
    let key = Uint8Array::new(&JsFuture::from(bits).await?).to_vec();
    to_base64(&key).map_err(|error| JsValue::from_str(&error.to_string()))
}
