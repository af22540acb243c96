//! A life: some hundred steps of trouble, then calm in which everything must come to an end.

use panelot_base::ThreadId;
use panelot_engine::Input;
use panelot_records::{Key, Row, RunState, Table};
use panelot_view::{ClientInput, Command};
use serde_json::json;

use crate::chance::Chance;
use crate::invariant::{Invariant, Violation};
use crate::ops::connection;
use crate::outside::Task;
use crate::view::View;
use crate::world::World;

/// Which steps of a seed are lived through.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Inputs that end a whole life.
    pub(crate) inputs: u64,
    /// Only these steps, when a trace is being shortened or replayed.
    pub(crate) only: Option<Vec<u64>>,
}

/// What came of a life.
pub(crate) struct Lived {
    pub(crate) violation: Option<Violation>,
    pub(crate) hash: u64,
    pub(crate) coverage: crate::coverage::Coverage,
    /// How many steps it took.
    pub(crate) steps: u64,
    pub(crate) log: Vec<String>,
}

/// The kinds of steps.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Lane,
    Outside,
    Wire,
    Person,
    Hand,
    Time,
    Fault,
    View,
    Flow,
}

const KINDS: &[(u64, Kind)] = &[
    (26, Kind::Lane),
    (24, Kind::Outside),
    (8, Kind::Wire),
    (14, Kind::Person),
    (9, Kind::Hand),
    (7, Kind::Time),
    (5, Kind::Fault),
    (5, Kind::View),
    (14, Kind::Flow),
];

/// What is done beside living.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Everything is judged.
    Judge,
    /// Everything is judged and written down.
    Log,
    /// Only the hash is wanted, for the same life was judged before.
    Replay,
}

/// Lives a life by its plan.
pub(crate) fn live(plan: &Plan, look: Look) -> Lived {
    let mut world = World::new(plan.seed, look == Look::Log, look != Look::Replay);
    world.begin();
    let mut steps = 0;
    match &plan.only {
        Some(only) => {
            for step in only {
                world.step(*step);
                steps += 1;
            }
        }
        None => {
            // Most steps hand over an input; a life that cannot must end all the same.
            while world.coverage.inputs < plan.inputs && steps < plan.inputs * 10 && !world.is_over() {
                world.step(steps);
                steps += 1;
            }
        }
    }
    let calm = world.end();
    let rows = world.store.rows();
    if calm && world.judged && !world.is_over() {
        world.judge_rest(&rows);
    }
    for (key, row) in rows {
        world.trail.add(key.table.name().as_bytes());
        world.trail.add(row.json.as_bytes());
    }
    Lived {
        violation: world.violation,
        hash: world.trail.value(),
        coverage: world.coverage,
        steps,
        log: world.log.unwrap_or_default(),
    }
}

impl World {
    /// The views connect, and there is a model to talk to.
    fn begin(&mut self) {
        self.flow();
        let client = panelot_base::ClientId::new("hand");
        if let Ok(client) = client {
            self.say(&client, json!({"type": "settings.update", "changes": [connection()]}));
        }
        self.flow();
    }

    fn step(&mut self, number: u64) {
        if self.is_over() {
            return;
        }
        let mut chance = Chance::new(self.seed.wrapping_mul(0x0010_0003).wrapping_add(number));
        self.now += chance.below(30);
        if self.worker.is_none() && !chance.one_in(6) {
            self.boot();
        }
        let Some(kind) = chance.weighted(KINDS) else { return };
        match kind {
            Kind::Lane => {
                let lanes = self.lanes();
                match chance.pick(&lanes) {
                    Some(lane) => self.handle_lane(lane),
                    None => self.progress(&mut chance),
                }
            }
            Kind::Outside => {
                if !self.late_model(&mut chance) && !self.page_signal(&mut chance) {
                    self.progress(&mut chance);
                }
            }
            Kind::Wire => self.carry(&mut chance),
            Kind::Person => self.person(&mut chance),
            Kind::Hand => self.speak(&mut chance),
            Kind::Time => self.pass(&mut chance),
            Kind::Fault => self.trouble(&mut chance),
            Kind::View => self.stir_view(&mut chance),
            Kind::Flow => self.flow(),
        }
        if chance.one_in(300) {
            self.compare_views();
        }
    }

