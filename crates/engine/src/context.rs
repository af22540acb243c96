//! From a path of stored nodes to a request that every provider accepts.
//!
//! Whatever was interrupted: each call gets exactly one result, orphan results are dropped, empty messages are left
//! out, and everything that neither the person nor the engine wrote stands inside a fence.

use panelot_base::digest::sha256_hex;
use panelot_base::json::{FromJson, ToJson};
use panelot_base::{SortedMap, TurnId};
use panelot_gatekeeper as gate;
use panelot_prompts::{Layers, Nonce, fence, submission_tab, wording};
use panelot_provider::{Message, Parameters, Part, Request, ToolCall, ToolSchema};
use panelot_records::node::{ResultOutcome, TabIdentity};
use panelot_records::run::{ModelChoice, Overrides};
use panelot_records::{Body, Environment, Node, StoredCall};
use panelot_tools::address::origin_of;
use panelot_tools::{Catalogue, Level};
use serde_json::{Map, Value};

mod compaction;

pub use compaction::{overflow, summarized_up_to, summary_request};

use crate::step::Reminder;
use crate::thread::Context;

/// The system prompt that a run is bound to when it begins.
pub(crate) fn system_prompt(context: &Context<'_>, overrides: &Overrides, preset: &str) -> String {
    let settings = &context.directory.settings;
    let both = [settings.prompt.trim(), preset.trim()].join("\n\n");
    panelot_prompts::system_prompt(&Layers {
        user_instructions: both.trim(),
        now: context.now,
        language: if context.directory.speaks_chinese() {
            panelot_prompts::Language::SimplifiedChinese
        } else {
            panelot_prompts::Language::English
        },
        policy: match context.directory.policy(overrides) {
            gate::Policy::Always => panelot_prompts::Policy::Always,
            gate::Policy::Untrusted => panelot_prompts::Policy::Untrusted,
            gate::Policy::Auto => panelot_prompts::Policy::Auto,
        },
    })
}

/// The tools as the environment stores them.
pub(crate) fn offered_tools(catalogue: &Catalogue, levels: Option<&[String]>) -> Vec<Value> {
    let offered = |tool: &&panelot_tools::Descriptor| is_within(tool.level, levels);
    let schema = |tool: &panelot_tools::Descriptor| ToolSchema {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        parameters: tool.parameters.clone(),
    };
    catalogue.descriptors().iter().filter(offered).map(|tool| schema(tool).to_json()).collect()
}

/// Whether tools of a level are among those that a run may use; none of them named means all.
pub(crate) fn is_within(level: Level, levels: Option<&[String]>) -> bool {
    let name = match level {
        Level::L0 => "l0",
        Level::L1 => "l1",
        Level::L2 => "l2",
        Level::Mcp => "mcp",
        Level::Builtin => "builtin",
    };
    levels.is_none_or(|levels| levels.iter().any(|level| level == name))
}

/// Builds the request for a model call from the path that ends in its leaf, oldest node first. What a summary stands
/// for need not be there.
#[must_use]
pub fn assemble(
    environment: &Environment,
    path: &[Node],
    fence_seed: &str,
    reminders: &[Reminder],
) -> Request {
    let (summary, path) = compaction::tail(path);
    let mut builder = Builder {
        seed: seed_bytes(fence_seed),
        model: environment.model.clone(),
        messages: Vec::new(),
        results: results_of(path),
    };
    if let Some(summary) = &summary {
        builder.push_user(compaction::summary_parts(&builder.seed, summary));
    }
    for node in path {
        builder.push(node);
    }
    let finalizing = reminders.iter().any(Reminder::is_last);
    for reminder in reminders {
        builder.push_user(vec![Part::text(reminder_text(reminder, path))]);
    }
    // A path that ends with the model's own words (a resumed answer), or of which all was deleted, needs somebody else to
    // speak last.
    if matches!(builder.messages.last(), None | Some(Message::Assistant { .. })) {
        builder.push_user(vec![Part::text(wording::continue_answer())]);
    }
    let tools = if finalizing { Vec::new() } else { tools_of(environment) };
    Request {
        model: environment.model.model.clone(),
        system: environment.system.clone(),
        messages: builder.messages,
        tools,
        parameters: Option::<Parameters>::from_json(environment.parameters.clone())
            .ok()
            .flatten()
            .unwrap_or_default(),
    }
}

fn tools_of(environment: &Environment) -> Vec<ToolSchema> {
    environment.tools.iter().filter_map(|tool| ToolSchema::from_json(tool.clone()).ok()).collect()
}

