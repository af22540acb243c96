//! What is not of one thread: the settings, the connections, the permission rules and grants, the list of threads.

use panelot_base::json::{FromJson, word};
use panelot_base::limits::RULES_MAX;
use panelot_base::{ConnectionId, RuleId, SessionId, SortedMap, ThreadId, Timestamp};
use panelot_gatekeeper as gate;
use panelot_protocol::Text;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::settings::{
    ModelChoice as WireChoice, ProviderWire, RuleView, SettingsChange, SettingsView, VaultView,
};
use panelot_protocol::snapshot::{Activity, ThreadMeta};
use panelot_records::run::{ModelChoice, Overrides};
use panelot_records::{Connection, Grant, Key, Rule, Settings, Vault, Write};
use serde_json::Value;

use crate::project;
use crate::providers::{Finding, connection_view, effort_record, preset_view};
use crate::receipt::Refused;

/// How the credentials are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Protection {
    pub(crate) salt: String,
    pub(crate) iterations: u32,
}

impl Protection {
    pub(crate) fn of(vault: Vault) -> Self {
        Self { salt: vault.salt, iterations: vault.iterations }
    }
}

/// The engine's own state beside the threads.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub(crate) session: SessionId,
    pub(crate) browser_language: String,
    pub(crate) settings: Settings,
    pub(crate) connections: SortedMap<ConnectionId, Connection>,
    pub(crate) vault: Option<Protection>,
    /// Whether the credentials can be opened although a passphrase protects them.
    pub(crate) unlocked: bool,
    pub(crate) rules: SortedMap<RuleId, Rule>,
    /// Whether a stored rule could not be read, so that nothing may be allowed silently.
    pub(crate) rules_unreadable: bool,
    pub(crate) grants: Vec<Grant>,
    /// The messages that are being written, by thread; none for the thread that does not exist yet.
    pub(crate) drafts: SortedMap<Option<ThreadId>, String>,
    pub(crate) threads: SortedMap<ThreadId, ThreadMeta>,
    pub(crate) activity: SortedMap<ThreadId, Activity>,
    /// What tries of connections found that are not saved yet, oldest first.
    pub(crate) findings: Vec<Finding>,
}

fn unword<T: FromJson + Default>(word: &str) -> T {
    T::from_json(Value::from(word)).unwrap_or_default()
}

pub(crate) fn choice_record(choice: &WireChoice) -> ModelChoice {
    ModelChoice { connection: choice.connection_id.clone(), model: choice.model_id.to_string() }
}

pub(crate) const fn wire_record(wire: ProviderWire) -> panelot_records::ProviderWire {
    match wire {
        ProviderWire::Openai => panelot_records::ProviderWire::Openai,
        ProviderWire::Anthropic => panelot_records::ProviderWire::Anthropic,
        ProviderWire::Responses => panelot_records::ProviderWire::Responses,
        ProviderWire::BuiltIn => panelot_records::ProviderWire::BuiltIn,
    }
}

/// The choices of one message, as they are stored.
pub(crate) fn overrides_record(overrides: &panelot_protocol::op::TurnOverrides) -> Overrides {
    Overrides {
        model: overrides.model.as_ref().map(choice_record),
        policy: overrides.permission_policy.map(|policy| word(&policy)),
        effort: overrides.effort.map(effort_record),
    }
}

impl Directory {
    pub(crate) fn draft(&self, thread: Option<&ThreadId>) -> String {
        self.drafts.get(&thread.cloned()).cloned().unwrap_or_default()
    }

    /// What was sent is not being written any more.
    pub(crate) fn take_draft(&mut self, thread: Option<&ThreadId>) -> Option<Write> {
        self.drafts.remove(&thread.cloned()).map(|_| Write::Delete(Key::draft(thread)))
    }

    pub(crate) fn settings_view(&self) -> SettingsView {
        SettingsView {
            revision: self.settings.revision,
            connections: self.connections.values().map(connection_view).collect(),
            default_model: self.settings.default_model.as_ref().map(project::model_choice),
            task_model: self.settings.task_model.as_ref().map(project::model_choice),
            turn_token_budget: self.settings.turn_token_budget,
            policy: unword(&self.settings.policy),
            language: unword(&self.settings.language),
            theme: unword(&self.settings.theme),
            prompt: Text::clipped(&self.settings.prompt),
            presets: self.settings.presets.iter().map(preset_view).collect(),
            rules: self.rules.values().map(project::rule).collect(),
            grants: self
                .grants
                .iter()
                .filter(|grant| grant.session == self.session)
                .map(project::grant)
                .collect(),
            vault: self.vault.as_ref().map(|vault| VaultView {
                salt: Text::clipped(&vault.salt),
                iterations: vault.iterations,
                unlocked: self.unlocked,
            }),
        }
    }

