//! From codes and names to sentences: errors, tools, times. Pure; tested natively.

use panelot_base::Timestamp;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::settings::{PermissionPolicy, RuleVerdict, RuleView};
use panelot_protocol::snapshot::{InteractionKind, InteractionView, StopReason};
use panelot_view::model::{Refusal, ToolState};
use serde_json::Value;

use crate::i18n::{Lang, Messages};

/// Characters of a target or a value that one line of a card shows.
const LINE_CHARS_MAX: usize = 120;
/// A minute, an hour and a day in milliseconds.
const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// An error in words: whose fault it is and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorWords {
    /// What happened.
    pub title: &'static str,
    /// What to do next.
    pub next: String,
    /// What the provider or the engine said itself. Foreign text.
    pub said: Option<String>,
    /// Whether the way out leads through the settings.
    pub settings: bool,
    /// Whether trying the same again makes sense.
    pub retry: bool,
}

struct Cause {
    title: &'static str,
    next: &'static str,
    settings: bool,
    retry: bool,
}

/// Words for an error of the engine; `provider` is the model provider's own error, when it was one.
#[must_use]
pub fn error_words(t: Messages, code: ErrorCode, message: &str, provider: Option<&Value>) -> ErrorWords {
    if let Some(provider) = provider.filter(|value| value.is_object()) {
        return provider_words(t, provider);
    }
    let cause = engine_cause(t, code);
    ErrorWords {
        title: cause.title,
        next: cause.next.to_owned(),
        said: (!message.is_empty()).then(|| clip(message, 600)),
        settings: cause.settings,
        retry: cause.retry,
    }
}

/// Words for what a person wanted and did not get.
#[must_use]
pub fn refusal_words(t: Messages, refusal: &Refusal) -> ErrorWords {
    let (title, next) = match refusal {
        Refusal::Engine { code, message, provider, .. } => {
            return error_words(t, *code, message, provider.as_ref());
        }
        Refusal::OutboxFailed => (t.error_storage(), t.error_storage_next()),
        Refusal::TextDoesNotFit => (t.error_text_long(), t.error_text_long_next()),
        Refusal::StillCreating => (t.error_creating(), t.error_creating_next()),
        Refusal::Unreachable => (t.state_reload_title(), t.state_reload_text()),
    };
    ErrorWords { title, next: next.to_owned(), said: None, settings: false, retry: false }
}

fn engine_cause(t: Messages, code: ErrorCode) -> Cause {
    let (title, next, settings, retry) = match code {
        ErrorCode::ThreadNotFound => (t.error_thread_gone(), t.error_thread_gone_next(), false, false),
        ErrorCode::QueueFull => (t.error_queue_full(), t.error_queue_full_next(), false, false),
        ErrorCode::Overloaded => (t.error_busy(), t.error_busy_next(), false, true),
        ErrorCode::Interrupted => (t.interrupted_title(), t.interrupted_text(), false, true),
        ErrorCode::ProviderError => (t.error_provider(), t.error_server_next(), false, true),
        ErrorCode::NotConfigured => (t.error_not_configured(), t.error_not_configured_next(), true, true),
        ErrorCode::StorageFailed => (t.error_storage(), t.error_storage_next(), false, true),
        ErrorCode::Quarantined => (t.error_quarantined(), t.error_quarantined_next(), false, false),
        ErrorCode::Locked => (t.locked_title(), t.locked_text(), true, false),
        ErrorCode::WrongPassphrase => (t.wrong_passphrase(), t.wrong_passphrase_next(), false, false),
        ErrorCode::ProtocolMismatch => (t.state_mismatch_title(), t.state_mismatch_text(), false, false),
        ErrorCode::TurnMismatch => (t.error_turn(), t.error_turn_next(), false, false),
        ErrorCode::TurnNotSteerable | ErrorCode::NoActiveTurn => {
            (t.error_not_steerable(), t.error_not_steerable_next(), false, false)
        }
        ErrorCode::InvalidCommand | ErrorCode::Internal => {
            (t.error_internal(), t.error_internal_next(), false, true)
        }
    };
    Cause { title, next, settings, retry }
}