    /// One message arrives, whichever way.
    fn carry(&mut self, chance: &mut Chance) {
        let handles: Vec<u64> = self.ports.keys().copied().collect();
        let Some(handle) = chance.pick(&handles).copied() else { return };
        if chance.one_in(2) {
            self.deliver_to_worker(handle);
        } else {
            self.deliver_to_view(handle);
        }
    }

    /// An answer of a model that was stopped, and was on its way already.
    fn late_model(&mut self, chance: &mut Chance) -> bool {
        if !chance.one_in(8) {
            return false;
        }
        let Some(call) = self.late.pop() else { return false };
        self.fault("model: late after a stop");
        let event = panelot_engine::ModelInput::Broken("too late".to_owned());
        self.tell(&call, event);
        true
    }

    fn pass(&mut self, chance: &mut Chance) {
        self.boot();
        let late = self.worker.as_ref().and_then(|worker| worker.engine.next_wake());
        match chance.below(12) {
            0..=3 => self.now += chance.below(2_000),
            4..=7 => self.now = self.next_due().map_or(self.now, |at| at.max(self.now)),
            8 => self.now += 30_000,
            9 => {
                self.now += 400_000;
                if late.is_some() {
                    self.fault("wake late");
                }
            }
            10 => {
                self.fault("wake too early");
                self.push(Input::Wake);
            }
            _ => {
                self.fault("clock set back");
                self.now = self.now.saturating_sub(chance.below(20_000)).max(crate::world::BEGINNING);
            }
        }
        self.fire_due();
    }

    /// When the next timer of anybody is due.
    fn next_due(&self) -> Option<u64> {
        let wake = self.worker.iter().filter_map(|worker| worker.engine.next_wake()).map(|at| at.0);
        let reloads = self.worker.iter().flat_map(|worker| worker.reloads.iter().map(|(at, _)| *at));
        let views = self.views.iter().filter_map(View::next_timer).map(|(at, _)| at);
        wake.chain(reloads).chain(views).min()
    }

    /// Every timer that is due fires once.
    fn fire_due(&mut self) {
        self.sweep();
        let now = self.now;
        if let Some(worker) = &mut self.worker {
            let wakes = worker.engine.next_wake().is_some_and(|at| at.0 <= now);
            let (due, later) =
                std::mem::take(&mut worker.reloads).into_iter().partition(|(at, _)| *at <= now);
            worker.reloads = later;
            let due: Vec<(u64, ThreadId)> = due;
            for (_, thread) in due {
                self.push(Input::Load { thread });
            }
            if wakes {
                self.push(Input::Wake);
            }
        }
        for place in 0..self.views.len() {
            if self.views.get(place).and_then(View::next_timer).is_some_and(|(at, _)| at <= now) {
                self.fire_view_timer(place);
            }
        }
    }

    fn trouble(&mut self, chance: &mut Chance) {
        match chance.below(17) {
            16 => self.push(Input::UpdateAvailable { version: "2".to_owned() }),
            0..=4 => self.armed.fuse = Some(chance.below(9)),
            5..=7 => self.armed.commit = Some((chance.below(4), chance.one_in(2))),
            8..=9 => {
                self.fault("reads fail");
                self.set_reads(true);
                for _ in 0..=chance.below(3) {
                    if let Some(lane) = chance.pick(&self.lanes()) {
                        self.handle_lane(lane);
                    }
                }
                self.set_reads(false);
            }
            10 => {
                let threads = self.living_threads();
                self.armed.trap = chance.pick(&threads).cloned();
            }
            11..=14 => self.die(chance),
            _ => {
                if chance.one_in(3) {
                    self.fault("crash between inputs");
                    self.crash("poison");
                    self.poison(chance);
                    self.boot_alone();
                }
            }
        }
    }

    fn die(&mut self, chance: &mut Chance) {
        if self.worker.is_none() {
            return;
        }
        self.fault("crash between inputs");
        self.crash("by chance");
        if chance.one_in(6) {
            self.close_browser();
        }
        if chance.one_in(2) {
            self.boot_alone();
        }
    }

