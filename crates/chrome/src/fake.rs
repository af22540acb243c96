//! A scripted browser and a virtual clock, for native tests of whatever drives the browser.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use panelot_base::Timestamp;
use serde_json::Value;

use crate::api::{Api, ChromeError};
use crate::clock::Clock;
use crate::port::{Connect, Port};

/// How a scripted function answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// At once.
    Now(Result<Value, String>),
    /// After some milliseconds of virtual time.
    After(u64, Result<Value, String>),
    /// Not at all.
    Never,
}

impl Reply {
    /// This value, at once.
    pub fn ok(value: impl Into<Value>) -> Self {
        Self::Now(Ok(value.into()))
    }

    /// Chrome's refusal, at once.
    pub fn err(message: impl Into<String>) -> Self {
        Self::Now(Err(message.into()))
    }
}

type Handler = Rc<RefCell<dyn FnMut(&[Value]) -> Reply>>;

/// One call that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// When, in virtual time.
    pub at: Timestamp,
    /// The function, without `chrome.`.
    pub method: &'static str,
    /// Its arguments.
    pub arguments: Vec<Value>,
}

/// A browser whose functions answer as a test says. Clones are the same browser.
#[derive(Clone, Default)]
pub struct FakeChrome {
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    clock: FakeClock,
    handlers: RefCell<BTreeMap<&'static str, Handler>>,
    calls: RefCell<Vec<RecordedCall>>,
    ports: RefCell<Vec<FakePort>>,
}

impl FakeChrome {
    /// A browser without any function, on a clock.
    #[must_use]
    pub fn new(clock: &FakeClock) -> Self {
        Self { shared: Rc::new(Shared { clock: clock.clone(), ..Shared::default() }) }
    }

    /// Says how a function answers, from now on. A function that was never said answers with an error.
    pub fn on(&self, method: &'static str, handler: impl FnMut(&[Value]) -> Reply + 'static) {
        self.shared.handlers.borrow_mut().insert(method, Rc::new(RefCell::new(handler)));
    }

    /// All calls so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.shared.calls.borrow().clone()
    }

    /// The arguments of the calls of one function so far, in order.
    #[must_use]
    pub fn calls_of(&self, method: &str) -> Vec<Vec<Value>> {
        let calls = self.shared.calls.borrow();
        calls.iter().filter(|call| call.method == method).map(|call| call.arguments.clone()).collect()
    }

    /// The other ends of all connections that were opened, in order.
    #[must_use]
    pub fn ports(&self) -> Vec<FakePort> {
        self.shared.ports.borrow().clone()
    }

    fn reply(&self, method: &'static str, arguments: Vec<Value>) -> Reply {
        let handler = self.shared.handlers.borrow().get(method).map(Rc::clone);
        let reply = match handler {
            Some(handler) => (handler.borrow_mut())(&arguments),
            None => Reply::err("not scripted"),
        };
        let at = self.shared.clock.now();
        self.shared.calls.borrow_mut().push(RecordedCall { at, method, arguments });
        reply
    }
}

impl Api for FakeChrome {
    async fn call(&self, method: &'static str, arguments: Vec<Value>) -> Result<Value, ChromeError> {
        let result = match self.reply(method, arguments) {
            Reply::Now(result) => result,
            Reply::After(ms, result) => {
                self.shared.clock.sleep(ms).await;
                result
            }
            Reply::Never => std::future::pending().await,
        };
        result.map_err(|message| ChromeError::new(method, message))
    }

    fn call_now(&self, method: &'static str, arguments: Vec<Value>) -> Result<Value, ChromeError> {
        match self.reply(method, arguments) {
            Reply::Now(result) => result.map_err(|message| ChromeError::new(method, message)),
            Reply::After(..) | Reply::Never => Err(ChromeError::new(method, "scripted to answer later")),
        }
    }
}

