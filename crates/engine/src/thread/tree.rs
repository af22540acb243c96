//! What the person does with a conversation as a whole: naming and filing it, other versions of a message, branches,
//! deletion of entries.

use panelot_base::limits::{BRANCHES_MAX, SNAPSHOT_PAGE_NODES, TITLE_CHARS_MAX};
use panelot_base::{SortedMap, SortedSet};
use panelot_protocol::event::{ErrorCode, Event, ItemStored};
use panelot_protocol::op::ThreadUpdate;
use panelot_records::thread::TitleSource;
use panelot_records::{Body, Node, NoticeKind, Record, Write};

use super::{Context, Draft, Submission, ThreadMachine};
use crate::branches;
use crate::directory::choice_record;
use crate::input::Found;
use crate::project;
use crate::providers::effort_record;
use crate::receipt::{Admitted, Refused};

fn invalid(why: &str) -> Refused {
    Refused::new(ErrorCode::InvalidCommand, why)
}

impl ThreadMachine {
    fn whole(&self) -> Admitted {
        Admitted { thread: Some(self.thread.id.clone()), ..Admitted::default() }
    }

    /// The tree is changed only while nothing works in it or waits in it.
    fn at_rest(&self) -> Result<(), Refused> {
        if self.head_run().is_some() {
            return Err(Refused::new(
                ErrorCode::TurnMismatch,
                "the conversation is busy with another message",
            ));
        }
        Ok(())
    }

    /// Changes what the list of threads says of this one.
    pub(crate) fn update(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        update: ThreadUpdate,
    ) -> Result<Admitted, Refused> {
        let model = update.model.map(|it| it.choice.as_ref().map(choice_record));
        if model.as_ref().is_some_and(|it| it.as_ref().is_some_and(|it| !context.directory.is_usable(it))) {
            return Err(invalid("that model is not set up"));
        }
        draft.keeps_date = true;
        let thread = &mut self.thread;
        if let Some(title) = update.title {
            let letters = title.trim().chars().filter(|c| !c.is_control());
            thread.title = letters.take(TITLE_CHARS_MAX).collect();
            thread.title_source = TitleSource::Person;
        }
        thread.pinned = update.pinned.unwrap_or(thread.pinned);
        thread.archived = update.archived.unwrap_or(thread.archived);
        if let Some(folder) = update.folder_id {
            thread.folder = Some(folder.into_string()).filter(|folder| !folder.is_empty());
        }
        if let Some(tags) = update.tags {
            thread.tags = tags.into_iter().map(panelot_protocol::Text::into_string).collect();
        }
        if let Some(model) = model {
            thread.model = model;
        }
        if let Some(effort) = update.effort {
            thread.effort = effort.choice.map(effort_record);
        }
        if let Some(preset) = update.preset {
            thread.preset = Some(preset.into_string()).filter(|preset| !preset.is_empty());
        }
        Ok(self.whole())
    }

    /// Sends another version of a message of the active branch. `found` is the branch that ends in that message.
    pub(crate) fn fork_turn(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        submission: Submission<'_>,
        beside: u64,
        found: Option<Found>,
    ) -> Result<Admitted, Refused> {
        self.at_rest()?;
        let Found { mut nodes, has_older } = found.unwrap_or_default();
        let Some(message) = nodes.pop().filter(|node| node.seq == beside) else {
            return Err(invalid("there is no such message"));
        };
        if !matches!(message.body, Body::User { .. }) {
            return Err(invalid("only a message of the person can be sent in another version"));
        }
        if !branches::is_active(&self.thread, &message) {
            return Err(invalid("this message is not on the branch that is shown; show its branch first"));
        }
        if self.thread.chains.len() > BRANCHES_MAX {
            return Err(invalid("this conversation has too many branches; copy it into a new one"));
        }
        // A refusal must leave the machine as it is, and a message can be refused for several reasons.
        let before = self.clone();
        self.leave_branch(context, draft);
        branches::begin(&mut self.thread, &message);
        self.turn_page(nodes, has_older);
        draft.replaced = true;
        self.submit(context, draft, submission).inspect_err(|_| *self = before)
    }

    /// Shows the branch that goes on from a version of a message. `found` is that branch.
    pub(crate) fn select_branch(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        version: u64,
        found: Option<Found>,
    ) -> Result<Admitted, Refused> {
        self.at_rest()?;
        let Some(end) = branches::newest_end(&self.thread, version) else {
            return Err(invalid("there is no other version of this entry"));
        };
        if self.thread.leaf != Some(end.0) {
            let Found { nodes, has_older } = found.unwrap_or_default();
            if nodes.last().is_none_or(|node| node.seq != end.0) {
                return Err(Refused::new(ErrorCode::Internal, "the end of that branch cannot be found"));
            }
            self.leave_branch(context, draft);
            branches::select(&mut self.thread, end);
            self.turn_page(nodes, has_older);
            (draft.replaced, draft.keeps_date) = (true, true);
        }
        Ok(self.whole())
    }

