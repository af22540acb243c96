//! Waiting: a timer that dropping cancels, and a way to let the event loop run.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use js_sys::{Function, Promise};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::MessageChannel;

/// The longest time that `setTimeout` takes; it runs a longer one at once. 24.8 days.
const TIMEOUT_MS_MAX: u64 = i32::MAX as u64;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, ms: i32) -> f64;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: f64);
}

/// A future that completes after some time. Dropping it cancels it.
#[derive(Debug)]
pub struct Timer {
    id: f64,
    shared: Rc<Shared>,
    // Kept alive for as long as the browser may call it.
    _callback: Closure<dyn FnMut()>,
}

#[derive(Debug, Default)]
struct Shared {
    elapsed: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Timer {
    /// Starts a timer of `ms` milliseconds; more than 24.8 days are cut to that.
    #[must_use]
    pub fn new(ms: u64) -> Self {
        let shared = Rc::new(Shared::default());
        let callback = Closure::new({
            let shared = Rc::clone(&shared);
            move || {
                shared.elapsed.set(true);
                let waker = shared.waker.borrow_mut().take();
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
        });
        let ms = i32::try_from(ms.min(TIMEOUT_MS_MAX)).unwrap_or(i32::MAX);
        let id = set_timeout(callback.as_ref().unchecked_ref(), ms);
        Self { id, shared, _callback: callback }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.shared.elapsed.get() {
            return Poll::Ready(());
        }
        *self.shared.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(self.id);
    }
}

/// Completes after `ms` milliseconds. Dropping the future cancels the timer.
pub async fn sleep_ms(ms: u64) {
    Timer::new(ms).await;
}

/// Lets the browser run what waits in its event loop: input, painting, messages, the rest of a stream.
///
/// A posted message is used because a chain of `setTimeout(0)` is slowed to 4 ms a step.
pub async fn yield_to_event_loop() {
    let Ok(channel) = MessageChannel::new() else { return sleep_ms(0).await };
    let (here, there) = (channel.port1(), channel.port2());
    let posted = Promise::new(&mut |resolve, reject| {
        here.set_onmessage(Some(&resolve));
        if let Err(error) = there.post_message(&JsValue::NULL) {
            // Nothing can come of a failed rejection.
            let _ = reject.call1(&JsValue::NULL, &error);
        }
    });
    // Either way control came back from the event loop, which is all that was wanted.
    let _ = JsFuture::from(posted).await;
    here.close();
}
