//! How a message becomes a run, and how a run begins.

use panelot_base::json::ToJson;
use panelot_base::limits::{QUEUED_RUNS_MAX, TITLE_FALLBACK_CHARS_MAX};
use panelot_base::{ClientId, RunId, SubmissionId, TurnId};
use panelot_protocol::event::{ErrorCode, Event, TurnStart};
use panelot_protocol::op::{BrowserContext, TurnOverrides, UserInput};
use panelot_protocol::snapshot::TurnKind;
use panelot_provider::Parameters;
use panelot_records::node::TabIdentity;
use panelot_records::run::RunError;
use panelot_records::thread::TitleSource;
use panelot_records::{Body, Environment, NoticeKind, Run, RunState, Write};

use super::model::error_details;
use super::{Context, Draft, ThreadMachine};
#[cfg(feature = "bugs")]
use crate::bugs::{Bug, is_on};
use crate::directory::overrides_record;
use crate::project::code_text;
use crate::receipt::{Admitted, Refused};

/// A message on its way in.
pub(crate) struct Submission<'a> {
    pub(crate) client: &'a ClientId,
    pub(crate) submission: &'a SubmissionId,
    pub(crate) input: UserInput,
    pub(crate) overrides: &'a TurnOverrides,
    /// Whether it takes the place of what was interrupted before it, when it begins at once.
    pub(crate) supersedes: bool,
}

/// The tab in front of the person when they wrote.
pub(crate) fn tab_in_front(context: Option<BrowserContext>) -> Option<TabIdentity> {
    context.and_then(|context| context.default_tab).map(|tab| TabIdentity {
        tab_id: tab.tab_id,
        url: tab.url.into_string(),
        title: tab.title.into_string(),
    })
}

impl ThreadMachine {
    /// Admits a message: it begins at once when nothing holds the queue, else it waits.
    pub(crate) fn submit(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        submission: Submission<'_>,
    ) -> Result<Admitted, Refused> {
        let queued = self.runs.iter().filter(|run| run.state == RunState::Queued).count();
        if queued >= QUEUED_RUNS_MAX {
            return Err(Refused::new(
                ErrorCode::QueueFull,
                "eight messages of this conversation wait already",
            ));
        }
        let overrides = overrides_record(submission.overrides);
        // A message that no model could answer is better given back than stored.
        context.directory.choices(&overrides, &self.thread)?;
        let default_tab = tab_in_front(submission.input.browser_context);
        let run = Run {
            id: RunId::mint(context.ids),
            thread: self.thread.id.clone(),
            turn: TurnId::mint(context.ids),
            revision: 0,
            state: RunState::Queued,
            order: self.thread.next_order,
            client: submission.client.clone(),
            submission: submission.submission.clone(),
            queued_text: Some(submission.input.text.into_string()),
            default_tab,
            overrides,
            environment: None,
            model: None,
            tool_levels: None,
            leaf: None,
            partial: None,
            batch: None,
            model_calls: 0,
            failures: 0,
            steers: Vec::new(),
            trail: Vec::new(),
            token_limit: None,
            usage: panelot_records::node::Usage::default(),
            stop_reason: None,
            error: None,
            created_at: context.now,
            updated_at: context.now,
        };
        self.thread.next_order += 1;
        draft.writes.extend(context.directory.take_draft(Some(&self.thread.id)));
        let id = run.id.clone();
        self.runs.push(run);
        if submission.supersedes && self.head_run().is_none() {
            self.supersede_interrupted(context, draft);
        }
        self.start_next(context, draft);
        Ok(Admitted { thread: Some(self.thread.id.clone()), run: Some(id), revision: Some(0) })
    }

    /// Begins the run that is first in the queue, when nothing holds it. One that cannot begin fails alone.
    pub(crate) fn start_next(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        while self.head_run().is_none() {
            let next =
                self.runs.iter().filter(|run| run.state == RunState::Queued).min_by_key(|run| run.order);
            #[cfg(feature = "bugs")]
            let next = if is_on(Bug::QueueByClock) {
                let queued = self.runs.iter().filter(|run| run.state == RunState::Queued);
                queued.min_by_key(|run| (run.created_at, run.id.clone()))
            } else {
                next
            };
            let Some(id) = next.map(|run| run.id.clone()) else { return };
            if let Err(refused) = self.begin(context, draft, &id) {
                self.fail_queued(context, draft, &id, refused);
            }
        }
    }