fn provider_words(t: Messages, provider: &Value) -> ErrorWords {
    let text = |name: &str| provider.get(name).and_then(Value::as_str);
    let status = provider.get("status").and_then(Value::as_u64);
    let busy = matches!(status, Some(503 | 529))
        || text("upstreamCode").is_some_and(|code| code.to_lowercase().contains("overload"));
    let reason = text("reason").filter(|reason| !(busy && *reason == "upstream_error"));
    let cause = provider_cause(t, text("kind").unwrap_or_default(), reason.unwrap_or_default());
    let wait = provider.get("retryAfterMs").and_then(Value::as_u64).filter(|_| cause.retry);
    // The words of the browser are not the provider's, and say less than ours.
    let browsers = text("reason") == Some("redirected") || text("kind") == Some("network");
    let browsers = browsers && text("reason") != Some("stalled");
    let said = match (text("upstreamMessage").filter(|said| !said.trim().is_empty()), status) {
        (Some(_), None) if browsers => None,
        (Some(said), None | Some(200..300)) => Some(clip(said, 600)),
        (Some(said), Some(status)) => Some(format!("{} (HTTP {status})", clip(said, 600))),
        (None, None | Some(200..300)) => None,
        (None, Some(status)) => Some(format!("HTTP {status}")),
    };
    ErrorWords {
        title: cause.title,
        next: wait.map_or_else(
            || cause.next.to_owned(),
            |ms| t.error_rate_wait(&ms.div_ceil(1000).max(1).to_string()),
        ),
        said,
        settings: cause.settings,
        retry: cause.retry,
    }
}

fn provider_cause(t: Messages, kind: &str, reason: &str) -> Cause {
    let (title, next, settings, retry) = match (kind, reason) {
        (_, "invalid_key") => (t.error_auth(), t.error_auth_next(), true, true),
        (_, "permission_denied") => (t.error_permission(), t.error_permission_next(), true, true),
        (_, "quota_exceeded") => (t.error_quota(), t.error_quota_next(), true, true),
        (_, "endpoint_not_found") => (t.error_not_found(), t.error_not_found_next(), true, true),
        (_, "model_not_found") => (t.error_model_missing(), t.error_model_missing_next(), true, true),
        (_, "redirected") => (t.error_redirected(), t.error_redirected_next(), true, true),
        (_, "origin_refused") => (t.error_origin(), t.error_origin_next(), true, true),
        (_, "not_running") => (t.error_not_running(), t.error_not_running_next(), true, true),
        (_, "built_in_missing") => (t.error_built_in_missing(), t.error_built_in_missing_next(), true, false),
        (_, "built_in_not_downloaded") => {
            (t.error_built_in_waiting(), t.error_built_in_waiting_next(), true, true)
        }
        (_, "no_access") => (t.error_no_access(), t.error_no_access_next(), true, true),
        (_, "stalled") => (t.error_stalled(), t.error_stalled_next(), false, true),
        (_, "invalid_request") => (t.error_invalid(), t.error_invalid_next(), true, true),
        (_, "truncated") => (t.error_broken_stream(), t.error_broken_stream_next(), false, true),
        (_, "upstream_error") => (t.error_server(), t.error_server_next(), false, true),
        (_, "response_format") => (t.error_format(), t.error_format_next(), true, true),
        ("auth", _) => (t.error_auth(), t.error_auth_next(), true, true),
        ("rate_limit", _) => (t.error_rate(), t.error_rate_next(), false, true),
        ("overloaded", _) => (t.error_overloaded(), t.error_overloaded_next(), false, true),
        ("context_too_long", _) => (t.error_context(), t.error_context_next(), false, false),
        ("content_filter", _) => (t.error_filter(), t.error_filter_next(), false, false),
        ("network", _) => (t.error_network(), t.error_network_next(), true, true),
        _ => (t.error_provider(), t.error_server_next(), false, true),
    };
    Cause { title, next, settings, retry }
}

/// A tool's name in words.
#[must_use]
pub fn tool_words(t: Messages, name: &str) -> String {
    match name {
        "read_page" => t.tool_read_page().to_owned(),
        "click" => t.tool_click().to_owned(),
        "type" => t.tool_type().to_owned(),
        "select_option" => t.tool_select_option().to_owned(),
        "navigate" => t.tool_navigate().to_owned(),
        "tabs_list" => t.tool_tabs_list().to_owned(),
        "ask_user" => t.tool_ask_user().to_owned(),
        "request_user_action" => t.tool_user_action().to_owned(),
        "watch_page" => t.tool_watch_page().to_owned(),
        "schedule_resume" => t.tool_schedule().to_owned(),
        "" => t.tool_other("…"),
        other => t.tool_other(&other.replace(['_', '.'], " ")),
    }
}

