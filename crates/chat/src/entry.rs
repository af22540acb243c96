//! One entry of the stream: the person's message, the model's, a tool's step, a line of the engine's.

use leptos::html;
use leptos::prelude::*;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::op::ApprovalDecision;
use panelot_protocol::snapshot::{NoticeKind, StopReason};
use panelot_view::Command;
use panelot_view::model::{EntryBody, EntryKey, ToolState};
use serde_json::Value;

use crate::prose::Prose;
use panelot_ui::failure::Failure;
use panelot_ui::glyph::{Glyph, chevron, glyph};
use panelot_ui::i18n::Messages;
use panelot_ui::platform;
use panelot_ui::session::{Part, Session};
use panelot_ui::words;

/// How long a copy button says that it did.
const COPIED_MS: u64 = 2000;

/// The entry of a key.
#[component]
pub(crate) fn EntryView(key: EntryKey) -> impl IntoView {
    match key {
        EntryKey::User(_) => view! { <UserEntry key /> }.into_any(),
        EntryKey::Assistant(_) => view! { <AssistantEntry key /> }.into_any(),
        EntryKey::Tool(_) => view! { <ToolEntry key /> }.into_any(),
        EntryKey::Notice(_) => view! { <NoticeEntry key /> }.into_any(),
    }
}

#[derive(Clone, Default, PartialEq)]
struct Said {
    text: String,
    page: Option<String>,
    sending: bool,
    steered: bool,
    versions: Vec<u64>,
}

#[component]
fn UserEntry(key: EntryKey) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let changed = session.follow(&key);
    let key = StoredValue::new(key);
    let said = Memo::new(move |_| {
        changed.track();
        key.with_value(|key| {
            session.entry(key, |entry| match &entry.body {
                EntryBody::User { text, default_tab, sending, steered, versions } => Said {
                    text: text.clone(),
                    page: default_tab.as_ref().map(|tab| tab.title.to_string()).filter(|it| !it.is_empty()),
                    sending: *sending,
                    steered: *steered,
                    versions: versions.clone(),
                },
                _ => Said::default(),
            })
        })
    });
    let editing = RwSignal::new(false);
    let note = move || {
        said.with(|said| match said {
            _ if editing.get() => None,
            Said { sending: true, .. } => Some(t.sending().to_owned()),
            Said { steered: true, .. } => Some(t.steered().to_owned()),
            Said { page: Some(title), .. } => Some(t.page_with_message(title)),
            _ => None,
        })
    };
    let stored = move || said.with(|said| !said.sending);
    let many = move || said.with(|said| said.versions.len() > 1);
    view! {
        <li class="entry user" data-echo=move || said.with(|it| it.sending.to_string())>
            <span class="sr-only">{t.you()}</span>
            <Show when=move || editing.get() fallback=move || view! { <div class="bubble">{move || said.with(|it| it.text.clone())}</div> }>
                <Revision key=key.get_value() text=said.with_untracked(|it| it.text.clone()) editing />
            </Show>
            <div class="entry-foot">
                <Show when=move || stored() && !editing.get()>
                    <CopyButton text=Callback::new(move |()| said.with_untracked(|it| it.text.clone())) />
                    <Show when=move || said.with(|it| !it.steered)>
                        <button type="button" class="icon-button" aria-label=t.edit_message() title=t.edit_message()
                            disabled=busy(session) on:click=move |_| editing.set(true)>{glyph(Glyph::Pencil)}</button>
                    </Show>
                    <DeleteButton key=key.get_value() />
                </Show>
                <Show when=move || many() && !editing.get()>
                    <Versions key=key.get_value() versions=Signal::derive(move || said.with(|it| it.versions.clone())) />
                </Show>
                {move || note().map(|note| view! { <span class="entry-note">{note}</span> })}
            </div>
        </li>
    }
}

/// Whether the tree cannot be changed now.
fn busy(session: Session) -> impl Fn() -> bool + Copy + Send + Sync + 'static {
    move || session.read(Part::Thread, |model| model.thread.would_queue())
}