/// A virtual clock with an executor: time stands still while anything can run, then jumps to the next timer.
#[derive(Clone, Default)]
pub struct FakeClock(Rc<ClockState>);

#[derive(Default)]
struct ClockState {
    now: Cell<u64>,
    last_id: Cell<u64>,
    due: RefCell<BTreeMap<(u64, u64), Due>>,
}

enum Due {
    Wake(Waker),
    Run(Box<dyn FnOnce()>),
}

impl FakeClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn starting_at(now: Timestamp) -> Self {
        let clock = Self::default();
        clock.0.now.set(now.0);
        clock
    }

    /// Does something `ms` milliseconds from now, during [`FakeClock::run`].
    pub fn after(&self, ms: u64, what: impl FnOnce() + 'static) {
        self.insert(self.0.now.get().saturating_add(ms), Due::Run(Box::new(what)));
    }

    fn insert(&self, at: u64, due: Due) -> (u64, u64) {
        let id = self.0.last_id.get().saturating_add(1);
        self.0.last_id.set(id);
        self.0.due.borrow_mut().insert((at, id), due);
        (at, id)
    }

    /// Runs a future to its end and returns its value; `None` when it waits for something that will never come.
    pub fn run<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        loop {
            while woken.0.swap(false, Ordering::Relaxed) {
                if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return Some(value);
                }
            }
            let ((at, _), due) = self.0.due.borrow_mut().pop_first()?;
            self.0.now.set(self.0.now.get().max(at));
            match due {
                Due::Wake(waker) => waker.wake(),
                Due::Run(what) => what(),
            }
        }
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now.get())
    }

    fn sleep(&self, ms: u64) -> impl Future<Output = ()> {
        Sleep { clock: self.clone(), until: self.0.now.get().saturating_add(ms), key: None }
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Sleep {
    clock: FakeClock,
    until: u64,
    key: Option<(u64, u64)>,
}

impl Sleep {
    fn withdraw(&mut self) {
        if let Some(key) = self.key.take() {
            self.clock.0.due.borrow_mut().remove(&key);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.withdraw();
        if self.clock.0.now.get() >= self.until {
            return Poll::Ready(());
        }
        self.key = Some(self.clock.insert(self.until, Due::Wake(context.waker().clone())));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// A connection without a worker: the test plays the other end. Clones are the same connection.
#[derive(Clone)]
pub struct FakePort(Rc<FakePortState>);

struct FakePortState {
    name: String,
    open: Cell<bool>,
    sent: RefCell<Vec<Value>>,
    on_message: RefCell<Box<dyn FnMut(Value)>>,
    on_disconnect: RefCell<Box<dyn FnMut()>>,
}

impl FakePort {
    /// What it was connected for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether neither end has disconnected.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.open.get()
    }

    /// What was sent so far, in order.
    #[must_use]
    pub fn sent(&self) -> Vec<Value> {
        self.0.sent.borrow().clone()
    }

    /// Lets the view receive a message; a closed connection carries none.
    pub fn deliver(&self, message: Value) {
        if self.is_open() {
            (self.0.on_message.borrow_mut())(message);
        }
    }

    /// Lets the other end go away, as a killed worker does.
    pub fn drop_other_end(&self) {
        if self.0.open.replace(false) {
            (self.0.on_disconnect.borrow_mut())();
        }
    }
}

impl Port for FakePort {
    fn post(&self, message: &Value) -> Result<(), ChromeError> {
        if !self.is_open() {
            return Err(ChromeError::new("Port.postMessage", "the port is disconnected"));
        }
        self.0.sent.borrow_mut().push(message.clone());
        Ok(())
    }

    fn disconnect(&self) {
        self.0.open.set(false);
    }
}

impl Connect for FakeChrome {
    type Port = FakePort;

    fn connect(
        &self,
        name: &str,
        on_message: impl FnMut(Value) + 'static,
        on_disconnect: impl FnMut() + 'static,
    ) -> Result<FakePort, ChromeError> {
        let port = FakePort(Rc::new(FakePortState {
            name: name.to_owned(),
            open: Cell::new(true),
            sent: RefCell::default(),
            on_message: RefCell::new(Box::new(on_message)),
            on_disconnect: RefCell::new(Box::new(on_disconnect)),
        }));
        self.shared.ports.borrow_mut().push(port.clone());
        Ok(port)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use futures_util::future::{Either, select};
    use panelot_base::Timestamp;
    use serde_json::json;

    use super::{FakeChrome, FakeClock, Reply};
    use crate::calls::storage::{self, Area};
    use crate::clock::Clock as _;
    use crate::port::{Connect as _, Port as _};
    use crate::{runtime, tabs};

    #[test]
    fn time_jumps_from_timer_to_timer_and_a_dropped_one_is_gone() {
        let clock = FakeClock::starting_at(Timestamp(1_000));
        let happened = Rc::new(RefCell::new(Vec::new()));
        clock.after(70, {
            let (clock, happened) = (clock.clone(), Rc::clone(&happened));
            move || happened.borrow_mut().push(clock.now().0)
        });
        let winner = clock.run(async {
            let slow = Box::pin(clock.sleep(5_000));
            let quick = Box::pin(clock.sleep(100));
            matches!(select(slow, quick).await, Either::Right(_))
        });
        assert_eq!(
            (winner, clock.now(), happened.borrow().clone()),
            (Some(true), Timestamp(1_100), vec![1_070])
        );
        assert_eq!(clock.run(std::future::pending::<()>()), None, "nothing is left to wait for");
    }

    #[test]
    fn typed_calls_say_what_chrome_expects_and_read_what_it_answers() {
        let clock = FakeClock::default();
        let chrome = FakeChrome::new(&clock);
        chrome.on("storage.session.get", |_| Reply::ok(json!({"a": {"n": 1}})));
        chrome.on("tabs.query", |_| Reply::ok(json!([{"id": 3, "windowId": 1, "url": "https://a.test/"}])));
        chrome.on("runtime.getURL", |arguments| {
            Reply::ok(format!("chrome-extension://abcdef/{}", arguments[0].as_str().unwrap()))
        });
        clock
            .run(async {
                assert_eq!(storage::get(&chrome, Area::Session, "a").await, Ok(Some(json!({"n": 1}))));
                assert_eq!(storage::get(&chrome, Area::Session, "b").await, Ok(None));
                let query = tabs::Query { active: Some(true), window_id: None };
                assert_eq!(tabs::query(&chrome, query).await.unwrap()[0].id, Some(3));
                assert_eq!(runtime::id(&chrome).as_deref(), Ok("abcdef"));
                assert_eq!(tabs::get(&chrome, 3).await.unwrap_err().message, "not scripted");
            })
            .unwrap();
        assert_eq!(chrome.calls_of("tabs.query"), [vec![json!({"active": true})]]);
    }

    #[test]
    fn a_connection_carries_messages_until_either_end_goes() {
        let chrome = FakeChrome::new(&FakeClock::default());
        let seen = Rc::new(RefCell::new(Vec::new()));
        let port = chrome
            .connect(
                "panelot-engine",
                {
                    let seen = Rc::clone(&seen);
                    move |message| seen.borrow_mut().push(message)
                },
                {
                    let seen = Rc::clone(&seen);
                    move || seen.borrow_mut().push(json!("gone"))
                },
            )
            .unwrap();
        port.post(&json!({"type": "ping"})).unwrap();
        let other = chrome.ports().remove(0);
        assert_eq!((other.name(), other.sent()), ("panelot-engine", vec![json!({"type": "ping"})]));
        other.deliver(json!(1));
        other.drop_other_end();
        other.drop_other_end();
        other.deliver(json!(2));
        assert_eq!(*seen.borrow(), [json!(1), json!("gone")]);
        assert!(port.post(&json!(3)).is_err());
    }
}
