//! The person at a view: what the real client machine can be told, chosen from what it shows.

use panelot_base::{ConnectionId, ThreadId};
use panelot_protocol::Text;
use panelot_protocol::op::{
    ApprovalDecision, BrowserContext, InteractionAnswer, Resolution, TabIdentity, TurnOverrides,
};
use panelot_protocol::settings::{PermissionPolicy, SettingsChange};
use panelot_protocol::snapshot::InteractionKind;
use panelot_view::model::{EntryBody, EntryKey, Recovery};
use panelot_view::{Arrangement, ClientInput, Command, ThreadView, ViewModel};
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::world::World;

/// What a person wants.
#[derive(Clone, Copy, Debug)]
enum Wish {
    NewChat,
    Open,
    Submit,
    Steer,
    Stop,
    Answer,
    Respond,
    Recover,
    ChangeQueued,
    RemoveQueued,
    Revise,
    ShowVersion,
    Copy,
    DeleteEntry,
    Arrange,
    Delete,
    LoadOlder,
    SaveDraft,
    Settings,
    RemoveRule,
    RevokeGrant,
    Verify,
    ApplyUpdate,
    Reconnect,
}

/// How often each is wished for.
const WISHES: &[(u64, Wish)] = &[
    (4, Wish::NewChat),
    (3, Wish::Open),
    (12, Wish::Submit),
    (4, Wish::Steer),
    (2, Wish::Stop),
    (9, Wish::Answer),
    (4, Wish::Respond),
    (5, Wish::Recover),
    (1, Wish::ChangeQueued),
    (1, Wish::RemoveQueued),
    (3, Wish::Revise),
    (2, Wish::ShowVersion),
    (1, Wish::Copy),
    (1, Wish::DeleteEntry),
    (1, Wish::Arrange),
    (1, Wish::Delete),
    (1, Wish::LoadOlder),
    (1, Wish::SaveDraft),
    (2, Wish::Settings),
    (1, Wish::RemoveRule),
    (1, Wish::RevokeGrant),
    (1, Wish::Verify),
    (1, Wish::ApplyUpdate),
    (2, Wish::Reconnect),
];

impl World {
    /// The person at a view does something.
    pub(crate) fn person(&mut self, chance: &mut Chance) {
        let place = chance.index(self.views.len());
        if let Some(command) = self.wish(place, chance) {
            let clock = self.clock();
            self.note(|| format!("{clock} the person at view{place}: {command:?}"));
            self.tell_view(place, ClientInput::Command(command));
        }
    }

    fn wish(&mut self, place: usize, chance: &mut Chance) -> Option<Command> {
        let text = format!("m{}", self.count());
        let wish = chance.weighted(WISHES)?;
        let threads = self.living_threads();
        let view = self.views.get(place)?;
        let model = view.client.model();
        of_thread(wish, &model.thread, &text, chance)
            .or_else(|| of_list(wish, model, &threads, &text, chance))
    }
}

/// What is wanted of the thread that is shown.
fn of_thread(wish: Wish, thread: &ThreadView, text: &str, chance: &mut Chance) -> Option<Command> {
    let text = text.to_owned();
    Some(match wish {
        Wish::Submit => {
            Command::Submit { text, browser_context: context(chance), overrides: overrides(chance) }
        }
        Wish::Steer => {
            Command::Steer { text, browser_context: context(chance), overrides: overrides(chance) }
        }
        Wish::Stop if thread.id.is_some() => Command::Stop,
        Wish::Answer => {
            let question = chance.pick(&thread.approvals)?;
            Command::Answer { approval: question.approval_id.clone(), decision: decision(chance) }
        }
        Wish::Respond => {
            let open = chance.pick(&thread.interactions)?;
            Command::Respond { interaction: open.interaction_id.clone(), answer: answer(open.kind, chance) }
        }
        Wish::Recover => recover(chance.pick(&thread.recoveries())?, chance)?,
        Wish::ChangeQueued => {
            let run = chance.pick(&thread.queued())?.run_id.clone()?;
            Command::ChangeQueued { run, text }
        }
        Wish::RemoveQueued => Command::RemoveQueued { run: chance.pick(&thread.queued())?.run_id.clone()? },
        Wish::Revise => {
            let user = |key: &&EntryKey| matches!(key, EntryKey::User(_));
            let sibling_of = sequence(thread, user, chance)?;
            Command::Revise {
                sibling_of,
                text,
                browser_context: context(chance),
                overrides: overrides(chance),
            }
        }
        Wish::ShowVersion => {
            let versions: Vec<u64> = thread
                .entries()
                .filter_map(|entry| match &entry.body {
                    EntryBody::User { versions, .. } => Some(versions),
                    _ => None,
                })
                .flatten()
                .copied()
                .collect();
            Command::ShowVersion { node: *chance.pick(&versions)? }
        }
        Wish::DeleteEntry => Command::DeleteEntry { node: sequence(thread, |_| true, chance)? },
        Wish::LoadOlder => Command::LoadOlder,
        Wish::SaveDraft => {
            let text = if chance.one_in(3) { String::new() } else { text };
            Command::SaveDraft { thread: thread.id.clone(), text }
        }
        _ => return None,
    })
}

