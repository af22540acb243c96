//! Random lives of a worker: commands, duplicates, stale answers, faults and kills at any commit, all by seed.
//!
//! After each life the store, the page and the views are compared with what was acknowledged.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use panelot_records::{Body, Record, Run, Table, Thread};
use panelot_store::{CommitError, MemoryStore, StoreError};
use serde_json::{Value, json};

use crate::mirror::{Mirror, Missing};
use crate::world::{Chunk, PageTurn, Reply, World};

/// SplitMix64: small, and the same everywhere.
#[derive(Clone)]
struct Chance(Rc<Cell<u64>>);

impl Chance {
    fn new(seed: u64) -> Self {
        // Not the step of the sequence itself: else each seed would live the life of the one before it, one draw later.
        Self(Rc::new(Cell::new(seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ 0x2545_F491_4F6C_DD1D)))
    }

    fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a, T>(&self, from: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(from.len().max(1) as u64)).unwrap();
        from.get(index)
    }
}

/// What a model says by chance. Each click names an element that was never named before, so that a repeated one shows.
fn improvise(chance: &Chance, clicks: &Cell<u64>) -> Reply {
    let click = || {
        clicks.set(clicks.get() + 1);
        ("click", json!({"ref": format!("k7q2-{}", clicks.get())}))
    };
    match chance.below(14) {
        0..=3 => Reply::text(&["Some ", "words."]),
        4 => Reply::hanging(&["Wait ", "for it: "]),
        5 => Reply::error(429, json!({})),
        6 => Reply::error(401, json!({"error": {"message": "no"}})),
        7 => {
            let mut reply = Reply::text(&["Half"]);
            reply.chunks.pop();
            reply.chunks.push(Chunk::Break);
            reply
        }
        8 => Reply::calls(&[("click", json!({"reff": 1}))]),
        9 => Reply::calls(&[("tabs_list", json!({})), ("tabs_list", json!({})), click()]),
        10 => Reply::calls(&[click(), ("tabs_list", json!({})), click()]),
        11 => Reply::calls(&[("tabs_list", json!({})), ("no_such_tool", json!({}))]),
        _ => Reply::calls(&[click()]),
    }
}

/// A message that was sent, by what its text is.
struct Sent {
    op: Value,
    view: u64,
}

struct Life {
    world: Option<World>,
    chance: Chance,
    threads: Vec<String>,
    /// Every durable command that was ever sent, by its submission.
    sent: BTreeMap<String, Sent>,
    /// Its terminal answer.
    answers: BTreeMap<String, Value>,
    mirrors: BTreeMap<u64, Mirror>,
    /// Retries that the person ordered, by the element that was clicked.
    retries: BTreeMap<String, usize>,
    /// The element that a submission ordered a retry for.
    retry_orders: BTreeMap<String, String>,
    deleted: BTreeSet<String>,
    stale_approvals: Vec<(String, String)>,
    commands: u64,
}

const VIEWS: [u64; 2] = [1, 2];
/// Things that happen in one life: enough for several runs, waits and deaths in each.
const STEPS: u64 = 60;

impl Life {
    fn new(seed: u64) -> Self {
        let mut world = World::new();
        world.open_view(2);
        world.run();
        let chance = Chance::new(seed);
        let (dice, clicks) = (chance.clone(), Cell::new(0));
        *world.outside.provider.borrow_mut() = Some(Box::new(move |_| improvise(&dice, &clicks)));
        let dice = chance.clone();
        *world.outside.page.borrow_mut() = Some(Box::new(move || match dice.below(8) {
            0 => PageTurn::Breaks,
            1 => PageTurn::Unreached,
            _ => PageTurn::Works(dice.below(400)),
        }));
        let mut life = Self {
            world: Some(world),
            chance,
            threads: Vec::new(),
            sent: BTreeMap::new(),
            answers: BTreeMap::new(),
            mirrors: VIEWS.into_iter().map(|view| (view, Mirror::default())).collect(),
            retries: BTreeMap::new(),
            retry_orders: BTreeMap::new(),
            deleted: BTreeSet::new(),
            stale_approvals: Vec::new(),
            commands: 0,
        };
        life.hear();
        life
    }

    fn world(&mut self) -> &mut World {
        self.world.as_mut().unwrap()
    }

    /// Sends a durable command under a new id.
    fn command(&mut self, view: u64, mut op: Value) -> String {
        self.commands += 1;
        let id = format!("c{}", self.commands);
        op["submissionId"] = json!(id);
        self.world().send(view, op.clone());
        self.sent.insert(id.clone(), Sent { op, view });
        id
    }