/// Another version of a message is written in its place.
#[component]
fn Revision(key: EntryKey, text: String, editing: RwSignal<bool>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let field = NodeRef::<html::Textarea>::new();
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            let _ = field.focus();
        }
    });
    let key = StoredValue::new(key);
    let send = move || {
        let text = field.get_untracked().map(|field| field.value()).unwrap_or_default();
        let node = session.peek(|model| key.with_value(|key| model.thread.sequence(key)));
        if let Some(node) = node.filter(|_| !text.trim().is_empty()) {
            session.revise(node, text);
            editing.set(false);
        }
    };
    let keys = move |event: web_sys::KeyboardEvent| {
        if event.is_composing() || event.key_code() == 229 {
            return;
        }
        match event.key().as_str() {
            "Escape" => editing.set(false),
            "Enter" if !event.shift_key() => send(),
            _ => return,
        }
        event.prevent_default();
    };
    view! {
        <div class="revision">
            <textarea class="input" aria-label=t.edit_message() node_ref=field prop:value=text on:keydown=keys></textarea>
            <p class="hint">{t.edit_hint()}</p>
            <div class="revision-actions">
                <button type="button" class="button quiet" on:click=move |_| editing.set(false)>{t.cancel()}</button>
                <button type="button" class="button primary" disabled=busy(session) on:click=move |_| send()>{t.send()}</button>
            </div>
        </div>
    }
}

/// Goes through the versions of a message.
#[component]
fn Versions(key: EntryKey, versions: Signal<Vec<u64>>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let key = StoredValue::new(key);
    let at = move || {
        let here = session.peek(|model| key.with_value(|key| model.thread.sequence(key)));
        versions.with(|all| all.iter().position(|node| Some(*node) == here).unwrap_or_default())
    };
    let go = move |step: fn(usize) -> Option<usize>| {
        let to = step(at()).and_then(|to| versions.with_untracked(|all| all.get(to).copied()));
        if let Some(node) = to {
            session.command(Command::ShowVersion { node });
        }
    };
    let busy = busy(session);
    let count = move || versions.with(Vec::len);
    // A comparison sign would end the tag.
    let first = move || at() == 0 || busy();
    let last = move || at() + 1 >= count() || busy();
    let shown = move || t.version_of(&(at() + 1).to_string(), count() as u64);
    view! {
        <div class="versions" role="group" aria-label=t.versions()>
            <button type="button" class="icon-button" aria-label=t.version_before() title=t.version_before()
                disabled=first on:click=move |_| go(|at| at.checked_sub(1))>{glyph(Glyph::Back)}</button>
            <span>{shown}</span>
            <button type="button" class="icon-button" aria-label=t.version_after() title=t.version_after()
                disabled=last on:click=move |_| go(|at| at.checked_add(1))>{glyph(Glyph::Chevron)}</button>
        </div>
    }
}

/// Deletes what an entry says, when pressed a second time: the first press asks.
#[component]
fn DeleteButton(key: EntryKey) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let sure = RwSignal::new(false);
    let press = move |_| {
        if !sure.get_untracked() {
            return sure.set(true);
        }
        sure.set(false);
        if let Some(node) = session.peek(|model| model.thread.sequence(&key)) {
            session.command(Command::DeleteEntry { node });
        }
    };
    let label = move || if sure.get() { t.delete_message_sure() } else { t.delete_message() };
    view! {
        <button type="button" class="icon-button" data-sure=move || sure.get().to_string() aria-label=label title=label
            disabled=busy(session) on:click=press on:blur=move |_| sure.set(false)>
            {glyph(Glyph::Bin)}
            <Show when=move || sure.get()><span>{t.delete_message_sure()}</span></Show>
        </button>
    }
}

