//! The thread as a view sees it at this moment.

use panelot_base::limits::SNAPSHOT_PAGE_NODES;
use panelot_protocol::snapshot::{ActiveItem, ActiveTurn, ItemKind, ItemMeta, ThreadSnapshot};

use super::ThreadMachine;
use super::model::item_kind;
use crate::directory::Directory;
use crate::project;

impl ThreadMachine {
    pub(crate) fn snapshot(&self, directory: &Directory) -> ThreadSnapshot {
        let working = self.runs.iter().find(|run| run.state.is_under_way());
        // The message that streams is told as an active item, not as its last checkpoint.
        let partial = working.filter(|_| self.model.is_some()).and_then(|run| run.partial);
        let stored: Vec<_> = self.nodes().iter().filter(|node| Some(node.seq) != partial).collect();
        let surplus = stored.len().saturating_sub(SNAPSHOT_PAGE_NODES);
        ThreadSnapshot {
            meta: self.meta(),
            items: stored.iter().skip(surplus).map(|node| project::item(&self.thread, node)).collect(),
            has_older: self.has_older || surplus > 0,
            active_turn: working.map(|run| ActiveTurn {
                turn_id: run.turn.clone(),
                run_id: run.id.clone(),
                started_at: self.turn_started_at.unwrap_or(run.updated_at),
            }),
            active_items: self.active_items(),
            pending_approvals: self.pending_approvals().map(project::approval).collect(),
            pending_interactions: self.open_questions().filter_map(project::interaction).collect(),
            draft: directory.draft(Some(self.id())),
            runs: self.runs.iter().map(|run| self.run_view(run)).collect(),
        }
    }

    fn active_items(&self) -> Vec<ActiveItem> {
        let model = self.model.iter().map(|live| ActiveItem {
            item_id: live.item.clone(),
            kind: item_kind(&live.purpose),
            meta: ItemMeta::default(),
            text: live.text.clone(),
            reasoning: live.reasoning.clone(),
        });
        let calls = self.calls.iter().map(|(item, live)| ActiveItem {
            item_id: item.clone(),
            kind: ItemKind::ToolCall,
            meta: ItemMeta {
                tool_name: Some(live.call.name().to_owned()),
                arguments: Some(live.call.arguments().to_string()),
            },
            text: String::new(),
            reasoning: String::new(),
        });
        model.chain(calls).collect()
    }
}
