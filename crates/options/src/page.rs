//! The options page: connections, permissions, language and theme, standing instructions.

use leptos::html;
use leptos::prelude::*;
use panelot_protocol::Text;
use panelot_protocol::op::Surface;
use panelot_protocol::settings::{
    ConnectionView, GrantView, Language, PermissionPolicy, RuleView, SettingsChange, Theme,
};
use panelot_view::Command;
use panelot_view::model::{CommandKind, ConnectionState};

use crate::built_in::BuiltIn;
use crate::connection::ConnectionDialog;
use crate::passphrase::Passphrase;
use crate::welcome::{self, Welcome};
use panelot_ui::choice::{choice_of, choice_value};
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::session::{Part, Session};
use panelot_ui::words;
use panelot_ui::{page, platform};

/// How long "Saved" stays.
const TOAST_MS: u64 = 2400;

/// Builds the page.
pub(crate) fn mount() {
    wasm_bindgen_futures::spawn_local(async {
        let window_id = platform::window_id().await;
        let client = page::client_id(Surface::Options).await;
        let begin = |session: Session| session.start(None);
        page::mount(client, Surface::Options, window_id, begin, || view! { <Options /> }.into_any());
    });
}

/// The page.
#[component]
fn Options() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    Effect::new(move |_| document().set_title(&format!("{} · {}", t.options_title(), t.app_name())));
    let known = Memo::new(move |_| session.read(Part::Settings, |model| model.settings.is_some()));
    let stuck = Memo::new(move |_| {
        session.read(Part::Connection, |model| match model.connection {
            ConnectionState::ReloadRequired { .. } => Some((t.state_reload_title(), t.state_reload_text())),
            ConnectionState::Mismatch { .. } => Some((t.state_mismatch_title(), t.state_mismatch_text())),
            _ => None,
        })
    });
    // As it was when the settings came: what happens on the way does not take the page away.
    let shown = RwSignal::new(false);
    Effect::new(move |before: Option<bool>| {
        let known = known.get();
        if known && before != Some(true) {
            shown.set(welcome::is_due(session));
        }
        known
    });
    move || match shown.get() {
        true => view! { <Welcome shown /> }.into_any(),
        false => view! { <Sections known stuck shown /> }.into_any(),
    }
}

/// All settings, with a list of their sections.
#[component]
fn Sections(
    known: Memo<bool>,
    stuck: Memo<Option<(&'static str, &'static str)>>,
    shown: RwSignal<bool>,
) -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <div class="options">
            <nav class="options-nav" aria-label=t.options_title()>
                <h1><img src="icons/icon-48.png" alt="" /> {t.options_title()}</h1>
                <ul>
                    <li><a href="#connections">{glyph(Glyph::Spark)} {t.nav_connections()}</a></li>
                    <li><a href="#passphrase">{glyph(Glyph::Shield)} {t.nav_passphrase()}</a></li>
                    <li><a href="#permissions">{glyph(Glyph::Shield)} {t.nav_permissions()}</a></li>
                    <li><a href="#general">{glyph(Glyph::Sliders)} {t.nav_general()}</a></li>
                    <li><a href="#about">{glyph(Glyph::Info)} {t.nav_about()}</a></li>
                </ul>
            </nav>
            <main>
                {move || stuck.get().map(|(title, text)| view! {
                    <div class="card error" role="alert">
                        <h2>{title}</h2>
                        <p class="card-text">{text}</p>
                        <div class="card-actions">
                            <button type="button" class="button primary" on:click=move |_| { let _ = window().location().reload(); }>{t.reload()}</button>
                        </div>
                    </div>
                })}
                <Show when=move || known.get() fallback=move || stuck.with(Option::is_none).then(|| view! { <p class="status-line">{t.state_connecting()}</p> })>
                    <Connections shown />
                    <Passphrase />
                    <Permissions />
                    <General />
                    <About />
                </Show>
            </main>
            <Toast />
        </div>
    }
}

/// Says that a change was kept, or why not.
#[component]
fn Toast() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let shown = RwSignal::new(String::new());
    Effect::new(move |_| {
        let settled = session.settled.get();
        let Some((_, refusal)) = settled.iter().rev().find(|(kind, _)| *kind == CommandKind::Settings) else {
            return;
        };
        shown.set(match refusal {
            None => t.saved().to_owned(),
            Some(refusal) => {
                let words = words::refusal_words(t, refusal);
                format!("{} {} {}", t.not_saved(), words.title, words.next)
            }
        });
        platform::after(TOAST_MS, move || {
            let _ = shown.try_set(String::new());
        });
    });
    view! { <div class="toast" role="status">{move || shown.get()}</div> }
}

