//! Known providers to start a connection from: where each one is and how it speaks.

use leptos::prelude::*;
use panelot_protocol::settings::ProviderWire;

use panelot_ui::i18n::Messages;

use crate::form::Form;

/// A provider that needs no looking up.
pub(crate) struct Template {
    /// As the provider writes itself.
    pub(crate) name: &'static str,
    /// The base of its API; empty for one that the person names.
    pub(crate) url: &'static str,
    pub(crate) wire: ProviderWire,
    /// Where it gives out keys; empty for a server on this computer, which needs none.
    pub(crate) keys: &'static str,
    /// How the names of models begin that suit work with tools, the best first.
    pub(crate) prefers: &'static [&'static str],
}

impl Template {
    /// Whether it runs on the person's own computer.
    pub(crate) fn is_local(&self) -> bool {
        self.url.starts_with("http://localhost")
    }

    /// Its address as a person would say it.
    pub(crate) fn host(&self) -> &'static str {
        let rest = self.url.split_once("://").map_or(self.url, |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
    }

    /// The model to begin with, of those that it lists.
    pub(crate) fn preferred<'a>(&self, models: &'a [String]) -> Option<&'a String> {
        self.prefers.iter().find_map(|prefix| models.iter().find(|model| model.starts_with(prefix)))
    }
}

const fn openai(
    name: &'static str,
    url: &'static str,
    keys: &'static str,
    prefers: &'static [&'static str],
) -> Template {
    Template { name, url, wire: ProviderWire::Openai, keys, prefers }
}

const fn local(name: &'static str, url: &'static str) -> Template {
    openai(name, url, "", &["qwen3", "gpt-oss", "llama"])
}

/// A server that the person names.
pub(crate) const CUSTOM: Template = openai("", "", "", &[]);

/// Addresses as the providers' own documentation gives them.
// A table, one line each.
#[rustfmt::skip]
pub(crate) const TEMPLATES: [Template; 14] = [
    openai("OpenAI", "https://api.openai.com/v1", "https://platform.openai.com/api-keys", &["gpt-5", "gpt-4.1", "gpt-4o"]),
    Template {
        name: "Anthropic", url: "https://api.anthropic.com", wire: ProviderWire::Anthropic,
        keys: "https://console.anthropic.com/settings/keys", prefers: &["claude-sonnet", "claude-opus", "claude"],
    },
    openai("OpenRouter", "https://openrouter.ai/api/v1", "https://openrouter.ai/settings/keys", &["anthropic/claude-sonnet", "openai/gpt-5"]),
    openai("Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "https://aistudio.google.com/apikey", &["models/gemini-2.5-pro", "models/gemini", "gemini"]),
    openai("DeepSeek", "https://api.deepseek.com/v1", "https://platform.deepseek.com/api_keys", &["deepseek-chat"]),
    openai("Moonshot (Kimi)", "https://api.moonshot.cn/v1", "https://platform.moonshot.cn/console/api-keys", &["kimi-k2", "kimi"]),
    openai("智谱 GLM", "https://open.bigmodel.cn/api/paas/v4", "https://open.bigmodel.cn/usercenter/apikeys", &["glm-4.6", "glm-4.5", "glm"]),
    openai("阿里百炼 (DashScope)", "https://dashscope.aliyuncs.com/compatible-mode/v1", "https://bailian.console.aliyun.com/?tab=model#/api-key", &["qwen3-max", "qwen-max", "qwen"]),
    openai("Groq", "https://api.groq.com/openai/v1", "https://console.groq.com/keys", &["openai/gpt-oss", "llama-3.3"]),
    openai("Mistral", "https://api.mistral.ai/v1", "https://console.mistral.ai/api-keys", &["mistral-medium", "mistral-large"]),
    local("Ollama", "http://localhost:11434/v1"),
    local("LM Studio", "http://localhost:1234/v1"),
    local("llama.cpp", "http://localhost:8080/v1"),
    CUSTOM,
];

/// The protocols, as the values of a select box.
const WIRES: [(&str, ProviderWire); 4] = [
    ("openai", ProviderWire::Openai),
    ("anthropic", ProviderWire::Anthropic),
    ("responses", ProviderWire::Responses),
    ("builtIn", ProviderWire::BuiltIn),
];

/// Chooses a known provider, which fills in name, address and protocol.
#[component]
pub(crate) fn TemplatePicker(form: Form) -> impl IntoView {
    let t = expect_context::<Messages>();
    let choose = move |event| {
        let chosen = event_target_value(&event).parse().ok().and_then(|index: usize| TEMPLATES.get(index));
        if let Some(template) = chosen {
            form.fill(template);
        }
    };
    let is_chosen = move |template: &'static Template| move || form.url.get() == template.url;
    let named = TEMPLATES.iter().enumerate().filter(|(_, template)| !template.name.is_empty());
    view! {
        <div class="field">
            <label for="connection-template">{t.connection_template()}</label>
            <select id="connection-template" class="input" aria-describedby="connection-template-hint" on:change=choose>
                <option value="">{t.connection_template_other()}</option>
                {named.map(|(index, template)| view! {
                    <option value=index.to_string() selected=is_chosen(template)>{template.name}</option>
                }).collect::<Vec<_>>()}
            </select>
            <p class="hint" id="connection-template-hint">{t.connection_template_hint()}</p>
        </div>
    }
}

/// All providers, to begin with one.
#[component]
pub(crate) fn Tiles(choose: Callback<usize>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let tile = move |(index, template): (usize, &'static Template)| {
        let (name, sub) = match template.name {
            "" => (t.welcome_other(), t.welcome_other_text()),
            name => (name, template.host()),
        };
        view! {
            <button type="button" class="tile" on:click=move |_| choose.run(index)><strong>{name}</strong><span>{sub}</span></button>
        }
    };
    let group = move |local: bool| {
        let all = TEMPLATES.iter().enumerate();
        all.filter(|(_, it)| it.is_local() == local).map(tile).collect::<Vec<_>>()
    };
    view! {
        <h3 id="tiles-hosted">{t.welcome_hosted()}</h3>
        <div class="tiles" role="group" aria-labelledby="tiles-hosted">{group(false)}</div>
        <h3 id="tiles-local">{t.welcome_local()}</h3>
        <div class="tiles" role="group" aria-labelledby="tiles-local">{group(true)}</div>
    }
}

/// Chooses the protocol.
#[component]
pub(crate) fn WirePicker(wire: RwSignal<ProviderWire>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let names = [
        t.connection_wire_openai(),
        t.connection_wire_anthropic(),
        t.connection_wire_responses(),
        t.built_in_title(),
    ];
    let choose = move |event| {
        let value = event_target_value(&event);
        if let Some((_, chosen)) = WIRES.iter().find(|(word, _)| *word == value) {
            wire.set(*chosen);
        }
    };
    view! {
        <div class="field">
            <label for="connection-wire">{t.connection_wire()}</label>
            <select id="connection-wire" class="input" on:change=choose>
                {WIRES.iter().zip(names).map(|((word, it), name)| view! {
                    <option value=*word selected=move || wire.get() == *it>{name}</option>
                }).collect::<Vec<_>>()}
            </select>
        </div>
    }
}
