//! The smallest possible view: what it knows of one thread and of the list, from snapshots and events alone.

use std::collections::BTreeMap;

use panelot_base::limits::SNAPSHOT_PAGE_NODES;
use serde_json::{Value, json};

/// What a view finds to be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Events of its thread: it follows the thread anew.
    Thread,
    /// Events of the list: it shakes hands anew.
    List,
}

#[derive(Debug, Default)]
pub(crate) struct Mirror {
    pub(crate) thread: Option<String>,
    /// The place in the thread's stream, once a snapshot came.
    at: Option<(u64, u64)>,
    items: BTreeMap<u64, Value>,
    active: BTreeMap<String, (String, String)>,
    pub(crate) approvals: BTreeMap<String, Value>,
    pub(crate) interactions: BTreeMap<String, Value>,
    pub(crate) runs: BTreeMap<String, Value>,
    turn: Option<Value>,
    directory_at: Option<(u64, u64)>,
    threads: BTreeMap<String, Value>,
    activity: BTreeMap<String, Value>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn keyed(list: &Value, key: &str) -> BTreeMap<String, Value> {
    list.as_array().unwrap().iter().map(|it| (text(&it[key]), it.clone())).collect()
}

impl Mirror {
    pub(crate) fn follow(&mut self, thread: &str) {
        (self.thread, self.at) = (Some(thread.to_owned()), None);
    }

    /// Whether it has had a snapshot of its thread and missed nothing since.
    pub(crate) fn is_showing(&self) -> bool {
        self.at.is_some()
    }

    /// Takes a message in, and says whether something before it is missing.
    pub(crate) fn take_in(&mut self, message: &Value) -> Option<Missing> {
        let place = |at: &Value| Some((at["epoch"].as_u64()?, at["sequence"].as_u64()?));
        if let Some(at) = place(&message["directoryStream"]) {
            return self.take_in_list(at, message);
        }
        let at = place(&message["stream"])?;
        if self.thread.as_deref() != message["stream"]["threadId"].as_str() {
            return None;
        }
        if message["type"] == "thread.snapshot" {
            if self.at.is_none_or(|known| known <= at) {
                self.install(&message["snapshot"]);
                self.at = Some(at);
            }
            return None;
        }
        match self.at {
            None => None,
            Some(known) if at <= known => panic!("{message} comes a second time"),
            Some((epoch, sequence)) if at == (epoch, sequence + 1) => {
                self.at = Some(at);
                self.apply(message);
                None
            }
            Some(_) => {
                self.at = None;
                Some(Missing::Thread)
            }
        }
    }

