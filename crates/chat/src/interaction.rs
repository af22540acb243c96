//! What a call waits for other than a yes: questions with choices, a step by hand, a page, a time, a server's form.
//!
//! The same rule as for approvals: nothing that somebody types elsewhere answers, and whoever answers first counts.

use leptos::html;
use leptos::prelude::*;
use panelot_base::ApprovalId;
use panelot_protocol::Text;
use panelot_protocol::op::InteractionAnswer;
use panelot_protocol::snapshot::{InteractionKind, InteractionView};
use panelot_view::Command;
use panelot_view::form::{Choice, Field, FieldKind, form_of};
use panelot_view::model::CommandKind;
use serde_json::{Map, Value};

use crate::approval::{Clock, focus_card};
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};
use panelot_ui::words;

/// The oldest open interaction, unless a question whether a step may happen comes first.
#[component]
pub(crate) fn Interactions() -> impl IntoView {
    let session = expect_context::<Session>();
    let first = Memo::new(move |_| {
        session.read(Part::Thread, |model| {
            let thread = &model.thread;
            thread.interactions.first().filter(|_| thread.approvals.is_empty()).cloned()
        })
    });
    move || first.get().map(|interaction| view! { <Card interaction /> })
}

/// What an answer needs, whichever button gives it.
#[derive(Clone, Copy)]
struct Answer {
    session: Session,
    interaction: StoredValue<ApprovalId>,
    busy: Memo<bool>,
}

impl Answer {
    fn give(self, answer: InteractionAnswer) {
        if !self.busy.get_untracked() {
            self.session.command(Command::Respond { interaction: self.interaction.get_value(), answer });
        }
    }

    fn submit(self, value: Value) {
        self.give(InteractionAnswer::Submit { value });
    }

    fn cancel(self, note: &str) {
        let note = (!note.trim().is_empty()).then(|| Text::clipped(note.trim()));
        self.give(InteractionAnswer::Cancel { note });
    }
}

#[component]
fn Card(interaction: InteractionView) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let card = NodeRef::<html::Section>::new();
    let kind = CommandKind::Answer(interaction.interaction_id.clone());
    let busy = Memo::new(move |_| session.read(Part::Pending, |model| model.is_pending(&kind)));
    let answer = Answer { session, interaction: StoredValue::new(interaction.interaction_id.clone()), busy };
    focus_card(session, card, interaction.interaction_id.clone());
    let (sign, label) = match interaction.kind {
        InteractionKind::AskUser => (Glyph::Ask, t.ask_title()),
        InteractionKind::UserAction => (Glyph::Hand, t.takeover_title()),
        InteractionKind::WatchPage => (Glyph::Read, t.watch_title()),
        InteractionKind::Schedule => (Glyph::Timer, t.schedule_title()),
        InteractionKind::McpElicitation => (Glyph::Ask, t.elicit_title()),
    };
    let heading = words::interaction_words(t, &interaction);
    let quiet = matches!(interaction.kind, InteractionKind::WatchPage | InteractionKind::Schedule);
    let body = match interaction.kind {
        InteractionKind::AskUser | InteractionKind::McpElicitation => {
            let fields = form_of(interaction.kind, &interaction.params);
            view! { <Form answer fields /> }.into_any()
        }
        InteractionKind::UserAction => view! { <Takeover answer /> }.into_any(),
        InteractionKind::WatchPage | InteractionKind::Schedule => {
            view! { <Wait answer kind=interaction.kind /> }.into_any()
        }
    };
    let tab = interaction.tab.as_ref().map(|tab| {
        let origin = words::origin_of(&tab.url).unwrap_or_default();
        (origin, tab.title.to_string(), tab.tab_id)
    });
    view! {
        <section class="card interaction" class:quiet=quiet tabindex="-1" node_ref=card aria-label=t.interaction_region()
            aria-busy=move || busy.get().to_string()>
            <div class="card-head">
                {glyph(sign)}
                <div>
                    <p class="label">{label}</p>
                    <h2>{heading}</h2>
                </div>
                <Clock deadline=interaction.deadline_at.0 />
            </div>
            {tab.map(|(origin, title, tab_id)| view! {
                <div class="origin">
                    {glyph(Glyph::Globe)}
                    <div>
                        <div class="origin-name">{origin}</div>
                        {(!title.is_empty()).then(|| view! { <div class="origin-title">{title}</div> })}
                    </div>
                    <button type="button" class="button quiet" on:click=move |_| platform::show_tab(tab_id)>{t.show_tab()}</button>
                </div>
            })}
            {body}
        </section>
    }
}

/// The answers so far, by the field's place.
type Given = RwSignal<Vec<String>>;

#[component]
fn Form(answer: Answer, fields: Vec<Field>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let given: Given = RwSignal::new(fields.iter().map(|field| field.initial.clone()).collect());
    let single = fields.len() == 1;
    let known = StoredValue::new(fields.clone());
    let complete = move || {
        given.with(|given| {
            known.with_value(|fields| fields.iter().zip(given).all(|(field, text)| field.is_answered(text)))
        })
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if complete() {
            let value = given.with_untracked(|given| {
                known.with_value(|fields| {
                    let values = fields
                        .iter()
                        .zip(given)
                        .filter_map(|(field, text)| Some((field.id.clone(), field.value_of(text)?)));
                    Value::Object(values.collect::<Map<_, _>>())
                })
            });
            answer.submit(value);
        }
    };
    view! {
        <form class="ask" on:submit=submit>
            {fields.into_iter().enumerate().map(|(index, field)| view! { <Question field index given single /> }).collect_view()}
            <div class="card-actions answers">
                <button type="submit" class="button primary grow" disabled=move || answer.busy.get() || !complete()>{t.ask_send()}</button>
                <button type="button" class="button grow" disabled=move || answer.busy.get() on:click=move |_| answer.cancel("")>{t.ask_skip()}</button>
            </div>
        </form>
    }
}

