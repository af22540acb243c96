//! What a damaged record costs: a link that leads nowhere, a leaf that does not exist, calls without results.
//!
//! Invariant: what can be read is kept, nothing is written over, and the person is told once.

use panelot_base::{SortedSet, TurnId};
use panelot_prompts::wording;
use panelot_records::node::ResultOutcome;
use panelot_records::{Body, Node, NoticeKind, Record, Write};
use serde_json::{Value, json};

use super::outcome::Settled;
use super::{Context, Draft, ThreadMachine};

impl ThreadMachine {
    /// Mends what the reading of the head found broken.
    pub(crate) fn repair(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        let mut damage = Vec::new();
        if std::mem::take(&mut self.leaf_lost) {
            damage.push("leafLost");
            self.find_leaf();
        }
        if std::mem::take(&mut self.is_cut)
            && let Some(first) = self.page.first_mut()
        {
            damage.push("branchCut");
            first.parent = None;
            self.dirty_nodes.insert(first.seq);
        }
        if self.add_missing_results(context, draft) {
            damage.push("resultsMissing");
        }
        self.tell_damage(context, draft, &damage);
    }

    /// The page is that of the newest node there is: the branch ends there now.
    fn find_leaf(&mut self) {
        let newest = self.page.last();
        self.thread.leaf = newest.map(|node| node.seq);
        self.thread.chain = newest.map_or(0, |node| node.chain);
        let leaf = self.thread.leaf;
        self.thread.next_seq = self.thread.next_seq.max(leaf.unwrap_or_default() + 1);
        for run in self.runs.iter_mut().filter(|run| run.leaf.is_some()) {
            (run.leaf, run.partial) = (leaf, None);
        }
    }

    /// Gives each call of the page that neither has a result nor is open one that says so.
    pub(crate) fn add_missing_results(&mut self, context: &mut Context<'_>, draft: &mut Draft) -> bool {
        let mut settled: SortedSet<&str> = SortedSet::new();
        let open = self.runs.iter().filter_map(|run| run.batch.as_ref()).flat_map(|batch| &batch.calls);
        settled.extend(open.map(|call| call.item.as_str()));
        settled.extend(self.page.iter().filter_map(|node| match &node.body {
            Body::ToolResult { item, .. } => Some(item.as_str()),
            _ => None,
        }));
        let mut missing = Vec::new();
        for node in &self.page {
            if let Body::Assistant { calls, .. } = &node.body {
                let without = calls.iter().filter(|call| !settled.contains(call.item.as_str()));
                missing.extend(without.map(|call| (node.turn.clone(), call.item.clone())));
            }
        }
        let found = !missing.is_empty();
        for (turn, item) in missing {
            let details = json!({"type": "skipped"});
            let settled = Settled::new(ResultOutcome::Skipped, wording::not_started(), details);
            let seq = self.place_in(context.now, turn, settled.into_body(item));
            draft.stored.push(seq);
        }
        found
    }

    /// A link far back leads nowhere: the branch begins with `node`.
    pub(crate) fn mend(&mut self, context: &mut Context<'_>, draft: &mut Draft, node: Node) {
        if !self.mended.insert(node.seq) {
            return;
        }
        if let Some(held) = self.page.iter_mut().find(|held| held.seq == node.seq) {
            held.parent = None;
            self.dirty_nodes.insert(node.seq);
        } else {
            draft.writes.push(Write::Put(Record::Node(Node { parent: None, ..node })));
        }
        self.tell_damage(context, draft, &["branchCut"]);
    }

    fn tell_damage(&mut self, context: &mut Context<'_>, draft: &mut Draft, damage: &[&str]) {
        if damage.is_empty() {
            return;
        }
        let newest = self.page.last().map(|node| node.turn.clone());
        let turn = newest.unwrap_or_else(|| TurnId::mint(context.ids));
        let found = damage.iter().map(|what| Value::from(*what)).collect();
        let body =
            Body::Notice { kind: NoticeKind::Repaired, details: json!({"damage": Value::Array(found)}) };
        let seq = self.place_in(context.now, turn, body);
        draft.stored.push(seq);
    }
}
