//! What a report of the browser means: text for the model, facts for the view, and whether a write's end is unknown.

use panelot_base::json::{ToJson, word};
use panelot_base::limits::TOOL_RESULT_BYTES_MAX;
use panelot_page_protocol as page;
use panelot_page_protocol::{
    ActionFailure, ActionResult, EffectSeen, FailureCode, FieldValue, Observed, OptionFacts, State, Subject,
    Submission,
};
use panelot_snapshot::escape::{push_plain, quoted};
use panelot_snapshot::{TOKENS_MAX_DEFAULT, View, render};
use serde_json::{Value, json};

use crate::call::{Call, CallKind};
use crate::command::{Failure, FailureKind, Reach, Report, TabFacts};
use crate::descriptor::Effect;
use crate::target::{Target, TargetError};

/// Quarters of a token of one name, title or message in a result.
const TEXT_UNITS_MAX: usize = 320;
/// Options that are named when the wanted one does not exist.
const OPTIONS_NAMED_MAX: usize = 40;

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// It ended, well or not.
    Done {
        /// Whether it did what was asked.
        ok: bool,
        /// What the model reads; at most [`TOOL_RESULT_BYTES_MAX`] bytes.
        content: String,
        /// Small facts for the view, tagged by `type`.
        details: Value,
        /// Whether `content` holds text that neither the person nor the engine wrote: it must be fenced.
        foreign: bool,
        /// Where that text comes from.
        origin: Option<String>,
    },
    /// It may or may not have changed something. It must not be repeated without the person.
    Uncertain {
        /// What the model reads if the person lets the task go on.
        content: String,
        /// Small facts for the view.
        details: Value,
    },
}

/// Says what a report means for the call it belongs to.
#[must_use]
pub fn interpret(call: &Call, target: Option<&Target>, report: Report) -> ToolOutcome {
    let origin = target.map(|target| target.origin.clone());
    match (call.kind(), report) {
        (CallKind::TabsList, Report::Tabs(tabs)) => tabs_listed(&tabs),
        (CallKind::Navigate { url, .. }, Report::Navigated(arrived)) => navigated(url, &arrived),
        (CallKind::ReadPage { page, filter, .. }, Report::Page(Ok(ActionResult::Page { page: facts }))) => {
            let snapshot =
                render(&facts, View { filter: *filter, page: *page, tokens_max: TOKENS_MAX_DEFAULT });
            let details = json!({
                "type": "page", "title": cut(&facts.title), "url": cut(&facts.url), "page": snapshot.page,
                "pages": snapshot.pages, "controls": snapshot.controls, "controlsTotal": snapshot.controls_total,
            });
            done(snapshot.page <= snapshot.pages, snapshot.text, details, origin)
        }
        (CallKind::Click { .. }, Report::Page(Ok(ActionResult::Clicked { observed }))) => {
            let content = format!("Clicked {}.\n{}", subject(&observed.subject), observation(&observed));
            done(true, content, action_details("clicked", &observed), origin)
        }
        (
            CallKind::Type { text, .. },
            Report::Page(Ok(ActionResult::Typed { value, exact, submission, observed })),
        ) => typed(text, &value, exact, submission, &observed, origin),
        (CallKind::SelectOption { .. }, Report::Page(Ok(ActionResult::Selected { option, observed }))) => {
            let content = format!(
                "Chose {} in {}.\n{}",
                quoted(&option.label, TEXT_UNITS_MAX),
                subject(&observed.subject),
                observation(&observed)
            );
            let mut details = action_details("selected", &observed);
            set(&mut details, "option", json!(cut(&option.label)));
            done(true, content, details, origin)
        }
        (_, Report::Page(Err(failure))) => refused(call, &failure, origin),
        (_, Report::Failed(failure)) => failed(call, &failure, origin),
        (_, Report::Tabs(_) | Report::Navigated(_) | Report::Page(Ok(_))) => {
            let detail = "the report does not belong to this call".to_owned();
            failed(call, &Failure { kind: FailureKind::Mismatch, reach: Reach::Unknown, detail }, origin)
        }
    }
}

