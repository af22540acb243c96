//! Operations that are spoken by hand: every kind there is, with stale ids, duplicates and changed payloads.
//!
//! They are written as JSON, so that a new optional field breaks nothing. A kind without a generator is never sent, and
//! the coverage table says so.
#![expect(clippy::indexing_slicing, reason = "objects of JSON, by the names of their members")]

use panelot_base::{ClientId, ThreadId};
use panelot_protocol::Op;
use panelot_records::{ApprovalState, RunState, WaitKind};
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::world::World;

/// How often each kind is tried by hand; those not named here, once.
const OFTEN: &[(&str, u64)] = &[
    ("turn.submit", 5),
    ("thread.create", 3),
    ("turn.interrupt", 2),
    ("approval.response", 4),
    ("turn.steer", 5),
    ("turn.enqueue", 2),
    ("turn.fork", 4),
    ("thread.selectBranch", 4),
    ("queue.update", 2),
    ("queue.remove", 2),
    ("interaction.response", 5),
    ("message.delete", 2),
    ("run.resume", 4),
    ("run.resolveUncertain", 4),
];

/// What a run is resumed from.
const RESUMABLE: [RunState; 4] =
    [RunState::PausedBudget, RunState::PausedLocked, RunState::Interrupted, RunState::Interrupted];

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

    pub(crate) fn hand_client(&self) -> ClientId {
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
            "connection.cancel" | "connection.models" | "connection.verify" => {
                json!({"connectionId": if chance.one_in(4) { "nowhere" } else { "c1" }})
            }
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
            "thread.update" => {
                json!({"threadId": self.or_stale(thread, chance)?, "title": format!("t{}", chance.below(99)), "pinned": chance.one_in(2)})
            }
            "thread.fork" if threads.len() >= 6 => return None,
            "thread.fork" | "message.delete" => self.of_node(chance)?,
            "turn.fork" => self.version(&text, chance)?,
            "thread.selectBranch" => self.branch(chance)?,
            "turn.steer" => {
                let input = self.input(&text, chance);
                self.steer(input, chance)?
            }
            "queue.update" => {
                let mut op = self.of_run(RunState::Queued, chance)?;
                op["input"] = self.input(&text, chance);
                op
            }
            "queue.remove" => {
                let state = if chance.one_in(3) { RunState::Interrupted } else { RunState::Queued };
                self.of_run(state, chance)?
            }
            "interaction.response" => self.interaction(chance)?,
            "rule.put" => json!({"rule": self.rule(chance)}),
            "rule.remove" => json!({"ruleId": format!("r{}", chance.below(3))}),
            "grant.revoke" => self.grant(chance)?,
            "draft.update" => {
                let of = thread.filter(|_| !chance.one_in(3));
                json!({"threadId": of, "text": if chance.one_in(3) { String::new() } else { text }})
            }
            "update.apply" => json!({}),
            "secrets.lock" | "secrets.unlock" | "secrets.update" => self.of_secrets(name, chance),
            "turn.submit" | "turn.enqueue" => {
                let input = self.input(&text, chance);
                json!({"threadId": self.or_stale(thread, chance)?, "input": input})
            }
            "approval.response" => self.response(chance)?,
            "run.resume" => self.of_run(*chance.pick(&RESUMABLE)?, chance)?,
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
            7..=8 => {
                let tokens = [None, Some(150), Some(150), Some(400)];
                json!({"type": "setTurnTokenBudget", "tokens": chance.pick(&tokens).copied().flatten()})
            }
            _ => {
                json!({"type": "setPolicy", "policy": *chance.pick(&["always", "untrusted", "auto"]).unwrap_or(&"always")})
            }
        }
    }

    fn rule(&self, chance: &mut Chance) -> Value {
        let verdict = *chance.pick(&["allow", "ask", "deny"]).unwrap_or(&"ask");
        json!({"id": format!("r{}", chance.below(3)), "verdict": verdict, "tool": "click", "origin": "https://shop.test"})
    }

    /// A permission that is given, or one that never was.
    fn grant(&mut self, chance: &mut Chance) -> Option<Value> {
        let grants: Vec<_> = self.shadow.grants.iter().cloned().collect();
        let stale = || {
            Some((self.living_threads().first()?.clone(), "click".to_owned(), "https://no.test".to_owned()))
        };
        let (thread, tool, origin) = chance.pick(&grants).cloned().or_else(stale)?;
        Some(json!({"grantedIn": thread, "tool": tool, "origin": origin}))
    }

    /// A node of a branch that is shown.
    fn of_node(&mut self, chance: &mut Chance) -> Option<Value> {
        let thread = chance.pick(&self.living_threads())?.clone();
        let leaf = self.shadow.threads.get(&thread)?.leaf?;
        let path = self.shadow.path(&thread, leaf);
        let node = chance.pick(&path)?.seq;
        Some(json!({"threadId": thread, "node": node}))
    }

    /// A message of the person on a branch that is shown.
    fn user_node(&mut self, chance: &mut Chance) -> Option<(ThreadId, u64)> {
        let thread = chance.pick(&self.living_threads())?.clone();
        let leaf = self.shadow.threads.get(&thread)?.leaf?;
        let is_user = |node: &panelot_records::Node| matches!(node.body, panelot_records::Body::User { .. });
        let path: Vec<u64> =
            self.shadow.path(&thread, leaf).into_iter().filter(is_user).map(|node| node.seq).collect();
        Some((thread, *chance.pick(&path)?))
    }

    /// Another version of a message of the person.
    fn version(&mut self, text: &str, chance: &mut Chance) -> Option<Value> {
        let (thread, seq) = self.user_node(chance)?;
        let input = self.input(text, chance);
        Some(json!({"threadId": thread, "siblingOf": seq, "input": input}))
    }

    /// A version of a message that has several.
    fn branch(&mut self, chance: &mut Chance) -> Option<Value> {
        let mut versions = Vec::new();
        for thread in self.shadow.threads.values().filter(|thread| self.shadow.is_alive(&thread.id)) {
            for chain in thread.chains.iter().filter(|chain| chain.first != 0) {
                versions.push((thread.id.clone(), chain.first));
                versions.push((thread.id.clone(), chain.beside));
            }
        }
        let (thread, node) = chance.pick(&versions)?.clone();
        Some(json!({"threadId": thread, "node": node}))
    }

    /// A message for the turn under way, or for one that is over.
    fn steer(&mut self, input: Value, chance: &mut Chance) -> Option<Value> {
        let stale = chance.one_in(6);
        let runs = self.shadow.runs.values().filter(|run| stale != run.state.is_under_way());
        let runs: Vec<_> = runs.map(|run| (run.thread.clone(), run.turn.clone())).collect();
        let (thread, turn) = chance.pick(&runs)?.clone();
        if stale {
            self.fault("stale id");
        }
        let mut op = json!({"threadId": thread, "expectedTurnId": turn, "input": input});
        let waits = |run: &&panelot_records::Run| run.thread == thread && run.state == RunState::Queued;
        let waiting: Vec<_> = self.shadow.runs.values().filter(waits).map(|run| run.id.clone()).collect();
        if let Some(run) = chance.pick(&waiting).filter(|_| chance.one_in(2)) {
            op["promotes"] = run.as_str().into();
        }
        Some(op)
    }

    /// An answer to an interaction that waits, or to one that is over.
    fn interaction(&mut self, chance: &mut Chance) -> Option<Value> {
        let stale = chance.one_in(4);
        let waits = self.shadow.approvals.values().filter(|it| stale != (it.state == ApprovalState::Pending));
        let waits: Vec<_> =
            waits.filter_map(|it| Some((it.thread.clone(), it.id.clone(), it.wait?))).collect();
        let (thread, id, kind) = chance.pick(&waits)?.clone();
        if stale {
            self.fault("stale id");
        }
        let value = match kind {
            WaitKind::AskUser => json!({"q": "this"}),
            WaitKind::McpElicitation => json!({}),
            _ => Value::Null,
        };
        let response = if chance.one_in(4) {
            json!({"kind": "cancel"})
        } else {
            json!({"kind": "submit", "value": value})
        };
        Some(json!({"threadId": thread, "interactionId": id, "response": response}))
    }

    /// An answer to an open question, or to one that is closed.
    fn response(&mut self, chance: &mut Chance) -> Option<Value> {
        let kinds = ["accept", "accept", "acceptForSession", "acceptForSite", "decline", "cancel"];
        let stale = chance.one_in(3);
        let questions: Vec<_> = self
            .shadow
            .approvals
            .values()
            .filter(|it| it.wait.is_none() && stale != (it.state == ApprovalState::Pending))
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