/// Asks for another answer, or takes the conversation up to here into a new one.
#[component]
fn AnswerActions(key: EntryKey) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let key = StoredValue::new(key);
    let again = move |_| {
        let asked = session.peek(|model| key.with_value(|key| model.thread.asked_by(key)));
        if let Some((node, text)) = asked {
            session.revise(node, text);
        }
    };
    let copy = move |_| {
        if let Some(node) = session.peek(|model| key.with_value(|key| model.thread.sequence(key))) {
            session.command(Command::Copy { node });
        }
    };
    let busy = busy(session);
    view! {
        <button type="button" class="icon-button" aria-label=t.regenerate() title=t.regenerate() disabled=busy on:click=again>{glyph(Glyph::Retry)}</button>
        <button type="button" class="icon-button" aria-label=t.copy_chat() title=t.copy_chat() disabled=busy on:click=copy>{glyph(Glyph::Branch)}</button>
        <DeleteButton key=key.get_value() />
    }
}

#[derive(Clone, Default, PartialEq)]
struct Answer {
    streaming: bool,
    incomplete: bool,
    stop: Option<StopReason>,
    empty: bool,
    reasons: bool,
    usage: Option<(u64, u64)>,
    model: Option<String>,
}

#[component]
fn AssistantEntry(key: EntryKey) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let changed = session.follow(&key);
    let key = StoredValue::new(key);
    let answer = Memo::new(move |_| {
        changed.track();
        key.with_value(|key| {
            session.entry(key, |entry| match &entry.body {
                EntryBody::Assistant { document, reasoning, streaming, incomplete, stop, usage, model } => {
                    Answer {
                        streaming: *streaming,
                        incomplete: *incomplete,
                        stop: *stop,
                        empty: document.is_empty(),
                        reasons: !reasoning.is_empty(),
                        usage: usage.map(|usage| (usage.input, usage.output)),
                        model: model.as_ref().map(|(_, model)| model.clone()),
                    }
                }
                _ => Answer::default(),
            })
        })
    });
    let root = NodeRef::<html::Div>::new();
    let prose = StoredValue::new_local(None::<Prose>);
    Effect::new(move |_| {
        changed.track();
        let Some(root) = root.get() else { return };
        prose.update_value(|prose| {
            let prose = prose.get_or_insert_with(|| Prose::new(root.into(), t));
            key.with_value(|key| {
                session.entry(key, |entry| {
                    if let EntryBody::Assistant { document, .. } = &entry.body {
                        prose.update(document);
                    }
                })
            });
        });
    });
    let text = move || {
        key.with_value(|key| {
            session.entry(key, |entry| match &entry.body {
                EntryBody::Assistant { document, .. } => document.text().to_owned(),
                _ => String::new(),
            })
        })
    };
    let shown = move || answer.with(|it| !it.empty || it.reasons);
    view! {
        <li class="entry assistant" hidden=move || !shown() aria-busy=move || answer.with(|it| it.streaming.to_string())>
            <span class="sr-only">{t.agent()}</span>
            <Show when=move || answer.with(|it| it.reasons)>
                <Reasoning key=key.get_value() changed answer />
            </Show>
            <div class="prose" node_ref=root></div>
            <Show when=move || answer.with(|it| it.incomplete && !it.streaming)>
                <p class="notice">{glyph(Glyph::Info)} {move || words::stop_words(t, answer.with(|it| it.stop))}</p>
            </Show>
            <Show when=move || answer.with(|it| !it.streaming && !it.empty)>
                <div class="entry-foot">
                    <CopyButton text=Callback::new(move |()| text()) />
                    <AnswerActions key=key.get_value() />
                    <span class="entry-model">{move || answer.with(|it| it.model.clone())}</span>
                    {move || answer.with(|it| it.usage).map(|(input, output)| {
                        let (input, output) = (words::tokens(input), words::tokens(output));
                        view! { <span title=t.usage_hint(&input, &output)>{t.usage(&input, &output)}</span> }
                    })}
                </div>
            </Show>
        </li>
    }
}

