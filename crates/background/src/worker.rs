//! The life of one instance: open the store, start the runtime, pass events on.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Array;
use panelot_base::json::FromJson;
use panelot_base::{Secret, SessionId, SortedSet, ThreadId};

use panelot_chrome::{Chrome, ChromeEvent, PortId, Ports as ChromePorts};
use panelot_engine::{Boot, ConnectionHandle, PageSignal};
use panelot_protocol::event::{ErrorCode, ErrorEvent, Event};
use panelot_protocol::snapshot::ErrorView;
use panelot_protocol::{EventMessage, PORT_NAME};
use panelot_runtime::{BootFacts, Runtime, boot_of, read_boot};
use panelot_store::{Store as _, StoreError};
use panelot_store_indexeddb::{DATABASE, IndexedDbStore};
use panelot_web as web;
use serde_json::Value;
use wasm_bindgen::JsValue;

use crate::models::ModelsModule;
use crate::shell::{ALARM, Shell, Tabs, TabsBrowser, WebClock, log};

/// How long after a failure the database is tried again.
const REOPEN_MS: u64 = 5000;
/// What the boot script knows.
#[derive(Debug, FromJson)]
#[serde(rename_all = "camelCase")]
struct BootMessage {
    quarantined: Vec<String>,
    epoch: u64,
    session: SessionId,
    language: String,
    /// What unlocks the credentials, where they are protected and unlocked.
    #[serde(default)]
    unlocked: Option<String>,
}

/// What lives as long as the instance.
struct Worker {
    ports: Rc<ChromePorts>,
    tabs: Rc<Tabs>,
    open: RefCell<SortedSet<u64>>,
    /// What unlocked the credentials when this instance began.
    kept: Option<Secret>,
    /// None while the database cannot be used; then this says why.
    runtime: RefCell<Result<Rc<Runtime<Shell>>, String>>,
}

thread_local! {
    static WORKER: RefCell<Option<Rc<Worker>>> = const { RefCell::new(None) };
}

pub(crate) async fn start(boot: &str, prefetched: JsValue) -> Result<(), String> {
    #[cfg(target_family = "wasm")]
    panelot_base::set_address_reader(web::read_address);
    // A release has no words for a panic: it traps.
    #[cfg(debug_assertions)]
    std::panic::set_hook(Box::new(|panic| log(&panic.to_string())));
    let message: Value = serde_json::from_str(boot).map_err(|error| error.to_string())?;
    let message = BootMessage::from_json(message).map_err(|error| error.to_string())?;
    let facts = BootFacts {
        epoch: message.epoch,
        session: message.session,
        seed: random()?,
        browser_language: message.language,
        quarantined: message.quarantined.into_iter().filter_map(|id| ThreadId::new(id).ok()).collect(),
    };
    #[cfg(feature = "failpoints")]
    crate::failpoint::start().await;
    let worker = Rc::new(Worker {
        ports: Rc::new(ChromePorts::default()),
        tabs: Rc::new(Tabs::new(Chrome, WebClock, random()?)),
        open: RefCell::default(),
        kept: message.unlocked.map(Secret::new),
        runtime: RefCell::new(Err("the engine is starting".to_owned())),
    });
    WORKER.with(|it| it.replace(Some(Rc::clone(&worker))));
    if let Err(why) = worker.run(facts.clone(), &prefetched).await {
        log(&why.to_string());
        *worker.runtime.borrow_mut() = Err(why.to_string());
        web::spawn(reopen(worker, facts));
    }
    Ok(())
}

fn random() -> Result<[u8; 16], String> {
    web::random_bytes().map_err(|error| error.to_string())
}

/// Tries the database again and again; what was wrong may be put right from outside.
async fn reopen(worker: Rc<Worker>, facts: BootFacts) {
    loop {
        web::sleep_ms(REOPEN_MS).await;
        match worker.run(facts.clone(), &JsValue::UNDEFINED).await {
            Ok(()) => {
                // The views were told that nothing works; they connect again and find that it does.
                for port in worker.open.take() {
                    worker.ports.disconnect(PortId(port));
                }
                return;
            }
            Err(why) => *worker.runtime.borrow_mut() = Err(why.to_string()),
        }
    }
}

