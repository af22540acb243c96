//! What the worker talks to: models, pages, the browser. It answers well, badly, late or never.

use panelot_base::{ItemId, ModelCallId, SubmissionId, ThreadId};
use panelot_engine::{
    ConnectionHandle, Cut, Input, ModelCall, ModelInput, PageSignal, Purpose, Room, TargetLookup, Trial,
    context,
};
use panelot_protocol::OpMessage;
use panelot_provider::verify::{Step as VerifyStep, StepOutcome, StepReport, Tried};
use panelot_provider::{
    ErrorKind, KnownFacts, ListedModel, ProviderError, Reason, Response, StopReason, ToolCall, Usage,
};
use panelot_records::{CallState, RunState};
use panelot_store::Store;
use panelot_tools::{
    Command, Failure, FailureKind, HostAccess, Reach, Report, TabFacts, Target, TargetError, TargetFacts,
};
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::invariant::Invariant;
use crate::world::World;

/// Something under way beside the worker's loop.
pub(crate) enum Task {
    Model { call: Box<ModelCall>, said: bool, stalled: bool },
    Lookup(Box<TargetLookup>),
    Tool { thread: ThreadId, item: ItemId, attempt: u32, command: Box<Command>, cancelled: bool },
    Try(Box<Trial>),
    History { from: ConnectionHandle, submission: SubmissionId, thread: ThreadId, leaf: u64 },
    Branch { from: ConnectionHandle, message: Box<OpMessage>, thread: ThreadId, leaf: u64 },
}

impl Task {
    pub(crate) fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::Model { call, .. } => Some(&call.thread),
            Self::Lookup(lookup) => Some(&lookup.thread),
            Self::Tool { thread, .. } => Some(thread),
            Self::Try(_) | Self::History { .. } | Self::Branch { .. } => None,
        }
    }
}

/// Whether a command can change something.
fn is_write(command: &Command) -> bool {
    match command {
        Command::ListTabs => false,
        Command::Page { action, .. } => !matches!(action, panelot_page_protocol::Action::ReadPage {}),
        _ => true,
    }
}

/// Reads a value of the page's wire from JSON that is written here.
fn of_json<T: panelot_base::json::FromJson>(value: Value) -> Option<T> {
    T::from_json(value).ok()
}

fn observed() -> Value {
    json!({"subject": {"role": "button", "name": "Order"}, "effects": ["formSubmitted"],
        "url": "https://shop.test/order", "settled": true})
}

fn failure(kind: FailureKind, reach: Reach) -> Report {
    Report::Failed(Failure { kind, reach, detail: "by chance".into() })
}

impl World {
    pub(crate) fn start(&mut self, task: Task) {
        if let Some(worker) = &mut self.worker {
            worker.tasks.push(task);
        }
    }

    /// A model call begins: its run works and is stored so, and its request is one that providers accept.
    pub(crate) fn start_model(&mut self, call: ModelCall) {
        self.note(|| format!("  model call {} of {}", call.call, call.run));
        if self.is_locked() {
            self.note(|| "  the credentials are locked".to_owned());
            return self.tell(&call, ModelInput::Locked);
        }
        if let Purpose::Given(request) = &call.purpose {
            // A small task beside the conversation; its run may have ended.
            if let Err(error) = request.check() {
                return self.fail(Invariant::LegalHistory, format!("a task's request is illegal: {error}"));
            }
            return self.start(Task::Model { call: Box::new(call), said: false, stalled: false });
        }
        let run = self.shadow.runs.get(&call.run);
        if !self.shadow.exempt.contains(&call.thread)
            && run.is_none_or(|run| {
                run.state != RunState::Running || run.environment.as_ref() != Some(&call.environment)
            })
        {
            let what = format!(
                "a model is asked for {}, which is stored as {:?}",
                call.run,
                run.map(|run| run.state)
            );
            return self.fail(Invariant::Law, what);
        }
        if self.armed.reads_fail {
            let event = ModelInput::Broken("the store cannot be read".to_owned());
            return self.push(Input::Model { thread: call.thread, call: call.call, event });
        }
        match self.request(&call) {
            Ok(None) => {}
            // It would not fit; the engine says what to do about it.
            Ok(Some(cut)) => return self.tell(&call, ModelInput::Full(cut)),
            Err(what) => return self.fail(Invariant::LegalHistory, what),
        }
        self.start(Task::Model { call: Box::new(call), said: false, stalled: false });
    }