#[component]
fn CopyButton(text: Callback<(), String>) -> impl IntoView {
    let t = expect_context::<Messages>();
    let copied = RwSignal::new(false);
    let copy = move |_| {
        let text = text.run(());
        wasm_bindgen_futures::spawn_local(async move {
            if platform::copy(&text).await && copied.try_set(true).is_none() {
                platform::after(COPIED_MS, move || {
                    let _ = copied.try_set(false);
                });
            }
        });
    };
    let label = move || if copied.get() { t.copied() } else { t.copy() };
    view! {
        <button type="button" class="icon-button" aria-label=label title=label on:click=copy>
            {move || glyph(if copied.get() { Glyph::Check } else { Glyph::Copy })}
        </button>
    }
}

#[component]
fn Reasoning(key: EntryKey, changed: Trigger, answer: Memo<Answer>) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let open = RwSignal::new(false);
    let text = move || {
        changed.track();
        session.entry(&key, |entry| match &entry.body {
            EntryBody::Assistant { reasoning, .. } => reasoning.clone(),
            _ => String::new(),
        })
    };
    // Only what is unfolded is drawn.
    let text = Memo::new(move |_| if open.get() { text() } else { String::new() });
    let head = move || {
        answer.with(|it| if it.streaming && it.empty { t.reasoning_running() } else { t.reasoning() })
    };
    view! {
        <details class="reasoning" data-live=move || answer.with(|it| (it.streaming && it.empty).to_string()) on:toggle=move |event| open.set(is_open(&event))>
            <summary>
                {chevron()}
                {head}
            </summary>
            <div class="reasoning-text" tabindex="0">{move || text.get()}</div>
        </details>
    }
}

fn is_open(event: &web_sys::Event) -> bool {
    event_target::<web_sys::HtmlDetailsElement>(event).open()
}

#[derive(Clone, PartialEq)]
struct Step {
    name: String,
    target: String,
    state: ToolState,
}

#[component]
fn ToolEntry(key: EntryKey) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let changed = session.follow(&key);
    let key = StoredValue::new(key);
    let step = Memo::new(move |_| {
        changed.track();
        key.with_value(|key| {
            session.entry(key, |entry| match &entry.body {
                EntryBody::Tool { name, arguments, state, result, .. } => Some(Step {
                    name: name.clone(),
                    target: words::target_words(arguments.as_ref(), result.as_ref().map(|it| &it.details)),
                    state: *state,
                }),
                _ => None,
            })
        })
        .unwrap_or_else(|| Step {
            name: String::new(),
            target: String::new(),
            state: ToolState::Proposed,
        })
    });
    let open = RwSignal::new(false);
    view! {
        <li class="entry tool">
            <details class="step" data-state=move || words::state_name(step.with(|it| it.state)) on:toggle=move |event| open.set(is_open(&event))>
                <summary>
                    {move || glyph(Glyph::of_tool(&step.with(|it| it.name.clone())))}
                    <span class="step-name">{move || words::tool_words(t, &step.with(|it| it.name.clone()))}</span>
                    <span class="step-target">{move || step.with(|it| it.target.clone())}</span>
                    <span class="step-state">
                        {move || state_sign(step.with(|it| it.state))}
                        {move || words::state_words(t, step.with(|it| it.state))}
                    </span>
                </summary>
                <Show when=move || open.get()>
                    <StepBody key=key.get_value() changed />
                </Show>
            </details>
        </li>
    }
}

fn state_sign(state: ToolState) -> AnyView {
    let sign = match state {
        ToolState::Running => return view! { <span class="spinner" aria-hidden="true"></span> }.into_any(),
        ToolState::Proposed => Glyph::Clock,
        ToolState::Waiting | ToolState::Uncertain => Glyph::Question,
        ToolState::Ok => Glyph::Check,
        ToolState::Failed => Glyph::Warning,
        ToolState::Declined => Glyph::Cross,
        ToolState::Skipped => Glyph::Minus,
    };
    glyph(sign).into_any()
}

