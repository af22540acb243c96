//! AES-256-GCM by WebCrypto, and the sealing key that the browser keeps and never hands out.
//!
//! That `CryptoKey` is made non-extractable and lies in the database as an opaque object: scripts can use it and cannot
//! read it.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Object, Reflect, Uint8Array};
use panelot_base::Secret;
use panelot_store::{Cipher, KEY_BYTES, SealError, Sealed, StoreError};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Crypto, CryptoKey, IdbObjectStore, IdbRequest, IdbTransactionMode, SubtleCrypto};

use crate::event::{Completion, Failure, finished};
use crate::store::Connection;

/// The object store that holds the key. It is no table of records.
pub(crate) const KEYS: &str = "keys";
/// Where in it.
const SEALING_KEY: &str = "seal";
/// The cipher's name in WebCrypto.
const CIPHER: &str = "AES-GCM";
/// Bytes of an initialisation vector (NIST SP 800-38D, 8.2: 96 bits).
const IV_BYTES: u32 = 12;
/// Bits of the key.
const KEY_BITS: u32 = 256;

/// WebCrypto.
pub struct WebCipher {
    connection: Rc<Connection>,
    /// The key that the next commit keeps.
    handed: RefCell<Option<CryptoKey>>,
}

impl WebCipher {
    pub(crate) const fn new(connection: Rc<Connection>) -> Self {
        Self { connection, handed: RefCell::new(None) }
    }

    /// The key as it was stored, if it was.
    async fn stored_key(&self) -> Result<Option<CryptoKey>, SealError> {
        let transaction =
            self.connection.begin(&[KEYS], IdbTransactionMode::Readonly, None).map_err(of_store)?;
        let store = transaction.object_store(KEYS).map_err(of_js)?;
        let request = store.get(&SEALING_KEY.into()).map_err(of_js)?;
        let found = finished(&request).await.map_err(of_failure)?;
        Ok(found.dyn_into::<CryptoKey>().ok())
    }

    #[inline(never)]
    async fn make_key(&self) -> Result<Option<CryptoKey>, SealError> {
        let algorithm = object(&[("name", CIPHER.into()), ("length", KEY_BITS.into())]);
        let made = subtle()?.generate_key_with_object(&algorithm, false, &uses()).map_err(of_js)?;
        let key = JsFuture::from(made).await.map_err(of_js)?;
        let transaction =
            self.connection.begin(&[KEYS], IdbTransactionMode::Readwrite, None).map_err(of_store)?;
        let completion = Completion::listen(&transaction);
        // `add` fails where a key has been stored meanwhile, and then that one is taken.
        let store = transaction.object_store(KEYS).map_err(of_js)?;
        let _request = store.add_with_key(&key, &SEALING_KEY.into()).map_err(of_js)?;
        let added = completion.end().await;
        match (self.stored_key().await?, added) {
            (None, Err(failure)) => Err(of_failure(failure)),
            (None, Ok(())) => Err(SealError::Failed("the key was not kept".to_owned())),
            (key, _) => Ok(key),
        }
    }

    /// Keeps the key that was handed over, in a transaction of the store's.
    pub(crate) fn keep_handed(&self, store: &IdbObjectStore) -> Result<IdbRequest, JsValue> {
        let key: JsValue = self.handed.take().map_or(JsValue::UNDEFINED, Into::into);
        store.put_with_key(&key, &SEALING_KEY.into())
    }

    /// Forgets the key, in a transaction of the store's.
    pub(crate) fn forget(store: &IdbObjectStore) -> Result<IdbRequest, JsValue> {
        store.delete(&SEALING_KEY.into())
    }
}

impl Cipher for WebCipher {
    type Key = CryptoKey;

    fn random(&self, bytes: u32) -> Result<Secret, SealError> {
        to_base64(&random(bytes)?).map(Secret::new)
    }

    async fn import(&self, raw: &Secret) -> Result<CryptoKey, SealError> {
        let bytes = of_base64(raw.expose())?;
        if bytes.length() != KEY_BYTES {
            return Err(SealError::Failed("a key has 32 bytes".to_owned()));
        }
        let made = subtle()?.import_key_with_str("raw", &bytes, CIPHER, false, &uses()).map_err(of_js)?;
        JsFuture::from(made).await.map(JsCast::unchecked_into).map_err(of_js)
    }