    /// Takes in what the views were sent.
    fn hear(&mut self) {
        for view in VIEWS {
            for message in self.world().take(view) {
                self.hear_one(view, &message);
            }
        }
    }

    fn hear_one(&mut self, view: u64, message: &Value) {
        let kind = message["type"].as_str().unwrap().to_owned();
        if kind == "command.ack" || kind == "command.rejected" {
            return self.hear_answer(message);
        }
        let mirror = self.mirrors.get_mut(&view).unwrap();
        let missing = mirror.take_in(message);
        let Some(thread) = mirror.thread.clone() else { return };
        match missing {
            Some(Missing::Thread) => {
                self.world().send(view, json!({"type": "thread.subscribe", "threadId": thread}));
            }
            Some(Missing::List) => {
                self.world().initialize(view);
                self.follow(view, &thread);
            }
            None => {}
        }
    }

    fn hear_answer(&mut self, message: &Value) {
        let id = message["submissionId"].as_str().unwrap().to_owned();
        if !self.sent.contains_key(&id)
            || message["code"] == "storage_failed"
            || message["code"] == "overloaded"
        {
            return;
        }
        if let Some(first) = self.answers.get(&id) {
            assert_eq!(first, message, "one answer for ever");
            return;
        }
        self.answers.insert(id.clone(), message.clone());
        if message["type"] != "command.ack" {
            return;
        }
        let sent = &self.sent[&id];
        if sent.op["type"] == "thread.create" {
            let thread = message["threadId"].as_str().unwrap().to_owned();
            // The engine makes whoever creates a thread follow it; a view asks for the snapshot all the same.
            let view = sent.view;
            self.threads.push(thread.clone());
            self.follow(view, &thread);
        } else if sent.op["type"] == "thread.delete" {
            self.deleted.insert(sent.op["threadId"].as_str().unwrap().to_owned());
        } else if let Some(element) = self.retry_orders.remove(&id) {
            *self.retries.entry(element).or_default() += 1;
        }
    }

    fn follow(&mut self, view: u64, thread: &str) {
        self.mirrors.get_mut(&view).unwrap().follow(thread);
        self.world().send(view, json!({"type": "thread.subscribe", "threadId": thread}));
    }

    fn kill(&mut self) {
        let world = self.world.take().unwrap();
        let mut world = world.kill();
        world.open_view(2);
        self.world = Some(world);
        for view in VIEWS {
            let mirror = self.mirrors.get_mut(&view).unwrap();
            if let Some(thread) = mirror.thread.clone() {
                self.follow(view, &thread);
            }
        }
        self.resend();
    }

    /// What a reconnected view does: whatever was not answered goes out again.
    fn resend(&mut self) {
        let open: Vec<(u64, Value)> = self
            .sent
            .iter()
            .filter(|(id, _)| !self.answers.contains_key(*id))
            .map(|(_, sent)| (sent.view, sent.op.clone()))
            .collect();
        for (view, op) in open {
            self.world().send(view, op);
        }
    }

    fn live_threads(&self) -> Vec<String> {
        self.threads.iter().filter(|thread| !self.deleted.contains(*thread)).cloned().collect()
    }

    fn step(&mut self) {
        let view = *self.chance.pick(&VIEWS).unwrap();
        let threads = self.live_threads();
        let thread = self.chance.pick(&threads).cloned();
        match (self.chance.below(24), thread) {
            (_, None) | (0, _) => {
                let text = format!("m{}", self.commands + 1);
                let create = json!({"type": "thread.create", "input": {"text": text, "browserContext": {
                    "capturedAt": 1, "defaultTab": {"tabId": 7, "url": "https://shop.test/order", "title": "O"}}}});
                self.command(view, create);
            }
            (1..=6, Some(thread)) => {
                let text = format!("m{}", self.commands + 1);
                let kind = *self.chance.pick(&["turn.submit", "turn.submit", "turn.enqueue"]).unwrap();
                let mut submit = json!({"type": kind, "threadId": thread, "input": {"text": text}});
                if self.chance.one_in(4) {
                    submit["overrides"] = json!({"permissionPolicy": "always"});
                }
                self.command(view, submit);
            }
            (7, Some(thread)) => {
                self.command(view, json!({"type": "turn.interrupt", "threadId": thread}));
            }
            (8..=12, Some(thread)) => self.answer_something(view, &thread),
            (13, Some(thread)) => {
                if self.chance.one_in(3) {
                    self.command(view, json!({"type": "thread.delete", "threadId": thread}));
                }
            }
            (14, Some(thread)) => self.follow(view, &thread),
            (15, Some(_)) => {
                // An earlier command once more, answered or not.
                let all: Vec<(u64, Value)> =
                    self.sent.values().map(|sent| (sent.view, sent.op.clone())).collect();
                if let Some((view, op)) = self.chance.pick(&all).cloned() {
                    self.world().send(view, op);
                }
            }
            (16..=18, Some(_)) => self.arm_a_fault(),
            (19, Some(_)) => self.kill(),
            (20, Some(_)) => {
                let policy = *self.chance.pick(&["always", "untrusted", "auto"]).unwrap();
                self.command(
                    view,
                    json!({"type": "settings.update", "changes": [{"type": "setPolicy", "policy": policy}]}),
                );
            }
            (_, Some(thread)) => self.change_what_waits(view, &thread),
        }
        match self.chance.below(4) {
            0 => {}
            1 => self.world().run(),
            _ => {
                let ms = *self.chance.pick(&[1, 20, 300, 2000, 30_000]).unwrap();
                self.world().pass(ms);
            }
        }
        self.hear();
        if self.world().outside.dead.get() {
            self.kill();
        }
    }