    /// A worker starts and takes up what was open, before any view is back.
    fn boot_alone(&mut self) {
        self.boot();
        while let Some(lane) = self.lanes().first().cloned() {
            self.handle_lane(&lane);
        }
        if self.armed.fuse.is_none() {
            self.check_alive();
        }
    }

    /// A record is broken: its thread is lost, and only it.
    fn poison(&mut self, chance: &mut Chance) {
        let threads = self.living_threads();
        let Some(thread) = chance.pick(&threads).cloned() else { return };
        let runs: Vec<Key> = self
            .shadow
            .runs_of(&thread)
            .filter(|run| !run.state.is_end())
            .map(|run| Key::run(&thread, &run.id))
            .collect();
        let key = chance.pick(&runs).cloned().unwrap_or_else(|| Key::thread(&thread));
        self.fault("poisoned record");
        self.note(|| format!("{key:?} is broken"));
        self.store.put_row(key, Row { version: 1, revision: 0, json: "{\"broken\":".to_owned() });
        self.shadow.exempt.insert(thread);
    }

    /// Whatever is stored as working is worked on: by a task, a timer, or a read that is due.
    fn check_alive(&mut self) {
        let Some(worker) = &self.worker else { return };
        if !self.lanes().is_empty() || !worker.reloads.is_empty() {
            return;
        }
        let wakes = worker.engine.next_wake().is_some();
        let working =
            |thread: &ThreadId| wakes || worker.tasks.iter().any(|task| task.thread() == Some(thread));
        let stuck = self.shadow.open_runs().find(|run| {
            run.state == RunState::Running
                && !self.is_closed(&run.thread)
                && self.shadow.is_alive(&run.thread)
                && !working(&run.thread)
        });
        if let Some(run) = stuck {
            let what = format!("{} of {} is stored as running and nobody works on it", run.id, run.thread);
            self.fail(Invariant::Liveness, what);
        }
    }

    /// No new faults, and every view is back.
    fn reunite(&mut self) {
        (self.armed.fuse, self.armed.commit, self.armed.trap) = (None, None, None);
        self.set_reads(false);
        self.boot();
        for _ in 0..40 {
            self.flow();
            let ready = self.views.iter().all(|view| {
                view.client.model().pending.is_empty()
                    && view.port.is_some()
                    && !view.client.model().thread.loading
            });
            let reloads = self.worker.as_ref().is_some_and(|worker| !worker.reloads.is_empty());
            if self.is_over() || (ready && !reloads) {
                return;
            }
            if self.finish_reads() {
                continue;
            }
            self.now = self.next_due().map_or(self.now + 100, |at| at.max(self.now));
            self.fire_due();
        }
        let waiting: Vec<_> = self
            .views
            .iter()
            .map(|view| (view.client.model().pending.clone(), view.port, view.client.model().thread.loading))
            .collect();
        self.fail(Invariant::Liveness, format!("the views do not come back: {waiting:?}"));
    }

    /// Ends what only a view waits for.
    fn finish_reads(&mut self) -> bool {
        let reads = |task: &Task| matches!(task, Task::Try(_) | Task::History { .. } | Task::Branch { .. });
        let tasks = self.worker.iter_mut().flat_map(|worker| worker.tasks.extract_if(.., |task| reads(task)));
        let tasks: Vec<Task> = tasks.collect();
        let found = !tasks.is_empty();
        for task in tasks {
            self.go_on(task, &mut Chance::new(self.now));
        }
        found
    }

    /// What each view has put together is what a fresh one is told.
    fn compare_views(&mut self) {
        self.reunite();
        for place in 0..self.views.len() {
            let Some(thread) = self.views.get(place).and_then(|view| view.thread().cloned()) else {
                continue;
            };
            // A view that was refused while nothing could be read is asked again by its person.
            self.tell_view(place, ClientInput::Command(Command::Open { thread }));
        }
        self.reunite();
        self.check_alive();
        for place in 0..self.views.len() {
            if self.is_over() {
                return;
            }
            self.compare_view(place);
        }
    }

