//! What a profile takes of a backup: what it has not got. Nothing that is there is overwritten, and nothing is loosened.

use panelot_base::limits::{CONNECTIONS_MAX, RULES_MAX};
use panelot_base::{ConnectionId, RuleId, SortedSet, ThreadId};
use panelot_records::run::ModelChoice;
use panelot_records::{Node, Record, Settings};

/// What the profile has.
#[derive(Clone, Debug, Default)]
pub struct Present {
    /// Its choices.
    pub settings: Settings,
    /// Its connections.
    pub connections: SortedSet<ConnectionId>,
    /// Its permission rules.
    pub rules: SortedSet<RuleId>,
    /// Its conversations.
    pub threads: SortedSet<ThreadId>,
    /// Whether the person agreed to take rules that allow something without asking.
    pub takes_allowances: bool,
}

/// Why a record is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The profile has one of that name, and keeps it.
    Here,
    /// The profile has as many as there may be.
    Full,
    /// It would allow something that is asked about now.
    Loosens,
}

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a verdict is moved once, to whoever stores it")]
pub enum Verdict {
    /// It is stored, in this form.
    Take(Record),
    /// It is not.
    Keep(Kept),
}

/// Decides about a record of a sound file. Records come in the order of the file: an entry is taken with its conversation,
/// and a connection before the settings that name it.
pub fn decide(present: &mut Present, record: Record) -> Verdict {
    let kept = match &record {
        Record::Thread(thread) => taken(&mut present.threads, thread.id.clone(), usize::MAX),
        // Whoever stores it knows whether its conversation was taken.
        Record::Node(Node { .. }) => None,
        Record::Connection(it) => taken(&mut present.connections, it.id.clone(), CONNECTIONS_MAX),
        Record::Rule(rule) if rule.verdict == "allow" && !present.takes_allowances => Some(Kept::Loosens),
        Record::Rule(rule) => taken(&mut present.rules, rule.id.clone(), RULES_MAX),
        Record::Settings(settings) => return merged(present, settings),
        _ => Some(Kept::Here),
    };
    kept.map_or_else(|| Verdict::Take(record), Verdict::Keep)
}

fn taken<K: Ord>(present: &mut SortedSet<K>, id: K, most: usize) -> Option<Kept> {
    if present.contains(&id) {
        return Some(Kept::Here);
    }
    if present.iter().len() >= most {
        return Some(Kept::Full);
    }
    present.insert(id);
    None
}

/// How much a policy lets pass; one that is not known counts as the strictest.
fn looseness(policy: &str) -> u8 {
    match policy {
        "auto" => 2,
        "" | "untrusted" => 1,
        _ => 0,
    }
}

/// The profile's own choices, with the file's where it made none. A model is taken with its connection only, and a policy only
/// where it asks more.
fn merged(present: &mut Present, file: &Settings) -> Verdict {
    let own = &present.settings;
    let text = |own: &String, other: &String| if own.is_empty() { other.clone() } else { own.clone() };
    let model = |own: &Option<ModelChoice>, other: &Option<ModelChoice>| {
        let usable = |it: &ModelChoice| present.connections.contains(&it.connection);
        own.clone().or_else(|| other.clone().filter(usable))
    };
    let mut next = own.clone();
    next.default_model = model(&own.default_model, &file.default_model);
    next.task_model = model(&own.task_model, &file.task_model);
    next.turn_token_budget = own.turn_token_budget.or(file.turn_token_budget);
    if looseness(&file.policy) < looseness(&own.policy) {
        next.policy.clone_from(&file.policy);
    }
    next.language = text(&own.language, &file.language);
    next.theme = text(&own.theme, &file.theme);
    next.prompt = text(&own.prompt, &file.prompt);
    if next == *own {
        return Verdict::Keep(Kept::Here);
    }
    next.revision = own.revision.saturating_add(1);
    present.settings = next.clone();
    Verdict::Take(next.into())
}

#[cfg(test)]
mod tests;