    /// Builds the request of a call as the runtime does: where it must be cut, or what is wrong with it.
    fn request(&self, call: &ModelCall) -> Result<Option<Option<Cut>>, String> {
        let path = self.shadow.path(&call.thread, call.leaf);
        if path.last().is_none_or(|node| node.seq != call.leaf) {
            return Err(format!("the model is asked to go on from {}, which is not stored", call.leaf));
        }
        let Some(environment) = self.shadow.environment(&call.environment) else {
            return Err(format!("the environment of {} is not stored", call.run));
        };
        let request = match &call.purpose {
            Purpose::Summary(cut) => context::summary_request(environment, &path, &call.fence_seed, cut),
            _ => context::assemble(environment, &path, &call.fence_seed, &call.reminders),
        };
        request.check().map_err(|error| format!("the request of {} is illegal: {error}", call.run))?;
        Ok(match call.purpose {
            Purpose::Answer(room @ (Room::Window | Room::Less)) => {
                context::overflow(&request, &path, room, call.facts.context_tokens)
            }
            _ => None,
        })
    }

    pub(crate) fn start_lookup(&mut self, lookup: TargetLookup) {
        self.note(|| format!("  look up {} for {:?}", lookup.item, lookup.phase));
        self.start(Task::Lookup(Box::new(lookup)));
    }

    /// A tool begins: recorded as dispatched, for the first time, and again only when the person said so.
    pub(crate) fn start_tool(&mut self, thread: ThreadId, item: ItemId, attempt: u32, command: Command) {
        self.note(|| format!("  dispatch {item}, attempt {attempt}: {command:?}"));
        if !self.shadow.exempt.contains(&thread) {
            let state = self.shadow.run_of_call(&item).and_then(|run| {
                let calls = run.batch.iter().flat_map(|batch| &batch.calls);
                calls.filter(|call| call.item == item).map(|call| (run.state, call.state.clone())).next()
            });
            let recorded = match &state {
                Some((_, CallState::Dispatched { attempt: it, .. })) => *it == attempt,
                // A page that is watched is read again and again.
                Some((_, CallState::Waiting { .. })) => !is_write(&command),
                _ => false,
            };
            if !recorded {
                let what = format!("{item} is dispatched, the store says {state:?}");
                return self.fail(Invariant::WriteOnce, what);
            }
        }
        if is_write(&command) {
            let fresh = self.dispatched.insert((item.clone(), attempt));
            let ordered = self.retries.get(&item).copied().unwrap_or_default();
            if !fresh || attempt > ordered + 1 {
                let what =
                    format!("the write {item} is made as attempt {attempt}, {ordered} retries were ordered");
                return self.fail(Invariant::WriteOnce, what);
            }
        }
        self.start(Task::Tool { thread, item, attempt, command: Box::new(command), cancelled: false });
    }

    pub(crate) fn cancel_model(&mut self, thread: &ThreadId, call: &ModelCallId) {
        let Some(worker) = &mut self.worker else { return };
        let doomed = |task: &Task| matches!(task, Task::Model { call: it, .. } if it.thread == *thread && it.call == *call);
        for task in worker.tasks.extract_if(.., |task| doomed(task)) {
            if let Task::Model { call, .. } = task {
                self.late.push(*call);
            }
        }
    }

    pub(crate) fn cancel_tool(&mut self, thread: &ThreadId, item: &ItemId) {
        let Some(worker) = &mut self.worker else { return };
        for task in &mut worker.tasks {
            if let Task::Tool { thread: of, item: it, cancelled, .. } = task
                && of == thread
                && it == item
            {
                *cancelled = true;
            }
        }
    }

    /// Stops all that runs for a thread.
    pub(crate) fn cancel_thread(&mut self, thread: &ThreadId) {
        let Some(worker) = &mut self.worker else { return };
        worker.tasks.retain(|task| !matches!(task, Task::Model { call, .. } if call.thread == *thread));
        for task in &mut worker.tasks {
            if let Task::Tool { thread: of, cancelled, .. } = task
                && of == thread
            {
                *cancelled = true;
            }
        }
    }

    /// After a step: nothing of an ended run goes on.
    pub(crate) fn check_quiet(&mut self, threads: &[ThreadId]) {
        let Some(worker) = self.worker.as_ref().filter(|_| !self.dead) else { return };
        let ended = |run: Option<&panelot_records::Run>| run.is_none_or(|run| run.state.is_end());
        let mut wrong = None;
        for task in worker.tasks.iter().filter(|task| task.thread().is_some_and(|it| threads.contains(it))) {
            match task {
                Task::Model { call, .. }
                    if !matches!(call.purpose, Purpose::Given(_))
                        && ended(self.shadow.runs.get(&call.run)) =>
                {
                    wrong = Some(format!("the model still works for {}, which has ended", call.run));
                }
                Task::Tool { item, cancelled: false, .. } if self.shadow.run_of_call(item).is_none() => {
                    wrong = Some(format!("the tool {item} still works, its run has ended"));
                }
                _ => {}
            }
        }
        if let Some(what) =
            wrong.filter(|_| threads.iter().all(|thread| !self.shadow.exempt.contains(thread)))
        {
            self.fail(Invariant::Quiet, what);
        }
    }