    /// Something goes wrong soon: a commit fails or its answer is lost, the worker dies, or nothing can be read.
    fn arm_a_fault(&mut self) {
        let opened: Rc<MemoryStore> = Rc::clone(&self.world().opened);
        match self.chance.below(4) {
            0 => opened.lose_answer(opened.commits() + 1 + self.chance.below(4)),
            1 => opened.fail_commit(opened.commits() + 1 + self.chance.below(4), CommitError::Quota),
            2 => {
                let at = u32::try_from(self.chance.below(12)).unwrap();
                self.world().outside.fuse.set(Some(at));
            }
            _ => {
                let fails = self.chance.one_in(2);
                opened.fail_reads(fails.then(|| StoreError::Unavailable("by chance".into())));
            }
        }
    }

    /// Adds a message to a turn, or changes or takes back one that waits, or tries to.
    fn change_what_waits(&mut self, view: u64, thread: &str) {
        let known = self.mirrors.values().find(|it| it.thread.as_deref() == Some(thread));
        let runs: Vec<Value> = known.map(|it| it.runs.values().cloned().collect()).unwrap_or_default();
        let Some(run) = self.chance.pick(&runs).cloned() else { return };
        let input = json!({"text": format!("m{}", self.commands + 1)});
        let op = match self.chance.below(4) {
            0 => json!({"type": "queue.remove", "threadId": thread, "runId": run["runId"]}),
            1 => json!({"type": "queue.update", "threadId": thread, "runId": run["runId"], "input": input}),
            _ => {
                json!({"type": "turn.steer", "threadId": thread, "expectedTurnId": run["turnId"], "input": input})
            }
        };
        self.command(view, op);
    }

    /// Answers a question, an uncertain write or an interrupted run of a thread, or a question that is closed.
    fn answer_something(&mut self, view: u64, thread: &str) {
        let known = self.mirrors.values().find(|it| it.thread.as_deref() == Some(thread));
        let Some((approvals, runs)) = known.map(|it| (it.approvals.clone(), it.runs.clone())) else {
            return self.follow(view, thread);
        };
        if self.chance.one_in(8)
            && let Some((thread, approval)) = self.chance.pick(&self.stale_approvals.clone())
        {
            self.respond(view, thread, approval, &json!({"kind": "accept"}));
        }
        let approvals: Vec<String> = approvals.keys().cloned().collect();
        if let Some(approval) = self.chance.pick(&approvals) {
            let decisions = ["accept", "accept", "acceptForSession", "acceptForSite", "decline", "cancel"];
            let kind = *self.chance.pick(&decisions).unwrap();
            self.stale_approvals.push((thread.to_owned(), approval.clone()));
            self.respond(view, thread, approval, &json!({"kind": kind}));
        }
        for run in runs.values() {
            let kind = *self.chance.pick(&["retry", "mark_done", "fail"]).unwrap();
            self.take_up(view, thread, run, kind);
        }
    }

    fn respond(&mut self, view: u64, thread: &str, approval: &str, decision: &Value) {
        let op = json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": decision});
        self.command(view, op);
    }

    fn take_up(&mut self, view: u64, thread: &str, run: &Value, resolution: &str) {
        let id = run["runId"].clone();
        if run["state"] == "interrupted" {
            self.command(view, json!({"type": "run.resume", "threadId": thread, "runId": id}));
        }
        if run["state"] == "paused_uncertain" {
            let element = run["uncertain"]["arguments"].as_str().unwrap_or_default().to_owned();
            let op = json!({"type": "run.resolveUncertain", "threadId": thread, "runId": id, "resolution": resolution});
            let order = self.command(view, op);
            if resolution == "retry" {
                self.retry_orders.insert(order, element);
            }
        }
    }