    /// A message that cannot begin was acknowledged: it stays in the conversation, with the reason.
    fn fail_queued(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId, refused: Refused) {
        self.place_message(context, draft, id);
        let error = RunError { code: code_text(refused.code), message: refused.message, provider: None };
        let details = error_details(&error);
        self.append(draft, context.now, id, Body::Notice { kind: NoticeKind::ModelError, details });
        if let Some(run) = self.run_mut(id) {
            run.error = Some(error);
        }
        self.set_state(id, RunState::Failed);
    }

    /// Makes the entry of a message that has waited its turn.
    fn place_message(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId) {
        let Some(run) = self.run_mut(id) else { return };
        let text = run.queued_text.take().unwrap_or_default();
        let (default_tab, submission) = (run.default_tab.clone(), run.submission.clone());
        self.name_by_first_line(&text);
        self.append(draft, context.now, id, Body::User { text, default_tab, submission, steered: false });
        self.thread.stats.turns += 1;
    }

    fn begin(&mut self, context: &mut Context<'_>, draft: &mut Draft, id: &RunId) -> Result<(), Refused> {
        let Some(run) = self.run(id) else { return Ok(()) };
        let mut overrides = run.overrides.clone();
        let choices = context.directory.choices(&overrides, &self.thread)?;
        let facts = context.directory.facts(&choices.model);
        let preset = choices.preset.as_ref();
        // What the preset says of questions holds for the run, as if the person had said it for this message.
        overrides.policy = overrides.policy.or_else(|| preset.and_then(|preset| preset.policy.clone()));
        let levels = preset.and_then(|preset| preset.tool_levels.clone());
        let prompt = preset.map(|preset| preset.prompt.as_str()).unwrap_or_default();
        let parameters = choices.parameters(&facts);
        let environment = Environment {
            system: crate::context::system_prompt(context, &overrides, prompt),
            tools: if facts.tools == Some(false) {
                Vec::new()
            } else {
                crate::context::offered_tools(context.catalogue, levels.as_deref())
            },
            model: choices.model.clone(),
            parameters: if parameters == Parameters::default() {
                serde_json::Value::Null
            } else {
                parameters.to_json()
            },
        };
        let digest = environment.digest();
        draft.writes.push(Write::PutEnvironment { digest: digest.clone(), environment });
        let Some(run) = self.run_mut(id) else { return Ok(()) };
        run.environment = Some(digest);
        run.token_limit = context.directory.settings.turn_token_budget;
        run.model = Some(choices.model);
        run.overrides = overrides;
        run.tool_levels = levels;
        self.set_state(id, RunState::Running);
        self.place_message(context, draft, id);
        self.announce_turn(context, draft, id);
        self.call_model(context, draft, id, Vec::new());
        Ok(())
    }

    /// Tells views that a run works.
    pub(crate) fn announce_turn(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId) {
        self.turn_started_at = Some(context.now);
        if let Some(run) = self.run(id) {
            // After the end of the turn before it, which may be told in the same breath.
            draft.closing.push(Event::TurnStart(TurnStart {
                thread_id: self.thread.id.clone(),
                turn_id: run.turn.clone(),
                run_id: id.clone(),
                turn_kind: TurnKind::User,
            }));
        }
    }

    /// A new message says more clearly than a button that what was interrupted before it is not wanted any more.
    /// Only one that the person writes now: what waited already when the worker died leaves the earlier run resumable.
    pub(super) fn supersede_interrupted(&mut self, context: &Context<'_>, draft: &mut Draft) {
        let old: Vec<RunId> = self
            .runs
            .iter()
            .filter(|run| run.state == RunState::Interrupted)
            .map(|run| run.id.clone())
            .collect();
        for id in old {
            self.give_up(context, draft, &id, "superseded");
        }
    }

    fn name_by_first_line(&mut self, text: &str) {
        if self.thread.title_source != TitleSource::None {
            return;
        }
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let mut letters = line.chars().filter(|c| !c.is_control());
        self.thread.title = letters.by_ref().take(TITLE_FALLBACK_CHARS_MAX).collect();
        if letters.next().is_some() {
            self.thread.title.push('…');
        }
        self.thread.title_source = TitleSource::FirstLine;
    }
}
