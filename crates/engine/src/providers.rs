//! What the directory knows of providers: how each is reached, what its models are, what a message is sent with.

use panelot_base::json::word;
use panelot_base::{ConnectionId, SafeUrl, Secret, Timestamp, WebAddress};
use panelot_protocol::Text;
use panelot_protocol::connection as wire;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::settings::{self, ConnectionView, IncomingKey, SettingsChange};
use panelot_provider::verify::Tried;
use panelot_provider::{Effort, KnownFacts, MaxTokensField, Parameters, Price, Quirks, known_facts};
use panelot_records::run::{ModelChoice, Overrides};
use panelot_records::{
    Connection, Key, ModelEntry, Preset, ProviderWire, StoredHeader, StoredKey, Thread, Write,
};

use crate::directory::Directory;
use crate::project;
use crate::receipt::Refused;
use crate::step::{Access, Credential};

/// Credentials, and headers, of one connection.
const SECRETS_MAX: usize = 20;
/// Models of a list that are kept.
const LISTED_MAX: usize = 500;
/// Models of a connection of which is kept what was found.
const FOUND_MAX: usize = 50;
/// Bytes of an id, so that a slot's name fits behind it.
const ID_BYTES_MAX: usize = 100;
/// Presets.
const PRESETS_MAX: usize = 50;
/// Tries of connections that are not saved yet and whose findings are remembered.
const TRIED_MAX: usize = 4;

fn invalid(why: &str) -> Refused {
    Refused::new(ErrorCode::InvalidCommand, why)
}

/// What a message is sent with, when everything that the person chose was put together.
pub(crate) struct Choices {
    pub(crate) model: ModelChoice,
    pub(crate) effort: Option<Effort>,
    /// What applies beside the model, if a preset does.
    pub(crate) preset: Option<Preset>,
}

/// What a try found about a connection that was not saved then.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    connection: ConnectionId,
    base_url: SafeUrl,
    tried: Tried,
}

pub(crate) const fn effort_record(effort: wire::Effort) -> Effort {
    match effort {
        wire::Effort::Low => Effort::Low,
        wire::Effort::Medium => Effort::Medium,
        wire::Effort::High => Effort::High,
    }
}

pub(crate) const fn effort_view(effort: Effort) -> wire::Effort {
    match effort {
        Effort::Low => wire::Effort::Low,
        Effort::Medium => wire::Effort::Medium,
        Effort::High => wire::Effort::High,
    }
}

const fn quirks_record(quirks: wire::Quirks) -> Quirks {
    Quirks {
        no_stream_options: quirks.no_stream_options,
        no_parallel_tool_calls: quirks.no_parallel_tool_calls,
        no_system_role: quirks.no_system_role,
        no_reasoning_back: quirks.no_reasoning_back,
        manual_thinking: quirks.manual_thinking,
        reasoning_summary: quirks.reasoning_summary,
        max_tokens_field: match quirks.max_tokens_field {
            Some(wire::MaxTokensField::MaxTokens) => Some(MaxTokensField::MaxTokens),
            Some(wire::MaxTokensField::MaxCompletionTokens) => Some(MaxTokensField::MaxCompletionTokens),
            None => None,
        },
    }
}

const fn quirks_view(quirks: Quirks) -> wire::Quirks {
    wire::Quirks {
        no_stream_options: quirks.no_stream_options,
        no_parallel_tool_calls: quirks.no_parallel_tool_calls,
        no_system_role: quirks.no_system_role,
        no_reasoning_back: quirks.no_reasoning_back,
        manual_thinking: quirks.manual_thinking,
        reasoning_summary: quirks.reasoning_summary,
        max_tokens_field: match quirks.max_tokens_field {
            Some(MaxTokensField::MaxTokens) => Some(wire::MaxTokensField::MaxTokens),
            Some(MaxTokensField::MaxCompletionTokens) => Some(wire::MaxTokensField::MaxCompletionTokens),
            None => None,
        },
    }
}