    fn compare_view(&mut self, place: usize) {
        let Some(view) = self.views.get(place) else { return };
        let thread =
            view.thread().filter(|thread| self.shadow.is_alive(thread) && !self.is_closed(thread)).cloned();
        let (fresh, epoch) = (self.views.len(), self.epoch);
        self.views.push(View::new(self.seed ^ self.now, fresh));
        self.start_view(fresh, thread.clone());
        self.flow();
        for place in [place, fresh] {
            self.scroll_up(place);
        }
        // An update that the person ordered takes the worker from under them.
        let undisturbed = self.worker.is_some() && self.epoch == epoch;
        let what = self.difference(place, fresh, thread.is_some()).filter(|_| undisturbed);
        let port = self.views.get(fresh).and_then(|view| view.port);
        self.views.truncate(fresh);
        if let Some((handle, _)) = port {
            self.cut_port(handle);
        }
        let taken = self.quarantined.iter().find(|thread| {
            self.traps.get(*thread).is_none_or(|traps| *traps < panelot_base::limits::THREAD_TRAPS_MAX)
        });
        let taken = taken.map(|thread| format!("{thread} never trapped twice and is set aside"));
        if let Some(what) = taken {
            self.fail(Invariant::Isolation, what);
        }
        if let Some(what) = what.filter(|_| !self.is_over()) {
            self.fail(Invariant::Views, what);
        }
    }

    /// The person at a view looks at the thread from its beginning.
    fn scroll_up(&mut self, place: usize) {
        for _ in 0..50 {
            let older = |view: &View| view.thread().is_some() && view.client.model().thread.can_load_older;
            if self.is_over() || self.worker.is_none() || !self.views.get(place).is_some_and(older) {
                return;
            }
            self.tell_view(place, ClientInput::Command(Command::LoadOlder));
            self.flow();
            self.finish_reads();
            self.flow();
        }
        self.fail(Invariant::Liveness, format!("view{place} never comes to the beginning of its thread"));
    }

    /// How two views differ that should show the same.
    fn difference(&self, place: usize, fresh: usize, with_thread: bool) -> Option<String> {
        let (old, new) = (self.views.get(place)?, self.views.get(fresh)?);
        if !self.judged {
            return None;
        }
        let tell = |what: &str, old: String, new: String| {
            (old != new).then(|| format!("view{place} {what}\n{old}\na fresh view {what}\n{new}"))
        };
        let thread = if with_thread { tell("shows", old.picture(), new.picture()) } else { None };
        thread.or_else(|| tell("lists", old.list(), new.list()))
    }

    /// The end: faults stop, the person answers everything, and everything must end. Returns whether it did.
    fn end(&mut self) -> bool {
        if self.is_over() {
            return false;
        }
        self.compare_views();
        self.calm = true;
        for _ in 0..60 {
            self.settle();
            if self.is_over() {
                return false;
            }
            let open: Vec<_> =
                self.shadow.open_runs().filter(|run| !self.is_closed(&run.thread)).cloned().collect();
            if open.is_empty() {
                self.finish();
                return true;
            }
            for run in open {
                self.answer_for(&run);
            }
        }
        let open: Vec<_> = self.shadow.open_runs().map(|run| (run.id.clone(), run.state)).collect();
        self.fail(Invariant::Liveness, format!("these runs never end: {open:?}"));
        false
    }

    /// Models and tools finish, timers fire, until nothing is left to happen without the person.
    fn settle(&mut self) {
        for _ in 0..300 {
            self.reunite();
            if self.is_over() {
                return;
            }
            let waits = self.shadow.open_runs().any(|run| {
                matches!(run.state, RunState::WaitingApproval | RunState::WaitingInteraction)
                    && !self.is_closed(&run.thread)
            });
            let Some(worker) = &mut self.worker else { continue };
            for task in &mut worker.tasks {
                if let Task::Model { stalled, .. } = task {
                    *stalled = false;
                }
            }
            if !worker.tasks.is_empty() {
                let mut chance = Chance::new(self.now);
                self.progress(&mut chance);
                continue;
            }
            let wake = worker.engine.next_wake().filter(|_| !waits);
            match wake {
                Some(at) => {
                    self.now = self.now.max(at.0);
                    self.fire_due();
                }
                None => return,
            }
        }
        self.fail(Invariant::Liveness, "work goes on without end");
    }