#[component]
fn Connections(shown: RwSignal<bool>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let list = Memo::new(move |_| {
        session.read(Part::Settings, |model| {
            model.settings.as_ref().map(|it| it.connections.clone()).unwrap_or_default()
        })
    });
    let edited = RwSignal::new(None::<Option<ConnectionView>>);
    let removed = RwSignal::new(None::<ConnectionView>);
    let add = move |_| edited.set(Some(None));
    view! {
        <section class="section" id="connections" aria-labelledby="connections-title">
            <div class="section-head">
                <h2 id="connections-title">{t.connections_title()}</h2>
                <Show when=move || list.with(|it| !it.is_empty())>
                    <button type="button" class="button primary" on:click=add>{glyph(Glyph::Plus)} {t.connection_add()}</button>
                </Show>
            </div>
            <p class="section-text">{t.connections_text()}</p>
            <Show when=move || list.with(Vec::is_empty)>
                <div class="nothing">
                    <h3>{t.connections_empty()}</h3>
                    <p>{t.connections_empty_text()}</p>
                    <button type="button" class="button primary" on:click=move |_| shown.set(true)>{glyph(Glyph::Spark)} {t.welcome_go()}</button>
                    <button type="button" class="button" on:click=add>{glyph(Glyph::Plus)} {t.connection_add()}</button>
                </div>
            </Show>
            <ul class="list">
                <For each=move || list.get() key=|it| format!("{it:?}") children=move |connection| {
                    view! { <ConnectionRow connection edited removed /> }
                } />
            </ul>
            <Show when=move || list.with(|it| it.iter().any(|it| !it.models.is_empty()))><ModelField purpose=Use::Messages />
            <ModelField purpose=Use::Tasks />
            <Budget /></Show>
            <BuiltIn />
            {move || edited.get().map(|connection| view! { <ConnectionDialog connection edited /> })}
            <RemoveDialog removed />
        </section>
    }
}

#[component]
fn ConnectionRow(
    connection: ConnectionView,
    edited: RwSignal<Option<Option<ConnectionView>>>,
    removed: RwSignal<Option<ConnectionView>>,
) -> impl IntoView {
    let t = expect_context::<Messages>();
    let facts = format!(
        "{} · {} · {}",
        &*connection.base_url,
        t.connection_models_count(connection.models.len() as u64),
        if connection.has_key { t.connection_has_key() } else { t.connection_no_key() },
    );
    let (name, again) = (connection.name.to_string(), connection.clone());
    let (edit_label, remove_label) =
        (format!("{}: {name}", t.connection_edit()), format!("{}: {name}", t.remove()));
    view! {
        <li>
            <div class="list-text">
                <div class="list-title">{name}</div>
                <div class="list-sub">{facts}</div>
            </div>
            <button type="button" class="button" aria-label=edit_label on:click=move |_| edited.set(Some(Some(again.clone())))>{t.connection_edit()}</button>
            <button type="button" class="icon-button" aria-label=remove_label title=t.remove()
                on:click=move |_| removed.set(Some(connection.clone()))>{glyph(Glyph::Bin)}</button>
        </li>
    }
}

#[component]
fn RemoveDialog(removed: RwSignal<Option<ConnectionView>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if removed.with(Option::is_some) {
            let _ = dialog.show_modal();
        } else {
            dialog.close();
        }
    });
    let remove = move |_| {
        if let Some(connection) = removed.get_untracked() {
            session.change(SettingsChange::RemoveConnection { id: connection.id });
        }
        removed.set(None);
    };
    view! {
        <dialog class="small" node_ref=dialog aria-labelledby="remove-title" on:close=move |_| removed.set(None)>
            <h2 id="remove-title">{t.connection_remove_title()}</h2>
            <p>{move || removed.get().map(|it| t.connection_remove_text(&it.name))}</p>
            <div class="dialog-actions">
                <button type="button" class="button" autofocus on:click=move |_| removed.set(None)>{t.cancel()}</button>
                <button type="button" class="button danger" on:click=remove>{t.remove()}</button>
            </div>
        </dialog>
    }
}

/// Which model is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// For messages.
    Messages,
    /// For small tasks such as titles.
    Tasks,
}

