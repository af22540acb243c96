//! Cards for runs that need the person, and the messages that wait their turn.

use leptos::html;
use leptos::prelude::*;
use panelot_base::RunId;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::op::Resolution;
use panelot_protocol::snapshot::{CallView, ErrorView};
use panelot_view::Command;
use panelot_view::model::{CommandKind, QueuedMessage, Recovery};

use crate::entry::Parameters;
use panelot_ui::failure::Failure;
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::session::{Part, Session};
use panelot_ui::{platform, words};

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
            Recovery::Locked { run_id } => view! { <Locked run_id /> }.into_any(),
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
    let end = CommandKind::Queue(run_id.clone());
    let given_up = move || session.read(Part::Pending, |model| model.is_pending(&end));
    let run = StoredValue::new(run_id.clone());
    view! {
        <section class="card warn" aria-label=t.recovery_region()>
            <div class="card-head">{glyph(Glyph::Clock)} <div><h2>{title}</h2><p class="card-text">{text}</p></div></div>
            <div class="card-actions">
                <button type="button" class="button primary" disabled=busy
                    on:click=move |_| session.command(Command::Resume { run: run_id.clone() })>
                    {t.resume()}
                </button>
                <button type="button" class="button quiet" disabled=given_up
                    on:click=move |_| session.command(Command::RemoveQueued { run: run.get_value() })>
                    {t.give_up()}
                </button>
            </div>
        </section>
    }
}

/// It goes on by itself once the keys are unlocked, so all that is offered is the way there.
#[component]
fn Locked(run_id: RunId) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let stopping = move || session.read(Part::Pending, |model| model.is_pending(&CommandKind::Stop));
    let locked = Memo::new(move |_| {
        session.read(Part::Settings, |model| {
            let vault = model.settings.as_ref().and_then(|it| it.vault.as_ref());
            vault.is_some_and(|vault| !vault.unlocked)
        })
    });
    view! {
        <section class="card warn" aria-label=t.recovery_region()>
            <div class="card-head">{glyph(Glyph::Shield)} <div><h2>{t.locked_title()}</h2><p class="card-text">{t.locked_text()}</p></div></div>
            <div class="card-actions">
                <Show when=move || locked.get() fallback=move || {
                    let run = run_id.clone();
                    view! {
                        <button type="button" class="button primary" on:click=move |_| session.command(Command::Resume { run: run.clone() })>{t.resume()}</button>
                    }
                }>
                    <button type="button" class="button primary" on:click=move |_| platform::open_options()>{t.unlock()}</button>
                </Show>
                <button type="button" class="button quiet" disabled=stopping on:click=move |_| session.command(Command::Stop)>{t.give_up()}</button>
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
        let parameters = serde_json::from_str(&call.arguments).map(|it| words::parameters(t, &it)).unwrap_or_default();
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

/// The messages that wait: for the model's next look at the task under way, and for their own turn.
#[component]
pub(crate) fn Queue() -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let queued = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.queued()));
    let steers = Memo::new(move |_| session.read(Part::Thread, |model| model.thread.steers()));
    let any = move || queued.with(|it| !it.is_empty());
    let head = move || t.queue_title(queued.with(|it| it.len() as u64));
    view! {
        <Show when=move || steers.with(|it| !it.is_empty())>
            <section class="queue" aria-label=t.steer_region()>
                <h2>{t.steer_title()}</h2>
                <ul>
                    <For each=move || steers.get() key=|it| it.submission_id.clone()
                        children=|message| view! { <li><p class="queue-text">{message.text}</p></li> } />
                </ul>
            </section>
        </Show>
        <Show when=any>
            <section class="queue" aria-label=t.queue_region()>
                <h2>{head}</h2>
                <ol>
                    <For each=move || queued.get() key=|it| (it.submission_id.clone(), it.run_id.clone(), it.text.clone())
                        children=|message| view! { <Waiting message /> } />
                </ol>
            </section>
        </Show>
    }
}

/// A message that waits its turn; the person may change it or take it back.
#[component]
fn Waiting(message: QueuedMessage) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let editing = RwSignal::new(false);
    let text = StoredValue::new(message.text);
    let field = NodeRef::<html::Textarea>::new();
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            let _ = field.focus();
        }
    });
    let run = StoredValue::new(message.run_id);
    let known = run.with_value(Option::is_some);
    let pending = Memo::new(move |_| {
        let kind = run.get_value().map(CommandKind::Queue);
        session.read(Part::Pending, |model| kind.is_some_and(|kind| model.is_pending(&kind)))
    });
    let save = move || {
        let now = field.get_untracked().map(|field| field.value()).unwrap_or_default();
        if let Some(run) = run.get_value().filter(|_| !now.trim().is_empty()) {
            if text.with_value(|before| *before != now) {
                session.command(Command::ChangeQueued { run, text: now });
            }
            editing.set(false);
        }
    };
    let steers =
        Memo::new(move |_| session.read(Part::Thread, |model| model.thread.steerable_turn().is_some()));
    let promote = move |_| {
        if let Some(run) = run.get_value() {
            session.command(Command::Promote { run, text: text.get_value() });
        }
    };
    let remove = move |_| {
        if let Some(run) = run.get_value() {
            session.command(Command::RemoveQueued { run });
        }
    };
    let keys = move |event: web_sys::KeyboardEvent| {
        if event.is_composing() || event.key_code() == 229 {
            return;
        }
        match event.key().as_str() {
            "Escape" => editing.set(false),
            "Enter" if !event.shift_key() => save(),
            _ => return,
        }
        event.prevent_default();
    };
    let shown = move || {
        view! {
            <p class="queue-text" title=text.get_value()>{text.get_value()}</p>
            <Show when=move || steers.get()>
                <button type="button" class="icon-button" aria-label=t.send_now() title=t.queue_promote_hint()
                    disabled=move || !known || pending.get() on:click=promote>{glyph(Glyph::Steer)}</button>
            </Show>
            <button type="button" class="icon-button" aria-label=t.queue_edit() title=t.queue_edit()
                disabled=move || !known || pending.get() on:click=move |_| editing.set(true)>{glyph(Glyph::Pencil)}</button>
            <button type="button" class="icon-button" aria-label=t.queue_remove() title=t.queue_remove()
                disabled=move || !known || pending.get() on:click=remove>{glyph(Glyph::Cross)}</button>
        }
    };
    view! {
        <li>
            <Show when=move || editing.get() fallback=shown>
                <textarea class="input" rows="1" aria-label=t.queue_edit() node_ref=field prop:value=text.get_value() on:keydown=keys></textarea>
                <button type="button" class="icon-button" aria-label=t.save() title=t.save() on:click=move |_| save()>{glyph(Glyph::Check)}</button>
                <button type="button" class="icon-button" aria-label=t.cancel() title=t.cancel() on:click=move |_| editing.set(false)>{glyph(Glyph::Cross)}</button>
            </Show>
        </li>
    }
}