    /// The model for a message: the first of its own choices, the default, or the first there is. A choice whose
    /// connection is gone, or which that connection does not list any more, falls through to the next.
    pub(crate) fn resolve_model<'a>(
        &'a self,
        choices: impl Iterator<Item = &'a ModelChoice>,
    ) -> Result<ModelChoice, Refused> {
        choices
            .chain(self.settings.default_model.as_ref())
            .find(|choice| self.is_usable(choice))
            .cloned()
            .or_else(|| self.first_model())
            .ok_or_else(|| {
                Refused::new(
                    ErrorCode::NotConfigured,
                    "no model connection is set up; add one in the options",
                )
            })
    }

    /// The model that the person chose for small tasks, when it can be used.
    pub(crate) fn task_model(&self) -> Option<ModelChoice> {
        self.settings.task_model.clone().filter(|choice| self.is_usable(choice))
    }

    /// Whether no credential can be opened now.
    pub(crate) const fn is_locked(&self) -> bool {
        self.vault.is_some() && !self.unlocked
    }

    /// Whether the person's interface is in Chinese.
    pub(crate) fn speaks_chinese(&self) -> bool {
        let language = if self.settings.language.is_empty() || self.settings.language == "system" {
            &self.browser_language
        } else {
            &self.settings.language
        };
        language.to_ascii_lowercase().starts_with("zh")
    }

    pub(crate) fn policy(&self, overrides: &Overrides) -> gate::Policy {
        gate::Policy::parse(overrides.policy.as_deref().unwrap_or(&self.settings.policy))
    }

    pub(crate) fn gate_rules(&self) -> gate::Rules {
        let stored =
            self.rules.values().map(|rule| (rule.verdict.as_str(), rule.tool.as_str(), rule.origin.as_str()));
        let mut rules = gate::Rules::read(stored);
        if self.rules_unreadable {
            rules.mark_unreadable();
        }
        rules
    }

    pub(crate) fn gate_grants(&self, thread: &ThreadId) -> gate::Grants {
        self.grants
            .iter()
            .filter(|grant| grant.thread == *thread && grant.session == self.session)
            .map(|grant| gate::Grant { tool: grant.tool.clone(), origin: grant.origin.clone() })
            .collect()
    }

    /// Applies changes together, or none of them.
    pub(crate) fn apply(
        &mut self,
        changes: Vec<SettingsChange>,
        now: Timestamp,
    ) -> Result<Vec<Write>, Refused> {
        let mut next = self.clone();
        let mut writes = Vec::new();
        for change in changes {
            next.change(change, now, &mut writes)?;
        }
        next.settings.revision += 1;
        writes.push(Write::Put(next.settings.clone().into()));
        *self = next;
        Ok(writes)
    }

    fn change(
        &mut self,
        change: SettingsChange,
        now: Timestamp,
        writes: &mut Vec<Write>,
    ) -> Result<(), Refused> {
        match change {
            SettingsChange::PutConnection { .. } => self.put_connection(change, now, writes)?,
            SettingsChange::RemoveConnection { id } => self.remove_connection(&id, writes),
            SettingsChange::DescribeModel { connection_id, model_id, facts } => {
                self.describe(&connection_id, &model_id, facts, writes)?;
            }
            SettingsChange::PutPreset { preset } => self.put_preset(*preset)?,
            SettingsChange::RemovePreset { id } => {
                self.settings.presets.retain(|preset| preset.id != *id);
            }
            SettingsChange::SetDefaultModel { model } => {
                self.settings.default_model = self.known_choice(model.as_ref())?;
            }
            SettingsChange::SetTaskModel { model } => {
                self.settings.task_model = self.known_choice(model.as_ref())?;
            }
            SettingsChange::SetTurnTokenBudget { tokens } => {
                self.settings.turn_token_budget = tokens.filter(|tokens| *tokens > 0);
            }
            SettingsChange::SetPolicy { policy } => self.settings.policy = word(&policy),
            SettingsChange::SetLanguage { language } => self.settings.language = word(&language),
            SettingsChange::SetTheme { theme } => self.settings.theme = word(&theme),
            SettingsChange::SetPrompt { prompt } => self.settings.prompt = prompt.into_string(),
        }
        Ok(())
    }

    fn known_choice(&self, choice: Option<&WireChoice>) -> Result<Option<ModelChoice>, Refused> {
        if choice.is_some_and(|choice| !self.connections.contains_key(&choice.connection_id)) {
            let why = "that connection does not exist any more";
            return Err(Refused::new(ErrorCode::InvalidCommand, why));
        }
        Ok(choice.map(choice_record))
    }

    /// Forgets a rule; one that is not there is no fault.
    pub(crate) fn remove_rule(&mut self, id: &RuleId) -> Write {
        self.rules.remove(id);
        Write::Delete(Key::rule(id))
    }

    /// Takes a grant back; one that is not there is no fault.
    pub(crate) fn revoke_grant(&mut self, thread: &ThreadId, tool: &str, origin: &str) -> Write {
        self.grants.retain(|it| it.thread != *thread || it.tool != tool || it.origin != origin);
        Write::Delete(Key::grant(thread, tool, origin))
    }

    /// Takes back what was granted in a thread that is deleted. Returns whether anything was.
    pub(crate) fn forget_grants(&mut self, thread: &ThreadId) -> bool {
        let before = self.grants.len();
        self.grants.retain(|it| it.thread != *thread);
        self.grants.len() != before
    }

    pub(crate) fn put_rule(&mut self, rule: &RuleView, now: Timestamp) -> Result<Write, Refused> {
        let invalid = |why: String| Refused::new(ErrorCode::InvalidCommand, why);
        if !self.rules.contains_key(&rule.id) && self.rules.len() >= RULES_MAX {
            return Err(invalid(format!("at most {RULES_MAX} rules can be saved")));
        }
        let record = Rule {
            id: rule.id.clone(),
            verdict: word(&rule.verdict),
            tool: rule.tool.to_string(),
            origin: rule.origin.to_string(),
            created_at: now,
        };
        gate::Rule::parse(&record.verdict, &record.tool, &record.origin)
            .map_err(|error| invalid(error.to_string()))?;
        self.rules.insert(record.id.clone(), record.clone());
        Ok(Write::Put(record.into()))
    }
}