#[component]
fn ModelField(
    /// What for.
    purpose: Use,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let (id, label, none) = match purpose {
        Use::Messages => ("default-model", t.default_model(), t.default_model_first()),
        Use::Tasks => ("task-model", t.task_model(), t.task_model_same()),
    };
    let settings =
        Memo::new(move |_| session.read(Part::Settings, |model| model.settings.clone().unwrap_or_default()));
    let choose = move |event: web_sys::Event| {
        let model = settings.with_untracked(|it| choice_of(it, &event_target_value(&event)));
        session.change(match purpose {
            Use::Messages => SettingsChange::SetDefaultModel { model },
            Use::Tasks => SettingsChange::SetTaskModel { model },
        });
    };
    let options = move || {
        let settings = settings.get();
        let chosen = match purpose {
            Use::Messages => &settings.default_model,
            Use::Tasks => &settings.task_model,
        };
        let chosen = chosen.as_ref().map(|it| choice_value(&it.connection_id, &it.model_id));
        let groups = settings.connections.iter().map(|connection| {
            view! {
                <optgroup label=connection.name.to_string()>
                    {connection.models.iter().map(|model| {
                        let value = choice_value(&connection.id, model);
                        let selected = chosen.as_ref() == Some(&value);
                        view! { <option value=value selected=selected>{model.to_string()}</option> }
                    }).collect_view()}
                </optgroup>
            }
        });
        view! {
            <option value="" selected=chosen.is_none()>{none}</option>
            {groups.collect_view()}
        }
    };
    view! {
        <div class="field">
            <label for=id>{label}</label>
            <select id=id class="input" on:change=choose>{options}</select>
        </div>
    }
}

/// The tokens after which a turn stands still until the person lets it go on.
#[component]
fn Budget() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let budget = Memo::new(move |_| {
        session.read(Part::Settings, |model| model.settings.as_ref().and_then(|it| it.turn_token_budget))
    });
    let change = move |event: web_sys::Event| {
        let tokens = event_target_value(&event).trim().parse().ok().filter(|tokens| *tokens > 0);
        session.change(SettingsChange::SetTurnTokenBudget { tokens });
    };
    view! {
        <div class="field">
            <label for="budget">{t.turn_budget()}</label>
            <input id="budget" class="input" type="number" min="0" step="1000" inputmode="numeric" aria-describedby="budget-hint"
                prop:value=move || budget.get().map(|tokens| tokens.to_string()).unwrap_or_default() on:change=change />
            <p id="budget-hint" class="hint">{t.turn_budget_hint()}</p>
        </div>
    }
}

#[component]
fn Permissions() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let rules = Memo::new(move |_| {
        session.read(Part::Settings, |model| {
            model.settings.as_ref().map(|it| it.rules.clone()).unwrap_or_default()
        })
    });
    let grants = Memo::new(move |_| {
        session.read(Part::Settings, |model| {
            model.settings.as_ref().map(|it| it.grants.clone()).unwrap_or_default()
        })
    });
    view! {
        <section class="section" id="permissions" aria-labelledby="permissions-title">
            <h2 id="permissions-title">{t.permissions_title()}</h2>
            <p class="section-text">{t.permissions_text()}</p>
            <Policies labelledby="permissions-title" />
            <h3>{t.rules_title()}</h3>
            <p class="hint">{t.rules_text()}</p>
            <Show when=move || rules.with(Vec::is_empty)><p class="section-text">{t.rules_empty()}</p></Show>
            <ul class="list" aria-label=t.rules_title()>
                <For each=move || rules.get() key=|rule| format!("{rule:?}") children=move |rule| view! { <RuleRow rule /> } />
            </ul>
            <Show when=move || grants.with(|it| !it.is_empty())>
                <h3>{t.grants_title()}</h3>
                <p class="hint">{t.grants_text()}</p>
                <ul class="list" aria-label=t.grants_title()>
                    <For each=move || grants.get() key=|grant| format!("{grant:?}") children=move |grant| view! { <GrantRow grant /> } />
                </ul>
            </Show>
        </section>
    }
}

/// When the agent asks. A choice is kept at once.
#[component]
pub(crate) fn Policies(labelledby: &'static str) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let policy =
        Memo::new(move |_| session.read(Part::Settings, |model| model.settings.as_ref().map(|it| it.policy)));
    let choices = [
        (PermissionPolicy::Always, t.policy_always(), t.policy_always_text()),
        (PermissionPolicy::Untrusted, t.policy_untrusted(), t.policy_untrusted_text()),
        (PermissionPolicy::Auto, t.policy_auto(), t.policy_auto_text()),
    ];
    view! {
        <fieldset class="choices" aria-labelledby=labelledby>
            {choices.map(|(value, name, text)| view! {
                <label class="choice">
                    <input type="radio" name="policy" prop:checked=move || policy.get() == Some(value)
                        on:change=move |_| session.change(SettingsChange::SetPolicy { policy: value }) />
                    <span><strong>{name}</strong><span>{text}</span></span>
                </label>
            })}
        </fieldset>
    }
}