    /// What was interrupted would go on at an end that is not shown any more. What was added to it stays on its branch.
    fn leave_branch(&mut self, context: &Context<'_>, draft: &mut Draft) {
        self.supersede_interrupted(context, draft);
        for seq in std::mem::take(&mut self.dirty_nodes) {
            if let Some(node) = self.node(seq) {
                draft.writes.push(Write::Put(Record::Node(node.clone())));
            }
        }
    }

    /// Takes another stretch of the tree for the newest page.
    fn turn_page(&mut self, nodes: Vec<Node>, has_older: bool) {
        for late in self.late.values_mut() {
            if let Some(node) = self.page.iter().find(|node| node.seq == late.seq) {
                late.node = Some(node.clone());
            }
        }
        (self.page, self.has_older) = (nodes, has_older);
    }

    /// Fills a new thread with copies of a branch. Sequences are dense again, whatever lay between.
    pub(crate) fn take_copies(&mut self, context: &mut Context<'_>, draft: &mut Draft, nodes: Vec<Node>) {
        let mut places: SortedMap<u64, u64> = SortedMap::new();
        let surplus = nodes.len().saturating_sub(SNAPSHOT_PAGE_NODES);
        for (index, mut node) in nodes.into_iter().enumerate() {
            let seq = self.thread.next_seq;
            places.insert(node.seq, seq);
            match &mut node.body {
                Body::User { .. } => self.thread.stats.turns += 1,
                Body::Notice { kind: NoticeKind::Summarized, details } => {
                    if let Some(up_to) = details.get_mut("upTo") {
                        let place = up_to.as_u64().and_then(|up_to| places.get(&up_to)).copied();
                        *up_to = place.unwrap_or_default().into();
                    }
                }
                _ => {}
            }
            let copy =
                Node { thread: self.thread.id.clone(), seq, parent: self.thread.leaf, chain: 0, ..node };
            (self.thread.leaf, self.thread.next_seq) = (Some(seq), seq + 1);
            if index >= surplus {
                self.page.push(copy.clone());
            }
            draft.writes.push(Write::Put(copy.into()));
        }
        self.has_older = surplus > 0;
        // The copy may end between a call and its result.
        self.add_missing_results(context, draft);
    }

    /// Deletes what an entry says. Its place in the tree stays, so that what follows it still hangs together.
    /// `found` holds the nodes around it.
    pub(crate) fn remove_message(
        &mut self,
        draft: &mut Draft,
        seq: u64,
        found: Option<Found>,
    ) -> Result<Admitted, Refused> {
        self.at_rest()?;
        let Found { nodes, .. } = found.unwrap_or_default();
        let Some(target) = nodes.iter().find(|node| node.seq == seq) else {
            return Err(invalid("there is no such entry"));
        };
        let mut calls = SortedSet::new();
        match &target.body {
            Body::Removed => return Ok(self.whole()),
            Body::User { .. } | Body::Notice { .. } => {}
            Body::Assistant { calls: asked, .. } => calls.extend(asked.iter().map(|call| &call.item)),
            Body::ToolResult { .. } | Body::Decision { .. } => {
                return Err(invalid("delete the message that asked for this step"));
            }
        }
        let doomed = |node: &&Node| match &node.body {
            Body::ToolResult { item, .. } | Body::Decision { item, .. } => calls.contains(item),
            // A summary that covers it tells of it, so the model must read the rest itself again.
            Body::Notice { kind: NoticeKind::Summarized, details } => {
                node.seq == seq || details.get("upTo").and_then(serde_json::Value::as_u64) >= Some(seq)
            }
            _ => node.seq == seq,
        };
        let shown = self.page.iter().filter(|node| node.seq > seq);
        let mut removed: Vec<Node> = nodes.iter().rev().filter(doomed).cloned().collect();
        for node in shown.filter(doomed) {
            if removed.iter().all(|other| other.seq != node.seq) {
                removed.push(node.clone());
            }
        }
        for mut node in removed {
            node.body = Body::Removed;
            self.late.retain(|_, late| late.seq != node.seq);
            draft.events.push(Event::ItemStored(ItemStored {
                thread_id: self.thread.id.clone(),
                item: project::item(&self.thread, &node),
            }));
            if self.node(node.seq).is_some() {
                self.rewrite(node.seq, Body::Removed);
            } else {
                draft.writes.push(Write::Put(Record::Node(node)));
            }
        }
        draft.keeps_date = true;
        Ok(self.whole())
    }
}
