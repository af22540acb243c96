//! The scripted model server: `/v1/chat/completions` and `/v1/models` as OpenAI-compatible servers have them, and
//! `/__control/` for tests.
//!
//! Control: `GET requests` (what came, and how it ended), `GET scenarios`, `POST scenarios` (add or replace one),
//! `POST reset` (all steps unused, no requests, nothing released), `POST release/NAME`. A key that ends in `-wrong`
//! is refused with 401, like a real provider's; an illegal history is refused with 400. A request that no scenario
//! matches is echoed.

use crate::http::{Handler, Reply, Request, Server};
use crate::legality;
use crate::play::{Outcome, Plan, Stage, left, text_of};
use crate::scenario::{Action, HttpError, Scenario, Step, When};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The model that is listed and echoes, beside those of the scenarios.
pub const ECHO_MODEL: &str = "echo";
/// A key with this ending is refused.
const WRONG_KEY: &str = "-wrong";
/// A page to run measuring code on, from this origin.
const HOME: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Scripted model server</title>\
<body><main><h1>Scripted model server</h1></main>";

/// What came, and how it ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Counts from 0.
    pub index: usize,
    /// When the request was read, in ms since 1970.
    pub at: u64,
    /// `POST` and so on.
    pub method: String,
    /// The path.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body; null when it is no JSON.
    pub body: Value,
    /// The scenario that answered.
    pub scenario: Option<String>,
    /// Its step.
    pub step: Option<usize>,
    /// What was wrong with the request or the script.
    pub violations: Vec<String>,
    /// `waiting`, `streaming`, `held:NAME`, and in the end `done`, `cut`, `left` (by the client) or `refused`.
    pub state: String,
    /// When the last byte was sent, in ms since 1970.
    pub ended_at: Option<u64>,
}

#[derive(Debug)]
struct Loaded {
    scenario: Scenario,
    used: Vec<bool>,
}

#[derive(Debug, Default)]
struct State {
    scenarios: BTreeMap<String, Loaded>,
    records: Vec<Record>,
    released: BTreeSet<String>,
    /// Counts answers, over resets too, so that call ids never repeat.
    answers: u64,
    /// Counts resets: an answer of before does not touch the records of after.
    era: u64,
}

/// The scripted model server's state; a [`Handler`].
#[derive(Debug, Default)]
pub struct Model {
    state: Mutex<State>,
    stopping: AtomicBool,
}

/// One request under way.
struct Turn<'a> {
    model: &'a Model,
    era: u64,
    index: usize,
}

impl Stage for Turn<'_> {
    fn released(&self, name: &str) -> bool {
        let state = self.model.lock();
        self.model.stopping.load(Ordering::Acquire) || state.era != self.era || state.released.contains(name)
    }

    fn note(&self, text: &str) {
        self.change(|record| text.clone_into(&mut record.state));
    }
}

impl Turn<'_> {
    fn change(&self, change: impl FnOnce(&mut Record)) {
        let mut state = self.model.lock();
        if state.era == self.era
            && let Some(record) = state.records.get_mut(self.index)
        {
            change(record);
        }
    }

    fn end(&self, text: &str) {
        self.change(|record| {
            text.clone_into(&mut record.state);
            record.ended_at = Some(crate::now_ms());
        });
    }

    fn refuse(&self, reply: Reply, status: u16, message: &str, code: &str) -> io::Result<()> {
        self.change(|record| record.violations.push(message.to_owned()));
        let sent = reply.json(status, &api_error(message, code));
        self.end("refused");
        sent
    }
}

fn api_error(message: &str, code: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
}

impl Model {
    /// A server's state with these scenarios.
    ///
    /// # Errors
    /// When two have the same name.
    pub fn new(scenarios: Vec<Scenario>) -> Result<Self, String> {
        let model = Self::default();
        for scenario in scenarios {
            if model.lock().scenarios.contains_key(&scenario.name) {
                return Err(format!("two scenarios are called {:?}", scenario.name));
            }
            model.add(scenario);
        }
        Ok(model)
    }

    /// Reads every `*.json` of a folder.
    ///
    /// # Errors
    /// A text that names the file and what is wrong with it.
    pub fn load(folder: &Path) -> Result<Vec<Scenario>, String> {
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        let read =
            |file: &Path| Scenario::parse(&std::fs::read_to_string(file).map_err(|it| it.to_string())?);
        files.iter().map(|file| read(file).map_err(|error| format!("{}: {error}", file.display()))).collect()
    }

