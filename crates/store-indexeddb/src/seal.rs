//! Credentials under AES-256-GCM, with a key that the browser keeps and never hands out.
//!
//! The `CryptoKey` is made non-extractable and lies in the database as an opaque object: scripts can use it and cannot
//! read it. The connection's id is authenticated with the ciphertext.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Object, Reflect, Uint8Array};
use panelot_base::{ConnectionId, Secret};
use panelot_records::SealedSecret;
use panelot_store::{SealError, Sealer, StoreError};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Crypto, CryptoKey, IdbTransactionMode, SubtleCrypto};

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

/// Seals with WebCrypto.
pub struct WebSealer {
    connection: Rc<Connection>,
    key: RefCell<Option<CryptoKey>>,
}

impl WebSealer {
    pub(crate) const fn new(connection: Rc<Connection>) -> Self {
        Self { connection, key: RefCell::new(None) }
    }

    /// The key as it was stored, if it was.
    async fn stored_key(&self) -> Result<Option<CryptoKey>, SealError> {
        if let Some(key) = self.key.borrow().as_ref() {
            return Ok(Some(key.clone()));
        }
        let transaction =
            self.connection.begin(&[KEYS], IdbTransactionMode::Readonly, None).map_err(of_store)?;
        let store = transaction.object_store(KEYS).map_err(of_js)?;
        let request = store.get(&SEALING_KEY.into()).map_err(of_js)?;
        let found = finished(&request).await.map_err(of_failure)?;
        let key = found.dyn_into::<CryptoKey>().ok();
        self.key.borrow_mut().clone_from(&key);
        Ok(key)
    }

    /// The stored key, or a new one that is stored first.
    async fn key(&self) -> Result<CryptoKey, SealError> {
        if let Some(key) = self.stored_key().await? {
            return Ok(key);
        }
        let algorithm = object(&[("name", CIPHER.into()), ("length", KEY_BITS.into())]);
        let uses = Array::of2(&"encrypt".into(), &"decrypt".into());
        let made = subtle()?.generate_key_with_object(&algorithm, false, &uses).map_err(of_js)?;
        let key = JsFuture::from(made).await.map_err(of_js)?;
        let transaction =
            self.connection.begin(&[KEYS], IdbTransactionMode::Readwrite, None).map_err(of_store)?;
        let completion = Completion::listen(&transaction);
        // `add` fails where a key has been stored meanwhile, and then that one is taken.
        let store = transaction.object_store(KEYS).map_err(of_js)?;
        let _request = store.add_with_key(&key, &SEALING_KEY.into()).map_err(of_js)?;
        let added = completion.end().await;
        match (self.stored_key().await?, added) {
            (Some(key), _) => Ok(key),
            (None, Err(failure)) => Err(of_failure(failure)),
            (None, Ok(())) => Err(SealError("the key was not kept".to_owned())),
        }
    }
}

impl Sealer for WebSealer {
    async fn seal(&self, connection: &ConnectionId, secret: &Secret) -> Result<SealedSecret, SealError> {
        let key = self.key().await?;
        let iv = Uint8Array::new_with_length(IV_BYTES);
        crypto()?.get_random_values_with_js_u8_array(&iv).map_err(of_js)?;
        let clear = Uint8Array::from(secret.expose().as_bytes());
        let sealed = subtle()?
            .encrypt_with_object_and_js_u8_array(&parameters(&iv, connection), &key, &clear)
            .map_err(of_js)?;
        let sealed = JsFuture::from(sealed).await.map_err(of_js)?;
        Ok(SealedSecret {
            connection: connection.clone(),
            iv: to_base64(&iv)?,
            sealed: to_base64(&Uint8Array::new(&sealed))?,
        })
    }

    async fn open(&self, sealed: &SealedSecret) -> Result<Secret, SealError> {
        let key = self.stored_key().await?.ok_or_else(|| SealError("its key is gone".to_owned()))?;
        let (iv, data) = (of_base64(&sealed.iv)?, of_base64(&sealed.sealed)?);
        let clear = subtle()?
            .decrypt_with_object_and_js_u8_array(&parameters(&iv, &sealed.connection), &key, &data)
            .map_err(of_js)?;
        // WebCrypto says no more than `OperationError` for a wrong key, a wrong connection and changed bytes alike.
        let clear = JsFuture::from(clear).await.map_err(|_| {
            SealError("it was changed, or belongs to another connection or another key".to_owned())
        })?;
        let text = String::from_utf8(Uint8Array::new(&clear).to_vec());
        text.map(Secret::new).map_err(|_| SealError("it is not text".to_owned()))
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

fn parameters(iv: &Uint8Array, connection: &ConnectionId) -> Object {
    let bound = Uint8Array::from(connection.as_str().as_bytes());
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
        .ok_or_else(|| SealError("this browser context has no WebCrypto".to_owned()))
}

fn subtle() -> Result<SubtleCrypto, SealError> {
    Ok(crypto()?.subtle())
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn of_js(error: JsValue) -> SealError {
    SealError(Failure::of(&error).text)
}

fn of_failure(failure: Failure) -> SealError {
    SealError(failure.text)
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn of_store(error: StoreError) -> SealError {
    SealError(error.to_string())
}