    /// What a person does about a run that stands still.
    fn answer_for(&mut self, run: &panelot_records::Run) {
        let Ok(client) = panelot_base::ClientId::new("hand") else { return };
        let (thread, id) = (&run.thread, &run.id);
        match run.state {
            RunState::WaitingInteraction => {
                let open = self.shadow.approvals.values();
                let open =
                    open.filter(|it| it.run == *id && it.state == panelot_records::ApprovalState::Pending);
                let open: Vec<_> = open.map(|it| it.id.clone()).collect();
                for wait in open {
                    self.say(&client, json!({"type": "interaction.response", "threadId": thread, "interactionId": wait, "response": {"kind": "cancel"}}));
                }
            }
            RunState::WaitingApproval => {
                let open: Vec<_> = self
                    .shadow
                    .approvals
                    .values()
                    .filter(|it| it.run == *id && it.state == panelot_records::ApprovalState::Pending)
                    .map(|it| it.id.clone())
                    .collect();
                for approval in open {
                    self.say(&client, json!({"type": "approval.response", "threadId": thread, "approvalId": approval, "decision": {"kind": "accept"}}));
                }
            }
            RunState::PausedUncertain => {
                self.say(&client, json!({"type": "run.resolveUncertain", "threadId": thread, "runId": id, "resolution": "mark_done"}));
            }
            RunState::PausedLocked => self.unlock_by_all_means(&client),
            RunState::Interrupted | RunState::PausedBudget => {
                self.say(&client, json!({"type": "run.resume", "threadId": thread, "runId": id}));
            }
            _ => {}
        }
    }

    /// All runs have ended. Some threads are deleted, a worker starts once more, and everything is looked at.
    fn finish(&mut self) {
        self.compare_views();
        let Ok(client) = panelot_base::ClientId::new("hand") else { return };
        let doomed: Vec<ThreadId> =
            self.shadow.threads.keys().filter(|thread| self.is_closed(thread)).cloned().collect();
        let first = self.living_threads().first().cloned();
        for thread in doomed.into_iter().chain(first) {
            self.say(&client, json!({"type": "thread.delete", "threadId": thread}));
        }
        self.settle();
        self.crash("the last");
        self.boot_alone();
        self.settle();
    }

    /// What is left when all is over.
    fn judge_rest(&mut self, rows: &[(Key, Row)]) {
        self.check_messages();
        self.check_threads();
        self.check_deleted(rows);
        if let Err(violation) = self.shadow.compare(rows) {
            self.violate(violation);
        }
    }

    fn check_threads(&mut self) {
        for thread in self.living_threads() {
            if let Err(violation) = self.shadow.check_tree(&thread) {
                self.violate(violation);
            }
            let (Some(leaf), Some(environment)) = (
                self.shadow.threads.get(&thread).and_then(|it| it.leaf),
                self.shadow.environments.values().next(),
            ) else {
                continue;
            };
            let path = self.shadow.path(&thread, leaf);
            let request = panelot_engine::context::assemble(environment, &path, "seed", &[]);
            if let Err(error) = request.check() {
                self.fail(Invariant::LegalHistory, format!("the history of {thread} is illegal: {error}"));
            }
        }
    }

    fn check_deleted(&mut self, rows: &[(Key, Row)]) {
        let gone = |key: &Key| {
            let deleted = |part: &panelot_records::KeyPart| {
                matches!(part, panelot_records::KeyPart::Text(text)
                if self.shadow.deleted.iter().any(|thread| thread.as_str() == text))
            };
            key.parts.iter().any(deleted)
        };
        let left = rows.iter().find(|(key, _)| key.table != Table::Receipts && gone(key));
        if let Some((key, _)) = left {
            self.fail(Invariant::Deleted, format!("{key:?} is left of a deleted thread"));
        }
    }
}
