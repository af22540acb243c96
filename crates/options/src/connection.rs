//! The dialog in which a connection is made, tried and changed. A key goes in and is never shown again.

use leptos::html;
use leptos::prelude::*;
use panelot_base::ConnectionId;
use panelot_protocol::settings::ConnectionView;
use panelot_ui::i18n::Messages;
use panelot_ui::session::Session;
use panelot_view::model::Verification;

use crate::form::{Form, Next, Saving};
use crate::templates::{TemplatePicker, WirePicker};
use crate::trial::TestResult;

/// The dialog for `connection`, or for a new one.
#[component]
pub(crate) fn ConnectionDialog(
    connection: Option<ConnectionView>,
    edited: RwSignal<Option<Option<ConnectionView>>>,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let dialog = NodeRef::<html::Dialog>::new();
    let form = Form::of(connection.as_ref());
    let fresh = connection.is_none();
    let id = connection.as_ref().map_or_else(|| session.mint(ConnectionId::mint), |it| it.id.clone());
    let saving = Saving::new(form, id, connection.as_ref(), fresh, move || edited.set(None));
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get() {
            let _ = dialog.show_modal();
        }
    });
    let busy = Memo::new(move |_| saving.is_busy());
    let listed = move || match saving.verification() {
        Some(Verification::Done(done)) if saving.tested.get() && !done.models.is_empty() => Some(done.models),
        _ => None,
    };
    let title = if fresh { t.connection_add_title() } else { t.connection_edit_title() };
    view! {
        <dialog node_ref=dialog aria-labelledby="connection-title" on:close=move |_| edited.set(None)>
            <form on:submit=move |event| { event.prevent_default(); saving.save(Next::Close); }>
                <h2 id="connection-title">{title}</h2>
                {fresh.then(|| view! { <TemplatePicker form /> })}
                <Address form />
                <Key saving />
                {move || saving.refusal.get().map(|text| view! { <p class="field-error" role="alert">{text}</p> })}
                <Show when=move || saving.tested.get()><TestResult saving /></Show>
                {move || listed().map(|models| view! { <Offer models form /> })}
                <Naming form />
                <div class="dialog-actions">
                    <button type="button" class="button quiet" on:click=move |_| edited.set(None)>{t.cancel()}</button>
                    <button type="button" class="button" disabled=move || busy.get() on:click=move |_| saving.save(Next::Test)>{t.connection_test()}</button>
                    <button type="submit" class="button primary" disabled=move || busy.get()>{t.save()}</button>
                </div>
            </form>
        </dialog>
    }
}

/// Where the provider is and how it speaks.
#[component]
pub(crate) fn Address(form: Form) -> impl IntoView {
    let t = expect_context::<Messages>();
    let invalid = move || (!form.url.get().trim().is_empty() && form.origin().is_none()).then_some("true");
    view! {
        <div class="field">
            <label for="connection-url">{t.connection_url()}</label>
            <input id="connection-url" class="input" type="url" inputmode="url" autocomplete="off" spellcheck="false" required autofocus
                placeholder="https://" aria-describedby="connection-url-hint" aria-invalid=invalid
                bind:value=form.url />
            <p class="hint" id="connection-url-hint">{t.connection_url_hint()}</p>
        </div>
        <WirePicker wire=form.wire />
    }
}

/// How it lets one in.
#[component]
pub(crate) fn Key(saving: Saving) -> impl IntoView {
    let t = expect_context::<Messages>();
    let form = saving.form;
    let has_key = Memo::new(move |_| saving.has_key());
    let hint = move || if has_key.get() { t.connection_key_stored() } else { t.connection_key_hint() };
    view! {
        <div class="field">
            <label for="connection-key">{t.connection_key()}</label>
            <input id="connection-key" class="input" type="password" autocomplete="off" spellcheck="false"
                aria-describedby="connection-key-hint" bind:value=form.key />
            <p class="hint" id="connection-key-hint">{hint}</p>
            <Show when=move || has_key.get()>
                <label class="check">
                    <input type="checkbox" bind:checked=form.drop_key /> {t.connection_key_remove()}
                </label>
            </Show>
        </div>
    }
}

/// What is used there and how it is called here.
#[component]
fn Naming(form: Form) -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <div class="field">
            <label for="connection-models">{t.connection_models()}</label>
            <textarea id="connection-models" class="input" rows="2" spellcheck="false" autocomplete="off" aria-describedby="connection-models-hint"
                bind:value=form.models></textarea>
            <p class="hint" id="connection-models-hint">{t.connection_models_hint()}</p>
        </div>
        <div class="field">
            <label for="connection-name">{t.connection_name()}</label>
            <input id="connection-name" class="input" type="text" autocomplete="off" aria-describedby="connection-name-hint" bind:value=form.name />
            <p class="hint" id="connection-name-hint">{t.connection_name_hint()}</p>
        </div>
    }
}

/// The models that the provider lists, to choose from.
#[component]
fn Offer(models: Vec<String>, form: Form) -> impl IntoView {
    let t = expect_context::<Messages>();
    let filter = RwSignal::new(String::new());
    let many = models.len() > 8;
    let toggle = move |model: &str, on: bool| {
        let mut chosen = untrack(|| form.models());
        chosen.retain(|it| it != model);
        if on {
            chosen.push(model.to_owned());
        }
        form.models.set(chosen.join("\n"));
    };
    let rows = move || {
        let wanted = filter.get().to_lowercase();
        let shown = models.iter().filter(|model| model.to_lowercase().contains(&wanted)).cloned();
        shown
            .map(|model| {
                let (name, value) = (model.clone(), model.clone());
                view! {
                    <label>
                        <input type="checkbox" prop:checked=move || form.models().contains(&value)
                            on:change=move |event| toggle(&model, event_target_checked(&event)) />
                        {name}
                    </label>
                }
            })
            .collect_view()
    };
    view! {
        <fieldset class="offer-set">
            <legend class="field-label">{t.connection_offers()}</legend>
            {many.then(|| view! { <input class="input" type="search" aria-label=t.filter_models() placeholder=t.filter_models() bind:value=filter /> })}
            <div class="offer" tabindex="0">{rows}</div>
        </fieldset>
    }
}