/// What the model reads when no target could be found.
#[must_use]
pub fn target_refusal(error: &TargetError) -> ToolOutcome {
    let (content, foreign) = match error {
        TargetError::NoDefaultTab => (
            "There is no tab that this task is about. Call tabs_list, then name one with tabId.".to_owned(),
            false,
        ),
        TargetError::TabGone { tab_id } => {
            (format!("Tab {tab_id} is closed. Call tabs_list to see which there are."), false)
        }
        TargetError::NotAWebPage { tab_id, url } => {
            let mut text = format!("Tab {tab_id} shows something that no extension can read or operate: ");
            push_plain(&mut text, url, TEXT_UNITS_MAX);
            (text, true)
        }
    };
    let details = error.to_json();
    ToolOutcome::Done {
        ok: false,
        content,
        details: json!({"type": "noTarget", "error": details}),
        foreign,
        origin: None,
    }
}

fn done(ok: bool, content: String, details: Value, origin: Option<String>) -> ToolOutcome {
    ToolOutcome::Done { ok, content: bounded(content), details, foreign: true, origin }
}

fn tabs_listed(tabs: &[TabFacts]) -> ToolOutcome {
    let mut content = format!("{} open tabs:\n", tabs.len());
    for tab in tabs {
        let mark = if tab.active { ", in front" } else { "" };
        content.push_str(&format!("tab {} in window {}{mark}: ", tab.tab_id, tab.window_id));
        content.push_str(&quoted(&tab.title, TEXT_UNITS_MAX));
        content.push(' ');
        push_plain(&mut content, &tab.url, TEXT_UNITS_MAX);
        content.push('\n');
    }
    done(true, content, json!({"type": "tabs", "count": tabs.len()}), None)
}

fn navigated(wanted: &str, arrived: &Target) -> ToolOutcome {
    let mut content = format!("Tab {} now shows ", arrived.tab_id);
    content.push_str(&quoted(&arrived.title, TEXT_UNITS_MAX));
    content.push_str(" at ");
    push_plain(&mut content, &arrived.url, TEXT_UNITS_MAX);
    let without_fragment = |url: &str| url.split('#').next().unwrap_or_default().to_owned();
    if without_fragment(&arrived.url) != without_fragment(wanted) {
        content.push_str("\nThat is not the address that was asked for: the site sent the tab elsewhere.");
    }
    let details = json!({
        "type": "navigated", "tabId": arrived.tab_id, "url": cut(&arrived.url), "title": cut(&arrived.title),
    });
    done(true, content, details, Some(arrived.origin.clone()))
}

fn typed(
    text: &str,
    value: &FieldValue,
    exact: bool,
    submission: Submission,
    observed: &Observed,
    origin: Option<String>,
) -> ToolOutcome {
    let mut content =
        format!("Typed {} into {}.\n", quoted(text, TEXT_UNITS_MAX), subject(&observed.subject));
    content.push_str(&field_text(value));
    if !exact {
        content.push_str(
            "That is not exactly what was to be entered: the page changed it. Check that it is right.\n",
        );
    }
    content.push_str(match submission {
        Submission::NotAsked => "",
        Submission::Submitted => "Pressed Enter: the form was submitted.\n",
        Submission::TakenByPage => "Pressed Enter: the page handled the key.\n",
        Submission::Refused => "Pressed Enter: the form's own checks refused to submit it.\n",
        Submission::NoForm => "Pressed Enter: nothing took the key, and the field belongs to no form.\n",
    });
    content.push_str(&observation(observed));
    let mut details = action_details("typed", observed);
    set(&mut details, "exact", json!(exact));
    set(&mut details, "submission", json!(submission));
    if let FieldValue::Text { text } = value {
        set(&mut details, "value", json!(cut(text)));
    }
    done(submission != Submission::Refused, content, details, origin)
}

fn field_text(value: &FieldValue) -> String {
    match value {
        FieldValue::Text { text } => format!("The field now holds {}.\n", quoted(text, TEXT_UNITS_MAX)),
        FieldValue::Secret { filled } => {
            format!("The field is {}.\n", if *filled { "filled" } else { "empty" })
        }
    }
}

fn subject(subject: &Subject) -> String {
    let mut text = String::new();
    push_plain(&mut text, &subject.role, 60);
    if text.is_empty() {
        text.push_str("element");
    }
    if !subject.name.is_empty() {
        text.push(' ');
        text.push_str(&quoted(&subject.name, TEXT_UNITS_MAX));
    }
    text
}