    fn install(&mut self, snapshot: &Value) {
        self.items = snapshot["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| (item["seq"].as_u64().unwrap(), item.clone()))
            .collect();
        self.active = keyed(&snapshot["activeItems"], "itemId")
            .into_iter()
            .map(|(id, it)| (id, (text(&it["text"]), text(&it["reasoning"]))))
            .collect();
        self.approvals = keyed(&snapshot["pendingApprovals"], "approvalId");
        self.interactions = keyed(&snapshot["pendingInteractions"], "interactionId");
        self.runs = keyed(&snapshot["runs"], "runId");
        self.turn = Some(snapshot["activeTurn"]["turnId"].clone()).filter(|turn| !turn.is_null());
    }

    fn apply(&mut self, event: &Value) {
        match event["type"].as_str().unwrap() {
            "item.stored" => {
                let item = &event["item"];
                self.items.insert(item["seq"].as_u64().unwrap(), item.clone());
            }
            "item.start" => {
                self.active.insert(text(&event["itemId"]), Default::default());
            }
            "item.delta" => {
                let (said, thought) = self.active.get_mut(&text(&event["itemId"])).expect("a started item");
                said.push_str(&text(&event["text"]));
                thought.push_str(&text(&event["reasoning"]));
            }
            "item.complete" => {
                self.active.remove(&text(&event["itemId"]));
            }
            "approval.request" => {
                let approval = &event["approval"];
                self.active.remove(&text(&approval["itemId"]));
                self.approvals.insert(text(&approval["approvalId"]), approval.clone());
            }
            "approval.resolved" => {
                self.approvals.remove(&text(&event["approvalId"]));
            }
            "interaction.request" => {
                let wait = &event["interaction"];
                if wait["kind"] != "mcp_elicitation" {
                    self.active.remove(&text(&wait["itemId"]));
                }
                self.interactions.insert(text(&wait["interactionId"]), wait.clone());
            }
            "interaction.resolved" => {
                self.interactions.remove(&text(&event["interactionId"]));
            }
            "run.updated" => {
                let (id, run) = (text(&event["run"]["runId"]), &event["run"]);
                if ["completed", "failed", "cancelled"].contains(&run["state"].as_str().unwrap()) {
                    self.runs.remove(&id);
                } else {
                    self.runs.insert(id, run.clone());
                }
            }
            // A model looks for a title beside the turn that people follow.
            "turn.start" if event["turnKind"] == "title" => {}
            "turn.start" => self.turn = Some(event["turnId"].clone()),
            "turn.complete" if self.turn.as_ref() == Some(&event["turnId"]) => self.turn = None,
            _ => {}
        }
    }

    fn take_in_list(&mut self, at: (u64, u64), message: &Value) -> Option<Missing> {
        let first = message["type"] == "initialized";
        let next = self.directory_at.map(|(epoch, sequence)| (epoch, sequence + 1));
        if !first && next != Some(at) {
            // Without a handshake's answer there is nothing to build on, and one is on its way.
            return self.directory_at.take().map(|_| Missing::List);
        }
        match message["type"].as_str().unwrap() {
            "initialized" => {
                self.threads = keyed(&message["directory"]["threads"], "id");
                self.activity = keyed(&message["directory"]["activity"], "threadId");
            }
            "directory.thread" => {
                self.threads.insert(text(&message["thread"]["id"]), message["thread"].clone());
            }
            "activity.updated" => {
                let activity = &message["activity"];
                let id = text(&activity["threadId"]);
                if activity["running"] == false
                    && activity["pendingApprovals"] == 0
                    && activity["pendingInteractions"] == 0
                {
                    self.activity.remove(&id);
                } else {
                    self.activity.insert(id, activity.clone());
                }
            }
            "thread.deleted" => {
                self.threads.remove(&text(&message["deletedThreadId"]));
                self.activity.remove(&text(&message["deletedThreadId"]));
            }
            _ => {}
        }
        self.directory_at = Some(at);
        None
    }

    /// The list of threads as this view has it.
    pub(crate) fn list(&self) -> Value {
        // A revision alone, such as a checkpoint's, is no news to the list.
        let mut threads = self.threads.clone();
        threads.values_mut().for_each(|thread| thread["revision"] = Value::Null);
        json!([threads, self.activity])
    }

    /// Panics when a fresh snapshot says anything else.
    pub(crate) fn compare(&self, snapshot: &Value) {
        let mut fresh = Self::default();
        fresh.install(snapshot);
        let newest = |items: &BTreeMap<u64, Value>| -> Vec<Value> {
            items.values().rev().take(SNAPSHOT_PAGE_NODES).cloned().collect()
        };
        assert_eq!(newest(&self.items), newest(&fresh.items), "entries");
        assert_eq!(self.active, fresh.active, "items in flight");
        assert_eq!(self.approvals, fresh.approvals, "questions");
        assert_eq!(self.interactions, fresh.interactions, "interactions");
        // A checkpoint is no news, and yet it may count a run's revision on.
        let told = |runs: &BTreeMap<String, Value>| -> Vec<Value> {
            let told = |run: &Value| {
                let mut run = run.clone();
                run["revision"] = Value::Null;
                run
            };
            runs.values().map(told).collect()
        };
        assert_eq!(told(&self.runs), told(&fresh.runs), "runs");
        assert_eq!(self.turn, fresh.turn, "the turn");
    }
}