/// One question: choices with a way to say something else, a yes or no, or a field.
#[component]
fn Question(field: Field, index: usize, given: Given, single: bool) -> impl IntoView {
    let name = format!("ask-{index}");
    let set = move |text: String| put(given, index, text);
    let is = move |value: &str| given.with(|all| all.get(index).is_some_and(|it| it == value));
    // The card's heading asks it already when it is the only one.
    let legend_class = if single { "sr-only" } else { "field-label" };
    let question = field.label.clone();
    match field.kind {
        FieldKind::Choice { options, open } => view! {
            <fieldset class="choices ask-choices">
                <legend class=legend_class>{question}</legend>
                <Choices name index given options open />
            </fieldset>
        }
        .into_any(),
        FieldKind::Yes => view! {
            <label class="check">
                <input type="checkbox" prop:checked=move || is("true") on:change=move |event| set(event_target_checked(&event).to_string()) />
                <span>{question}</span>
            </label>
        }
        .into_any(),
        FieldKind::Number => view! {
            <div class="field">
                <label for=name.clone() class=legend_class>{question}</label>
                <input id=name class="input" type="number" step="any" prop:value=field.initial on:input=move |event| set(event_target_value(&event)) />
            </div>
        }
        .into_any(),
        FieldKind::Text => view! {
            <div class="field">
                <label for=name.clone() class=legend_class>{question}</label>
                <textarea id=name class="input" rows="2" prop:value=field.initial on:input=move |event| set(event_target_value(&event))></textarea>
            </div>
        }
        .into_any(),
    }
}

/// The choices of a question, and own words where they may be given.
#[component]
fn Choices(name: String, index: usize, given: Given, options: Vec<Choice>, open: bool) -> impl IntoView {
    let t = expect_context::<Messages>();
    let own = RwSignal::new(false);
    let shown = options.into_iter().map(|option| {
        let Choice { value, label, description } = option;
        let mine = value.clone();
        let checked = move || !own.get() && given.with(|all| all.get(index) == Some(&mine));
        let choose = move |_| {
            own.set(false);
            put(given, index, value.clone());
        };
        view! {
            <label class="choice">
                <input type="radio" name=name.clone() prop:checked=checked on:change=choose />
                <span><strong>{label}</strong> {description.map(|text| view! { <span>{text}</span> })}</span>
            </label>
        }
    });
    let shown = shown.collect_view();
    let choose_own = move |_| {
        own.set(true);
        put(given, index, String::new());
    };
    let field = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            let _ = field.focus();
        }
    });
    view! {
        {shown}
        {open.then(|| view! {
            <label class="choice">
                <input type="radio" name=name prop:checked=move || own.get() on:change=choose_own />
                <span><strong>{t.ask_other()}</strong></span>
            </label>
            <Show when=move || own.get()>
                <input type="text" class="input" aria-label=t.ask_other() node_ref=field
                    on:input=move |event| put(given, index, event_target_value(&event)) />
            </Show>
        })}
    }
}

fn put(given: Given, index: usize, text: String) {
    given.update(|all| {
        if let Some(one) = all.get_mut(index) {
            *one = text;
        }
    });
}

/// The person does something by hand, and says when it is done.
#[component]
fn Takeover(answer: Answer) -> impl IntoView {
    let t = expect_context::<Messages>();
    let noting = RwSignal::new(false);
    let note = RwSignal::new(String::new());
    let busy = move || answer.busy.get();
    view! {
        <p class="card-text">{t.takeover_text()}</p>
        <Show when=move || noting.get()>
            <div class="decline-note">
                <label class="field-label" for="takeover-note">{t.takeover_note()}</label>
                <textarea id="takeover-note" class="input" autofocus maxlength=panelot_base::limits::NOTE_CHARS_MAX.to_string()
                    on:input=move |event| note.set(event_target_value(&event))></textarea>
            </div>
        </Show>
        <div class="card-actions">
            <Show when=move || !noting.get()>
                <button type="button" class="button primary grow" disabled=busy on:click=move |_| answer.submit(Value::Null)>{t.takeover_done()}</button>
            </Show>
            <button type="button" class="button grow" class:primary=move || noting.get() disabled=busy
                on:click=move |_| if noting.get_untracked() { answer.cancel(&note.get_untracked()) } else { noting.set(true) }>
                {move || if noting.get() { t.takeover_refuse() } else { t.takeover_cannot() }}
            </button>
            <Show when=move || noting.get()>
                <button type="button" class="button quiet" on:click=move |_| noting.set(false)>{t.cancel()}</button>
            </Show>
        </div>
    }
}

/// Time or a page is waited for; the person may end that.
#[component]
fn Wait(answer: Answer, kind: InteractionKind) -> impl IntoView {
    let t = expect_context::<Messages>();
    let busy = move || answer.busy.get();
    let text = if kind == InteractionKind::Schedule { t.schedule_text() } else { t.watch_text() };
    view! {
        <p class="card-text">{text}</p>
        <div class="card-actions">
            <button type="button" class="button" disabled=busy on:click=move |_| answer.submit(Value::Null)>{t.wait_now()}</button>
            <button type="button" class="button quiet" disabled=busy on:click=move |_| answer.cancel("")>{t.wait_stop()}</button>
        </div>
    }
}