/// What was seen, one sentence a line. Silence is said too: "nothing changed" is what the model must know most.
fn observation(observed: &Observed) -> String {
    let mut out = String::new();
    for effect in &observed.effects {
        out.push_str(match effect {
            EffectSeen::NavigationStarted => "The page is being left for another one: read it again.\n",
            EffectSeen::AddressChanged => "The address changed within the page: read it again.\n",
            EffectSeen::FormSubmitted => "A form was submitted.\n",
            EffectSeen::FormRefused => {
                "The form was not submitted: its own checks found a field that is not right.\n"
            }
            EffectSeen::StateChanged => "The control's own state changed.\n",
            EffectSeen::ContentChanged => "Content of the page changed.\n",
            EffectSeen::FocusMoved => "The keyboard focus moved.\n",
            EffectSeen::SubjectRemoved => "The control is no longer in the page.\n",
        });
    }
    if observed.effects.is_empty() {
        out.push_str("Nothing was seen to change.\n");
    }
    if !observed.states.is_empty() {
        let words: Vec<String> = observed.states.iter().map(state_text).collect();
        out.push_str(&format!("The control is {}.\n", words.join(", ")));
    }
    for text in &observed.announcements {
        out.push_str(&format!("The page says {}.\n", quoted(text, TEXT_UNITS_MAX)));
    }
    if !observed.settled {
        out.push_str("The page had not come to rest yet.\n");
    }
    out
}

/// `readOnly` as `read only`.
fn state_text(state: &State) -> String {
    let name = word(state);
    let mut text = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            text.push(' ');
        }
        text.push(character.to_ascii_lowercase());
    }
    text
}

fn action_details(kind: &str, observed: &Observed) -> Value {
    json!({
        "type": kind, "role": cut(&observed.subject.role), "name": cut(&observed.subject.name),
        "effects": observed.effects, "states": observed.states, "settled": observed.settled,
    })
}

/// The executor's own refusal. It watched to the end unless it was cut off, so that its word is the outcome.
fn refused(call: &Call, failure: &ActionFailure, origin: Option<String>) -> ToolOutcome {
    let element = failure
        .subject
        .as_ref()
        .map_or_else(|| "The element".to_owned(), |it| format!("The {}", subject(it)));
    let mut details = json!({"type": "failed", "code": failure.code});
    if let Some(it) = &failure.subject {
        set(&mut details, "role", json!(cut(&it.role)));
        set(&mut details, "name", json!(cut(&it.name)));
    }
    let cut_off =
        matches!(failure.code, FailureCode::Timeout | FailureCode::Cancelled | FailureCode::Internal);
    if cut_off && failure.reach == page::Reach::MayHaveHappened && call.effect() == Effect::Write {
        return uncertain(call, &failure.message, details);
    }
    let mut content = format!("{element} {}", refusal_text(failure));
    if failure.code == FailureCode::NotEffective
        && let Some(value) = &failure.value
    {
        content.push('\n');
        content.push_str(&field_text(value));
    }
    if failure.code == FailureCode::NoSuchOption {
        content.push_str(&options_text(&failure.options));
    }
    if !failure.message.is_empty() {
        content.push_str("\nDetail: ");
        push_plain(&mut content, &failure.message, TEXT_UNITS_MAX);
    }
    done(false, content, details, origin)
}

