//! How the try of a connection goes, with the remedy of what failed.

use leptos::prelude::*;
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::words;
use panelot_view::model::Verification;

use crate::form::Saving;

/// What the last try of the form's connection brought.
#[component]
pub(crate) fn TestResult(saving: Saving) -> impl IntoView {
    let t = expect_context::<Messages>();
    move || {
        let result = match saving.verification()? {
            Verification::Running => view! {
                <div class="result" role="status"><span class="spinner" aria-hidden="true"></span> {t.connection_testing()}</div>
            }
            .into_any(),
            Verification::Refused(refusal) => {
                let words = words::refusal_words(t, &refusal);
                view! { <Outcome words=Some(words) model=String::new() /> }.into_any()
            }
            Verification::Done(done) => {
                let done = *done;
                let words = done.error.as_ref().map(|it| words::error_words(t, it.code, &it.message, it.provider.as_ref()));
                view! { <Outcome words model=done.model_id /> }.into_any()
            }
        };
        Some(result)
    }
}

#[component]
fn Outcome(words: Option<words::ErrorWords>, model: String) -> impl IntoView {
    let t = expect_context::<Messages>();
    match words {
        None => view! {
            <div class="result" role="status" data-ok="true">{glyph(Glyph::Check)} <div>{t.connection_works(&model)}</div></div>
        }
        .into_any(),
        Some(words) => view! {
            <div class="result" role="alert" data-ok="false">
                {glyph(Glyph::Warning)}
                <div>
                    <strong>{words.title}</strong>
                    <p>{words.next}</p>
                    {words.said.map(|said| view! { <p>{t.error_said(&said, t.provider())}</p> })}
                </div>
            </div>
        }
        .into_any(),
    }
}