fn facts_record(facts: wire::ModelFacts) -> KnownFacts {
    KnownFacts {
        context_tokens: facts.context_tokens.filter(|tokens| *tokens > 0),
        max_output_tokens: facts.max_output_tokens.filter(|tokens| *tokens > 0),
        tools: facts.tools,
        vision: facts.vision,
        reasoning: facts.reasoning,
        price: facts.price.map(|price| Price {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
        }),
    }
}

fn facts_view(facts: KnownFacts) -> wire::ModelFacts {
    wire::ModelFacts {
        context_tokens: facts.context_tokens,
        max_output_tokens: facts.max_output_tokens,
        tools: facts.tools,
        vision: facts.vision,
        reasoning: facts.reasoning,
        price: facts.price.map(|price| wire::ModelPrice {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
        }),
    }
}

fn entry<'a>(entries: &'a [ModelEntry], model: &str) -> Option<&'a ModelEntry> {
    entries.iter().find(|entry| entry.id == model)
}

/// All that is known of a model of a connection: its name, the list, the last try, the person; each over the one before.
fn facts_of(connection: &Connection, model: &str) -> KnownFacts {
    facts_with(connection, model, entry(&connection.listed, model))
}

fn facts_with(connection: &Connection, model: &str, listed: Option<&ModelEntry>) -> KnownFacts {
    let later = [&connection.found, &connection.described];
    let sources = std::iter::once(listed).chain(later.into_iter().map(|source| entry(source, model)));
    sources.flatten().fold(known_facts(model), |below, said| said.facts.over(below))
}

/// Keeps what one source says of a model, as the newest.
fn note(entries: &mut Vec<ModelEntry>, model: &str, facts: KnownFacts) {
    let before = entry(entries, model).map(|entry| entry.facts).unwrap_or_default();
    entries.retain(|entry| entry.id != model);
    if entries.len() >= FOUND_MAX {
        entries.remove(0);
    }
    entries.push(ModelEntry { id: model.to_owned(), name: String::new(), facts: facts.over(before) });
}

fn take_in(connection: &mut Connection, tried: &Tried, now: Timestamp) {
    connection.revision += 1;
    if let Some(listed) = &tried.listed {
        let kept = listed.iter().take(LISTED_MAX);
        connection.listed = kept
            .map(|model| ModelEntry { id: model.id.clone(), name: model.name.clone(), facts: model.facts })
            .collect();
        connection.listed_at = Some(now);
    }
    if !tried.facts.is_empty() {
        note(&mut connection.found, &tried.model, tried.facts);
    }
}

fn offer(connection: &Connection, id: &str, listed: Option<&ModelEntry>) -> wire::OfferedModel {
    wire::OfferedModel {
        id: Text::clipped(id),
        name: Text::clipped(listed.map(|it| it.name.as_str()).unwrap_or_default()),
        listed: listed.is_some(),
        facts: facts_view(facts_with(connection, id, listed)),
    }
}

/// The models to choose from, each once: as the person named them, then as the server lists them.
fn offers(connection: &Connection) -> Vec<wire::OfferedModel> {
    let described = connection.described.iter().map(|it| &it.id).filter(|id| !connection.models.contains(id));
    let named: Vec<&String> = connection.models.iter().chain(described).collect();
    let rest = connection.listed.iter().filter(|it| !named.contains(&&it.id));
    let rest = rest.map(|it| offer(connection, &it.id, Some(it)));
    let first = named.iter().map(|id| offer(connection, id, entry(&connection.listed, id)));
    first.chain(rest).collect()
}

