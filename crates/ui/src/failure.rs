//! An error as the content of a card: what happened, whose fault it is, what to do next, and the ways out.

use leptos::prelude::*;

use crate::glyph::{Glyph, chevron, glyph};
use crate::i18n::Messages;
use crate::platform;
use crate::words::ErrorWords;

/// The content of an error card. The way to the settings is offered where that is the way out, and trying again where
/// that may help.
#[component]
pub fn Failure(
    /// What it says.
    words: ErrorWords,
    /// Tries the same again.
    #[prop(optional, into)]
    retry: Option<Callback<()>>,
    /// Takes the card away.
    #[prop(optional, into)]
    dismiss: Option<Callback<()>>,
) -> impl IntoView {
    let t = expect_context::<Messages>();
    let retry = retry.filter(|_| words.retry);
    let any = words.settings || retry.is_some();
    view! {
        <div class="card-head">
            {glyph(Glyph::Warning)}
            <div>
                <h2>{words.title}</h2>
                <p class="card-text">{words.next}</p>
                {words.said.map(|said| view! {
                    <details class="more">
                        <summary>{chevron()} {t.error_details()}</summary>
                        <div class="data" tabindex="0">{said}</div>
                    </details>
                })}
            </div>
            {dismiss.map(|dismiss| view! {
                <button type="button" class="icon-button" aria-label=t.dismiss() title=t.dismiss() on:click=move |_| dismiss.run(())>{glyph(Glyph::Cross)}</button>
            })}
        </div>
        {any.then(|| view! {
            <div class="card-actions">
                {retry.map(|retry| view! {
                    <button type="button" class="button" on:click=move |_| retry.run(())>{glyph(Glyph::Retry)} {t.retry()}</button>
                })}
                {words.settings.then(|| view! {
                    <button type="button" class="button" on:click=move |_| platform::open_options()>{glyph(Glyph::Gear)} {t.open_settings()}</button>
                })}
            </div>
        })}
    }
}
