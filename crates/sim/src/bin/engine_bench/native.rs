//! The figures without a browser.

use std::rc::Rc;
use std::time::Instant;

use futures_executor::LocalPool;
use panelot_base::{ConnectionId, SafeUrl, SessionId, SortedSet, ThreadId, Timestamp};
use panelot_engine::ConnectionHandle;
use panelot_model_client::Client;
use panelot_protocol::{PROTOCOL, SCHEMA_HASH};
use panelot_records::run::ModelChoice;
use panelot_records::{Connection, Record, Settings};
use panelot_runtime::{BootFacts, Runtime, read_boot};
use panelot_store::MemoryStore;
use serde_json::{Value, json};

use crate::ports::{BenchPorts, Outside, Seen};
use crate::{SIZES, memory, thread_of};

const NOW: u64 = 1_800_000_000_000;
/// Rounds of each figure, and those before them that are not counted.
const ROUNDS: usize = 50;
const WARM_UP: usize = 5;
/// Pieces of the long answer.
const PIECES: u32 = 4_000;
/// Threads that are held at once to see what one costs.
const HELD: u64 = 300;
const HELD_NODES: u64 = 200;

type Figures = Vec<Value>;

fn text_of(error: impl ToString) -> String {
    error.to_string()
}

/// A runtime over a store that holds what the person set up.
struct Bench {
    pool: LocalPool,
    runtime: Rc<Runtime<BenchPorts>>,
    seen: Rc<Seen>,
    sent: u64,
    views: u64,
}

impl Bench {
    fn start(threads: impl IntoIterator<Item = Vec<Record>>) -> Result<Self, String> {
        let store = MemoryStore::new();
        let connection = ConnectionId::new("bench").map_err(text_of)?;
        let model = ModelChoice { connection: connection.clone(), model: "echo".to_owned() };
        let settings = Settings { default_model: Some(model), ..Settings::default() };
        let wire = panelot_records::ProviderWire::Openai;
        let place = SafeUrl::new("http://localhost:1/v1");
        let provider = Connection {
            revision: 1,
            name: "Bench".to_owned(),
            models: vec!["echo".to_owned()],
            ..Connection::new(connection, wire, place, Timestamp(NOW))
        };
        let records = [Record::Settings(settings), Record::Connection(provider)];
        for record in records.into_iter().chain(threads.into_iter().flatten()) {
            store.put_row(record.key(), record.to_row());
        }
        let facts = BootFacts {
            epoch: 1,
            session: SessionId::new("bench").map_err(text_of)?,
            seed: [7; 16],
            browser_language: "en".to_owned(),
            quarantined: SortedSet::new(),
        };
        let mut pool = LocalPool::new();
        let boot = pool.run_until(read_boot(&store, facts)).map_err(text_of)?;
        let seen = Rc::new(Seen::new(NOW));
        let outside = Outside(Rc::clone(&seen));
        let models = Client::new(outside.clone());
        let ports = BenchPorts { store, outside, models, spawner: pool.spawner() };
        let runtime = Runtime::start(ports, boot);
        Ok(Self { pool, runtime, seen, sent: 0, views: 0 })
    }

    /// A new view in the place of the one before.
    fn view(&mut self) -> ConnectionHandle {
        if self.views > 0 {
            self.runtime.disconnect(ConnectionHandle(self.views));
        }
        self.add_view()
    }

    fn add_view(&mut self) -> ConnectionHandle {
        self.views += 1;
        let view = ConnectionHandle(self.views);
        self.runtime.connect(view);
        let client = format!("client-{}", self.views);
        let hello = json!({"type": "initialize", "protocol": PROTOCOL, "schemaHash": SCHEMA_HASH, "clientId": client});
        self.send(view, hello);
        view
    }

    /// Sends an operation, runs what it brings, and says when it was sent.
    fn send(&mut self, view: ConnectionHandle, mut op: Value) -> Instant {
        self.sent += 1;
        if let Some(fields) = op.as_object_mut() {
            fields.insert("submissionId".to_owned(), json!(format!("s{}", self.sent)));
        }
        self.seen.told.borrow_mut().clear();
        let at = Instant::now();
        self.runtime.receive(view, &op);
        self.pool.run_until_stalled();
        at
    }

    /// Milliseconds until the first event of that type.
    fn until(&self, at: Instant, wanted: &str) -> Result<f64, String> {
        let told = self.seen.told.borrow();
        let found =
            told.iter().find(|(_, message)| message.get("type").and_then(Value::as_str) == Some(wanted));
        let (when, _) = found.ok_or_else(|| {
            let types: Vec<_> = told.iter().filter_map(|(_, message)| message.get("type")).collect();
            format!("there was no {wanted}, only {types:?}")
        })?;
        Ok(ms(at, *when))
    }
}