/// A call's state in words.
#[must_use]
pub const fn state_name(state: ToolState) -> &'static str {
    match state {
        ToolState::Proposed => "proposed",
        ToolState::Waiting => "waiting",
        ToolState::Running => "running",
        ToolState::Ok => "ok",
        ToolState::Failed => "failed",
        ToolState::Declined => "declined",
        ToolState::Skipped => "skipped",
        ToolState::Uncertain => "uncertain",
    }
}

/// A call's state in words.
#[must_use]
pub fn state_words(t: Messages, state: ToolState) -> &'static str {
    match state {
        ToolState::Proposed => t.tool_proposed(),
        ToolState::Waiting => t.tool_waiting(),
        ToolState::Running => t.tool_running(),
        ToolState::Ok => t.tool_ok(),
        ToolState::Failed => t.tool_failed(),
        ToolState::Declined => t.tool_declined(),
        ToolState::Skipped => t.tool_skipped(),
        ToolState::Uncertain => t.tool_uncertain(),
    }
}

/// What a call aims at, for one line: the most telling argument. Empty when none tells anything.
#[must_use]
pub fn target_words(arguments: Option<&Value>, details: Option<&Value>) -> String {
    let from = |source: &Value, names: &[&str]| {
        names
            .iter()
            .find_map(|name| source.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty()))
            .map(str::to_owned)
    };
    let element = details.and_then(|details| from(details, &["element", "name", "target"]));
    let value =
        arguments.and_then(|it| from(it, &["text", "label", "value", "url", "query", "path", "command"]));
    let line = match (element, value) {
        (Some(element), Some(value)) => format!("{element}: {value}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => String::new(),
    };
    clip(&line.split_whitespace().collect::<Vec<_>>().join(" "), LINE_CHARS_MAX)
}

/// Every parameter of a call as name and shown value.
#[must_use]
pub fn parameters(t: Messages, params: &Value) -> Vec<(String, String)> {
    match params {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (parameter_name(t, name), shown(t, value))).collect()
        }
        Value::Null => Vec::new(),
        other => vec![("value".to_owned(), shown(t, other))],
    }
}

/// A parameter's name in words; as the tool has it where there are none.
fn parameter_name(t: Messages, name: &str) -> String {
    let words = match name {
        "ref" => t.parameter_ref(),
        "text" => t.parameter_text(),
        "url" => t.parameter_url(),
        "tabId" => t.parameter_tab(),
        "newTab" => t.parameter_new_tab(),
        "label" | "value" => t.parameter_option(),
        "clear" => t.parameter_clear(),
        "submit" => t.parameter_submit(),
        other => other,
    };
    words.to_owned()
}

fn shown(t: Messages, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(yes) => if *yes { t.yes() } else { t.no() }.to_owned(),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        simple => simple.to_string(),
    }
}

/// The name of the element in an approval's preview (`[ref] role "name" state`); all of it where it has none. Foreign text.
#[must_use]
pub fn preview_name(preview: &str) -> String {
    let mut escaped = false;
    let end = |c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    };
    let name = preview.split_once('"').and_then(|(_, rest)| rest.get(..rest.find(end)?));
    match name.filter(|name| !name.trim().is_empty()) {
        Some(name) => clip(name, LINE_CHARS_MAX),
        None => preview_words(preview),
    }
}

/// What an approval's preview says of the element that is aimed at, without the reference in front. Foreign text.
#[must_use]
pub fn preview_words(preview: &str) -> String {
    let line = preview.trim();
    let name = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(line, |(_, name)| name);
    clip(name, LINE_CHARS_MAX)
}

/// Whether an answer may hold for more than this once: not for private data, a site without access or one without a
/// name, which the engine asks about each time.
#[must_use]
pub fn may_remember(flags: &[String], origin: &str) -> bool {
    let once = |flag: &String| matches!(flag.as_str(), "host_permission" | "sensitive_payload");
    !flags.iter().any(once) && !matches!(origin, "" | "null")
}