    async fn device_key(&self, make: bool) -> Result<Option<CryptoKey>, SealError> {
        match self.stored_key().await? {
            None if make => Box::pin(self.make_key()).await,
            key => Ok(key),
        }
    }

    fn hand_device_key(&self, key: CryptoKey) {
        *self.handed.borrow_mut() = Some(key);
    }

    async fn encrypt(&self, key: &CryptoKey, bound: &str, clear: &Secret) -> Result<Sealed, SealError> {
        let iv = random(IV_BYTES)?;
        let clear = Uint8Array::from(clear.expose().as_bytes());
        let sealed = subtle()?
            .encrypt_with_object_and_js_u8_array(&parameters(&iv, bound), key, &clear)
            .map_err(of_js)?;
        let sealed = JsFuture::from(sealed).await.map_err(of_js)?;
        Ok(Sealed { iv: to_base64(&iv)?, sealed: to_base64(&Uint8Array::new(&sealed))? })
    }

    async fn decrypt(&self, key: &CryptoKey, bound: &str, sealed: &Sealed) -> Result<Secret, SealError> {
        let (iv, data) = (of_base64(&sealed.iv)?, of_base64(&sealed.sealed)?);
        let clear = subtle()?
            .decrypt_with_object_and_js_u8_array(&parameters(&iv, bound), key, &data)
            .map_err(of_js)?;
        // WebCrypto says no more than `OperationError` for a wrong key, a wrong purpose and changed bytes alike.
        let clear = JsFuture::from(clear).await.map_err(|_| SealError::Changed)?;
        let text = String::from_utf8(Uint8Array::new(&clear).to_vec());
        text.map(Secret::new).map_err(|_| SealError::Changed)
    }
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch)]
    fn btoa(binary: &str) -> Result<String, JsValue>;
    #[wasm_bindgen(catch)]
    fn atob(base64: &str) -> Result<String, JsValue>;
}

/// The browser's own base64 (HTML, 8.3) works on texts whose characters are bytes; it costs no code here.
fn to_base64(bytes: &Uint8Array) -> Result<String, SealError> {
    let binary: String = bytes.to_vec().into_iter().map(char::from).collect();
    btoa(&binary).map_err(of_js)
}

fn of_base64(text: &str) -> Result<Uint8Array, SealError> {
    let binary = atob(text).map_err(of_js)?;
    let bytes: Vec<u8> =
        binary.chars().filter_map(|character| u8::try_from(u32::from(character)).ok()).collect();
    Ok(Uint8Array::from(bytes.as_slice()))
}

fn random(bytes: u32) -> Result<Uint8Array, SealError> {
    let drawn = Uint8Array::new_with_length(bytes);
    crypto()?.get_random_values_with_js_u8_array(&drawn).map_err(of_js)?;
    Ok(drawn)
}

fn uses() -> Array {
    Array::of2(&"encrypt".into(), &"decrypt".into())
}

fn parameters(iv: &Uint8Array, bound: &str) -> Object {
    let bound = Uint8Array::from(bound.as_bytes());
    object(&[("name", CIPHER.into()), ("iv", iv.into()), ("additionalData", bound.into())])
}

fn object(fields: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in fields {
        // Setting a property of a fresh object cannot fail.
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object
}

fn crypto() -> Result<Crypto, SealError> {
    let found = Reflect::get(&js_sys::global(), &"crypto".into()).ok().filter(|it| it.is_object());
    found
        .map(JsCast::unchecked_into)
        .ok_or_else(|| SealError::Failed("this browser context has no WebCrypto".to_owned()))
}

fn subtle() -> Result<SubtleCrypto, SealError> {
    Ok(crypto()?.subtle())
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn of_js(error: JsValue) -> SealError {
    SealError::Failed(Failure::of(&error).text)
}

fn of_failure(failure: Failure) -> SealError {
    SealError::Failed(failure.text)
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn of_store(error: StoreError) -> SealError {
    SealError::Failed(error.to_string())
}
