//! The way to the first chat: provider, access, model. It ends in a chat that works, and begins again where it was left.
//!
//! How far a person came is kept without any key: a page that was closed asks for a key anew unless one is stored.

use leptos::html;
use leptos::prelude::*;
use panelot_base::ConnectionId;
use panelot_protocol::Text;
use panelot_protocol::settings::{ConnectionView, ModelChoice, SettingsChange};
use panelot_ui::glyph::{Glyph, chevron, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::page::{store, stored};
use panelot_ui::session::{Part, Session};
use panelot_ui::words::{self, ErrorWords};
use panelot_view::Command;
use panelot_view::model::{CommandKind, Verification};

use crate::connection::{Address, Key};
use crate::form::{Form, Next, Saving};
use crate::page::Policies;
use crate::templates::{CUSTOM, TEMPLATES, Template, Tiles};
use crate::trial::TestResult;

/// Where it is kept how far the person came.
const PROGRESS_KEY: &str = "panelot.setup";
/// More models than this get a field to filter them.
const MODELS_UNFILTERED: usize = 8;

/// How far the person came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Choosing a provider.
    Provider,
    /// Entering what it wants, for this template.
    Access(usize),
    /// Choosing a model.
    Model(usize),
}

impl Step {
    const fn number(self) -> usize {
        match self {
            Self::Provider => 0,
            Self::Access(_) => 1,
            Self::Model(_) => 2,
        }
    }
}

/// What was kept of an earlier visit: the step and the connection that is being made.
fn progress() -> Option<(Step, ConnectionId)> {
    let kept = stored(PROGRESS_KEY)?;
    let mut words = kept.split(' ');
    let (step, template, id) = (words.next()?, words.next()?, words.next()?);
    let template: usize = template.parse().ok().filter(|index| *index < TEMPLATES.len())?;
    let step = if step == "model" { Step::Model(template) } else { Step::Access(template) };
    Some((step, ConnectionId::new(id).ok()?))
}

fn keep(step: Step, id: &ConnectionId) {
    let kept = match step {
        Step::Provider => None,
        Step::Access(template) => Some(format!("access {template} {id}")),
        Step::Model(template) => Some(format!("model {template} {id}")),
    };
    store(PROGRESS_KEY, kept.as_deref());
}

/// Whether the page begins with the way to the first chat: it is under way, or nothing is connected and the person has
/// not put it off.
pub(crate) fn is_due(session: Session) -> bool {
    let none = session.peek(|model| model.settings.as_ref().is_some_and(|it| it.connections.is_empty()));
    progress().is_some() || (none && stored(PROGRESS_KEY).is_none())
}

fn connection_of(session: Session, id: &ConnectionId) -> Option<ConnectionView> {
    session.peek(|model| model.settings.as_ref()?.connections.iter().find(|it| it.id == *id).cloned())
}

/// The way to the first chat. It takes itself away by `shown` when the person puts it off.
#[component]
pub(crate) fn Welcome(shown: RwSignal<bool>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let (begin, id) = match progress() {
        // Without its connection there is nothing to choose a model of.
        Some((Step::Model(template), id)) if connection_of(session, &id).is_none() => {
            (Step::Access(template), id)
        }
        Some(kept) => kept,
        None => (Step::Provider, session.mint(ConnectionId::mint)),
    };
    let id = StoredValue::new(id);
    let step = RwSignal::new(begin);
    Effect::new(move |before: Option<Step>| {
        let now = step.get();
        if before.is_some() {
            id.with_value(|id| keep(now, id));
        }
        now
    });
    let later = move |_| {
        store(PROGRESS_KEY, Some("later"));
        shown.set(false);
    };
    let names = [t.welcome_step_provider(), t.welcome_step_access(), t.welcome_step_model()];
    let dot = move |(index, name): (usize, &'static str)| {
        let state = move || match index.cmp(&step.get().number()) {
            std::cmp::Ordering::Less => "done",
            std::cmp::Ordering::Equal => "now",
            std::cmp::Ordering::Greater => "next",
        };
        let current = move || (step.get().number() == index).then_some("step");
        view! { <li data-state=state aria-current=current>{name}</li> }
    };
    view! {
        <main class="welcome">
            <header>
                <img src="icons/icon-48.png" alt="" />
                <h1>{t.welcome_title()}</h1>
                <p>{t.welcome_text()}</p>
            </header>
            <ol class="steps" aria-label=t.welcome_steps()>{names.into_iter().enumerate().map(dot).collect::<Vec<_>>()}</ol>
            {move || match step.get() {
                Step::Provider => view! { <Provider step /> }.into_any(),
                Step::Access(index) => view! { <Access step index id /> }.into_any(),
                Step::Model(index) => view! { <ModelStep step index id /> }.into_any(),
            }}
            <footer><button type="button" class="button quiet" on:click=later>{t.welcome_later()}</button></footer>
        </main>
    }
}