    /// Serves `model` on a loopback port; 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn serve(model: &Arc<Self>, port: u16) -> io::Result<Server> {
        let handler: Arc<dyn Handler> = Arc::<Self>::clone(model);
        Server::start(handler, port)
    }

    /// What came so far.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.lock().records.clone()
    }

    fn add(&self, scenario: Scenario) {
        let used = vec![false; scenario.steps.len()];
        self.lock().scenarios.insert(scenario.name.clone(), Loaded { scenario, used });
    }

    fn reset(&self) {
        let mut state = self.lock();
        state.era += 1;
        state.records.clear();
        state.released.clear();
        for loaded in state.scenarios.values_mut() {
            loaded.used.fill(false);
        }
    }

    /// The state, also after a thread panicked while it held it: a test server goes on.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, request: &Request, body: &Value) -> Turn<'_> {
        let mut state = self.lock();
        let index = state.records.len();
        state.records.push(Record {
            index,
            at: crate::now_ms(),
            method: request.method.clone(),
            path: request.path.clone(),
            headers: request.headers.iter().cloned().collect(),
            body: body.clone(),
            scenario: None,
            step: None,
            violations: Vec::new(),
            state: "waiting".to_owned(),
            ended_at: None,
        });
        Turn { model: self, era: state.era, index }
    }

    fn control(&self, request: &Request, what: &str, reply: Reply) -> io::Result<()> {
        let done = json!({"ok": true});
        match (request.method.as_str(), what) {
            ("GET", "requests") => {
                let records = self.records();
                reply.json(200, &json!(records))
            }
            ("GET", "scenarios") => {
                let names: Vec<String> = self.lock().scenarios.keys().cloned().collect();
                reply.json(200, &json!(names))
            }
            ("POST", "scenarios") => match Scenario::parse(&String::from_utf8_lossy(&request.body)) {
                Ok(scenario) => {
                    self.add(scenario);
                    reply.json(200, &done)
                }
                Err(error) => reply.json(400, &json!({ "error": error })),
            },
            ("POST", "reset") => {
                self.reset();
                reply.json(200, &done)
            }
            ("POST", _) if what.starts_with("release/") => {
                let name = what.trim_start_matches("release/").to_owned();
                self.lock().released.insert(name);
                reply.json(200, &done)
            }
            _ => reply.json(404, &json!({"error": "no such control"})),
        }
    }

    fn list(&self, turn: &Turn<'_>, reply: Reply) -> io::Result<()> {
        let mut ids = BTreeSet::from([ECHO_MODEL.to_owned()]);
        ids.extend(self.lock().scenarios.values().filter_map(|it| it.scenario.matches.model.clone()));
        let data: Vec<Value> =
            ids.iter().map(|id| json!({"id": id, "object": "model", "owned_by": "testkit"})).collect();
        reply.json(200, &json!({"object": "list", "data": data}))?;
        turn.end("done");
        Ok(())
    }

    fn complete(&self, turn: &Turn<'_>, body: &Value, reply: Reply) -> io::Result<()> {
        let found = legality::violations(body);
        if !found.is_empty() {
            return turn.refuse(reply, 400, &found.join("; "), "illegal_history");
        }
        let (step, number) = match self.choose(turn, body) {
            Ok(chosen) => chosen,
            Err(error) => return turn.refuse(reply, 400, &error, "script"),
        };
        let plan = match Plan::new(&step, body, number) {
            Ok(plan) => plan,
            Err(error) => return turn.refuse(reply, 400, &error, "script"),
        };
        let stall = Duration::from_millis(step.stall_before_ms);
        if !reply.wait(Some(stall), || self.stopping.load(Ordering::Acquire)) {
            return Err(left());
        }
        if let Some(name) = &step.hold_before {
            turn.note(&format!("held:{name}"));
            if !reply.wait(None, || turn.released(name)) {
                return Err(left());
            }
        }
        if let Some(error) = &step.error {
            send_error(reply, error)?;
            turn.end("done");
            return Ok(());
        }
        let outcome = if body.get("stream").and_then(Value::as_bool) == Some(true) {
            let with_usage = body.pointer("/stream_options/include_usage").and_then(Value::as_bool);
            plan.stream(reply, turn, with_usage == Some(true))?
        } else {
            plan.whole(reply, turn)?
        };
        turn.end(if outcome == Outcome::Cut { "cut" } else { "done" });
        Ok(())
    }

    /// The step that answers, which is used up by this, and the answer's number.
    fn choose(&self, turn: &Turn<'_>, body: &Value) -> Result<(Step, u64), String> {
        let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let (name, step, chosen) = {
            let mut state = self.lock();
            state.answers += 1;
            let number = state.answers;
            let name = find_scenario(&state.scenarios, body, messages);
            let Some(loaded) = name.as_ref().and_then(|name| state.scenarios.get_mut(name)) else {
                return Ok((echo(messages), number));
            };
            let free = loaded.scenario.steps.iter().zip(&mut loaded.used).enumerate();
            let mut fitting =
                free.filter(|(_, (step, used))| (step.repeat || !**used) && fits(&step.when, messages));
            match fitting.next() {
                Some((index, (step, used))) => {
                    *used = true;
                    (name, Some(index), Ok((step.clone(), number)))
                }
                None => {
                    let error = format!("the scenario {:?} has no step left that fits", loaded.scenario.name);
                    (name, None, Err(error))
                }
            }
        };
        turn.change(|record| {
            record.scenario = name;
            record.step = step;
        });
        chosen
    }
}