fn refusal_text(failure: &ActionFailure) -> String {
    match failure.code {
        FailureCode::StaleRef => {
            "is not known by that reference: it belongs to an earlier page or was never given. Call read_page again."
        }
        FailureCode::Detached => "is no longer in the page. Call read_page again.",
        FailureCode::NotVisible => "cannot be seen, so it cannot be operated.",
        FailureCode::NotStable => "keeps moving. Try again when the page is at rest.",
        FailureCode::Covered => {
            let what = failure.covered_by.as_ref().map_or_else(|| "something else".to_owned(), subject);
            return format!("is covered by {what}. Close or finish that first.");
        }
        FailureCode::Disabled => "is disabled.",
        FailureCode::NotEditable => "takes no text.",
        FailureCode::ReadOnly => "cannot be changed (read-only).",
        FailureCode::SecretField => {
            "is for a password, a one-time code or payment data. Only the person may fill it: ask them to do it."
        }
        FailureCode::NotASelect => "is not a select box. Click it, read the page, then click the entry.",
        FailureCode::NoSuchOption => "has no such option.",
        FailureCode::AmbiguousOption => "has several options with that text. Choose by value.",
        FailureCode::OptionDisabled => "has that option, but it cannot be chosen.",
        FailureCode::NotEffective => "did not keep what was put in.",
        FailureCode::UnsupportedFrame => "is in a frame whose place on screen cannot be told.",
        FailureCode::OriginChanged => "was not touched: the tab shows another site by now. Call read_page again.",
        FailureCode::ProtocolMismatch => "was not touched: the page's executor is of another version. Try once more.",
        FailureCode::Timeout => "was not reached in time.",
        FailureCode::Cancelled => "was not touched: the call was cancelled.",
        FailureCode::Internal => "could not be operated.",
    }
    .to_owned()
}

fn options_text(options: &[OptionFacts]) -> String {
    let names: Vec<String> =
        options.iter().take(OPTIONS_NAMED_MAX).map(|option| quoted(&option.label, 80)).collect();
    let more = options.len().saturating_sub(OPTIONS_NAMED_MAX);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(" It has {}{rest}.", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
}

/// The way to the page failed.
fn failed(call: &Call, failure: &Failure, origin: Option<String>) -> ToolOutcome {
    let code = match failure.kind {
        FailureKind::TargetGone => "target_gone",
        FailureKind::AccessDenied => "access_denied",
        FailureKind::Timeout => "timeout",
        FailureKind::ChannelLost => "channel_lost",
        FailureKind::Mismatch => "mismatch",
        FailureKind::NavigationFailed => "navigation_failed",
        FailureKind::Cancelled => "cancelled",
    };
    let details = json!({"type": "failed", "code": code});
    if failure.reach == Reach::Unknown && call.effect() == Effect::Write {
        return uncertain(call, &failure.detail, details);
    }
    let mut content = match failure.kind {
        FailureKind::TargetGone => {
            "The page is gone: its tab was closed or shows another page. Call read_page or tabs_list."
        }
        FailureKind::AccessDenied => "The browser does not let the extension reach this page.",
        FailureKind::Timeout => "There was no answer in time.",
        FailureKind::ChannelLost => "The connection to the page was lost before an answer came.",
        FailureKind::Mismatch => "The page gave an answer that cannot be used.",
        FailureKind::NavigationFailed => "The address could not be opened.",
        FailureKind::Cancelled => "The call was cancelled before it began.",
    }
    .to_owned();
    if !failure.detail.is_empty() {
        content.push_str("\nDetail: ");
        push_plain(&mut content, &failure.detail, TEXT_UNITS_MAX);
    }
    ToolOutcome::Done { ok: false, content, details, foreign: !failure.detail.is_empty(), origin }
}

fn uncertain(call: &Call, detail: &str, details: Value) -> ToolOutcome {
    let mut content = format!(
        "It is not known whether this {} took effect. Do not repeat it: look at the page first, with read_page.",
        call.name()
    );
    if !detail.is_empty() {
        content.push_str("\nDetail: ");
        push_plain(&mut content, detail, TEXT_UNITS_MAX);
    }
    ToolOutcome::Uncertain { content, details }
}

fn set(details: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = details {
        fields.insert(key.to_owned(), value);
    }
}

/// A text for the view, short enough for a card.
fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}

fn bounded(mut content: String) -> String {
    const NOTE: &str = "\n(cut: too long)";
    if content.len() > TOOL_RESULT_BYTES_MAX {
        let mut end = TOOL_RESULT_BYTES_MAX - NOTE.len();
        while !content.is_char_boundary(end) {
            end -= 1;
        }
        content.truncate(end);
        content.push_str(NOTE);
    }
    content
}

