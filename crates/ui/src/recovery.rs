//! Cards for runs that need the person, and the messages that wait their turn.

use leptos::prelude::*;
use panelot_base::RunId;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::op::Resolution;
use panelot_protocol::snapshot::{CallView, ErrorView};
use panelot_view::Command;
use panelot_view::model::{CommandKind, Recovery};

use crate::entry::Parameters;
use crate::failure::Failure;
use crate::glyph::{Glyph, glyph};
use crate::i18n::Messages;
use crate::session::{Part, Session};
use crate::words;

/// Sends the person's newest message once more.
pub(crate) fn send_again(session: Session) {
    if let Some(text) = session.peek(|model| model.thread.last_user_text().map(str::to_owned)) {
        session.submit(text);
    }
}

/// One card for each run that needs the person.
#[component]
pub(crate) fn Recoveries() -> impl IntoView {
    let session = expect_context::<Session>();
    let list = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.recoveries()));
    move || {
        let cards = list.get().into_iter().map(|recovery| match recovery {
            Recovery::Interrupted { run_id } => view! { <Interrupted run_id budget=false /> }.into_any(),
            Recovery::Budget { run_id } => view! { <Interrupted run_id budget=true /> }.into_any(),
            Recovery::Uncertain { run_id, call } => view! { <Uncertain run_id call /> }.into_any(),
            Recovery::Failed { error, .. } => view! { <Failed error /> }.into_any(),
        });
        cards.collect_view()
    }
}

#[component]
fn Interrupted(run_id: RunId, budget: bool) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let (title, text) = match budget {
        true => (t.budget_title(), t.budget_text()),
        false => (t.interrupted_title(), t.interrupted_text()),
    };
    let kind = CommandKind::Resume(run_id.clone());
    let busy = move || session.read(Part::Pending, |model| model.is_pending(&kind));
    view! {
        <section class="card warn" aria-label=t.recovery_region()>
            <div class="card-head">{glyph(Glyph::Clock)} <div><h2>{title}</h2><p class="card-text">{text}</p></div></div>
            <div class="card-actions">
                <button type="button" class="button primary" disabled=busy
                    on:click=move |_| session.command(Command::Resume { run: run_id.clone() })>
                    {t.resume()}
                </button>
            </div>
        </section>
    }
}

#[component]
fn Uncertain(run_id: RunId, call: Option<CallView>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let kind = CommandKind::Resolve(run_id.clone());
    let busy = Memo::new(move |_| session.read(Part::Pending, |model| model.is_pending(&kind)));
    let run = StoredValue::new(run_id);
    let resolve = move |resolution| session.command(Command::Resolve { run: run.get_value(), resolution });
    let call = call.map(|call| {
        let parameters = serde_json::from_str(&call.arguments).map(|it| words::parameters(&it)).unwrap_or_default();
        view! {
            <div class="origin">{glyph(Glyph::of_tool(&call.tool_name))} <div class="origin-name">{words::tool_words(t, &call.tool_name)}</div></div>
            <div class="approval-parameters"><Parameters parameters /></div>
        }
    });
    view! {
        <section class="card warn" aria-label=t.recovery_region()>
            <div class="card-head">
                {glyph(Glyph::Question)}
                <div><h2>{t.uncertain_title()}</h2><p class="card-text">{t.uncertain_text()}</p></div>
            </div>
            {call}
            <div class="card-actions">
                <button type="button" class="button" disabled=move || busy.get() on:click=move |_| resolve(Resolution::MarkDone)>{t.uncertain_done()}</button>
                <button type="button" class="button" disabled=move || busy.get() on:click=move |_| resolve(Resolution::Retry)>{t.uncertain_retry()}</button>
                <button type="button" class="button danger-quiet" disabled=move || busy.get() on:click=move |_| resolve(Resolution::Fail)>{t.uncertain_fail()}</button>
            </div>
        </section>
    }
}

#[component]
fn Failed(error: Option<ErrorView>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let words = error.map_or_else(
        || words::error_words(t, ErrorCode::Internal, "", None),
        |error| words::error_words(t, error.code, &error.message, error.provider.as_ref()),
    );
    let retry = Callback::new(move |()| send_again(session));
    view! { <section class="card error" aria-label=t.failed_title()><Failure words retry /></section> }
}

/// The messages that wait their turn.
#[component]
pub(crate) fn Queue() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let queued = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.queued()));
    move || {
        let queued = queued.get();
        (!queued.is_empty()).then(|| view! {
            <section class="queue" aria-label=t.queue_region()>
                <h2>{t.queue_title(queued.len() as u64)}</h2>
                <ol>{queued.into_iter().map(|message| view! { <li>{message.text}</li> }).collect_view()}</ol>
            </section>
        })
    }
}