fn send_error(reply: Reply, error: &HttpError) -> io::Result<()> {
    let (kind, body) = match &error.body {
        Value::String(text) => ("text/plain; charset=utf-8", text.clone()),
        other => ("application/json", other.to_string()),
    };
    let mut headers = vec![("Content-Type", kind)];
    headers.extend(error.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    reply.send(error.status, &headers, body.as_bytes())
}

/// The scenario of a request: a marker in the newest user message wins over the model.
fn find_scenario(scenarios: &BTreeMap<String, Loaded>, body: &Value, messages: &[Value]) -> Option<String> {
    let model = body.get("model").and_then(Value::as_str);
    let fits_model = |it: &&Loaded| {
        let wanted = it.scenario.matches.model.as_deref();
        wanted.is_none() || wanted == model
    };
    let newest = messages.iter().rfind(|it| role(it) == "user").map(text_of).unwrap_or_default();
    let marked = scenarios
        .values()
        .filter(fits_model)
        .find(|it| it.scenario.matches.marker.as_ref().is_some_and(|marker| newest.contains(marker)));
    let by_model = || {
        scenarios
            .values()
            .filter(fits_model)
            .find(|it| it.scenario.matches.marker.is_none() && it.scenario.matches.model.is_some())
    };
    marked.or_else(by_model).map(|it| it.scenario.name.clone())
}

fn is_title_request(body: &Value) -> bool {
    // A proxy may have put the text into parts.
    body.pointer("/messages/0")
        .is_some_and(|first| text_of(first).starts_with("Write a title for the conversation"))
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn fits(when: &When, messages: &[Value]) -> bool {
    let last = messages.last();
    let results = messages.iter().filter(|it| role(it) == "tool").count();
    when.last_role.as_deref().is_none_or(|wanted| last.is_some_and(|it| role(it) == wanted))
        && when.last_contains.as_ref().is_none_or(|text| last.is_some_and(|it| text_of(it).contains(text)))
        && when.tool_results.is_none_or(|wanted| wanted == results)
        && when.after_tool.as_ref().is_none_or(|wanted| newest_tool(messages).as_ref() == Some(wanted))
}

/// The name of the tool whose result is the newest.
fn newest_tool(messages: &[Value]) -> Option<String> {
    let result = messages.iter().rev().find(|it| role(it) == "tool")?;
    let id = result.get("tool_call_id")?.as_str()?;
    let mut calls = messages.iter().filter_map(|it| it.get("tool_calls")?.as_array()).flatten();
    let call = calls.rfind(|call| call.get("id").and_then(Value::as_str) == Some(id))?;
    call.pointer("/function/name")?.as_str().map(str::to_owned)
}

/// The default answer: what the person said last, in words.
fn echo(messages: &[Value]) -> Step {
    let last = messages.iter().rev().find(|it| role(it) == "user").map(text_of).unwrap_or_default();
    let reply = vec![Action::Text {
        text: format!("Echo: {last}"),
        chunk_chars: 12,
        delay_ms: 0,
        packet_bytes: 0,
        times: 1,
    }];
    Step {
        when: When::default(),
        repeat: true,
        capture: Vec::new(),
        stall_before_ms: 0,
        hold_before: None,
        error: None,
        reply,
    }
}

impl Handler for Model {
    fn handle(&self, request: &Request, reply: Reply) -> io::Result<()> {
        if let Some(what) = request.path.strip_prefix("/__control/") {
            return self.control(request, what, reply);
        }
        if request.method == "GET" && request.path == "/" {
            return reply.html(200, HOME);
        }
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        // A title is looked for beside the conversation. No script expects the request, and without an answer a thread
        // keeps the first line for its title.
        if is_title_request(&body) {
            return reply.json(503, &api_error("no titles here", "no_titles"));
        }
        let turn = self.record(request, &body);
        if request.header("authorization").is_some_and(|key| key.ends_with(WRONG_KEY)) {
            return turn.refuse(reply, 401, "Incorrect API key provided.", "invalid_api_key");
        }
        let sent = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/v1/models") => self.list(&turn, reply),
            ("POST", "/v1/chat/completions") => self.complete(&turn, &body, reply),
            _ => turn.refuse(reply, 404, "there is nothing at this address", "not_found"),
        };
        if sent.is_err() {
            turn.end("left");
        }
        sent
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }
}
