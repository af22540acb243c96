//! IndexedDB's events as futures. A handler lives as long as its Rust value and is taken off when that is dropped.

use std::cell::Cell;
use std::rc::Rc;

use futures_channel::oneshot;
use js_sys::Reflect;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DomException, IdbRequest, IdbTransaction};

/// An event handler property (`onsuccess`) that is set.
pub(crate) struct Handler {
    target: JsValue,
    property: &'static str,
    _closure: Closure<dyn FnMut(JsValue)>,
}

impl Handler {
    /// Sets `target[property]`.
    pub(crate) fn set(
        target: &JsValue,
        property: &'static str,
        handle: impl FnMut(JsValue) + 'static,
    ) -> Self {
        let closure = Closure::<dyn FnMut(JsValue)>::new(handle);
        // Setting a property of an object of the browser's cannot fail.
        let _ = Reflect::set(target, &property.into(), closure.as_ref());
        Self { target: target.clone(), property, _closure: closure }
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        let _ = Reflect::set(&self.target, &self.property.into(), &JsValue::NULL);
    }
}

/// The first of several events that may end a wait.
pub(crate) struct Outcome<T>(Rc<Cell<Option<oneshot::Sender<T>>>>);

impl<T> Clone for Outcome<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Outcome<T> {
    /// An outcome that is not known yet, and the future of it.
    pub(crate) fn new() -> (Self, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Rc::new(Cell::new(Some(sender)))), receiver)
    }

    /// Settles it. The value comes back when it was settled before, or when nobody waits for it any more.
    pub(crate) fn offer(&self, value: T) -> Result<(), T> {
        match self.0.take() {
            Some(sender) => sender.send(value),
            None => Err(value),
        }
    }

    /// Settles it; where that is of no use the value is dropped.
    pub(crate) fn settle(&self, value: T) {
        drop(self.offer(value));
    }
}

/// The result of a request.
pub(crate) async fn finished(request: &IdbRequest) -> Result<JsValue, Failure> {
    let (outcome, wait) = Outcome::new();
    let failed = outcome.clone();
    let of_request = request.clone();
    let _success = Handler::set(request, "onsuccess", move |_| outcome.settle(Ok(())));
    let _error =
        Handler::set(request, "onerror", move |_| failed.settle(Err(Failure::of_request(&of_request))));
    match wait.await {
        Ok(Ok(())) => request.result().map_err(|error| Failure::of(&error)),
        Ok(Err(failure)) => Err(failure),
        Err(oneshot::Canceled) => Err(Failure::closed()),
    }
}

/// The end of a transaction, awaited from the moment of this call.
pub(crate) struct Completion {
    wait: oneshot::Receiver<Result<(), Failure>>,
    _complete: Handler,
    _abort: Handler,
}

impl Completion {
    /// Listens to a transaction. Call it before control returns to the browser.
    pub(crate) fn listen(transaction: &IdbTransaction) -> Self {
        let (outcome, wait) = Outcome::new();
        let aborted = outcome.clone();
        let of_transaction = transaction.clone();
        Self {
            wait,
            _complete: Handler::set(transaction, "oncomplete", move |_| outcome.settle(Ok(()))),
            _abort: Handler::set(transaction, "onabort", move |_| {
                let failure = of_transaction.error().map_or_else(Failure::closed, |it| Failure::of(&it));
                aborted.settle(Err(failure));
            }),
        }
    }

    /// Waits for it.
    pub(crate) async fn end(self) -> Result<(), Failure> {
        self.wait.await.unwrap_or_else(|oneshot::Canceled| Err(Failure::closed()))
    }
}

/// Why IndexedDB did not do what it was asked: the exception's name, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Failure {
    /// Reads an exception.
    pub(crate) fn of(error: &JsValue) -> Self {
        if let Some(exception) = error.dyn_ref::<DomException>() {
            let name = exception.name();
            return Self { text: format!("{name}: {}", exception.message()), name };
        }
        let text = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.to_string()));
        Self { name: String::new(), text: text.unwrap_or_else(|| format!("{error:?}")) }
    }

    pub(crate) fn of_request(request: &IdbRequest) -> Self {
        match request.error() {
            Ok(Some(error)) => Self::of(&error),
            Ok(None) => Self::closed(),
            Err(error) => Self::of(&error),
        }
    }

    /// A transaction that ended without a reason: the connection was closed under it.
    pub(crate) fn closed() -> Self {
        Self { name: String::new(), text: "the connection to the database was closed".to_owned() }
    }
}