#[component]
fn GrantRow(grant: GrantView) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let text = words::permission_words(t, &grant.tool, &grant.origin);
    let label = t.rule_remove(&text);
    let chat = session.peek(|model| {
        let title = model.directory.thread(&grant.granted_in).map(|it| it.title.clone());
        title.filter(|title| !title.is_empty())
    });
    view! {
        <li>
            <div class="list-text">
                <div class="list-title">{text}</div>
                {chat.map(|chat| view! { <div class="list-sub">{t.grant_in(&chat)}</div> })}
            </div>
            <button type="button" class="icon-button" aria-label=label title=t.remove()
                on:click=move |_| session.command(Command::RevokeGrant { grant: grant.clone() })>{glyph(Glyph::Bin)}</button>
        </li>
    }
}

#[component]
fn RuleRow(rule: RuleView) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let text = words::rule_words(t, &rule);
    let label = t.rule_remove(&text);
    view! {
        <li>
            <span class="tag">{words::verdict_words(t, rule.verdict)}</span>
            <div class="list-text"><div class="list-title">{text}</div></div>
            <button type="button" class="icon-button" aria-label=label title=t.remove()
                on:click=move |_| session.command(Command::RemoveRule { rule: rule.id.clone() })>{glyph(Glyph::Bin)}</button>
        </li>
    }
}

#[component]
fn General() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let language = Memo::new(move |_| {
        session
            .read(Part::Settings, |model| model.settings.as_ref().map(|it| it.language).unwrap_or_default())
    });
    let theme = Memo::new(move |_| {
        session.read(Part::Settings, |model| model.settings.as_ref().map(|it| it.theme).unwrap_or_default())
    });
    let languages = [
        ("system", Language::System, t.language_system()),
        ("en", Language::En, "English"),
        ("zh-CN", Language::ZhCn, "简体中文"),
    ];
    let themes = [
        ("system", Theme::System, t.theme_system()),
        ("light", Theme::Light, t.theme_light()),
        ("dark", Theme::Dark, t.theme_dark()),
    ];
    let choose_language = move |event: web_sys::Event| {
        let value = event_target_value(&event);
        if let Some((_, language, _)) = languages.into_iter().find(|(name, ..)| *name == value) {
            session.change(SettingsChange::SetLanguage { language });
        }
    };
    let choose_theme = move |event: web_sys::Event| {
        let value = event_target_value(&event);
        if let Some((_, theme, _)) = themes.into_iter().find(|(name, ..)| *name == value) {
            session.change(SettingsChange::SetTheme { theme });
        }
    };
    let prompt =
        session.peek(|model| model.settings.as_ref().map(|it| it.prompt.to_string()).unwrap_or_default());
    let save_prompt = move |event: web_sys::Event| {
        session.change(SettingsChange::SetPrompt { prompt: Text::clipped(&event_target_value(&event)) });
    };
    view! {
        <section class="section" id="general" aria-labelledby="general-title">
            <h2 id="general-title">{t.general_title()}</h2>
            <div class="field">
                <label for="language">{t.language()}</label>
                <select id="language" class="input" on:change=choose_language>
                    {languages.map(|(value, it, name)| view! { <option value=value selected=move || language.get() == it>{name}</option> })}
                </select>
            </div>
            <div class="field">
                <label for="theme">{t.theme()}</label>
                <select id="theme" class="input" on:change=choose_theme>
                    {themes.map(|(value, it, name)| view! { <option value=value selected=move || theme.get() == it>{name}</option> })}
                </select>
            </div>
            <div class="field">
                <label for="prompt">{t.prompt()}</label>
                <textarea id="prompt" class="input" rows="4" aria-describedby="prompt-hint" on:change=save_prompt prop:value=prompt></textarea>
                <p class="hint" id="prompt-hint">{t.prompt_hint()}</p>
            </div>
        </section>
    }
}

#[component]
fn About() -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <section class="section" id="about" aria-labelledby="about-title">
            <h2 id="about-title">{t.about_title()}</h2>
            <p class="section-text">{t.about_version(&platform::version())}</p>
            <p class="section-text">{t.about_text()}</p>
        </section>
    }
}