fn reminder_text(reminder: &Reminder, path: &[Node]) -> String {
    let opening = |turn: &TurnId| {
        path.iter().filter(|node| node.turn == *turn).find_map(|node| match &node.body {
            Body::User { text, .. } => Some(text.as_str()),
            _ => None,
        })
    };
    match reminder {
        Reminder::ResumeEarlier(turn) => wording::resume_earlier(opening(turn)),
        Reminder::ContinueAnswer => wording::continue_answer(),
        Reminder::ChangeApproach(failures) => wording::failure_reminder(*failures),
        Reminder::BreakLoop(times) => wording::loop_reminder(*times),
        Reminder::FinalizeLoop => wording::loop_finalization(),
        Reminder::Finalize => wording::finalization(panelot_base::limits::FAILURES_STOP),
    }
}

fn seed_bytes(seed: &str) -> [u8; 16] {
    let digest = sha256_hex(seed.as_bytes());
    let half = digest.get(..32).and_then(|digits| u128::from_str_radix(digits, 16).ok()).unwrap_or_default();
    half.to_be_bytes()
}

/// The newest result of each call. A result that was corrected later (a late report) is one node, so there is one.
fn results_of(path: &[Node]) -> SortedMap<String, (u64, ResultText)> {
    let mut results = SortedMap::new();
    for node in path {
        if let Body::ToolResult { item, outcome, content, foreign, origin, .. } = &node.body {
            let text = ResultText {
                outcome: *outcome,
                content: content.clone(),
                foreign: *foreign,
                origin: origin.clone().unwrap_or_default(),
            };
            results.insert(item.as_str().to_owned(), (node.seq, text));
        }
    }
    results
}

struct ResultText {
    outcome: ResultOutcome,
    content: String,
    foreign: bool,
    origin: String,
}

struct Builder {
    seed: [u8; 16],
    /// Who is asked.
    model: ModelChoice,
    messages: Vec<Message>,
    results: SortedMap<String, (u64, ResultText)>,
}

impl Builder {
    fn push(&mut self, node: &Node) {
        match &node.body {
            Body::User { text, default_tab, .. } => {
                let mut parts = Vec::new();
                if let Some(tab) = default_tab {
                    parts.push(Part::text(self.tab_line(node.seq, tab)));
                }
                parts.push(Part::text(text.clone()));
                self.push_user(parts);
            }
            Body::Assistant { text, reasoning, calls, connection, model, vendor, .. } => {
                // A signature is worth nothing to another provider, and some refuse members that they do not know.
                let is_own = *connection == self.model.connection && *model == self.model.model;
                self.push_assistant(text, reasoning, calls, is_own.then_some(vendor));
            }
            // Results stand right after their call's message, in the order of the calls.
            Body::ToolResult { .. } | Body::Decision { .. } | Body::Notice { .. } | Body::Removed => {}
        }
    }

    fn tab_line(&self, seq: u64, tab: &TabIdentity) -> String {
        let nonce = Nonce::derive(&self.seed, seq, 0);
        submission_tab(&nonce, tab.tab_id, &tab.title, &tab.url, &origin_of(&tab.url))
    }

    /// Two messages of the person in a row are one: some providers insist on taking turns.
    fn push_user(&mut self, mut parts: Vec<Part>) {
        parts.retain(|part| !matches!(part, Part::Text { text } if text.is_empty()));
        match self.messages.last_mut() {
            Some(Message::User { parts: last }) => last.append(&mut parts),
            _ if parts.is_empty() => {}
            _ => self.messages.push(Message::User { parts }),
        }
    }

    fn push_assistant(
        &mut self,
        text: &str,
        reasoning: &str,
        calls: &[StoredCall],
        vendor: Option<&Map<String, Value>>,
    ) {
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        self.messages.push(Message::Assistant {
            text: text.to_owned(),
            reasoning: reasoning.to_owned(),
            tool_calls: calls
                .iter()
                .map(|call| ToolCall {
                    id: call.item.as_str().to_owned(),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                    vendor: vendor.map(|_| call.vendor.clone()).unwrap_or_default(),
                })
                .collect(),
            vendor: vendor.cloned().unwrap_or_default(),
        });
        for call in calls {
            let message = self.result_message(call);
            self.messages.push(message);
        }
    }

    fn result_message(&mut self, call: &StoredCall) -> Message {
        let call_id = call.item.as_str().to_owned();
        let Some((seq, result)) = self.results.remove(&call_id) else {
            return Message::ToolResult {
                call_id,
                parts: vec![Part::text(wording::interrupted())],
                is_error: true,
            };
        };
        let text = if result.foreign {
            fence(&Nonce::derive(&self.seed, seq, 0), &result.origin, &call.name, &result.content)
        } else {
            result.content
        };
        Message::ToolResult {
            call_id,
            parts: vec![Part::text(text)],
            is_error: result.outcome != ResultOutcome::Ok,
        }
    }
}

#[cfg(test)]
mod tests;
