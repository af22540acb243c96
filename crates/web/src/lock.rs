//! Names that one document of an origin holds at a time (`navigator.locks`).

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::AbortSignal;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = ["navigator", "locks"], js_name = request)]
    fn request(name: &str, options: &JsValue, callback: &Function) -> Result<Promise, JsValue>;
}

/// Takes a name for the life of this document, waiting at most so long for its holder to go; false when another document
/// keeps it. Where the browser has no locks every name is free.
pub async fn hold_lock(name: &str, wait_ms: u32) -> bool {
    let mut asked = None;
    let given = Promise::new(&mut |resolve: Function, _reject: Function| {
        let callback = Closure::once_into_js(move |lock: JsValue| {
            let held = !lock.is_null();
            let _ = resolve.call1(&JsValue::NULL, &held.into());
            // The lock lasts as long as what is returned: for ever. Without one there is nothing to last.
            if held { Promise::new(&mut |_, _| {}).into() } else { JsValue::UNDEFINED }
        });
        let options = Object::new();
        let (key, value) = match wait_ms {
            0 => ("ifAvailable", JsValue::TRUE),
            _ => ("signal", AbortSignal::timeout_with_u32(wait_ms).into()),
        };
        // Setting a field of a fresh object cannot fail.
        let _ = Reflect::set(&options, &key.into(), &value);
        asked = request(name, &options, callback.unchecked_ref()).ok();
    });
    let Some(asked) = asked else { return true };
    // The question itself ends by the signal, which is a no.
    JsFuture::from(Promise::race(&Array::of2(&given, &asked))).await.is_ok_and(|given| given.is_truthy())
}