#[cfg(test)]
mod tests {
    use super::{ToolOutcome, interpret, target_refusal};
    use crate::call::Call;
    use crate::catalogue::Catalogue;
    use crate::command::{Failure, FailureKind, Reach, Report, TabFacts};
    use crate::target::{Target, TargetError};
    use panelot_base::limits::TOOL_RESULT_BYTES_MAX;
    use panelot_page_protocol as page;
    use panelot_page_protocol::{
        ActionFailure, ActionResult, EffectSeen, FailureCode, FieldValue, Node, Observed, OptionFacts,
        PageFacts, State, Subject, Submission, Viewport,
    };

    fn call(name: &str, arguments: &str) -> Call {
        Catalogue::builtin().parse(name, arguments).unwrap()
    }

    fn click() -> Call {
        call("click", r#"{"ref":"k7q2-3"}"#)
    }

    fn target() -> Target {
        Target {
            tab_id: 7,
            frame_id: 0,
            document_id: Some("D1".to_owned()),
            url: "https://shop.test/order".to_owned(),
            origin: "https://shop.test".to_owned(),
            title: "Order".to_owned(),
        }
    }

    fn observed(effects: Vec<EffectSeen>) -> Observed {
        Observed {
            subject: Subject { role: "button".to_owned(), name: "Place \"order\"\nnow".to_owned() },
            states: vec![],
            effects,
            url: "https://shop.test/order".to_owned(),
            settled: true,
            announcements: vec![],
        }
    }

    fn failure(code: FailureCode, reach: page::Reach) -> ActionFailure {
        ActionFailure {
            code,
            message: String::new(),
            reach,
            subject: Some(Subject { role: "button".to_owned(), name: "Send".to_owned() }),
            covered_by: Some(Subject { role: "dialog".to_owned(), name: "Cookies".to_owned() }),
            options: vec![],
            value: None,
        }
    }

    /// The parts of a finished call, or a failure of the test.
    fn done(outcome: ToolOutcome) -> (bool, String, serde_json::Value, bool, Option<String>) {
        match outcome {
            ToolOutcome::Done { ok, content, details, foreign, origin } => {
                (ok, content, details, foreign, origin)
            }
            ToolOutcome::Uncertain { content, .. } => panic!("uncertain: {content}"),
        }
    }

    #[test]
    fn a_click_tells_what_was_seen_and_that_nothing_was() {
        let report = |effects| Report::Page(Ok(ActionResult::Clicked { observed: observed(effects) }));
        let (ok, content, details, foreign, origin) =
            done(interpret(&click(), Some(&target()), report(vec![EffectSeen::NavigationStarted])));
        assert_eq!(
            content,
            "Clicked button \"Place \\\"order\\\" now\".\nThe page is being left for another one: read it again.\n"
        );
        assert!(ok && foreign);
        assert_eq!(origin.as_deref(), Some("https://shop.test"));
        assert_eq!(details["type"], "clicked");
        assert_eq!(details["effects"], serde_json::json!(["navigationStarted"]));
        let (_, content, ..) = done(interpret(&click(), Some(&target()), report(vec![])));
        assert!(content.ends_with("Nothing was seen to change.\n"), "{content}");
    }

    #[test]
    fn typing_reports_what_the_field_holds_and_not_what_was_hoped_for() {
        let typing = call("type", r#"{"ref":"k7q2-3","text":"12","submit":true}"#);
        let report = |text: &str, exact, submission| {
            let value = FieldValue::Text { text: text.to_owned() };
            let mut observed = observed(vec![EffectSeen::StateChanged]);
            observed.states = vec![State::ReadOnly, State::Invalid];
            observed.announcements = vec!["Amount: too \u{202e}high".to_owned()];
            Report::Page(Ok(ActionResult::Typed { value, exact, submission, observed }))
        };
        let (ok, content, details, ..) =
            done(interpret(&typing, Some(&target()), report("12.00", false, Submission::Submitted)));
        assert!(ok);
        for part in [
            "Typed \"12\" into button",
            "The field now holds \"12.00\".",
            "not exactly what was to be entered",
            "the form was submitted",
            "The control is read only, invalid.",
            "The page says \"Amount: too \\u{202e}high\".",
        ] {
            assert!(content.contains(part), "{part}: {content}");
        }
        assert_eq!((details["value"].as_str(), details["exact"].as_bool()), (Some("12.00"), Some(false)));
        let (ok, content, ..) =
            done(interpret(&typing, Some(&target()), report("12", true, Submission::Refused)));
        assert!(!ok && content.contains("refused to submit"), "{content}");
    }

    #[test]
    fn every_refusal_of_the_executor_is_told_in_words() {
        let codes = [
            FailureCode::StaleRef,
            FailureCode::Detached,
            FailureCode::NotVisible,
            FailureCode::NotStable,
            FailureCode::Covered,
            FailureCode::Disabled,
            FailureCode::NotEditable,
            FailureCode::ReadOnly,
            FailureCode::SecretField,
            FailureCode::NotASelect,
            FailureCode::NoSuchOption,
            FailureCode::AmbiguousOption,
            FailureCode::OptionDisabled,
            FailureCode::NotEffective,
            FailureCode::UnsupportedFrame,
            FailureCode::OriginChanged,
            FailureCode::ProtocolMismatch,
            FailureCode::Timeout,
            FailureCode::Cancelled,
            FailureCode::Internal,
        ];
        let mut texts = std::collections::BTreeSet::new();
        for code in codes {
            let report = Report::Page(Err(failure(code, page::Reach::NotStarted)));
            let (ok, content, details, ..) = done(interpret(&click(), Some(&target()), report));
            assert!(!ok && content.starts_with("The button \"Send\" "), "{content}");
            assert_eq!(details["code"], serde_json::json!(code));
            texts.insert(content);
        }
        assert_eq!(texts.len(), codes.len());
        assert!(
            texts.contains(
                "The button \"Send\" is covered by dialog \"Cookies\". Close or finish that first."
            )
        );
    }

    #[test]
    fn a_missing_option_is_answered_with_those_there_are() {
        let mut refused = failure(FailureCode::NoSuchOption, page::Reach::NotStarted);
        refused.options = (0..50)
            .map(|n| OptionFacts { label: format!("O{n}"), value: None, selected: false, disabled: false })
            .collect();
        let choosing = call("select_option", r#"{"ref":"k7q2-3","label":"Huge"}"#);
        let (_, content, ..) = done(interpret(&choosing, Some(&target()), Report::Page(Err(refused))));
        assert!(
            content.contains("It has \"O0\", \"O1\"") && content.ends_with("\"O39\" and 10 more."),
            "{content}"
        );
    }

    #[test]
    fn a_write_whose_end_was_not_seen_is_uncertain_and_a_read_never_is() {
        let reading = call("read_page", "");
        for code in [FailureCode::Timeout, FailureCode::Cancelled, FailureCode::Internal] {
            let report = || Report::Page(Err(failure(code, page::Reach::MayHaveHappened)));
            assert!(
                matches!(interpret(&click(), Some(&target()), report()), ToolOutcome::Uncertain { .. }),
                "{code:?}"
            );
            assert!(!done(interpret(&reading, Some(&target()), report())).0);
        }
        let seen = Report::Page(Err(failure(FailureCode::NotEffective, page::Reach::MayHaveHappened)));
        assert!(!done(interpret(&click(), Some(&target()), seen)).0, "the executor watched it to its end");
        let kinds = [
            FailureKind::TargetGone,
            FailureKind::AccessDenied,
            FailureKind::Timeout,
            FailureKind::ChannelLost,
            FailureKind::Mismatch,
            FailureKind::NavigationFailed,
            FailureKind::Cancelled,
        ];
        for kind in kinds {
            let report = |reach| Report::Failed(Failure { kind, reach, detail: "net\n[x] y".to_owned() });
            let (ok, content, _, foreign, _) =
                done(interpret(&click(), Some(&target()), report(Reach::NotStarted)));
            assert!(!ok && foreign && content.ends_with("Detail: net [x] y"), "{content}");
            assert!(!done(interpret(&reading, Some(&target()), report(Reach::Unknown))).0);
            match interpret(&click(), Some(&target()), report(Reach::Unknown)) {
                ToolOutcome::Uncertain { content, .. } => {
                    assert!(content.contains("Do not repeat it"), "{content}")
                }
                ToolOutcome::Done { content, .. } => panic!("{kind:?}: {content}"),
            }
        }
    }

    #[test]
    fn a_report_of_another_kind_is_no_success() {
        let clicked = Report::Page(Ok(ActionResult::Clicked { observed: observed(vec![]) }));
        assert!(!done(interpret(&call("read_page", ""), Some(&target()), clicked.clone())).0);
        let typing = call("type", r#"{"ref":"k7q2-3","text":"x"}"#);
        assert!(matches!(interpret(&typing, Some(&target()), clicked), ToolOutcome::Uncertain { .. }));
        assert!(matches!(interpret(&click(), None, Report::Tabs(vec![])), ToolOutcome::Uncertain { .. }));
    }

    #[test]
    fn a_page_is_rendered_under_the_limit_and_a_part_that_is_not_there_is_a_failure() {
        let nodes = (0..5000)
            .map(|n| Node::Text {
                depth: 0,
                text: format!("Paragraph {n} 中文中文中文中文 and more"),
                in_viewport: false,
            })
            .collect();
        let facts = PageFacts {
            url: "https://shop.test/".to_owned(),
            title: "Long".to_owned(),
            loading: false,
            viewport: Viewport::default(),
            nodes,
            left_out: 0,
            controls_left_out: 0,
        };
        let report = || Report::Page(Ok(ActionResult::Page { page: facts.clone() }));
        let (ok, content, details, foreign, _) =
            done(interpret(&call("read_page", ""), Some(&target()), report()));
        assert!(ok && foreign && content.len() <= TOOL_RESULT_BYTES_MAX);
        assert!(details["pages"].as_u64().unwrap() > 3, "{details}");
        assert!(details.to_string().len() < 1000);
        let beyond = interpret(&call("read_page", r#"{"page":900}"#), Some(&target()), report());
        assert!(!done(beyond).0);
    }

    #[test]
    fn tabs_are_listed_one_a_line_and_long_lists_are_cut() {
        let tab = |tab_id, title: &str| TabFacts {
            tab_id,
            window_id: 1,
            url: format!("https://a.test/{tab_id}"),
            title: title.to_owned(),
            active: tab_id == 2,
            last_accessed_ms: 0,
        };
        let listing = call("tabs_list", "");
        let tabs = vec![tab(1, "One\ntab 9 in window 9: \"x\""), tab(2, "Two")];
        let (ok, content, ..) = done(interpret(&listing, None, Report::Tabs(tabs)));
        assert!(ok);
        assert_eq!(
            content,
            "2 open tabs:\ntab 1 in window 1: \"One tab 9 in window 9: \\\"x\\\"\" https://a.test/1\n\
             tab 2 in window 1, in front: \"Two\" https://a.test/2\n"
        );
        let many = (0..2000).map(|id| tab(id, &"中".repeat(60))).collect();
        let (_, content, ..) = done(interpret(&listing, None, Report::Tabs(many)));
        assert!(content.len() <= TOOL_RESULT_BYTES_MAX && content.ends_with("(cut: too long)"));
    }

    #[test]
    fn a_navigation_that_ended_elsewhere_says_so_and_bears_the_origin_it_reached() {
        let going = call("navigate", r#"{"url":"https://shop.test/order#top"}"#);
        let (_, content, _, _, origin) = done(interpret(&going, None, Report::Navigated(target())));
        assert!(!content.contains("not the address"), "{content}");
        assert_eq!(origin.as_deref(), Some("https://shop.test"));
        let elsewhere = call("navigate", r#"{"url":"https://short.test/x"}"#);
        let (ok, content, ..) = done(interpret(&elsewhere, None, Report::Navigated(target())));
        assert!(ok && content.contains("That is not the address that was asked for"), "{content}");
    }

    #[test]
    fn a_missing_target_is_told_with_a_way_on() {
        let cases = [
            (TargetError::NoDefaultTab, "Call tabs_list", false),
            (TargetError::TabGone { tab_id: 3 }, "Tab 3 is closed", false),
            (
                TargetError::NotAWebPage { tab_id: 3, url: "chrome://x\ny".to_owned() },
                "operate: chrome://x y",
                true,
            ),
        ];
        for (error, text, is_foreign) in cases {
            let (ok, content, _, foreign, _) = done(target_refusal(&error));
            assert!(!ok && content.contains(text), "{content}");
            assert_eq!(foreign, is_foreign);
        }
    }
}
