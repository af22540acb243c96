//! The question whether a step may happen: everything it would do is visible, and no key of somebody who types answers.

use leptos::ev;
use leptos::html;
use leptos::prelude::*;
use panelot_base::ApprovalId;
use panelot_protocol::Text;
use panelot_protocol::op::ApprovalDecision;
use panelot_protocol::snapshot::ApprovalView;
use panelot_view::model::CommandKind;
use panelot_view::{Command, Focus};
use wasm_bindgen::JsCast as _;

use crate::entry::Parameters;
use panelot_ui::glyph::{Glyph, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};
use panelot_ui::words;

/// Keys answer only a card that has been in sight this long: what was meant for something else must not decide.
const KEYS_AFTER_MS: u64 = 700;
/// Characters of what is aimed at in the heading; the parameters below say all of it.
const HEADING_CHARS_MAX: usize = 60;
/// How often the time that is left is shown anew.
const CLOCK_MS: u64 = 1000;

/// The oldest open question.
#[component]
pub(crate) fn Approvals() -> impl IntoView {
    let session = expect_context::<Session>();
    let first =
        Memo::new(move |_| session.read(Part::Thread, |model| model.thread.approvals.first().cloned()));
    move || first.get().map(|approval| view! { <Card approval /> })
}

#[component]
fn Card(approval: ApprovalView) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let card = NodeRef::<html::Section>::new();
    let noting = RwSignal::new(false);
    let refused = RwSignal::new(false);
    let kind = CommandKind::Answer(approval.approval_id.clone());
    let busy = Memo::new(move |_| session.read(Part::Pending, |model| model.is_pending(&kind)));
    let answer = Answer {
        session,
        approval: StoredValue::new(approval.approval_id.clone()),
        asks_browser: approval.flags.iter().any(|flag| flag == "host_permission"),
        origin: StoredValue::new(approval.target_origin.clone()),
        remember: words::may_remember(&approval.flags, &approval.target_origin),
        refused,
        busy,
    };
    answer_keys(answer, noting);
    focus_card(session, card, approval.approval_id.clone());
    let others =
        move || session.read(Part::Thread, |model| model.thread.approvals.len().saturating_sub(1) as u64);
    let tool = words::tool_words(t, &approval.tool);
    let target = match &approval.preview {
        Some(preview) => words::preview_name(preview),
        None => words::target_words(Some(&approval.params), None),
    };
    let heading =
        if target.is_empty() { tool } else { format!("{tool}: {}", words::clip(&target, HEADING_CHARS_MAX)) };
    let mut parameters = words::parameters(t, &approval.params);
    if let Some(preview) = &approval.preview {
        // Of the reference alone nobody can tell what it is.
        if let Some((_, value)) = parameters.iter_mut().find(|(name, _)| name == t.parameter_ref()) {
            *value = format!("{} ({value})", words::preview_words(preview));
        }
    }
    let origin = approval.target_origin.clone();
    // The title is that of the page in front, which is not where a navigation leads.
    let title = Some(approval.target_title).filter(|title| !title.is_empty() && approval.tool != "navigate");
    view! {
        <section class="card approval" tabindex="-1" node_ref=card aria-label=t.approval_region() aria-busy=move || busy.get().to_string()>
            <div class="card-head">
                {glyph(Glyph::of_tool(&approval.tool))}
                <div>
                    <p class="label">{t.approval_title()}</p>
                    <h2>{heading}</h2>
                </div>
                <Clock deadline=approval.deadline_at.0 />
            </div>
            <div class="origin">
                {glyph(Glyph::Globe)}
                <div>
                    <div class="origin-name">{approval.target_origin.clone()}</div>
                    {title.map(|title| view! { <div class="origin-title">{title}</div> })}
                </div>
            </div>
            {if parameters.is_empty() {
                view! { <p class="card-text">{t.approval_no_arguments()}</p> }.into_any()
            } else {
                view! { <Parameters parameters /> }.into_any()
            }}
            {(!approval.flags.is_empty()).then(|| view! {
                <ul class="flags">
                    {approval.flags.iter().map(|flag| view! { <li>{glyph(Glyph::Warning)} <span>{words::flag_words(t, flag)}</span></li> }).collect_view()}
                </ul>
            })}
            <Show when=move || refused.get()>
                <p class="field-error" role="alert">{t.host_refused(&origin)}</p>
            </Show>
            {move || (others() > 0).then(|| view! { <p class="card-text">{t.approval_queue(others())}</p> })}
            <div class="answers">
                <Show when=move || noting.get() fallback=move || view! { <Answers answer noting /> }>
                    <Note answer noting />
                </Show>
            </div>
        </section>
    }
}

/// What an answer needs, whichever button or key gives it.
#[derive(Clone, Copy)]
struct Answer {
    session: Session,
    approval: StoredValue<ApprovalId>,
    /// Whether Chrome must be asked for the origin first.
    asks_browser: bool,
    origin: StoredValue<String>,
    /// Whether an answer may hold for more than this once.
    remember: bool,
    refused: RwSignal<bool>,
    busy: Memo<bool>,
}

impl Answer {
    /// Gives an answer. Must run inside the click or key press: Chrome's own question needs it.
    fn give(self, decision: ApprovalDecision) {
        if self.busy.get_untracked() {
            return;
        }
        let positive = matches!(
            decision,
            ApprovalDecision::Accept | ApprovalDecision::AcceptForSession | ApprovalDecision::AcceptForSite
        );
        let command = Command::Answer { approval: self.approval.get_value(), decision };
        if !(self.asks_browser && positive) {
            return self.session.command(command);
        }
        let origin = self.origin.get_value();
        wasm_bindgen_futures::spawn_local(async move {
            if platform::request_origin(&origin).await {
                self.session.command(command);
            } else {
                let _ = self.refused.try_set(true);
            }
        });
    }
}