    /// No new faults for a while: views that were there all along know what a new one is told.
    fn calm_down(&mut self) {
        self.world().outside.fuse.set(None);
        self.world().opened.fail_reads(None);
        for _ in 0..3 {
            self.world().pass(70_000);
            self.hear();
        }
        if !self.world().outside.dead.get() {
            self.check_views();
        }
    }

    /// No more faults, and a person who answers everything: every run must end.
    fn wind_up(&mut self) {
        self.kill();
        let world = self.world();
        *world.outside.page.borrow_mut() = None;
        *world.outside.provider.borrow_mut() = Some(Box::new(|_| Reply::text(&["The end."])));
        for _ in 0..60 {
            self.world().pass(130_000);
            self.hear();
            if self.all_quiet() {
                return;
            }
            for thread in self.live_threads() {
                self.follow(1, &thread);
                self.world().run();
                self.hear();
                let mirror = &self.mirrors[&1];
                let (approvals, runs) = (mirror.approvals.clone(), mirror.runs.clone());
                for approval in approvals.keys() {
                    self.respond(1, &thread, approval, &json!({"kind": "accept"}));
                }
                for run in runs.values() {
                    self.take_up(1, &thread, run, "mark_done");
                }
            }
        }
        panic!("something waits for ever: {:?}", self.open_runs());
    }

    fn open_runs(&self) -> Vec<Run> {
        self.runs().into_iter().filter(|run| !run.state.is_end()).collect()
    }

    fn all_quiet(&self) -> bool {
        self.open_runs().is_empty() && self.sent.keys().all(|id| self.answers.contains_key(id))
    }

    fn records(&self) -> Vec<Record> {
        let rows = self.world.as_ref().unwrap().store.rows();
        rows.iter().map(|(key, row)| Record::from_row(key, row).unwrap()).collect()
    }

    fn runs(&self) -> Vec<Run> {
        let run = |record| if let Record::Run(run) = record { Some(run) } else { None };
        self.records().into_iter().filter_map(run).collect()
    }

    fn check(&mut self) {
        self.check_messages();
        self.check_writes();
        self.check_records();
        self.check_views();
    }

    /// An acknowledged message stands in its thread once (its newest version, and not at all when it was taken back), a
    /// refused one nowhere, and those that began a turn in the order of admission.
    fn check_messages(&self) {
        let mut said: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
        let mut order: BTreeMap<String, u64> = BTreeMap::new();
        let mut dropped: BTreeSet<String> = BTreeSet::new();
        for record in self.records() {
            match record {
                Record::Node(node) => {
                    if let Body::User { text, submission, .. } = node.body {
                        said.entry(submission.to_string()).or_default().push((text, node.seq));
                    }
                }
                Record::Run(run) => {
                    if run.stop_reason.as_deref() == Some("removed") {
                        dropped.insert(run.submission.to_string());
                    }
                    order.insert(run.submission.to_string(), run.order);
                }
                _ => {}
            }
        }
        let mut by_thread: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        for (id, sent) in &self.sent {
            let text = sent.op["input"]["text"].as_str();
            let Some(text) = text.filter(|_| sent.op["type"] != "queue.update") else { continue };
            let answer = &self.answers[id];
            let found = said.get(id).map_or(&[][..], Vec::as_slice);
            let thread = answer["threadId"].as_str().unwrap_or_default();
            let stands = answer["type"] == "command.ack" && !self.deleted.contains(thread);
            assert_eq!(found.len(), usize::from(stands && !dropped.contains(id)), "{text}: {answer}");
            let is_version = |other: &Sent, said: &str| {
                other.op["type"] == "queue.update"
                    && other.op["runId"] == answer["runId"]
                    && other.op["input"]["text"] == said
            };
            for (said, seq) in found {
                assert!(said == text || self.sent.values().any(|other| is_version(other, said)), "{said}");
                if let Some(order) = order.get(id) {
                    by_thread.entry(thread.to_owned()).or_default().push((*seq, *order));
                }
            }
        }
        for (thread, mut places) in by_thread {
            places.sort_unstable();
            assert!(places.is_sorted_by_key(|(_, order)| *order), "queue order in {thread}: {places:?}");
        }
    }

