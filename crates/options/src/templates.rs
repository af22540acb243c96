//! Known providers to start a connection from: where each one is and how it speaks.

use leptos::prelude::*;
use panelot_protocol::settings::ProviderWire;

use panelot_ui::i18n::Messages;

/// A provider that needs no looking up.
pub(crate) struct Template {
    /// As the provider writes itself; one that has a Chinese name only has it here.
    pub(crate) name: &'static str,
    pub(crate) url: &'static str,
    pub(crate) wire: ProviderWire,
}

const fn openai(name: &'static str, url: &'static str) -> Template {
    Template { name, url, wire: ProviderWire::Openai }
}

/// Addresses as the providers' own documentation gives them.
pub(crate) const TEMPLATES: [Template; 13] = [
    openai("OpenAI", "https://api.openai.com/v1"),
    Template { name: "Anthropic", url: "https://api.anthropic.com", wire: ProviderWire::Anthropic },
    openai("OpenRouter", "https://openrouter.ai/api/v1"),
    openai("Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    openai("DeepSeek", "https://api.deepseek.com/v1"),
    openai("Moonshot (Kimi)", "https://api.moonshot.cn/v1"),
    openai("智谱 GLM", "https://open.bigmodel.cn/api/paas/v4"),
    openai("阿里百炼 (DashScope)", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
    openai("Groq", "https://api.groq.com/openai/v1"),
    openai("Mistral", "https://api.mistral.ai/v1"),
    openai("Ollama", "http://localhost:11434/v1"),
    openai("LM Studio", "http://localhost:1234/v1"),
    openai("llama.cpp", "http://localhost:8080/v1"),
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
pub(crate) fn TemplatePicker(
    name: RwSignal<String>,
    url: RwSignal<String>,
    wire: RwSignal<ProviderWire>,
) -> impl IntoView {
    let t = expect_context::<Messages>();
    let choose = move |event| {
        let chosen = event_target_value(&event).parse().ok().and_then(|index: usize| TEMPLATES.get(index));
        if let Some(template) = chosen {
            name.set(template.name.to_owned());
            url.set(template.url.to_owned());
            wire.set(template.wire);
        }
    };
    let is_chosen = move |template: &'static Template| move || url.get() == template.url;
    view! {
        <div class="field">
            <label for="connection-template">{t.connection_template()}</label>
            <select id="connection-template" class="input" aria-describedby="connection-template-hint" on:change=choose>
                <option value="">{t.connection_template_other()}</option>
                {TEMPLATES.iter().enumerate().map(|(index, template)| view! {
                    <option value=index.to_string() selected=is_chosen(template)>{template.name}</option>
                }).collect::<Vec<_>>()}
            </select>
            <p class="hint" id="connection-template-hint">{t.connection_template_hint()}</p>
        </div>
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