#[component]
fn Answers(answer: Answer, noting: RwSignal<bool>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let busy = move || answer.busy.get();
    view! {
        <div class="card-actions">
            <button type="button" class="button primary grow" disabled=busy aria-keyshortcuts="Y"
                on:click=move |_| answer.give(ApprovalDecision::Accept)>
                {t.approval_once()} <kbd aria-hidden="true">"Y"</kbd>
            </button>
            <button type="button" class="button grow" disabled=busy aria-keyshortcuts="N"
                on:click=move |_| answer.give(ApprovalDecision::Decline { note: None })>
                {t.approval_decline()} <kbd aria-hidden="true">"N"</kbd>
            </button>
        </div>
        <div class="card-more">
            {answer.remember.then(|| view! {
            <button type="button" class="button outline" disabled=busy title=t.approval_session_hint() aria-keyshortcuts="S"
                on:click=move |_| answer.give(ApprovalDecision::AcceptForSession)>{t.approval_session()}</button>
            <button type="button" class="button outline" disabled=busy title=t.approval_site_hint() aria-keyshortcuts="A"
                on:click=move |_| answer.give(ApprovalDecision::AcceptForSite)>{t.approval_site_always()}</button>
            })}
            <button type="button" class="button outline" disabled=busy on:click=move |_| noting.set(true)>{t.approval_decline_open()}</button>
            <button type="button" class="button outline danger-quiet" disabled=busy
                on:click=move |_| answer.give(ApprovalDecision::Cancel)>{t.approval_stop()}</button>
        </div>
    }
}

#[component]
fn Note(answer: Answer, noting: RwSignal<bool>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let field = NodeRef::<html::Textarea>::new();
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            let _ = field.focus();
        }
    });
    let send = move |_| {
        let text = field.get_untracked().map(|field| field.value()).unwrap_or_default();
        let note = (!text.trim().is_empty()).then(|| Text::clipped(text.trim()));
        answer.give(ApprovalDecision::Decline { note });
    };
    view! {
        <div class="decline-note">
            <label class="field-label" for="decline-note">{t.approval_decline_note()}</label>
            <textarea id="decline-note" class="input" maxlength=panelot_base::limits::NOTE_CHARS_MAX.to_string() node_ref=field></textarea>
            <div class="card-actions">
                <button type="button" class="button primary grow" disabled=move || answer.busy.get() on:click=send>{t.approval_decline_send()}</button>
                <button type="button" class="button grow" on:click=move |_| noting.set(false)>{t.cancel()}</button>
            </div>
        </div>
    }
}

/// The time that is left to answer.
#[component]
pub(crate) fn Clock(deadline: u64) -> impl IntoView {
    let t = expect_context::<Messages>();
    let left = move || deadline.saturating_sub(platform::now().0);
    let shown = RwSignal::new(left());
    let handle =
        set_interval_with_handle(move || shown.set(left()), std::time::Duration::from_millis(CLOCK_MS)).ok();
    on_cleanup(move || {
        if let Some(handle) = handle {
            handle.clear();
        }
    });
    let words = move || match shown.get() {
        0 => t.approval_expired().to_owned(),
        ms => t.approval_left(&words::clock(t, ms)),
    };
    view! { <span class="approval-count" role="timer" aria-live="off" title=words>{move || words::clock(t, shown.get())}</span> }
}

/// Brings the focus to the card unless somebody types or works elsewhere.
pub(crate) fn focus_card(session: Session, card: NodeRef<html::Section>, approval: ApprovalId) {
    Effect::new(move |_| {
        let Some(card) = card.get() else { return };
        let meant = match session.focus.get() {
            Some(Focus::Approval(id)) => id == approval,
            _ => false,
        };
        if meant && document().active_element().is_none_or(|it| it.tag_name() == "BODY") {
            let _ = card.focus();
        }
    });
}

/// Answers by key, unless the key belongs to something else: a field, a control, a menu, a dialog, a shortcut.
fn answer_keys(answer: Answer, noting: RwSignal<bool>) {
    let shown_at = platform::now();
    let handle = window_event_listener(ev::keydown, move |event| {
        let plain = !(event.ctrl_key()
            || event.meta_key()
            || event.alt_key()
            || event.repeat()
            || event.is_composing())
            && event.key_code() != 229;
        if !plain
            || event.default_prevented()
            || platform::now().ms_since(shown_at) < KEYS_AFTER_MS
            || noting.get_untracked()
        {
            return;
        }
        if somebody_types() {
            return;
        }
        let decision = match event.key().as_str() {
            "y" | "Y" => ApprovalDecision::Accept,
            "s" | "S" if answer.remember => ApprovalDecision::AcceptForSession,
            "a" | "A" if answer.remember => ApprovalDecision::AcceptForSite,
            "n" | "N" => ApprovalDecision::Decline { note: None },
            _ => return,
        };
        event.prevent_default();
        answer.give(decision);
    });
    on_cleanup(move || handle.remove());
}

/// Whether the focus is where keys write or choose, or an overlay is open.
fn somebody_types() -> bool {
    let overlay = document().query_selector("dialog[open], [popover]:popover-open").ok().flatten().is_some();
    let field = document().active_element().is_some_and(|active| {
        matches!(active.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT")
            || active.dyn_ref::<web_sys::HtmlElement>().is_some_and(web_sys::HtmlElement::is_content_editable)
    });
    overlay || field
}
