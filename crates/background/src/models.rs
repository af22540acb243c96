//! The way to the worker's second module, which calls models (crate `models`; `extension/models.js` loads it).

use std::cell::Cell;

use js_sys::{Function, Promise};
use panelot_base::json::{FromJson, ToJson};
use panelot_model_client::{Call, CallError, Delta, Models, Outcome, Probe, Secrets};
use panelot_provider::Response;
use panelot_provider::verify::{StepReport, Tried};
use serde_json::Value;
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = panelotModels, js_name = answer)]
    fn models_answer(number: u32, call: &str, secrets: Vec<String>, deltas: &Function) -> Promise;
    #[wasm_bindgen(js_namespace = panelotModels, js_name = verify)]
    fn models_verify(number: u32, probe: &str, secrets: Vec<String>, told: &Function) -> Promise;
    #[wasm_bindgen(js_namespace = panelotModels, js_name = cancel)]
    fn models_cancel(number: u32);
}

/// The module, behind the boot script's function.
#[derive(Default)]
pub(crate) struct ModelsModule {
    /// How many calls there were: each has a number of its own.
    calls: Cell<u32>,
}

/// Ends the request of a call that is dropped; after the call's end that does nothing.
struct Guard(u32);

impl Drop for Guard {
    fn drop(&mut self) {
        models_cancel(self.0);
    }
}

impl ModelsModule {
    fn next(&self) -> Guard {
        self.calls.set(self.calls.get().wrapping_add(1));
        Guard(self.calls.get())
    }
}

/// What a call ended with. A promise that is rejected says that the module could not be loaded or trapped.
#[inline(never)]
async fn outcome(promise: Promise) -> Result<Outcome, CallError> {
    let ours = |what: String| CallError::Ours(format!("the module that calls models failed: {what}"));
    let told = JsFuture::from(promise).await.map_err(|error| ours(said(&error)))?;
    let text = told.as_string().unwrap_or_default();
    let value: Value = serde_json::from_str(&text).map_err(|error| ours(error.to_string()))?;
    match Outcome::from_json(value).map_err(|error| ours(error.to_string()))? {
        Outcome::Failed(error) => Err(error),
        ended => Ok(ended),
    }
}

fn said(error: &JsValue) -> String {
    error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message())).unwrap_or_default()
}

fn unexpected() -> CallError {
    CallError::Ours("the module that calls models answered another question".to_owned())
}

/// Secrets as one list: the values of headers, then the keys.
fn crossing(secrets: &Secrets) -> Vec<String> {
    secrets.headers.iter().chain(&secrets.keys).map(|secret| secret.expose().to_owned()).collect()
}

impl Models for ModelsModule {
    async fn answer(
        &self,
        call: Call,
        secrets: Secrets,
        mut deltas: Box<dyn FnMut(Delta)>,
    ) -> Result<Response, CallError> {
        let deltas = Closure::<dyn FnMut(String, String)>::new(move |text, reasoning| {
            deltas(Delta { text, reasoning });
        });
        // Dropped before the closure is: what is cancelled tells no more.
        let guard = self.next();
        let call = call.to_json().to_string();
        let ended =
            outcome(models_answer(guard.0, &call, crossing(&secrets), deltas.as_ref().unchecked_ref()));
        match ended.await? {
            Outcome::Answer(response) => Ok(response),
            _ => Err(unexpected()),
        }
    }

    async fn verify(
        &self,
        probe: Probe,
        secrets: Secrets,
        mut told: Box<dyn FnMut(StepReport)>,
    ) -> Result<Tried, CallError> {
        let told = Closure::<dyn FnMut(String)>::new(move |report: String| {
            let value: Option<Value> = serde_json::from_str(&report).ok();
            if let Some(report) = value.and_then(|value| StepReport::from_json(value).ok()) {
                told(report);
            }
        });
        let guard = self.next();
        let probe = probe.to_json().to_string();
        let ended =
            outcome(models_verify(guard.0, &probe, crossing(&secrets), told.as_ref().unchecked_ref()));
        match ended.await? {
            Outcome::Tried(tried) => Ok(tried),
            _ => Err(unexpected()),
        }
    }
}