/// The heading of a step; it takes the focus when the step begins, so that it is read out.
#[component]
fn Heading(text: String) -> impl IntoView {
    let heading = NodeRef::<html::H2>::new();
    Effect::new(move |_| {
        if let Some(heading) = heading.get() {
            let _ = heading.focus();
        }
    });
    view! { <h2 node_ref=heading tabindex="-1">{text}</h2> }
}

#[component]
fn Provider(step: RwSignal<Step>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let choose = Callback::new(move |index| step.set(Step::Access(index)));
    view! {
        <section class="welcome-step">
            <Heading text=t.welcome_provider_title().to_owned() />
            <Tiles choose />
        </section>
    }
}

fn template_of(index: usize) -> &'static Template {
    TEMPLATES.get(index).unwrap_or(&CUSTOM)
}

#[component]
fn Access(step: RwSignal<Step>, index: usize, id: StoredValue<ConnectionId>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let template = template_of(index);
    let known = id.with_value(|id| connection_of(session, id));
    let same = known.as_ref().is_some_and(|it| template.url.is_empty() || &*it.base_url == template.url);
    let form = Form::of(known.as_ref().filter(|_| same));
    if !same {
        form.fill(template);
    }
    let saving = Saving::new(form, id.get_value(), known.as_ref(), false, || ());
    // Only what was tried here counts: an earlier result may be that of another key.
    Effect::new(move |_| {
        let works = matches!(saving.verification(), Some(Verification::Done(done)) if done.error.is_none());
        if saving.tested.get() && works {
            step.set(Step::Model(index));
        }
    });
    let busy = Memo::new(move |_| saving.is_busy());
    let custom = template.url.is_empty();
    let title =
        if custom { t.welcome_access_other().to_owned() } else { t.welcome_access_title(template.name) };
    view! {
        <section class="welcome-step">
            <Heading text=title />
            <form on:submit=move |event| { event.prevent_default(); saving.save(Next::Test); }>
                {custom.then(|| view! { <Address form /> })}
                {template.is_local().then(|| view! { <p class="note">{glyph(Glyph::Info)} <span>{t.welcome_local_text()}</span></p> })}
                {(!template.is_local()).then(|| view! { <Key saving /> })}
                {(!template.keys.is_empty()).then(|| view! {
                    <p class="hint"><a href=template.keys target="_blank" rel="noreferrer">{t.welcome_get_key(template.name)}</a></p>
                })}
                {(!custom).then(|| view! {
                    <details class="more"><summary>{chevron()} {t.welcome_address()}</summary><Address form /></details>
                })}
                {move || saving.refusal.get().map(|text| view! { <p class="field-error" role="alert">{text}</p> })}
                <Show when=move || saving.tested.get()><TestResult saving /></Show>
                <div class="welcome-actions">
                    <button type="button" class="button quiet" on:click=move |_| step.set(Step::Provider)>{t.welcome_back()}</button>
                    <button type="submit" class="button primary" disabled=move || busy.get()>{t.welcome_connect()}</button>
                </div>
            </form>
        </section>
    }
}