/// A connection as views see it: of its credentials only what may be shown.
pub(crate) fn connection_view(connection: &Connection) -> ConnectionView {
    let key = |slot: u32| {
        let known = connection.keys.iter().find(|key| key.slot == slot);
        wire::KeyView { slot, hint: Text::clipped(known.map(|key| key.hint.as_str()).unwrap_or_default()) }
    };
    let header = |header: &StoredHeader| wire::HeaderView {
        name: Text::clipped(&header.name),
        value: header.value.as_deref().map(Text::clipped),
    };
    let described = |entry: &ModelEntry| wire::DescribedModel {
        id: Text::clipped(&entry.id),
        facts: facts_view(entry.facts),
    };
    ConnectionView {
        id: connection.id.clone(),
        name: Text::clipped(&connection.name),
        wire: match connection.wire {
            ProviderWire::Openai => settings::ProviderWire::Openai,
            ProviderWire::Anthropic => settings::ProviderWire::Anthropic,
            ProviderWire::Responses => settings::ProviderWire::Responses,
            ProviderWire::BuiltIn => settings::ProviderWire::BuiltIn,
        },
        base_url: Text::clipped(connection.base_url.as_str()),
        models: connection.models.iter().map(|model| Text::clipped(model)).collect(),
        has_key: connection.has_key,
        keys: connection.key_slots().into_iter().map(key).collect(),
        headers: connection.headers.iter().map(header).collect(),
        quirks: quirks_view(connection.quirks),
        keyless: connection.keyless,
        offers: offers(connection),
        described: connection.described.iter().map(described).collect(),
        listed_at: connection.listed_at,
    }
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn seal(connection: &mut Connection, key: IncomingKey, writes: &mut Vec<Write>) -> u32 {
    connection.last_slot += 1;
    let slot = connection.last_slot;
    let place = Connection::secret_id(&connection.id, slot);
    writes.push(Write::Seal { connection: place, secret: key.into_secret() });
    slot
}

fn forget(connection: &Connection, slot: u32, writes: &mut Vec<Write>) {
    writes.push(Write::Delete(Key::secret(&Connection::secret_id(&connection.id, slot))));
}

/// The credentials of a changed connection. `only` takes the place of all there are.
fn put_keys(
    connection: &mut Connection,
    only: Option<IncomingKey>,
    added: Vec<IncomingKey>,
    removed: &[u32],
    writes: &mut Vec<Write>,
) -> Result<(), Refused> {
    if connection.keys.is_empty() && connection.has_key {
        connection.keys.push(StoredKey::default());
    }
    let gone = |slot: u32| only.is_some() || removed.contains(&slot);
    for key in connection.keys.iter().filter(|key| gone(key.slot)) {
        forget(connection, key.slot, writes);
    }
    connection.keys.retain(|key| !gone(key.slot));
    let is_typed = |key: &IncomingKey| !key.is_blank();
    if let Some(key) = only.filter(is_typed) {
        let hint = key.hint();
        // In the place where a connection had its only one.
        writes.push(Write::Seal { connection: connection.id.clone(), secret: key.into_secret() });
        connection.keys.push(StoredKey { slot: 0, hint });
    }
    for key in added.into_iter().filter(is_typed) {
        let hint = key.hint();
        let slot = seal(connection, key, writes);
        connection.keys.push(StoredKey { slot, hint });
    }
    if connection.keys.len() > SECRETS_MAX {
        return Err(invalid("a connection has at most 20 keys"));
    }
    connection.has_key = !connection.keys.is_empty();
    if connection.keys.iter().all(|key| key.slot != connection.good_key) {
        connection.good_key = connection.keys.first().map_or(0, |key| key.slot);
    }
    Ok(())
}

/// The headers of a changed connection.
fn put_headers(
    connection: &mut Connection,
    wanted: Vec<wire::HeaderChange>,
    writes: &mut Vec<Write>,
) -> Result<(), Refused> {
    if wanted.len() > SECRETS_MAX {
        return Err(invalid("a connection has at most 20 headers"));
    }
    let before = std::mem::take(&mut connection.headers);
    for change in wanted {
        let name = change.name.trim().to_ascii_lowercase();
        if !is_header_name(&name) || connection.headers.iter().any(|header| header.name == name) {
            return Err(invalid("a header's name is not valid, or stands twice"));
        }
        if change.value.as_ref().is_some_and(|value| !value.is_header_value()) {
            return Err(invalid("a header's value holds characters that no header can hold"));
        }
        let known = before.iter().find(|header| header.name == name);
        let header = match (change.value, known) {
            (None, Some(known)) => known.clone(),
            (None, None) => return Err(invalid("a header has no value")),
            (Some(value), _) => match value.shown_in(&name) {
                Some(value) => StoredHeader { name, value: Some(value), slot: 0 },
                None => StoredHeader { name, value: None, slot: seal(connection, value, writes) },
            },
        };
        connection.headers.push(header);
    }
    let kept = |slot: u32| connection.headers.iter().any(|header| header.slot == slot);
    for header in before.iter().filter(|header| header.value.is_none() && !kept(header.slot)) {
        forget(connection, header.slot, writes);
    }
    Ok(())
}

/// How a saved connection is reached, with all its credentials, the one that worked last first.
pub(crate) fn access(connection: &Connection) -> Access {
    let slots = connection.slots_in_use();
    let stored = |slot: u32| Credential::Stored(Connection::secret_id(&connection.id, slot));
    let header = |header: &StoredHeader| {
        let value = match &header.value {
            Some(value) => Credential::Given(Secret::new(value.as_str())),
            None => stored(header.slot),
        };
        (header.name.clone(), value)
    };
    Access {
        wire: connection.wire,
        base_url: connection.base_url.clone(),
        quirks: connection.quirks,
        keys: slots.into_iter().map(stored).collect(),
        headers: connection.headers.iter().map(header).collect(),
    }
}

fn origin(url: &str) -> Option<String> {
    WebAddress::parse(url).ok().map(|address| address.origin().to_owned())
}

/// How a form's connection is reached. What is stored for `saved` goes there when it is the same place, or the person
/// agreed.
fn draft_access(draft: wire::ConnectionDraft, saved: Option<&Connection>) -> Access {
    let base_url = SafeUrl::new(draft.base_url.trim());
    let is_at_home = |saved: &&Connection| {
        draft.keeps_secrets
            || (origin(saved.base_url.as_str()).is_some()
                && origin(saved.base_url.as_str()) == origin(base_url.as_str()))
    };
    let stored = saved.filter(is_at_home).map(access);
    let mut keys: Vec<Credential> = draft
        .keys
        .into_iter()
        .filter(|key| !key.is_blank())
        .map(|key| Credential::Given(key.into_secret()))
        .collect();
    let kept = |name: &str| {
        let headers = stored.as_ref().map(|stored| stored.headers.as_slice()).unwrap_or_default();
        headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let headers = draft
        .headers
        .into_iter()
        .filter_map(|change| {
            let name = change.name.trim().to_ascii_lowercase();
            let typed = change.value.map(|value| Credential::Given(value.into_secret()));
            let value = typed.or_else(|| kept(&name))?;
            Some((name, value))
        })
        .collect();
    keys.extend(stored.map(|stored| stored.keys).unwrap_or_default());
    Access {
        wire: crate::directory::wire_record(draft.wire),
        base_url,
        quirks: quirks_record(draft.quirks),
        keys,
        headers,
    }
}

fn preset_record(preset: wire::Preset) -> Preset {
    let wire::GenerationParameters { temperature, top_p, max_output_tokens, effort } = preset.parameters;
    Preset {
        id: preset.id.into_string(),
        name: preset.name.trim().to_owned(),
        model: preset.model.as_ref().map(crate::directory::choice_record),
        prompt: preset.prompt.trim().to_owned(),
        temperature,
        top_p,
        max_output_tokens,
        effort: effort.map(effort_record),
        tool_levels: preset.tool_levels.map(|levels| levels.iter().map(word).collect()),
        policy: preset.policy.map(|policy| word(&policy)),
    }
}

pub(crate) fn preset_view(preset: &Preset) -> wire::Preset {
    let levels = |levels: &Vec<String>| levels.iter().filter_map(|level| project::of_word(level)).collect();
    wire::Preset {
        id: Text::clipped(&preset.id),
        name: Text::clipped(&preset.name),
        model: preset.model.as_ref().map(project::model_choice),
        prompt: Text::clipped(&preset.prompt),
        parameters: wire::GenerationParameters {
            temperature: preset.temperature,
            top_p: preset.top_p,
            max_output_tokens: preset.max_output_tokens,
            effort: preset.effort.map(effort_view),
        },
        tool_levels: preset.tool_levels.as_ref().map(levels),
        policy: preset.policy.as_deref().and_then(project::of_word),
    }
}

impl Choices {
    /// How to generate: what the model is known to take.
    pub(crate) fn parameters(&self, facts: &KnownFacts) -> Parameters {
        let preset = self.preset.as_ref();
        let hundredths = |value: u32| f64::from(value) / 100.0;
        let most = preset.and_then(|preset| preset.max_output_tokens);
        Parameters {
            temperature: preset.and_then(|preset| preset.temperature).map(hundredths),
            top_p: preset.and_then(|preset| preset.top_p).map(hundredths),
            max_output_tokens: most.map(|most| facts.max_output_tokens.map_or(most, |can| most.min(can))),
            effort: self.effort.filter(|_| facts.reasoning == Some(true)),
        }
    }
}

impl Directory {
    /// All that is known of a model.
    pub(crate) fn facts(&self, choice: &ModelChoice) -> KnownFacts {
        match self.connections.get(&choice.connection) {
            Some(connection) => facts_of(connection, &choice.model),
            None => known_facts(&choice.model),
        }
    }

    fn preset(&self, id: Option<&String>) -> Option<&Preset> {
        let id = id?;
        self.settings.presets.iter().find(|preset| preset.id == *id)
    }

    /// What a message of a thread is sent with: its own choice, the thread's, the preset's, the settings'.
    pub(crate) fn choices(&self, overrides: &Overrides, thread: &Thread) -> Result<Choices, Refused> {
        let preset = self.preset(thread.preset.as_ref());
        // What was chosen for this conversation is not exchanged for something else behind the person's back.
        if overrides.model.is_none() && thread.model.as_ref().is_some_and(|choice| !self.is_usable(choice)) {
            let why =
                "the model that was chosen for this conversation is not set up any more; choose another one";
            return Err(Refused::new(ErrorCode::NotConfigured, why));
        }
        let of_thread = thread.model.as_ref().or_else(|| preset.and_then(|preset| preset.model.as_ref()));
        let chosen = [overrides.model.as_ref(), of_thread];
        let model = self.resolve_model(chosen.into_iter().flatten())?;
        let effort = overrides.effort.or(thread.effort).or_else(|| preset.and_then(|preset| preset.effort));
        Ok(Choices { model, effort, preset: preset.cloned() })
    }

    pub(crate) fn is_usable(&self, choice: &ModelChoice) -> bool {
        self.connections.get(&choice.connection).is_some_and(|it| {
            let lists = |entries: &[ModelEntry]| entry(entries, &choice.model).is_some();
            it.models.is_empty()
                || it.models.contains(&choice.model)
                || lists(&it.listed)
                || lists(&it.described)
        })
    }

    /// The first model of the first connection that has one.
    pub(crate) fn first_model(&self) -> Option<ModelChoice> {
        self.connections.values().find_map(|connection| {
            let listed = || connection.listed.first().map(|entry| &entry.id);
            let described = || connection.described.first().map(|entry| &entry.id);
            let model = connection.models.first().or_else(described).or_else(listed)?.clone();
            Some(ModelChoice { connection: connection.id.clone(), model })
        })
    }

    /// How a connection is to be tried: as it is saved, or as a form has it. With the model to try when none is named.
    pub(crate) fn access_to(
        &self,
        connection: &ConnectionId,
        draft: Option<wire::ConnectionDraft>,
    ) -> Option<(Access, String)> {
        let saved = self.connections.get(connection);
        match draft {
            Some(draft) => {
                let model = draft.models.first().map(ToString::to_string).unwrap_or_default();
                Some((draft_access(draft, saved), model))
            }
            None => {
                let saved = saved?;
                Some((access(saved), saved.models.first().cloned().unwrap_or_default()))
            }
        }
    }

    /// Keeps what a try found. Of a connection that is not saved there it is remembered until it is.
    pub(crate) fn tried(
        &mut self,
        id: &ConnectionId,
        base_url: &SafeUrl,
        tried: &Tried,
        now: Timestamp,
    ) -> Option<Write> {
        match self.connections.get_mut(id).filter(|saved| saved.base_url == *base_url) {
            Some(saved) => {
                take_in(saved, tried, now);
                Some(Write::Put(saved.clone().into()))
            }
            None => {
                self.findings.retain(|finding| finding.connection != *id);
                if self.findings.len() >= TRIED_MAX {
                    self.findings.remove(0);
                }
                let (connection, base_url) = (id.clone(), base_url.clone());
                self.findings.push(Finding { connection, base_url, tried: tried.clone() });
                None
            }
        }
    }

    /// Remembers that a credential worked, when it is another one than last time.
    pub(crate) fn key_worked(&mut self, id: &ConnectionId, slot: u32) -> Option<Write> {
        let known = |it: &&mut Connection| it.good_key != slot && it.key_slots().contains(&slot);
        let connection = self.connections.get_mut(id).filter(known)?;
        connection.good_key = slot;
        connection.revision += 1;
        Some(Write::Put(connection.clone().into()))
    }

    /// Notes what a failure showed of a model.
    pub(crate) fn found_out(&mut self, choice: &ModelChoice, facts: KnownFacts) -> Option<Write> {
        let connection = self.connections.get_mut(&choice.connection)?;
        note(&mut connection.found, &choice.model, facts);
        connection.revision += 1;
        Some(Write::Put(connection.clone().into()))
    }

    /// Keeps a connection, new or changed.
    pub(crate) fn put_connection(
        &mut self,
        change: SettingsChange,
        now: Timestamp,
        writes: &mut Vec<Write>,
    ) -> Result<(), Refused> {
        let SettingsChange::PutConnection {
            id,
            name,
            wire,
            base_url,
            models,
            key,
            add_keys,
            remove_keys,
            headers,
            quirks,
            keyless,
        } = change
        else {
            return Ok(());
        };
        let base_url = SafeUrl::new(base_url.trim());
        panelot_provider::Endpoint::new(base_url.as_str(), Secret::default())
            .map_err(|error| Refused::new(ErrorCode::InvalidCommand, error.to_string()))?;
        let known = self.connections.get(&id);
        if known.is_none() && self.connections.len() >= panelot_base::limits::CONNECTIONS_MAX {
            let max = panelot_base::limits::CONNECTIONS_MAX;
            return Err(Refused::new(
                ErrorCode::InvalidCommand,
                format!("at most {max} connections can be set up"),
            ));
        }
        if id.as_str().len() > ID_BYTES_MAX || id.as_str().contains('#') {
            return Err(invalid("the id of a connection is too long, or holds a #"));
        }
        let typed = |headers: &Vec<wire::HeaderChange>| headers.iter().any(|header| header.value.is_some());
        let seals =
            key.iter().chain(&add_keys).any(|key| !key.is_blank()) || headers.as_ref().is_some_and(typed);
        if seals && self.is_locked() {
            return Err(Refused::new(
                ErrorCode::Locked,
                "the keys are locked; unlock them to store another one",
            ));
        }
        let wire = crate::directory::wire_record(wire);
        let mut connection = match known {
            Some(known) => Connection { revision: known.revision + 1, wire, ..known.clone() },
            None => Connection::new(id.clone(), wire, base_url.clone(), now),
        };
        if connection.base_url != base_url {
            // What another server listed and showed says nothing of this one.
            (connection.listed, connection.found, connection.listed_at) = (Vec::new(), Vec::new(), None);
            connection.base_url = base_url;
        }
        name.trim().clone_into(&mut connection.name);
        connection.models = models.into_iter().map(Text::into_string).collect();
        put_keys(&mut connection, key, add_keys, &remove_keys, writes)?;
        if let Some(headers) = headers {
            put_headers(&mut connection, headers, writes)?;
        }
        connection.quirks = quirks.map_or(connection.quirks, quirks_record);
        connection.keyless = keyless.unwrap_or(connection.keyless);
        let is_of = |it: &Finding| it.connection == id && it.base_url == connection.base_url;
        if let Some(place) = self.findings.iter().position(is_of) {
            let finding = self.findings.remove(place);
            take_in(&mut connection, &finding.tried, now);
        }
        writes.push(Write::Put(connection.clone().into()));
        self.connections.insert(id, connection);
        Ok(())
    }

    pub(crate) fn remove_connection(&mut self, id: &ConnectionId, writes: &mut Vec<Write>) {
        writes.push(Write::Delete(Key::connection(id)));
        writes.push(Write::Delete(Key::secret(id)));
        let Some(connection) = self.connections.remove(id) else { return };
        let sealed = connection.headers.iter().filter(|header| header.value.is_none());
        for slot in connection.key_slots().into_iter().chain(sealed.map(|header| header.slot)) {
            forget(&connection, slot, writes);
        }
        for model in [&mut self.settings.default_model, &mut self.settings.task_model] {
            if model.as_ref().is_some_and(|choice| choice.connection == *id) {
                *model = None;
            }
        }
    }

    /// Keeps what the person says of a model.
    pub(crate) fn describe(
        &mut self,
        id: &ConnectionId,
        model: &str,
        facts: Option<wire::ModelFacts>,
        writes: &mut Vec<Write>,
    ) -> Result<(), Refused> {
        let Some(connection) = self.connections.get_mut(id) else {
            return Err(invalid("that connection does not exist any more"));
        };
        let model = model.trim();
        if model.is_empty() {
            return Err(invalid("the model has no name"));
        }
        connection.described.retain(|entry| entry.id != model);
        if let Some(facts) = facts {
            if connection.described.len() >= LISTED_MAX {
                return Err(invalid("at most 500 models of a connection can be described"));
            }
            let facts = facts_record(facts);
            connection.described.push(ModelEntry { id: model.to_owned(), name: String::new(), facts });
        }
        connection.revision += 1;
        writes.push(Write::Put(connection.clone().into()));
        Ok(())
    }

    /// Keeps a preset, new or changed.
    pub(crate) fn put_preset(&mut self, preset: wire::Preset) -> Result<(), Refused> {
        let preset = preset_record(preset);
        let is_within = preset.temperature.is_none_or(|it| it <= 200)
            && preset.top_p.is_none_or(|it| it <= 100)
            && preset.max_output_tokens != Some(0);
        if preset.id.trim().is_empty() || preset.name.is_empty() {
            return Err(invalid("a preset needs a name"));
        }
        if !is_within {
            return Err(invalid("temperature is 0 to 2, top P 0 to 1, and an answer has at least one token"));
        }
        let presets = &mut self.settings.presets;
        let name = preset.name.to_lowercase();
        if presets.iter().any(|other| other.id != preset.id && other.name.to_lowercase() == name) {
            return Err(invalid("another preset has that name"));
        }
        if let Some(known) = presets.iter_mut().find(|other| other.id == preset.id) {
            *known = preset;
        } else if presets.len() < PRESETS_MAX {
            presets.push(preset);
        } else {
            return Err(invalid("at most 50 presets can be saved"));
        }
        Ok(())
    }
}
