//! Operations that are spoken by hand: every kind there is, with stale ids, duplicates and changed payloads.
//!
//! They are written as JSON, so that a new optional field breaks nothing. A kind without a generator is never sent, and
//! the coverage table says so.
#![expect(clippy::indexing_slicing, reason = "objects of JSON, by the names of their members")]

use panelot_base::{ClientId, ThreadId};
use panelot_protocol::Op;
use panelot_records::{ApprovalState, RunState};
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::world::World;

/// How often each kind is tried by hand; those not named here, once.
const OFTEN: &[(&str, u64)] = &[
    ("turn.submit", 5),
    ("thread.create", 3),
    ("turn.interrupt", 2),
    ("approval.response", 4),
    ("run.resume", 4),
    ("run.resolveUncertain", 4),
];

impl World {
    /// Somebody says something by hand: a new operation, an old one, or nonsense.
    pub(crate) fn speak(&mut self, chance: &mut Chance) {
        match chance.below(20) {
            0..=2 => self.repeat(chance, false),
            3 => self.repeat(chance, true),
            4 => self.nonsense(chance),
            5 => self.speak_early(),
            6 if chance.one_in(3) => self.flood(chance),
            _ => {
                let table: Vec<(u64, &'static str)> = Op::NAMES
                    .iter()
                    .map(|name| {
                        (OFTEN.iter().find(|(it, _)| it == name).map_or(1, |(_, often)| *often), *name)
                    })
                    .collect();
                let Some(name) = chance.weighted(&table) else { return };
                let Some(op) = self.generate(name, chance) else { return };
                let client = self.hand_client();
                self.say(&client, op);
            }
        }
    }

    fn hand_client(&self) -> ClientId {
        self.hand.as_ref().map_or_else(
            || {
                ClientId::new("hand")
                    .unwrap_or_else(|_| ClientId::mint(&mut panelot_base::IdSource::new([8; 16])))
            },
            |(_, id)| id.clone(),
        )
    }

    /// Sends an operation under a new id, unless it has one, and has it handled when its turn comes.
    pub(crate) fn say(&mut self, client: &ClientId, mut op: Value) {
        let Some(handle) = self.hand(client) else { return };
        if op.get("submissionId").is_none()
            && let Some(fields) = op.as_object_mut()
        {
            fields.insert("submissionId".to_owned(), self.submission().into());
        }
        self.receive(handle, &op);
    }

    /// An earlier command once more, from whoever sent it, with the same or another payload.
    fn repeat(&mut self, chance: &mut Chance, changed: bool) {
        let keys: Vec<_> = self.sent.keys().cloned().collect();
        let Some(key) = chance.pick(&keys) else { return };
        let Some(sent) = self.sent.get(key) else { return };
        let mut op = sent.message.to_json();
        if changed {
            op = json!({"type": "thread.create", "submissionId": key.1, "folderId": format!("f{}", chance.below(9))});
            self.fault("changed payload");
        } else {
            self.fault("duplicate command");
        }
        self.say(&key.0, op);
    }

    fn nonsense(&mut self, chance: &mut Chance) {
        self.fault("malformed message");
        let id = self.submission();
        let client = self.hand_client();
        let said = match chance.below(4) {
            0 => json!({"type": "turn.submit", "submissionId": id, "threadId": 7}),
            1 => json!({"type": "no.such.operation", "submissionId": id}),
            2 => {
                json!({"type": "turn.submit", "submissionId": id, "threadId": "t", "input": {"text": "   "}})
            }
            _ => json!(["what", 1]),
        };
        let Some(handle) = self.hand(&client) else { return };
        self.receive(handle, &said);
    }

    fn speak_early(&mut self) {
        self.fault("message before the handshake");
        let Some(handle) = self.open_port(crate::world::Holder::Hand, 0) else { return };
        let id = self.submission();
        self.receive(
            handle,
            &json!({"type": "thread.create", "submissionId": id, "input": {"text": format!("early {id}")}}),
        );
        for lane in self.lanes() {
            self.handle_lane(&lane);
        }
        self.cut_port(handle);
    }

    /// More operations of one thread than may wait.
    fn flood(&mut self, chance: &mut Chance) {
        let Some(thread) = chance.pick(&self.living_threads()).cloned() else { return };
        let client = self.hand_client();
        for _ in 0..36 {
            self.say(&client, json!({"type": "thread.subscribe", "threadId": thread}));
        }
    }

    fn generate(&mut self, name: &str, chance: &mut Chance) -> Option<Value> {
        let threads = self.living_threads();
        let thread = chance.pick(&threads).cloned();
        let text = format!("m{}", self.count());
        let mut op = match name {
            "initialize" => return self.say_hello(chance),
            "ping" | "settings.get" => json!({}),
            "connection.verify" => json!({"connectionId": if chance.one_in(4) { "nowhere" } else { "c1" }}),
            "settings.update" => json!({"changes": [self.change(chance)]}),
            "thread.create" if threads.len() >= 5 => return None,
            "thread.create" => {
                let mut op = json!({});
                if !chance.one_in(4) {
                    op["input"] = self.input(&text, chance);
                }
                op
            }
            "thread.delete" if !chance.one_in(4) && threads.len() < 4 => return None,
            "thread.delete" | "thread.subscribe" | "turn.interrupt" => {
                json!({"threadId": self.or_stale(thread, chance)?})
            }
            "thread.history" => {
                json!({"threadId": self.or_stale(thread, chance)?, "before": chance.below(60)})
            }
            "turn.submit" => {
                let input = self.input(&text, chance);
                json!({"threadId": self.or_stale(thread, chance)?, "input": input})
            }
            "approval.response" => self.response(chance)?,
            "run.resume" => self.of_run(RunState::Interrupted, chance)?,
            "run.resolveUncertain" => {
                let mut op = self.of_run(RunState::PausedUncertain, chance)?;
                op["resolution"] = (*chance.pick(&["retry", "mark_done", "fail"])?).into();
                op
            }
            _ => return None,
        };
        op["type"] = name.into();
        Some(op)
    }

    fn say_hello(&mut self, chance: &mut Chance) -> Option<Value> {
        let id = self.hand_client();
        let hash = if chance.one_in(6) { "another" } else { panelot_protocol::SCHEMA_HASH };
        let mut op = json!({"type": "initialize", "protocol": panelot_protocol::PROTOCOL, "schemaHash": hash, "clientId": id});
        if let Some(thread) = chance.pick(&self.living_threads()) {
            op["subscribe"] = thread.as_str().into();
        }
        Some(op)
    }

    fn input(&self, text: &str, chance: &mut Chance) -> Value {
        let mut input = json!({"text": text});
        if !chance.one_in(8) {
            input["browserContext"] = json!({"capturedAt": 1, "defaultTab":
                {"tabId": 7, "url": "https://shop.test/order", "title": "Order"}});
        }
        input
    }

    /// The thread, or one that is gone.
    fn or_stale(&mut self, thread: Option<ThreadId>, chance: &mut Chance) -> Option<String> {
        if chance.one_in(12) {
            self.fault("stale id");
            let gone: Vec<&ThreadId> = self.shadow.deleted.iter().collect();
            return Some(
                chance.pick(&gone).map_or_else(|| "no-such-thread".to_owned(), |thread| thread.to_string()),
            );
        }
        thread.map(|thread| thread.to_string())
    }

    fn change(&mut self, chance: &mut Chance) -> Value {
        match chance.below(10) {
            0 => {
                self.fault("connection removed");
                json!({"type": "removeConnection", "id": "c1"})
            }
            1..=5 => connection(),
            6 => json!({"type": "setPrompt", "prompt": format!("p{}", chance.below(9))}),
            7 => json!({"type": "putRule", "rule": {"id": format!("r{}", chance.below(3)), "verdict":
                *chance.pick(&["allow", "ask", "deny"]).unwrap_or(&"ask"), "tool": "click", "origin": "https://shop.test"}}),
            8 => json!({"type": "removeRule", "id": format!("r{}", chance.below(3))}),
            _ => {
                json!({"type": "setPolicy", "policy": *chance.pick(&["always", "untrusted", "auto"]).unwrap_or(&"always")})
            }
        }
    }

    /// An answer to an open question, or to one that is closed.
    fn response(&mut self, chance: &mut Chance) -> Option<Value> {
        let kinds = ["accept", "accept", "acceptForSession", "acceptForSite", "decline", "cancel"];
        let stale = chance.one_in(3);
        let questions: Vec<_> = self
            .shadow
            .approvals
            .values()
            .filter(|it| stale != (it.state == ApprovalState::Pending))
            .map(|it| (it.thread.clone(), it.id.clone()))
            .collect();
        let (thread, approval) = chance.pick(&questions)?.clone();
        if stale {
            self.fault("stale id");
        }
        Some(json!({"threadId": thread, "approvalId": approval, "decision": {"kind": *chance.pick(&kinds)?}}))
    }

    /// A run in a state, or one that has left it.
    fn of_run(&mut self, state: RunState, chance: &mut Chance) -> Option<Value> {
        let stale = chance.one_in(6);
        let runs: Vec<_> = self
            .shadow
            .runs
            .values()
            .filter(|run| stale != (run.state == state))
            .map(|run| (run.thread.clone(), run.id.clone()))
            .collect();
        let (thread, run) = chance.pick(&runs)?.clone();
        if stale {
            self.fault("stale id");
        }
        Some(json!({"threadId": thread, "runId": run}))
    }
}

/// The change that sets up the only connection.
pub(crate) fn connection() -> Value {
    json!({"type": "putConnection", "id": "c1", "name": "C", "baseUrl": "https://api.test/v1", "models": ["m1"], "key": "k"})
}