    /// Something outside goes on by a step.
    pub(crate) fn progress(&mut self, chance: &mut Chance) {
        let Some(worker) = &mut self.worker else { return };
        let awake: Vec<usize> = worker
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| !matches!(task, Task::Model { stalled: true, .. }))
            .map(|(index, _)| index)
            .collect();
        let Some(index) = chance.pick(&awake).copied() else { return };
        let task = worker.tasks.swap_remove(index);
        self.go_on(task, chance);
    }

    /// A task goes on by a step.
    pub(crate) fn go_on(&mut self, task: Task, chance: &mut Chance) {
        match task {
            Task::Model { call, said, .. } => self.model(call, said, chance),
            Task::Lookup(lookup) => self.look(*lookup, chance),
            Task::Tool { thread, item, attempt, command, cancelled: false }
                if !self.calm && chance.one_in(16) =>
            {
                self.coverage.fault("a server asks");
                let asked = json!({"serverId": "s", "message": "Which?", "requestedSchema": {"type": "object", "properties": {}}});
                self.start(Task::Tool {
                    thread: thread.clone(),
                    item: item.clone(),
                    attempt,
                    command,
                    cancelled: false,
                });
                self.push(Input::Elicitation { thread, item, attempt, asked });
            }
            Task::Tool { cancelled: false, ref thread, ref command, .. }
                if !self.calm && is_write(command) && chance.one_in(6) && !self.is_closed(thread) =>
            {
                // The person wants nothing of it any more while it works.
                let name = if chance.one_in(2) { "thread.delete" } else { "turn.interrupt" };
                let op = json!({"type": name, "threadId": thread});
                self.start(task);
                let client = self.hand_client();
                self.say(&client, op);
            }
            Task::Tool { thread, item, attempt, command, cancelled } => {
                let report = self.tool(&command, cancelled, chance);
                self.push(Input::Report { thread, item, attempt, report });
            }
            Task::Try(trial) => {
                let mut tried = Tried { model: trial.model.clone(), ..Tried::default() };
                let failed = !self.calm && chance.one_in(3);
                if failed {
                    tried.error = Some(ProviderError::new(ErrorKind::Auth, Some(Reason::InvalidKey)));
                } else {
                    let facts = KnownFacts::default();
                    let model = ListedModel { id: "m1".to_owned(), name: String::new(), facts };
                    tried.listed = Some(vec![model]);
                    let report =
                        StepReport { step: VerifyStep::Models, outcome: StepOutcome::Passed, error: None };
                    self.push(Input::TryStep { trial: trial.clone(), report });
                }
                self.push(Input::Tried { trial, result: Some(tried) });
            }
            Task::History { from, submission, thread, leaf } => self.history(from, submission, thread, leaf),
            Task::Branch { from, message, thread, leaf } => {
                let path = self.shadow.path(&thread, leaf);
                self.push(Input::Branch { from, message: *message, receipt: None, path: Ok(path) });
            }
        }
    }

    fn history(&mut self, from: ConnectionHandle, submission: SubmissionId, thread: ThreadId, leaf: u64) {
        use futures_util::FutureExt;
        let limit = panelot_base::limits::SNAPSHOT_PAGE_NODES + 1;
        let Some(read) = self.store.path(&thread, leaf, limit).now_or_never() else { return };
        let page = read.map_err(|error| error.to_string()).map(|page| {
            let mut nodes = page.nodes;
            nodes.pop();
            (nodes, page.older.is_some())
        });
        self.push(Input::History { from, submission, thread, page });
    }

    fn model(&mut self, call: Box<ModelCall>, said: bool, chance: &mut Chance) {
        if self.calm {
            let event = ModelInput::Completed(answer("The end.", Vec::new(), StopReason::End));
            return self.tell(&call, event);
        }
        let broke = |kind, reason| ModelInput::Failed(ProviderError::new(kind, reason));
        match chance.below(32) {
            0..=8 => {
                let text = format!("w{} ", self.count());
                let reasoning = if chance.one_in(4) { "hm ".to_owned() } else { String::new() };
                self.tell(&call, ModelInput::Delta { text, reasoning });
                self.start(Task::Model { call, said: true, stalled: false });
            }
            9 => {
                self.note(|| format!("the model call {} stalls", call.call));
                self.start(Task::Model { call, said, stalled: true });
            }
            10..=13 => self.tell(&call, ModelInput::Completed(answer("Done.", Vec::new(), StopReason::End))),
            14..=25 => {
                let calls = self.calls(chance);
                let text = if chance.one_in(2) { "I will." } else { "" };
                self.tell(&call, ModelInput::Completed(answer(text, calls, StopReason::ToolUse)));
            }
            26 => self.model_fault(
                "model: cut by its limit",
                &call,
                ModelInput::Completed(answer("Half", Vec::new(), StopReason::MaxTokens)),
            ),
            27 => self.model_fault(
                "model: empty answer",
                &call,
                ModelInput::Completed(answer(" ", Vec::new(), StopReason::End)),
            ),
            28 => self.model_fault("model: no connection", &call, broke(ErrorKind::Network, None)),
            29 => self.model_fault("model: rate limit", &call, broke(ErrorKind::RateLimit, None)),
            30 if chance.one_in(3) => {
                let event = broke(ErrorKind::ContextTooLong, None);
                self.model_fault("model: context too long", &call, event);
            }
            30 if chance.one_in(2) => self.model_fault(
                "model: refused key",
                &call,
                broke(ErrorKind::Auth, Some(Reason::InvalidKey)),
            ),
            30 => self.model_fault("model: our fault", &call, ModelInput::Broken("by chance".to_owned())),
            _ => self.model_fault(
                "model: broke off",
                &call,
                broke(ErrorKind::Network, Some(Reason::Truncated)),
            ),
        }
    }

    fn model_fault(&mut self, class: &'static str, call: &ModelCall, event: ModelInput) {
        self.fault(class);
        self.tell(call, event);
    }

    pub(crate) fn tell(&mut self, call: &ModelCall, event: ModelInput) {
        self.push(Input::Model { thread: call.thread.clone(), call: call.call.clone(), event });
    }

    /// Something happens in the tab that is worked on.
    pub(crate) fn page_signal(&mut self, chance: &mut Chance) -> bool {
        if !chance.one_in(6) || !self.worker.as_ref().is_some_and(|worker| worker.engine.watches(7)) {
            return false;
        }
        let signal = if chance.one_in(4) {
            self.coverage.fault("watched page closed");
            PageSignal::Gone
        } else {
            PageSignal::Changed { url: chance.one_in(2).then(|| "https://shop.test/never".to_owned()) }
        };
        self.push(Input::Page { tab_id: 7, signal });
        true
    }

    /// What a model asks for. Each element is named once, so that a write that is made again shows.
    fn calls(&mut self, chance: &mut Chance) -> Vec<ToolCall> {
        let many = chance.weighted(&[(6, 1), (3, 2), (2, 3)]).unwrap_or(1);
        (0..many).map(|place| self.call(place, chance)).collect()
    }

    fn call(&mut self, place: u64, chance: &mut Chance) -> ToolCall {
        let n = self.count();
        let element = format!("k7q2-{n}");
        let (name, arguments) = match chance.below(22) {
            16 => ("ask_user", json!({"questions": [{"id": "q", "question": "Which?"}]})),
            17 => ("request_user_action", json!({"instruction": "Sign in."})),
            18 => ("schedule_resume", json!({"delaySeconds": 60, "reason": "later"})),
            19..=21 => {
                let condition = *chance.pick(&["text", "text_gone", "url"]).unwrap_or(&"text");
                (
                    "watch_page",
                    json!({"condition": condition, "value": *chance.pick(&["Hello", "never"]).unwrap_or(&"never")}),
                )
            }
            0..=5 => ("click", json!({"ref": element})),
            6 => ("type", json!({"ref": element, "text": format!("t{n}")})),
            7 => ("select_option", json!({"ref": element, "label": "One"})),
            8 => ("navigate", json!({"url": format!("https://shop.test/p{n}")})),
            9..=10 => ("tabs_list", json!({})),
            11..=13 => ("read_page", json!({})),
            14 => {
                self.fault("model: unknown tool");
                ("no_such_tool", json!({}))
            }
            _ => {
                self.fault("model: wrong arguments");
                ("click", json!({"reff": 1}))
            }
        };
        ToolCall {
            id: format!("c{place}"),
            name: name.to_owned(),
            arguments: arguments.to_string(),
            vendor: serde_json::Map::new(),
        }
    }

    fn target(&self, tab_id: u32) -> Target {
        Target {
            tab_id,
            frame_id: 0,
            document_id: Some(format!("D{}", self.document)),
            url: "https://shop.test/order".into(),
            origin: "https://shop.test".into(),
            title: "Order".into(),
        }
    }

    fn look(&mut self, lookup: TargetLookup, chance: &mut Chance) {
        let tab = lookup.call.tab_id().or(lookup.default_tab);
        let mut found = tab
            .ok_or(TargetError::NoDefaultTab)
            .map(|tab| TargetFacts { target: Some(self.target(tab)), host_access: HostAccess::Granted });
        if !self.calm {
            match chance.below(24) {
                0 => {
                    self.fault("target gone");
                    found = Err(TargetError::TabGone { tab_id: 7 });
                }
                1 => {
                    self.fault("target moved");
                    self.document += 1;
                    found = found.map(|facts| TargetFacts { target: Some(self.target(7)), ..facts });
                }
                2 => {
                    self.fault("no host access");
                    found = found.map(|facts| TargetFacts { host_access: HostAccess::Missing, ..facts });
                }
                _ => {}
            }
        }
        let TargetLookup { thread, item, phase, .. } = lookup;
        self.push(Input::Target { thread, item, phase, found });
    }

    fn tool(&mut self, command: &Command, cancelled: bool, chance: &mut Chance) -> Report {
        if cancelled {
            self.coverage.fault("tool: late after a stop");
            if chance.one_in(2) {
                let reach = if is_write(command) { Reach::Unknown } else { Reach::NotStarted };
                return failure(FailureKind::Cancelled, reach);
            }
            return self.works(command);
        }
        if self.calm {
            return self.works(command);
        }
        match chance.below(20) {
            0 => {
                self.fault("tool: not reached");
                failure(FailureKind::TargetGone, Reach::NotStarted)
            }
            1..=2 => {
                self.fault("tool: end not seen");
                failure(FailureKind::ChannelLost, Reach::Unknown)
            }
            3 => {
                self.fault("tool: refused by the page");
                let refused =
                    json!({"code": "covered", "message": "a dialog covers it", "reach": "notStarted"});
                of_json(refused).map_or_else(
                    || failure(FailureKind::Mismatch, Reach::NotStarted),
                    |refused| Report::Page(Err(refused)),
                )
            }
            4 => {
                self.fault("tool: report of another tool");
                Report::Tabs(Vec::new())
            }
            _ => self.works(command),
        }
    }

    fn works(&mut self, command: &Command) -> Report {
        use panelot_page_protocol::Action;
        let result = match command {
            Command::ListTabs => {
                return Report::Tabs(vec![TabFacts {
                    tab_id: 7,
                    window_id: 1,
                    url: "https://shop.test/order".into(),
                    title: "Order".into(),
                    active: true,
                    last_accessed_ms: 1,
                }]);
            }
            Command::Navigate { tab_id, .. } => {
                self.document += 1;
                return Report::Navigated(self.target(tab_id.unwrap_or(9)));
            }
            Command::Page { action, .. } => match action {
                Action::ReadPage {} => json!({"type": "page", "page": {"url": "https://shop.test/order",
                    "title": "Order", "loading": false,
                    "viewport": {"width": 800, "height": 600, "scrollY": 0, "pageHeight": 600},
                    "nodes": [{"type": "text", "depth": 0, "text": "Hello"}]}}),
                Action::Click { .. } => json!({"type": "clicked", "observed": observed()}),
                Action::Type { text, .. } => json!({"type": "typed", "exact": true, "submission": "notAsked",
                    "value": {"type": "text", "text": text}, "observed": observed()}),
                _ => json!({"type": "selected", "option": {"label": "One"}, "observed": observed()}),
            },
            #[expect(unreachable_patterns, reason = "a new command must not stop others from building")]
            _ => return failure(FailureKind::Timeout, Reach::Unknown),
        };
        of_json(result)
            .map_or_else(|| failure(FailureKind::Mismatch, Reach::Unknown), |done| Report::Page(Ok(done)))
    }
}

fn answer(text: &str, tool_calls: Vec<ToolCall>, stop_reason: StopReason) -> Response {
    Response {
        text: text.to_owned(),
        reasoning: String::new(),
        tool_calls,
        usage: Some(Usage { input: 100, output: 20, cache_read: 0, cache_write: 0 }),
        stop_reason,
        vendor: Default::default(),
    }
}