    /// Each click reaches the page once, and once more for each retry that the person ordered.
    fn check_writes(&mut self) {
        let mut clicks: BTreeMap<String, usize> = BTreeMap::new();
        for write in self.world().writes() {
            *clicks.entry(write).or_default() += 1;
        }
        for (write, times) in clicks {
            let of_write = |element: &&String| {
                let arguments: Value = serde_json::from_str(element).unwrap();
                write.contains(&format!("({})", arguments["ref"].as_str().unwrap()))
            };
            let retried: usize =
                self.retries.keys().filter(of_write).map(|element| self.retries[element]).sum();
            assert!(times <= 1 + retried, "{write} {times} times with {:?}", self.retries);
        }
    }

    fn check_records(&self) {
        let records = self.records();
        let threads: Vec<&Thread> = records
            .iter()
            .filter_map(|it| if let Record::Thread(it) = it { Some(it) } else { None })
            .collect();
        let known: BTreeSet<&str> = threads.iter().map(|thread| thread.id.as_str()).collect();
        assert!(known.iter().all(|id| !self.deleted.contains(*id)), "a deleted thread is gone");
        let mut nodes: BTreeMap<(&str, u64), Option<u64>> = BTreeMap::new();
        for record in &records {
            match record {
                Record::Run(run) => {
                    assert!(run.batch.is_none() && known.contains(run.thread.as_str()), "{run:?}")
                }
                Record::Approval(it) => {
                    assert!(it.state != panelot_records::ApprovalState::Pending, "{it:?}");
                    assert!(known.contains(it.thread.as_str()));
                }
                Record::Node(node) => {
                    assert!(known.contains(node.thread.as_str()), "a node of no thread");
                    nodes.insert((node.thread.as_str(), node.seq), node.parent);
                }
                _ => {}
            }
        }
        for thread in threads {
            let mut at = thread.leaf;
            while let Some(seq) = at {
                at = nodes[&(thread.id.as_str(), seq)];
                assert!(at.is_none_or(|parent| parent < seq));
            }
        }
    }

    /// What a view put together from events is what a fresh one is told.
    fn check_views(&mut self) {
        for view in VIEWS {
            let Some(thread) = self.mirrors[&view].thread.clone() else { continue };
            if self.deleted.contains(&thread) {
                continue;
            }
            // A view that was refused while nothing could be read has told its person so, and shows nothing.
            if !self.mirrors[&view].is_showing() {
                continue;
            }
            let fresh = self.world().snapshot(3 - view, &thread);
            self.mirrors[&view].compare(&fresh);
            self.mirrors.get_mut(&(3 - view)).unwrap().follow(&thread);
            self.hear();
        }
        self.world().open_view(3);
        self.world().run();
        let mut fresh = Mirror::default();
        for message in self.world().take(3) {
            fresh.take_in(&message);
        }
        self.hear();
        for view in VIEWS {
            assert_eq!(self.mirrors[&view].list(), fresh.list(), "the list of view {view}");
        }
    }

    fn trace(&self) -> String {
        let world = self.world.as_ref().unwrap();
        format!("{:?}{:?}", world.outside.requests.borrow(), world.store.rows())
    }
}

fn live(seed: u64) -> Life {
    let mut life = Life::new(seed);
    for _ in 0..STEPS {
        life.step();
        if life.chance.one_in(6) && !life.world().outside.dead.get() {
            life.world().run();
            life.hear();
            life.world().run();
            life.hear();
        }
    }
    life.calm_down();
    life.wind_up();
    life.check();
    life
}

/// Seeds that are lived through. More by the environment variable `PANELOT_SEEDS`, from `PANELOT_SEED` on.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn whatever_happens_nothing_acknowledged_is_lost_nothing_is_done_twice_and_everything_ends() {
    let first = number("PANELOT_SEED", 1);
    for seed in first..first + number("PANELOT_SEEDS", 12) {
        let lived = std::panic::catch_unwind(|| drop(live(seed)));
        assert!(lived.is_ok(), "seed {seed} (run it alone with PANELOT_SEED={seed} PANELOT_SEEDS=1)");
    }
}

#[test]
fn a_seed_lives_the_same_life_again() {
    for seed in [101, 102] {
        assert_eq!(live(seed).trace(), live(seed).trace(), "seed {seed}");
    }
}

#[test]
fn lives_are_not_all_alike() {
    let tables = |seed| {
        let mut life = Life::new(seed);
        (0..STEPS).for_each(|_| life.step());
        life.world.unwrap().store.rows().into_iter().filter(|(key, _)| key.table == Table::Approvals).count()
    };
    assert!(
        (1..7).map(tables).collect::<BTreeSet<_>>().len() > 2,
        "questions are asked in some lives and not in others"
    );
}