#[component]
fn ModelStep(step: RwSignal<Step>, index: usize, id: StoredValue<ConnectionId>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let tried = move || {
        session.read(Part::Verifications, |model| id.with_value(|id| model.verifications.get(id).cloned()))
    };
    if untrack(tried).is_none() {
        // The page was closed since: what the provider offers is asked for once more.
        session.command(Command::Verify { connection: id.get_value(), model: None });
    }
    // The list stays while the chosen model is tried.
    let models = RwSignal::new(Vec::<String>::new());
    let chosen = RwSignal::new(String::new());
    Effect::new(move |_| {
        let Some(Verification::Done(done)) = tried() else { return };
        if done.models.is_empty() {
            return;
        }
        if chosen.get_untracked().is_empty() {
            let named = Some(&done.model_id).filter(|id| !id.is_empty());
            let best = template_of(index).preferred(&done.models).or(named).or(done.models.first());
            chosen.set(best.cloned().unwrap_or_default());
        }
        models.set(done.models.clone());
    });
    let refusal = RwSignal::new(None::<String>);
    let keeping = RwSignal::new(false);
    finish(session, id, chosen, keeping, refusal);
    let start = move || {
        let Some(connection) = id.with_value(|id| connection_of(session, id)) else {
            return step.set(Step::Access(index));
        };
        let model_id = Text::clipped(chosen.get_untracked().trim());
        let form = Form::of(Some(&connection));
        let mut all = untrack(|| form.models());
        all.retain(|it| *it != *model_id);
        all.insert(0, model_id.to_string());
        form.models.set(all.join("\n"));
        let model = Some(ModelChoice { connection_id: connection.id.clone(), model_id });
        session.settled.set(Vec::new());
        refusal.set(None);
        keeping.set(true);
        let changes = vec![form.change(connection.id), SettingsChange::SetDefaultModel { model }];
        session.command(Command::UpdateSettings { changes });
    };
    view! {
        <section class="welcome-step">
            <Heading text=t.welcome_model_title().to_owned() />
            <p class="section-text">{t.welcome_model_text()}</p>
            <form on:submit=move |event| { event.prevent_default(); start(); }>
                {move || models.with(Vec::is_empty).then(|| view! {
                    <div class="field">
                        <label for="welcome-model">{t.welcome_model_name()}</label>
                        <input id="welcome-model" class="input" type="text" autocomplete="off" spellcheck="false" required bind:value=chosen />
                    </div>
                })}
                {move || (!models.with(Vec::is_empty)).then(|| view! { <Choice models=models.get() chosen /> })}
                <h3 id="welcome-policy">{t.permissions_title()}</h3>
                <Policies labelledby="welcome-policy" />
                {move || refusal.get().map(|text| view! { <p class="field-error" role="alert">{text}</p> })}
                <p class="status-line" role="status">{move || keeping.get().then(|| t.connection_testing())}</p>
                <div class="welcome-actions">
                    <button type="button" class="button quiet" on:click=move |_| step.set(Step::Access(index))>{t.welcome_back()}</button>
                    <button type="submit" class="button primary"
                        disabled=move || keeping.get() || chosen.with(|it| it.trim().is_empty())>{t.welcome_start()}</button>
                </div>
            </form>
        </section>
    }
}

/// When the choice is kept the chosen model is asked for a word, and when it answers the first chat opens; else the
/// reason is shown.
fn finish(
    session: Session,
    id: StoredValue<ConnectionId>,
    chosen: RwSignal<String>,
    keeping: RwSignal<bool>,
    refusal: RwSignal<Option<String>>,
) {
    let t = expect_context::<Messages>();
    let trying = StoredValue::new(false);
    let tell = move |words: ErrorWords| {
        keeping.set(false);
        let said = words.said.map(|said| t.error_said(&said, t.provider())).unwrap_or_default();
        refusal.set(Some(format!("{} {} {said}", words.title, words.next)));
    };
    Effect::new(move |_| {
        let settled = session.settled.get();
        let last = settled.iter().rev().find(|(kind, _)| *kind == CommandKind::Settings);
        let Some((_, why)) = last.filter(|_| keeping.get_untracked() && !trying.get_value()) else { return };
        match why {
            Some(why) => tell(words::refusal_words(t, why)),
            None => {
                trying.set_value(true);
                let model = Some(chosen.get_untracked().trim().to_owned());
                session.command(Command::Verify { connection: id.get_value(), model });
            }
        }
    });
    Effect::new(move |_| {
        let now = session
            .read(Part::Verifications, |model| id.with_value(|id| model.verifications.get(id).cloned()));
        if !trying.get_value() || matches!(now, None | Some(Verification::Running)) {
            return;
        }
        trying.set_value(false);
        match now {
            Some(Verification::Refused(why)) => tell(words::refusal_words(t, &why)),
            Some(Verification::Done(done)) => match done.error {
                Some(it) => tell(words::error_words(t, it.code, &it.message, it.provider.as_ref())),
                None => {
                    store(PROGRESS_KEY, Some("done"));
                    let _ = window().location().assign("chat.html");
                }
            },
            _ => {}
        }
    });
}

/// The models that the provider lists, one of them to be chosen.
#[component]
fn Choice(models: Vec<String>, chosen: RwSignal<String>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let filter = RwSignal::new(String::new());
    let many = models.len() > MODELS_UNFILTERED;
    let rows = move || {
        let wanted = filter.get().to_lowercase();
        // What is chosen stands first, so that it is seen.
        let first = untrack(|| chosen.get());
        let mut shown: Vec<&String> =
            models.iter().filter(|model| model.to_lowercase().contains(&wanted)).collect();
        shown.sort_by_key(|model| **model != first);
        let row = |model: &String| {
            let (name, value, own) = (model.clone(), model.clone(), model.clone());
            view! {
                <label>
                    <input type="radio" name="model" prop:checked=move || chosen.with(|it| *it == value)
                        on:change=move |_| chosen.set(own.clone()) />
                    {name}
                </label>
            }
        };
        shown.into_iter().map(row).collect_view()
    };
    view! {
        <fieldset class="offer-set">
            <legend class="field-label">{t.connection_models()}</legend>
            {many.then(|| view! { <input class="input" type="search" aria-label=t.filter_models() placeholder=t.filter_models() bind:value=filter /> })}
            <div class="offer">{rows}</div>
        </fieldset>
    }
}