/// What is wanted of the list of threads, the settings or the connection.
fn of_list(
    wish: Wish,
    model: &ViewModel,
    threads: &[ThreadId],
    text: &str,
    chance: &mut Chance,
) -> Option<Command> {
    let settings = model.settings.as_ref();
    Some(match wish {
        Wish::NewChat if threads.len() < 4 => Command::NewChat,
        Wish::NewChat | Wish::Open => Command::Open { thread: chance.pick(threads)?.clone() },
        Wish::Copy if threads.len() < 6 => Command::Copy { node: sequence(&model.thread, |_| true, chance)? },
        Wish::Arrange => {
            let change = Arrangement {
                title: chance.one_in(2).then(|| text.to_owned()),
                pinned: chance.one_in(2).then(|| chance.one_in(2)),
                archived: chance.one_in(3).then(|| chance.one_in(2)),
                folder: chance.one_in(4).then(|| format!("f{}", chance.below(3))),
                tags: chance.one_in(4).then(|| vec![format!("l{}", chance.below(3))]),
            };
            Command::Arrange { thread: chance.pick(threads)?.clone(), change }
        }
        Wish::Delete => Command::Delete { thread: chance.pick(threads)?.clone() },
        Wish::Settings => Command::UpdateSettings { changes: vec![setting(chance)?] },
        Wish::RemoveRule => Command::RemoveRule { rule: chance.pick(&settings?.rules)?.id.clone() },
        Wish::RevokeGrant => Command::RevokeGrant { grant: chance.pick(&settings?.grants)?.clone() },
        Wish::Verify => Command::Verify { connection: ConnectionId::new("c1").ok()?, model: None },
        Wish::ApplyUpdate if model.directory.update.is_some() => Command::ApplyUpdate,
        Wish::Reconnect => Command::Reconnect,
        _ => return None,
    })
}

/// When the agent must ask, or how many tokens a turn may use: so few that the second request is one too many.
fn setting(chance: &mut Chance) -> Option<SettingsChange> {
    if chance.one_in(2) {
        return Some(SettingsChange::SetTurnTokenBudget { tokens: chance.one_in(2).then_some(100) });
    }
    let policies = [
        PermissionPolicy::Always,
        PermissionPolicy::Untrusted,
        PermissionPolicy::Untrusted,
        PermissionPolicy::Auto,
    ];
    Some(SettingsChange::SetPolicy { policy: *chance.pick(&policies)? })
}

/// The sequence of an entry that is shown.
fn sequence(thread: &ThreadView, of: impl Fn(&&EntryKey) -> bool, chance: &mut Chance) -> Option<u64> {
    let stored: Vec<u64> = thread.keys().filter(of).filter_map(|key| thread.sequence(key)).collect();
    chance.pick(&stored).copied()
}

fn recover(recovery: &Recovery, chance: &mut Chance) -> Option<Command> {
    match recovery {
        Recovery::Interrupted { run_id } if chance.one_in(6) => {
            Some(Command::RemoveQueued { run: run_id.clone() })
        }
        Recovery::Interrupted { run_id } | Recovery::Budget { run_id } => {
            Some(Command::Resume { run: run_id.clone() })
        }
        Recovery::Uncertain { run_id, .. } => {
            let resolutions = [Resolution::Retry, Resolution::MarkDone, Resolution::Fail];
            Some(Command::Resolve { run: run_id.clone(), resolution: *chance.pick(&resolutions)? })
        }
        Recovery::Locked { .. } | Recovery::Failed { .. } => None,
    }
}

fn answer(kind: InteractionKind, chance: &mut Chance) -> InteractionAnswer {
    if chance.one_in(4) {
        return InteractionAnswer::Cancel { note: None };
    }
    let value = match kind {
        InteractionKind::AskUser => json!({"q": "this"}),
        InteractionKind::McpElicitation => json!({}),
        _ => Value::Null,
    };
    InteractionAnswer::Submit { value }
}

fn context(chance: &mut Chance) -> Option<BrowserContext> {
    (!chance.one_in(8)).then(|| BrowserContext {
        captured_at: panelot_base::Timestamp(1),
        default_tab: Some(TabIdentity {
            tab_id: 7,
            url: Text::clipped("https://shop.test/order"),
            title: Text::clipped("Order"),
        }),
    })
}

fn overrides(chance: &mut Chance) -> TurnOverrides {
    let mut overrides = TurnOverrides::default();
    if chance.one_in(5) {
        let policies = [PermissionPolicy::Always, PermissionPolicy::Untrusted, PermissionPolicy::Auto];
        overrides.permission_policy = chance.pick(&policies).copied();
    }
    overrides
}

fn decision(chance: &mut Chance) -> ApprovalDecision {
    match chance.below(12) {
        0..=6 => ApprovalDecision::Accept,
        7 => ApprovalDecision::AcceptForSession,
        8 if chance.one_in(3) => ApprovalDecision::AcceptForSite,
        8..=10 => ApprovalDecision::Decline { note: None },
        _ => ApprovalDecision::Cancel,
    }
}