/// Why a call became a question, in words.
#[must_use]
pub fn flag_words(t: Messages, flag: &str) -> String {
    match flag {
        "sensitive_payload" => t.flag_sensitive_payload().to_owned(),
        "host_permission" => t.flag_host_permission().to_owned(),
        "escalation_l2" => t.flag_escalation_l2().to_owned(),
        "sensitive_origin" => t.flag_sensitive_origin().to_owned(),
        "cross_scope" => t.flag_cross_scope().to_owned(),
        other => t.flag_other(other),
    }
}

/// Why an answer was cut short, in words.
#[must_use]
pub fn stop_words(t: Messages, stop: Option<StopReason>) -> &'static str {
    match stop {
        Some(StopReason::MaxTokens) => t.incomplete_length(),
        Some(StopReason::ContentFilter) => t.incomplete_filter(),
        _ => t.incomplete(),
    }
}

/// What an interaction is about, in one line.
#[must_use]
pub fn interaction_words(t: Messages, it: &InteractionView) -> String {
    let text = |name: &str| it.params.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let said = match it.kind {
        InteractionKind::AskUser => {
            let mut fields = panelot_view::form::form_of(it.kind, &it.params);
            match (fields.len(), fields.pop()) {
                (1, Some(only)) => only.label,
                (count, _) => t.ask_several(count as u64),
            }
        }
        InteractionKind::UserAction => text("instruction"),
        InteractionKind::Schedule => text("reason"),
        InteractionKind::McpElicitation => text("message"),
        InteractionKind::WatchPage => {
            let value = clip(&text("value"), LINE_CHARS_MAX);
            match text("condition").as_str() {
                "text" => t.watch_for_text(&value),
                "text_gone" => t.watch_for_text_gone(&value),
                "url" => t.watch_for_address(&value),
                _ => t.watch_for_change().to_owned(),
            }
        }
    };
    if said.is_empty() { t.interaction_region().to_owned() } else { said }
}

/// A saved rule in words.
#[must_use]
pub fn rule_words(t: Messages, rule: &RuleView) -> String {
    permission_words(t, &rule.tool, &rule.origin)
}

/// What a rule or a grant is about.
#[must_use]
pub fn permission_words(t: Messages, tool: &str, origin: &str) -> String {
    let tool = if tool == "*" { t.rule_any_tool().to_owned() } else { tool_words(t, tool) };
    let site = if origin == "*" { t.rule_any_site() } else { origin };
    match t.lang() {
        Lang::En => format!("{tool} {}", t.rule_on(site)),
        Lang::ZhCn => format!("{}：{tool}", t.rule_on(site)),
    }
}

/// A rule's verdict in words.
#[must_use]
pub fn verdict_words(t: Messages, verdict: RuleVerdict) -> &'static str {
    match verdict {
        RuleVerdict::Allow => t.rule_allow(),
        RuleVerdict::Ask => t.rule_ask(),
        RuleVerdict::Deny => t.rule_deny(),
    }
}

/// A policy in a few words.
#[must_use]
pub fn policy_words(t: Messages, policy: PermissionPolicy) -> &'static str {
    match policy {
        PermissionPolicy::Always => t.policy_always_short(),
        PermissionPolicy::Untrusted => t.policy_untrusted_short(),
        PermissionPolicy::Auto => t.policy_auto_short(),
    }
}

/// How long ago something was, in a few letters.
#[must_use]
pub fn age(t: Messages, now: Timestamp, then: Timestamp) -> String {
    match now.ms_since(then) {
        ms if ms < MINUTE => t.time_now().to_owned(),
        ms if ms < HOUR => t.time_minutes(ms / MINUTE),
        ms if ms < DAY => t.time_hours(ms / HOUR),
        ms => t.time_days(ms / DAY),
    }
}

/// A group of the list of chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Kept on top.
    Pinned,
    /// This calendar day.
    Today,
    /// The calendar day before.
    Yesterday,
    /// The seven calendar days before this one.
    Week,
    /// Before that.
    Older,
}

impl Group {
    /// The group of something that changed at `then`, where this calendar day began at `midnight` (local).
    #[must_use]
    pub const fn of(pinned: bool, midnight: Timestamp, then: Timestamp) -> Self {
        let days = then.0.saturating_add(7 * DAY);
        match (pinned, then.0 >= midnight.0, then.0.saturating_add(DAY) >= midnight.0, days >= midnight.0) {
            (true, ..) => Self::Pinned,
            (_, true, ..) => Self::Today,
            (_, _, true, _) => Self::Yesterday,
            (.., true) => Self::Week,
            _ => Self::Older,
        }
    }

