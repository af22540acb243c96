//! An error as a card's head: what happened, whose fault it is, what to do next.

use leptos::prelude::*;

use crate::glyph::{Glyph, glyph};
use crate::i18n::Messages;
use crate::platform;
use crate::words::ErrorWords;

/// The head of an error card, with the way to the settings where that is the way out.
#[component]
pub(crate) fn Failure(words: ErrorWords) -> impl IntoView {
    let t = expect_context::<Messages>();
    view! {
        <div class="card-head">
            {glyph(Glyph::Warning)}
            <div>
                <h2>{words.title}</h2>
                <p class="card-text">{words.next}</p>
                {words.said.map(|said| view! {
                    <details class="more">
                        <summary>{glyph(Glyph::Chevron)} {t.error_details()}</summary>
                        <div class="data">{said}</div>
                    </details>
                })}
                {words.settings.then(|| view! {
                    <div class="card-actions">
                        <button type="button" class="button" on:click=move |_| platform::open_options()>{t.open_settings()}</button>
                    </div>
                })}
            </div>
        </div>
    }
}