fn ms(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_secs_f64() * 1_000.0
}

fn figure(name: String, unit: &str, values: &[f64]) -> Value {
    json!({"name": name, "unit": unit, "values": values})
}

/// Everything that is measured here, as `{figures: [{name, unit, values}]}`.
pub(crate) fn measure() -> Result<Value, String> {
    let mut figures = Figures::new();
    for size in SIZES {
        of_size(size, &mut figures)?;
    }
    deltas(&mut figures)?;
    held(&mut figures)?;
    Ok(json!({"figures": figures}))
}

fn of_size(size: u64, figures: &mut Figures) -> Result<(), String> {
    let id = format!("bench-{size}");
    let mut bench = Bench::start([thread_of(&id, size).map_err(text_of)?])?;
    let [mut restored, mut again, mut older, mut acknowledged, mut requested] = [const { Vec::new() }; 5];
    for round in 0..ROUNDS + WARM_UP {
        // The view before is gone, so the thread sleeps and is built from its records anew.
        let view = bench.view();
        let subscribe = json!({"type": "thread.subscribe", "threadId": id});
        let at = bench.send(view, subscribe.clone());
        let restored_after = bench.until(at, "thread.snapshot")?;
        let at = bench.send(view, subscribe);
        let again_after = bench.until(at, "thread.snapshot")?;
        let at = bench.send(view, json!({"type": "thread.history", "threadId": id, "before": size - 60}));
        let older_after = bench.until(at, "thread.page")?;
        bench.seen.requested.set(None);
        let submit = json!({"type": "turn.submit", "threadId": id, "input": {"text": "And then?"}});
        let at = bench.send(view, submit);
        let acknowledged_after = bench.until(at, "command.ack")?;
        let request = bench.seen.requested.get().ok_or("the provider was not asked")?;
        if round < WARM_UP {
            continue;
        }
        restored.push(restored_after);
        again.push(again_after);
        older.push(older_after);
        acknowledged.push(acknowledged_after);
        requested.push(ms(at, request));
    }
    figures.push(figure(format!("native: restore of {size} nodes"), "ms", &restored));
    figures.push(figure(format!("native: snapshot page of {size} nodes, awake"), "ms", &again));
    figures.push(figure(format!("native: older page of {size} nodes"), "ms", &older));
    figures.push(figure(format!("native: submit to acknowledged, {size} nodes"), "ms", &acknowledged));
    figures.push(figure(format!("native: submit to provider request, {size} nodes"), "ms", &requested));
    Ok(())
}

/// What a piece of an answer costs from its bytes to the view, checkpoints included.
fn deltas(figures: &mut Figures) -> Result<(), String> {
    let id = ThreadId::new("bench-200").map_err(text_of)?;
    let mut bench = Bench::start([thread_of(id.as_str(), 200).map_err(text_of)?])?;
    let view = bench.view();
    bench.send(view, json!({"type": "thread.subscribe", "threadId": id.as_str()}));
    bench.seen.pieces.set(PIECES);
    let mut costs = Vec::new();
    for _ in 0..5 {
        let at = bench
            .send(view, json!({"type": "turn.submit", "threadId": id.as_str(), "input": {"text": "Write"}}));
        let requested = bench.seen.requested.get().ok_or("the provider was not asked")?;
        let took = bench.until(at, "turn.complete")? - ms(at, requested);
        costs.push(took * 1_000.0 / f64::from(PIECES));
    }
    figures.push(figure(format!("native: one of {PIECES} deltas, checkpoints included"), "µs", &costs));
    Ok(())
}

/// What a thread that a view follows holds in memory.
fn held(figures: &mut Figures) -> Result<(), String> {
    let ids: Vec<String> = (0..HELD).map(|number| format!("held-{number}")).collect();
    let mut threads = Vec::new();
    for id in &ids {
        threads.push(thread_of(id, HELD_NODES).map_err(text_of)?);
    }
    let mut bench = Bench::start(threads)?;
    let before = memory::held();
    for id in &ids {
        let view = bench.add_view();
        bench.send(view, json!({"type": "thread.subscribe", "threadId": id}));
    }
    bench.seen.told.borrow_mut().clear();
    let bytes = memory::held().saturating_sub(before) as f64 / HELD as f64;
    figures.push(figure("native: memory of a thread that is followed".to_owned(), "kB", &[bytes / 1_000.0]));
    Ok(())
}