    /// Its heading.
    #[must_use]
    pub fn words(self, t: Messages) -> &'static str {
        match self {
            Self::Pinned => t.group_pinned(),
            Self::Today => t.group_today(),
            Self::Yesterday => t.group_yesterday(),
            Self::Week => t.group_week(),
            Self::Older => t.group_older(),
        }
    }
}

/// Minutes and seconds, as a clock shows them; hours where there are more than two.
#[must_use]
pub fn clock(t: Messages, ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match seconds / 60 {
        minutes @ 120.. => t.time_hours(minutes.div_ceil(60)),
        minutes => format!("{minutes}:{:02}", seconds % 60),
    }
}

/// A number of tokens in few characters: 950, 1.2k, 34k.
#[must_use]
pub fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..10_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        _ => format!("{}k", count / 1000),
    }
}

/// The first characters of a text, with an ellipsis when there are more.
#[must_use]
pub fn clip(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The origin (scheme, host, port) of an `http` or `https` address.
#[must_use]
pub fn origin_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.trim().split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let valid = matches!(scheme.as_str(), "http" | "https")
        && !host.is_empty()
        && !host.contains(|c: char| c.is_whitespace() || c == '*');
    valid.then(|| format!("{scheme}://{}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use panelot_base::Timestamp;
    use panelot_protocol::event::ErrorCode;
    use serde_json::json;

    use super::{
        DAY, Group, HOUR, MINUTE, age, clip, clock, error_words, may_remember, origin_of, parameters,
        preview_name, preview_words, target_words, tokens,
    };
    use crate::i18n::{Lang, Messages};

    const T: Messages = Messages::new(Lang::En);

    #[test]
    fn a_providers_error_says_whose_fault_it_is_and_what_to_do() {
        let wrong_key =
            json!({"kind": "auth", "reason": "invalid_key", "status": 401, "upstreamMessage": "bad key"});
        let words = error_words(T, ErrorCode::ProviderError, "x", Some(&wrong_key));
        assert_eq!((words.title, words.settings), (T.error_auth(), true));
        assert_eq!(words.said.as_deref(), Some("bad key (HTTP 401)"));

        let busy = json!({"kind": "overloaded", "reason": "upstream_error", "status": 200, "upstreamMessage": "Busy",
            "upstreamCode": "overloaded_error"});
        let words = error_words(T, ErrorCode::ProviderError, "x", Some(&busy));
        assert_eq!((words.title, words.said.as_deref()), (T.error_overloaded(), Some("Busy")));
        let failed = json!({"kind": "overloaded", "reason": "upstream_error", "status": 500});
        assert_eq!(error_words(T, ErrorCode::ProviderError, "x", Some(&failed)).title, T.error_server());
        let unreachable = json!({"kind": "network", "upstreamMessage": "network error: Failed to fetch"});
        assert_eq!(error_words(T, ErrorCode::ProviderError, "x", Some(&unreachable)).said, None);

        let limited = json!({"kind": "rate_limit", "retryAfterMs": 2500, "status": 429});
        let words = error_words(T, ErrorCode::ProviderError, "x", Some(&limited));
        assert_eq!((words.next.as_str(), words.retry), ("Try again in 3 seconds.", true));
    }

    #[test]
    fn every_kind_and_reason_of_the_provider_crate_has_words_of_its_own() {
        for kind in ["auth", "rate_limit", "overloaded", "context_too_long", "content_filter", "network"] {
            let words = error_words(T, ErrorCode::ProviderError, "", Some(&json!({"kind": kind})));
            assert_ne!(words.title, T.error_provider(), "{kind}");
        }
        for reason in [
            "invalid_key",
            "permission_denied",
            "quota_exceeded",
            "endpoint_not_found",
            "model_not_found",
            "invalid_request",
            "upstream_error",
            "response_format",
            "truncated",
            "redirected",
            "origin_refused",
            "not_running",
            "stalled",
            "no_access",
            "built_in_missing",
            "built_in_not_downloaded",
        ] {
            let words = error_words(
                T,
                ErrorCode::ProviderError,
                "",
                Some(&json!({"kind": "protocol", "reason": reason})),
            );
            assert_ne!(words.title, T.error_provider(), "{reason}");
        }
    }

    #[test]
    fn an_error_of_the_engine_keeps_its_own_text_as_detail() {
        let words = error_words(T, ErrorCode::StorageFailed, "quota", None);
        assert_eq!((words.title, words.said.as_deref()), (T.error_storage(), Some("quota")));
        assert!(error_words(T, ErrorCode::NotConfigured, "", None).settings);
    }

    #[test]
    fn a_call_is_summed_up_by_its_most_telling_argument() {
        assert_eq!(
            target_words(Some(&json!({"ref": "a-1", "text": "Ada\n Lovelace"})), None),
            "Ada Lovelace"
        );
        assert_eq!(target_words(Some(&json!({"ref": "a-1"})), Some(&json!({"element": "Submit"}))), "Submit");
        assert_eq!(target_words(None, None), "");
        assert_eq!(target_words(Some(&json!({"text": "x".repeat(500)})), None).chars().count(), 121);
    }

    #[test]
    fn a_preview_is_shown_without_its_reference() {
        assert_eq!(preview_words(r#"[k7q2-14] button "Place order""#), r#"button "Place order""#);
        assert_eq!(preview_words("button"), "button");
        assert_eq!(preview_words("[odd"), "[odd");
        assert_eq!(preview_name(r#"[k7q2-14] textbox "Name" empty required"#), "Name");
        assert_eq!(preview_name(r#"[a-1] button "Say \"yes\" now" pressed"#), r#"Say \"yes\" now"#);
        assert_eq!(preview_name(r#"[a-1] button "" disabled"#), r#"button "" disabled"#);
        assert_eq!(preview_name("[a-1] button"), "button");
    }

    #[test]
    fn private_data_and_nameless_sites_are_allowed_once_only() {
        assert!(may_remember(&[], "https://a.example"));
        assert!(may_remember(&["escalation_l2".to_owned()], "https://a.example"));
        assert!(!may_remember(&["sensitive_payload".to_owned()], "https://a.example"));
        assert!(!may_remember(&["host_permission".to_owned()], "https://a.example"));
        assert!(!may_remember(&[], "null") && !may_remember(&[], ""));
    }

    #[test]
    fn every_parameter_is_shown() {
        let shown = parameters(T, &json!({"ref": "a-1", "clear": false, "list": [1]}));
        assert_eq!(shown.len(), 3);
        assert!(shown.contains(&(T.parameter_clear().to_owned(), T.no().to_owned())));
        assert!(shown.iter().any(|(name, _)| name == "list"), "what has no word keeps its name");
        assert!(parameters(T, &json!(null)).is_empty());
    }

    #[test]
    fn days_are_calendar_days() {
        let midnight = Timestamp(100 * DAY);
        let group = |at: u64| Group::of(false, midnight, Timestamp(at));
        assert_eq!(group(100 * DAY), Group::Today);
        assert_eq!(group(100 * DAY - 1), Group::Yesterday);
        assert_eq!(group(99 * DAY - 1), Group::Week);
        assert_eq!(group(93 * DAY - 1), Group::Older);
        assert_eq!(Group::of(true, midnight, Timestamp(0)), Group::Pinned);
    }

    #[test]
    fn times_and_numbers_are_short() {
        assert_eq!(age(T, Timestamp(HOUR), Timestamp(HOUR - 5 * MINUTE)), "5 min");
        assert_eq!(age(T, Timestamp(0), Timestamp(HOUR)), "now");
        assert_eq!((clock(T, 299_001), clock(T, 0)), ("5:00".to_owned(), "0:00".to_owned()));
        assert_eq!(
            (clock(T, HOUR + 5 * MINUTE), clock(T, 24 * HOUR - 1)),
            ("65:00".into(), "24 h".to_owned())
        );
        assert_eq!((tokens(999), tokens(1234), tokens(34_567)), ("999".into(), "1.2k".into(), "34k".into()));
        assert_eq!((clip("äöü", 2), clip("äöü", 3)), ("äö…".to_owned(), "äöü".to_owned()));
    }

    #[test]
    fn the_origin_of_an_address_is_where_requests_go() {
        assert_eq!(origin_of("HTTPS://API.example:8443/v1").as_deref(), Some("https://api.example:8443"));
        assert_eq!(origin_of("https://good@evil.example/x").as_deref(), Some("https://evil.example"));
        for bad in ["", "api.example", "ftp://a", "https://", "https:///x", "https://*/x"] {
            assert_eq!(origin_of(bad), None, "{bad:?}");
        }
    }
}