#[inline(never)]
async fn open(facts: BootFacts) -> Result<(IndexedDbStore, Boot), StoreError> {
    let store = IndexedDbStore::open(DATABASE).await?;
    let boot = read_boot(&store, facts).await?;
    Ok((store, boot))
}

/// Whether what an earlier instance kept unlocks the credentials.
#[inline(never)]
async fn unlock(store: &IndexedDbStore, boot: &Boot, kept: &Secret) -> bool {
    store.sealer().restore(kept).await;
    store.sealer().is_open(boot.vault.as_ref())
}

impl Worker {
    /// Starts the runtime on what the boot script has read, else on what is read here.
    async fn run(&self, facts: BootFacts, prefetched: &JsValue) -> Result<(), StoreError> {
        let (store, mut boot) = match IndexedDbStore::adopt(prefetched) {
            Some((store, reads)) => (store, boot_of(facts, reads)),
            // In a box: what is seldom needed is compiled when it is needed.
            None => Box::pin(open(facts)).await?,
        };
        if let (Some(_), Some(kept)) = (&boot.vault, &self.kept) {
            boot.unlocked = Box::pin(unlock(&store, &boot, kept)).await;
        }
        let shell = Shell {
            store,
            models: ModelsModule::default(),
            browser: TabsBrowser(Rc::clone(&self.tabs)),
            ports: Rc::clone(&self.ports),
        };
        *self.runtime.borrow_mut() = Ok(Runtime::start(shell, boot));
        Ok(())
    }

    fn on_event(&self, event: ChromeEvent) {
        self.tabs.on_event(&event);
        match event {
            ChromeEvent::PortConnected { port, name, .. } => {
                if name == PORT_NAME {
                    self.open.borrow_mut().insert(port.0);
                    self.with_runtime(|runtime| runtime.connect(ConnectionHandle(port.0)));
                } else {
                    self.ports.disconnect(port);
                }
            }
            ChromeEvent::PortMessage { port, message } => match &*self.runtime.borrow() {
                Ok(runtime) => runtime.receive(ConnectionHandle(port.0), &message),
                Err(why) => self.refuse(port, why),
            },
            ChromeEvent::PortDisconnected { port } => {
                self.open.borrow_mut().remove(&port.0);
                self.with_runtime(|runtime| runtime.disconnect(ConnectionHandle(port.0)));
            }
            ChromeEvent::AlarmFired { name } if name == ALARM => {
                self.with_runtime(|runtime| runtime.wake_up());
            }
            ChromeEvent::UpdateAvailable { version } => {
                self.with_runtime(|runtime| runtime.update_available(version));
            }
            ChromeEvent::TabRemoved { tab_id } | ChromeEvent::TabReplaced { removed: tab_id, .. } => {
                self.with_runtime(|runtime| runtime.page_signal(tab_id, PageSignal::Gone));
            }
            ChromeEvent::TabUpdated { tab_id, url, .. } => {
                self.with_runtime(|runtime| runtime.page_signal(tab_id, PageSignal::Changed { url }));
            }
            ChromeEvent::NavigationCommitted { tab_id, frame_id: 0, url, .. }
            | ChromeEvent::NavigationReady { tab_id, frame_id: 0, url, .. } => {
                let signal = PageSignal::Changed { url: Some(url) };
                self.with_runtime(|runtime| runtime.page_signal(tab_id, signal));
            }
            _ => {}
        }
    }

    fn with_runtime(&self, work: impl FnOnce(&Rc<Runtime<Shell>>)) {
        if let Ok(runtime) = &*self.runtime.borrow() {
            work(runtime);
        }
    }

    /// Without a database nothing can be kept, so nothing is done; whoever asks is told why.
    fn refuse(&self, port: PortId, why: &str) {
        let error = ErrorView { code: ErrorCode::StorageFailed, message: why.to_owned(), provider: None };
        let event = Event::Error(ErrorEvent { submission_id: None, error, retryable: true });
        let _ = self.ports.post(port, &EventMessage::private(event).to_json());
    }
}

pub(crate) fn deliver(kind: &str, arguments: &Array) -> Result<(), String> {
    let Some(worker) = WORKER.with(|it| it.borrow().clone()) else { return Ok(()) };
    if let Some(event) = worker.ports.receive(kind, arguments).map_err(|error| error.to_string())? {
        worker.on_event(event);
    }
    Ok(())
}