#[component]
fn StepBody(key: EntryKey, changed: Trigger) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    move || {
        changed.track();
        let body = session.peek(|model| model.thread.entry(&key).map(|entry| entry.body.clone()));
        let Some(EntryBody::Tool { arguments, arguments_text, progress, result, decision, .. }) = body else {
            return None;
        };
        let parameters = arguments.as_ref().map(|it| words::parameters(t, it)).unwrap_or_default();
        let note = match decision {
            Some(ApprovalDecision::Decline { note: Some(note) }) => Some(t.tool_note(&note)),
            _ => None,
        };
        let origin = result.as_ref().and_then(|it| it.origin.clone());
        Some(view! {
            <div class="step-body">
                {origin.map(|origin| view! { <p class="hint">{t.tool_origin(&origin)}</p> })}
                {note.map(|note| view! { <p>{note}</p> })}
                {(!progress.is_empty()).then(|| view! { <p class="hint">{progress}</p> })}
                {if arguments.is_some() {
                    (!parameters.is_empty()).then(|| view! { <Parameters parameters /> }.into_any())
                } else {
                    (!arguments_text.is_empty()).then(|| view! { <div class="data" tabindex="0">{arguments_text}</div> }.into_any())
                }}
                {result.map(|result| view! {
                    <div>
                        <h3>{t.tool_result()}</h3>
                        <div class="data" tabindex="0">{result.content}</div>
                        {result.clipped.then(|| view! { <p class="hint">{t.tool_clipped()}</p> })}
                    </div>
                })}
            </div>
        })
    }
}

/// All parameters of a call by name.
#[component]
pub(crate) fn Parameters(parameters: Vec<(String, String)>) -> impl IntoView {
    let rows =
        parameters.into_iter().map(|(name, value)| view! { <dt>{name}</dt><dd>{value}</dd> }).collect_view();
    view! { <dl class="parameters">{rows}</dl> }
}

#[component]
fn NoticeEntry(key: EntryKey) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let changed = session.follow(&key);
    move || {
        changed.track();
        let (notice, details) = session.entry(&key, |entry| match &entry.body {
            EntryBody::Notice { notice, details } => Some((*notice, details.clone())),
            _ => None,
        })?;
        let text = match notice {
            NoticeKind::ModelError => {
                return Some(view! { <li class="entry"><ModelError details /></li> }.into_any());
            }
            NoticeKind::TooManyFailures => t.notice_too_many_failures(),
            NoticeKind::Looping => t.notice_looping(),
            NoticeKind::Repaired => t.notice_repaired(),
            NoticeKind::Summarized => {
                return Some(view! { <li class="entry"><Summary details key=key.clone() /></li> }.into_any());
            }
        };
        Some(view! { <li class="entry notice">{glyph(Glyph::Info)} <span>{text}</span></li> }.into_any())
    }
}

/// From here on the model reads a summary; the person may read it, and take it back.
#[component]
fn Summary(details: Value, key: EntryKey) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let text = details.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    let back = move |_| {
        if let Some(node) = session.peek(|model| model.thread.sequence(&key)) {
            session.command(Command::DeleteEntry { node });
        }
    };
    view! {
        <details class="summary">
            <summary class="notice">{glyph(Glyph::Info)} <span>{t.notice_summarized()}</span> {chevron()}</summary>
            <div class="data" tabindex="0">{text}</div>
            <button type="button" class="button quiet" disabled=busy(session) on:click=back>{t.summary_back()}</button>
        </details>
    }
}

#[component]
fn ModelError(details: Value) -> impl IntoView {
    let session = expect_context::<Session>();
    let t = expect_context::<Messages>();
    let code = details.get("code").cloned().and_then(|code| serde_json::from_value(code).ok());
    let message = details.get("message").and_then(Value::as_str).unwrap_or_default();
    let words =
        words::error_words(t, code.unwrap_or(ErrorCode::ProviderError), message, details.get("provider"));
    let retry = Callback::new(move |()| crate::recovery::send_again(session));
    view! { <div class="card error"><Failure words retry /></div> }
}
