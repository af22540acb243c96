//! From a provider's error to a [`ProviderError`]: failed answers, and errors inside a stream that began well.
//!
//! Codes are believed before statuses, and statuses before words; words are only asked where neither says enough. Only
//! the fields named here are ever looked at, so echoed headers or request bodies decide nothing and are not kept.

use panelot_base::Secret;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::error::{ErrorKind, ProviderError, Reason};
use crate::http::ResponseHead;
use crate::limits::BODY_BYTES_MAX;
use crate::sanitise::upstream_text;

/// Longest wait that a provider may ask for and that is reported: a day. Beyond it the header is nonsense.
const RETRY_AFTER_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// The error that an answer with a failure status stands for.
///
/// `body` is as much of it as was read; the first 4 MiB are looked at. `key` is removed wherever it appears.
#[must_use]
pub fn http_error(head: &ResponseHead, body: &[u8], key: &Secret) -> ProviderError {
    let body = body.get(..body.len().min(BODY_BYTES_MAX)).unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    let said = match serde_json::from_str::<Value>(&text) {
        // Gemini's compatible wire wraps its error in a list.
        Ok(Value::Array(items)) => {
            items.first().filter(|item| item.is_object()).map(Said::in_body).unwrap_or_default()
        }
        Ok(value) => Said::in_body(&value),
        Err(_) if text.trim_start().starts_with('<') => Said::default(),
        Err(_) => Said { message: text.into_owned(), ..Said::default() },
    };
    let asked_wait =
        matches!(head.status, 408 | 425 | 429 | 500..=599).then(|| retry_after_ms(head)).flatten();
    let (kind, reason) = by_status(head.status, &said, asked_wait.is_some());
    let mut error = ProviderError::new(kind, reason);
    error.retry_after_ms = asked_wait;
    error.with_answer(head).with_said(&said, key)
}

/// The words of a shell for an address that the browser does not let it reach; [`network_error`] knows them.
pub const NO_ACCESS: &str = "The browser does not let this extension reach the address.";

/// No answer came, or reading one broke off; `detail` is the browser's own words, or [`NO_ACCESS`].
#[must_use]
pub fn network_error(detail: &str, key: &Secret) -> ProviderError {
    if detail == NO_ACCESS {
        return ProviderError::new(ErrorKind::Network, Some(Reason::NoAccess));
    }
    let lower = detail.to_lowercase();
    let reason = if lower.contains("redirect") { Some(Reason::Redirected) } else { None };
    let kind = if reason.is_some() { ErrorKind::Protocol } else { ErrorKind::Network };
    let mut error = ProviderError::new(kind, reason);
    error.upstream_message = upstream_text(detail, key);
    error
}

/// Nothing came for `ms` milliseconds, where something was due.
#[must_use]
pub fn stalled(ms: u64) -> ProviderError {
    let mut error = ProviderError::new(ErrorKind::Network, Some(Reason::Stalled));
    error.upstream_message = Some(format!("nothing came for {} seconds", ms / 1000));
    error
}

/// What an error means at this endpoint: servers on this computer refuse extensions in ways of their own (Ollama answers
/// 403 without a word to an origin that `OLLAMA_ORIGINS` does not name, LM Studio leaves out what the browser asks for
/// while its switch for cross-origin requests is off), and a server that is not running is no trouble of the network.
#[must_use]
pub fn explained(mut error: ProviderError, endpoint: &Endpoint) -> ProviderError {
    if !endpoint.is_local() {
        return error;
    }
    let said = error.upstream_message.as_deref().unwrap_or_default().to_lowercase();
    let about_origin = ["origin", "cors", "cross-origin"].iter().any(|word| said.contains(word));
    let reason = match (error.kind, error.reason, error.status) {
        (_, _, Some(403)) if said.is_empty() || about_origin => Reason::OriginRefused,
        (ErrorKind::Network, None, None) if about_origin => Reason::OriginRefused,
        (ErrorKind::Network, None, None) if error.upstream_message.is_some() => Reason::NotRunning,
        _ => return error,
    };
    error.reason = Some(reason);
    // A person has to start or to set something first.
    error.retryable = false;
    error
}

/// An error object inside an answer whose status promised success.
pub(crate) fn in_stream(value: &Value, head: &ResponseHead, key: &Secret) -> ProviderError {
    let said = Said::of(value);
    let (kind, reason) = said
        .by_code()
        .or_else(|| said.by_number())
        .or_else(|| said.by_words())
        .unwrap_or((ErrorKind::Protocol, Some(Reason::ResponseFormat)));
    ProviderError::new(kind, reason).with_answer(head).with_said(&said, key)
}

/// An answer that is not one of the wire; `detail` says what is wrong, in English.
pub(crate) fn format_error(detail: &str, head: &ResponseHead, key: &Secret) -> ProviderError {
    let mut error = ProviderError::new(ErrorKind::Protocol, Some(Reason::ResponseFormat)).with_answer(head);
    error.upstream_message = upstream_text(detail, key);
    error
}

impl ProviderError {
    pub(crate) fn with_answer(mut self, head: &ResponseHead) -> Self {
        self.status = Some(head.status);
        self.request_id = head.request_id();
        self
    }

    fn with_said(mut self, said: &Said, key: &Secret) -> Self {
        self.upstream_code = said.codes.first().and_then(|code| upstream_text(code, key));
        self.upstream_message = upstream_text(&said.message, key);
        self
    }
}

/// What a provider said about a failure, before anybody judged it.
#[derive(Default)]
struct Said {
    /// `code`, then `type`, then Google's `status`; as written.
    codes: Vec<String>,
    message: String,
}

type Verdict = (ErrorKind, Option<Reason>);

impl Said {
    /// Of a failed answer's JSON: its `error` member when that says something, else the object itself.
    fn in_body(value: &Value) -> Self {
        match value.get("error") {
            Some(error @ (Value::Object(_) | Value::String(_))) => {
                let mut said = Self::of(error);
                if said.message.is_empty() {
                    said.message = Self::of(value).message;
                }
                said
            }
            _ => Self::of(value),
        }
    }

    fn of(value: &Value) -> Self {
        if let Value::String(message) = value {
            return Self { codes: Vec::new(), message: message.clone() };
        }
        let scalar = |name: &str| match value.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        Self {
            codes: ["code", "type", "status"].into_iter().filter_map(scalar).collect(),
            message: scalar("message").or_else(|| scalar("detail")).unwrap_or_default(),
        }
    }

    fn by_code(&self) -> Option<Verdict> {
        self.codes.iter().find_map(|code| {
            let code = code.trim().to_ascii_lowercase().replace([' ', '-'], "_");
            let verdict = known_code(&code)?;
            let quota = verdict == (ErrorKind::RateLimit, None) && self.speaks_of(&QUOTA);
            Some(if quota { (ErrorKind::RateLimit, Some(Reason::QuotaExceeded)) } else { verdict })
        })
    }

    /// Some relays put the HTTP status that they got into the code.
    fn by_number(&self) -> Option<Verdict> {
        let status = self.codes.iter().find_map(|code| code.trim().parse::<u16>().ok())?;
        (400..600).contains(&status).then(|| by_status(status, self, false))
    }

    fn by_words(&self) -> Option<Verdict> {
        const TABLE: [(&[&str], Verdict); 8] = [
            (&PERMISSION, (ErrorKind::Auth, Some(Reason::PermissionDenied))),
            (&KEY, (ErrorKind::Auth, Some(Reason::InvalidKey))),
            (&QUOTA, (ErrorKind::RateLimit, Some(Reason::QuotaExceeded))),
            (&RATE, (ErrorKind::RateLimit, None)),
            (&CONTEXT, (ErrorKind::ContextTooLong, None)),
            (&BUSY, (ErrorKind::Overloaded, Some(Reason::UpstreamError))),
            (&FILTER, (ErrorKind::ContentFilter, None)),
            (&REQUEST, (ErrorKind::Protocol, Some(Reason::InvalidRequest))),
        ];
        if self.names_missing_model() {
            return Some((ErrorKind::Protocol, Some(Reason::ModelNotFound)));
        }
        TABLE.into_iter().find(|(words, _)| self.speaks_of(words)).map(|(_, verdict)| verdict)
    }

    fn speaks_of(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    fn names_missing_model(&self) -> bool {
        self.speaks_of(&["model", "模型"]) && self.speaks_of(&MISSING)
    }
}

// Wording in English and Chinese, lower case. Phrases and not words, because error texts like to mention settings pages
// for billing and limits while they mean something else.
const PERMISSION: [&str; 6] =
    ["permission denied", "not have permission", "not authorized to", "没有权限", "无权限", "无权访问"];
const KEY: [&str; 12] = [
    "api key not valid",
    "invalid api key",
    "invalid x-api-key",
    "身份验证失败",
    "无效的令牌",
    "无效的api",
    "api key 无效",
    "incorrect api key",
    "api key is invalid",
    "invalid authentication",
    "令牌无效",
    "密钥无效",
];
const QUOTA: [&str; 17] = [
    "credit balance is too low",
    "insufficient funds",
    "arrearage",
    "已欠费",
    "配额已用",
    "配额不足",
    "exceeded your current quota",
    "quota exceeded",
    "insufficient quota",
    "insufficient balance",
    "insufficient credit",
    "insufficient_quota",
    "out of credits",
    "余额不足",
    "额度不足",
    "额度已用",
    "欠费",
];
const RATE: [&str; 9] = [
    "rate limit",
    "too many requests",
    "请求过于频繁",
    "请求过多",
    "请求数过多",
    "并发数过高",
    "速率限制",
    "限流",
    "频率限制",
];
const CONTEXT: [&str; 15] = [
    "上下文窗口",
    "输入过长",
    "输入长度超",
    "超出最大长度",
    "range of input length",
    "context length",
    "context window",
    "maximum context",
    "context_length",
    "prompt is too long",
    "too many tokens",
    "input is too long",
    "exceeds the available context",
    "上下文长度",
    "超过最大长度",
];
const BUSY: [&str; 7] = [
    "overloaded",
    "over capacity",
    "server is busy",
    "temporarily unavailable",
    "繁忙",
    "过载",
    "访问量过大",
];
const FILTER: [&str; 5] =
    ["content management policy", "content policy", "content filter", "inappropriate content", "敏感"];
const REQUEST: [&str; 3] = ["invalid request", "bad request", "参数错误"];
const MISSING: [&str; 6] =
    ["not found", "does not exist", "unknown model", "not exist", "no such model", "不存在"];

fn known_code(code: &str) -> Option<Verdict> {
    use ErrorKind::{Auth, ContentFilter, ContextTooLong, Overloaded, Protocol, RateLimit};
    Some(match code {
        "insufficient_permission"
        | "insufficient_permissions"
        | "permission_denied"
        | "permission_error"
        | "forbidden"
        | "access_denied" => (Auth, Some(Reason::PermissionDenied)),
        "auth"
        | "auth_error"
        | "authentication_error"
        | "invalid_api_key"
        | "invalid_key"
        | "unauthorized"
        | "unauthenticated"
        // LiteLLM, where only its own key lets one in, and it was another.
        | "no_db_connection" => (Auth, Some(Reason::InvalidKey)),
        "insufficient_quota"
        | "insufficient_balance"
        | "insufficient_credit"
        | "insufficient_credits"
        | "billing_error" => (RateLimit, Some(Reason::QuotaExceeded)),
        "too_many_requests" | "resource_exhausted" => (RateLimit, None),
        _ if code.contains("rate_limit") => (RateLimit, None),
        "overloaded"
        | "overloaded_error"
        | "server_overload"
        | "server_overloaded"
        | "unavailable"
        | "service_unavailable"
        | "server_error"
        | "internal_server_error"
        | "api_error" => (Overloaded, Some(Reason::UpstreamError)),
        "model_not_found" | "unknown_model" | "model_missing" | "invalid_model" => {
            (Protocol, Some(Reason::ModelNotFound))
        }
        "built_in_missing" => (Protocol, Some(Reason::BuiltInMissing)),
        "built_in_not_downloaded" => (Protocol, Some(Reason::BuiltInNotDownloaded)),
        "context_length_exceeded" | "context_window_exceeded" | "exceed_context_size_error" => {
            (ContextTooLong, None)
        }
        "content_filter" | "content_policy_violation" | "data_inspection_failed" | "content_filter_error" => {
            (ContentFilter, None)
        }
        "invalid_request"
        | "invalid_request_error"
        | "bad_request"
        | "validation_error"
        | "invalid_argument" => (Protocol, Some(Reason::InvalidRequest)),
        _ => return None,
    })
}

fn by_status(status: u16, said: &Said, asked_wait: bool) -> Verdict {
    use ErrorKind::{Auth, ContentFilter, ContextTooLong, Overloaded, Protocol, RateLimit};
    let coded = said.by_code();
    let quota = coded == Some((RateLimit, Some(Reason::QuotaExceeded)))
        // "Quota exceeded, come back in 30 s" is a rate limit.
        || (coded.is_none() && !asked_wait && said.speaks_of(&QUOTA));
    match status {
        401 => (Auth, Some(Reason::InvalidKey)),
        403 => (Auth, Some(Reason::PermissionDenied)),
        402 => (RateLimit, Some(Reason::QuotaExceeded)),
        500..=599 if quota => (Overloaded, Some(Reason::QuotaExceeded)),
        408 | 425 | 500..=599 => (Overloaded, Some(Reason::UpstreamError)),
        _ if quota => (RateLimit, Some(Reason::QuotaExceeded)),
        429 => (RateLimit, None),
        400..=499 => match coded {
            Some((ContentFilter, _)) => (ContentFilter, None),
            Some((ContextTooLong, _)) => (ContextTooLong, None),
            _ if said.speaks_of(&CONTEXT) || status == 413 => (ContextTooLong, None),
            Some((Protocol, Some(Reason::ModelNotFound))) => (Protocol, Some(Reason::ModelNotFound)),
            _ if said.names_missing_model() => (Protocol, Some(Reason::ModelNotFound)),
            // Gemini and LiteLLM say 400 to a key that they do not know.
            Some((Auth, reason)) if status == 400 => (Auth, reason),
            _ if status == 400 && said.speaks_of(&KEY) => (Auth, Some(Reason::InvalidKey)),
            _ if matches!(status, 404 | 405 | 410) => (Protocol, Some(Reason::EndpointNotFound)),
            _ if coded.is_none() && said.speaks_of(&FILTER) => (ContentFilter, None),
            _ => (Protocol, Some(Reason::InvalidRequest)),
        },
        // A redirect is never followed with a credential: the address in the settings is not the right one.
        300..=399 => (Protocol, Some(Reason::Redirected)),
        _ => (Protocol, Some(Reason::ResponseFormat)),
    }
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date beside the answer's own `date`: no clock is needed.
fn retry_after_ms(head: &ResponseHead) -> Option<u64> {
    let milliseconds = head.header("retry-after-ms").and_then(decimal);
    let ms = match (milliseconds, head.header("retry-after")) {
        (Some(ms), _) => ms,
        (None, Some(value)) => match decimal(value) {
            Some(seconds) => seconds * 1000.0,
            None => {
                let then = http_date(value)?;
                let now = http_date(head.header("date")?)?;
                return Some(then.saturating_sub(now).saturating_mul(1000).min(RETRY_AFTER_MS_MAX));
            }
        },
        (None, None) => return None,
    };
    if !ms.is_finite() || ms < 0.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "checked above to be finite and not negative, and bounded by a day"
    )]
    Some(ms.min(RETRY_AFTER_MS_MAX as f64).ceil() as u64)
}

/// A decimal number, read as JSON reads it: the standard library's reader brings 25 kB to the worker.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    serde_json::from_str::<Value>(text.trim()).ok()?.as_f64()
}

/// Seconds since the Unix epoch of an IMF-fixdate (RFC 9110, 5.6.7), the only form that servers may send.
fn http_date(text: &str) -> Option<u64> {
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        .iter()
        .position(|month| *month == name)? as u64;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':');
    let mut unit = |max: u64| clock.next()?.parse::<u64>().ok().filter(|value| *value <= max);
    let (hour, minute, second) = (unit(23)?, unit(59)?, unit(60)?);
    if words.next() != Some("GMT") || !(1970..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days from the civil calendar, with years that start in March so that a leap day is the last one.
    let shifted = if month < 2 { year - 1 } else { year };
    let since_march = (month + 10) % 12;
    let days =
        shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (since_march * 153 + 2) / 5 + day;
    // 719,469 is that count for 1 January 1970.
    let since_epoch = days.checked_sub(719_469)?;
    Some(((since_epoch * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;
    use serde_json::{Value, json};

    use super::{NO_ACCESS, explained, http_date, http_error, in_stream, network_error, stalled};
    use crate::endpoint::Endpoint;
    use crate::error::ErrorKind::{
        self, Auth, ContentFilter, ContextTooLong, Network, Overloaded, Protocol, RateLimit,
    };
    use crate::error::Fault;
    use crate::error::Reason::{
        self, EndpointNotFound, InvalidKey, InvalidRequest, ModelNotFound, NoAccess, NotRunning,
        OriginRefused, PermissionDenied, QuotaExceeded, Redirected, ResponseFormat, Stalled, UpstreamError,
    };
    use crate::http::ResponseHead;

    fn head(status: u16, headers: &[(&str, &str)]) -> ResponseHead {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ResponseHead { status, headers }
    }

    fn failed(status: u16, body: &str) -> crate::ProviderError {
        http_error(&head(status, &[]), body.as_bytes(), &Secret::new("the-key"))
    }

    #[test]
    fn failed_answers_are_sorted_by_code_status_and_words() {
        let table: &[(u16, &str, ErrorKind, Option<Reason>)] = &[
            (401, "", Auth, Some(InvalidKey)),
            (403, "", Auth, Some(PermissionDenied)),
            (402, r#"{"error":{"message":"Insufficient Balance"}}"#, RateLimit, Some(QuotaExceeded)),
            (
                400,
                r#"{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}"#,
                Auth,
                Some(InvalidKey),
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
                Auth,
                Some(InvalidKey),
            ),
            (
                400,
                r#"{"error":{"message":"You exceeded your current quota"}}"#,
                RateLimit,
                Some(QuotaExceeded),
            ),
            (400, r#"{"error":{"code":"insufficient_quota"}}"#, RateLimit, Some(QuotaExceeded)),
            (400, r#"{"error":{"message":"账户余额不足"}}"#, RateLimit, Some(QuotaExceeded)),
            (404, "nothing here", Protocol, Some(EndpointNotFound)),
            (405, "", Protocol, Some(EndpointNotFound)),
            (301, "", Protocol, Some(Redirected)),
            (404, r#"{"error":{"message":"The model `x` does not exist"}}"#, Protocol, Some(ModelNotFound)),
            (404, r#"{"error":{"message":"模型不存在"}}"#, Protocol, Some(ModelNotFound)),
            (400, r#"{"error":{"code":"model_not_found"}}"#, Protocol, Some(ModelNotFound)),
            (400, r#"{"error":{"code":"unknown_model"}}"#, Protocol, Some(ModelNotFound)),
            (422, r#"{"detail":"field required"}"#, Protocol, Some(InvalidRequest)),
            (400, r#"{"error":{"code":"context_length_exceeded"}}"#, ContextTooLong, None),
            (400, r#"{"error":{"message":"maximum context length is 8192"}}"#, ContextTooLong, None),
            (413, "<html>too large</html>", ContextTooLong, None),
            (
                400,
                r#"{"error":{"message":"quota exceeded: too many tokens"}}"#,
                RateLimit,
                Some(QuotaExceeded),
            ),
            (400, r#"{"error":{"code":"content_filter"}}"#, ContentFilter, None),
            (400, r#"{"error":{"code":"data_inspection_failed"}}"#, ContentFilter, None),
            (408, "", Overloaded, Some(UpstreamError)),
            (429, "", RateLimit, None),
            (
                429,
                r#"{"error":{"message":"Rate limit reached. Need more? Visit /settings/billing"}}"#,
                RateLimit,
                None,
            ),
            (429, r#"{"error":{"type":"insufficient_quota"}}"#, RateLimit, Some(QuotaExceeded)),
            (500, "", Overloaded, Some(UpstreamError)),
            (503, r#"{"error":{"message":"model x not found"}}"#, Overloaded, Some(UpstreamError)),
            (529, r#"{"error":{"message":"model x not found"}}"#, Overloaded, Some(UpstreamError)),
            (503, r#"{"error":{"code":"insufficient_quota"}}"#, Overloaded, Some(QuotaExceeded)),
            (
                400,
                r#"[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]"#,
                Protocol,
                Some(InvalidRequest),
            ),
        ];
        for (status, body, kind, reason) in table {
            let error = failed(*status, body);
            assert_eq!((error.kind, error.reason), (*kind, *reason), "{status} {body}");
            assert_eq!(error.status, Some(*status));
        }
    }

    #[test]
    fn errors_inside_a_stream_are_sorted_by_code_then_by_words() {
        let table: &[(Value, ErrorKind, Option<Reason>)] = &[
            (json!({"code": "insufficient_credits"}), RateLimit, Some(QuotaExceeded)),
            (
                json!({"code": "x1", "message": "current quota: quota exceeded"}),
                RateLimit,
                Some(QuotaExceeded),
            ),
            (json!({"type": "permission_error"}), Auth, Some(PermissionDenied)),
            (json!({"code": "invalid_api_key", "message": "permission denied"}), Auth, Some(InvalidKey)),
            (json!({"code": "Rate-Limit Exceeded", "message": "model overloaded"}), RateLimit, None),
            (json!({"code": "rate_limited", "message": "Quota exceeded"}), RateLimit, Some(QuotaExceeded)),
            (
                json!({"type": "overloaded_error", "message": "quota exceeded"}),
                Overloaded,
                Some(UpstreamError),
            ),
            (
                json!({"type": "invalid_request_error", "message": "rate limit"}),
                Protocol,
                Some(InvalidRequest),
            ),
            (json!({"code": "model_not_found", "message": "quota exceeded"}), Protocol, Some(ModelNotFound)),
            (json!({"message": "The provider is overloaded"}), Overloaded, Some(UpstreamError)),
            (json!({"code": 502, "message": "Provider returned error"}), Overloaded, Some(UpstreamError)),
            (json!({"code": 429, "message": "slow down"}), RateLimit, None),
            (json!("too many requests"), RateLimit, None),
            (json!({"message": "strange"}), Protocol, Some(ResponseFormat)),
            (json!(true), Protocol, Some(ResponseFormat)),
        ];
        for (value, kind, reason) in table {
            let error = in_stream(value, &head(200, &[]), &Secret::default());
            assert_eq!((error.kind, error.reason, error.status), (*kind, *reason, Some(200)), "{value}");
        }
    }

    #[test]
    fn what_the_provider_said_is_kept_without_the_key_and_without_anything_else() {
        let body = json!({"error": {"code": 40012, "message": "the key the-key is bad", "headers": {"x": "private"}},
            "authorization": "private"});
        let error = failed(401, &body.to_string());
        assert_eq!(error.upstream_message.as_deref(), Some("the key [REDACTED] is bad"));
        assert_eq!(error.upstream_code.as_deref(), Some("40012"));
        assert!(!format!("{error:?}{error}").contains("private"));
        assert_eq!(failed(500, "plain words").upstream_message.as_deref(), Some("plain words"));
        assert_eq!(failed(502, "<html>…</html>").upstream_message, None);
        assert_eq!(failed(400, r#"["secret"]"#).upstream_message, None);
        let long = failed(500, &"é".repeat(9000)).upstream_message.unwrap();
        assert_eq!(long.chars().count(), 2000);
    }

    #[test]
    fn local_servers_are_explained_and_others_are_left_alone() {
        let at = |base: &str| Endpoint::new(base, Secret::default()).unwrap();
        let (ollama, remote) = (at("localhost:11434"), at("https://a.test"));
        let network = |detail: &str| network_error(detail, &Secret::default());
        for (error, reason) in [
            (failed(403, ""), Some(OriginRefused)),
            (failed(403, "Origin not allowed"), Some(OriginRefused)),
            (failed(403, "no such plan"), Some(PermissionDenied)),
            (network("Failed to fetch"), Some(NotRunning)),
            (network("blocked by CORS policy"), Some(OriginRefused)),
            (failed(404, ""), Some(EndpointNotFound)),
        ] {
            let told = explained(error.clone(), &ollama);
            assert_eq!((told.reason, told.retryable), (reason, false), "{error}");
            assert_eq!(explained(error.clone(), &remote), error);
        }
        for (error, reason) in [(network(NO_ACCESS), NoAccess), (stalled(120_000), Stalled)] {
            assert_eq!(explained(error.clone(), &ollama), error);
            assert_eq!((error.kind, error.reason), (Network, Some(reason)));
        }
        assert_eq!((stalled(1).retryable, network(NO_ACCESS).retryable), (true, false));
        assert_eq!((stalled(1).fault(), network(NO_ACCESS).fault()), (Fault::Provider, Fault::Settings));
        assert_eq!(stalled(120_000).upstream_message.as_deref(), Some("nothing came for 120 seconds"));
        let redirected = network("the server redirects to another address");
        assert_eq!((redirected.reason, redirected.retryable), (Some(Redirected), false));
        assert_eq!(redirected.fault(), Fault::Settings);
        assert_eq!(failed(301, "").reason, Some(Redirected));
    }

    #[test]
    fn chinese_services_are_understood() {
        for (status, body, kind, reason) in [
            (400, "余额不足或无可用资源包,请充值。", RateLimit, Some(QuotaExceeded)),
            (
                400,
                "Access denied, please make sure your account is in good standing. Arrearage",
                RateLimit,
                Some(QuotaExceeded),
            ),
            (400, "输入长度超过限制", ContextTooLong, None),
            (429, "您当前使用该API的并发数过高，请降低并发", RateLimit, None),
            (400, "模型不存在，请检查模型代码。", Protocol, Some(ModelNotFound)),
            (400, "系统检测到输入或生成内容可能包含不安全或敏感内容", ContentFilter, None),
        ] {
            let error = failed(status, &json!({"error": {"code": "1234", "message": body}}).to_string());
            assert_eq!((error.kind, error.reason), (kind, reason), "{body}");
        }
        let busy = json!({"message": "该模型当前访问量过大，请您稍后再试"});
        assert_eq!(in_stream(&busy, &head(200, &[]), &Secret::default()).kind, Overloaded);
        let key = json!({"message": "身份验证失败。"});
        assert_eq!(in_stream(&key, &head(200, &[]), &Secret::default()).reason, Some(InvalidKey));
    }

    #[test]
    fn a_body_without_error_fields_is_not_judged_by_what_it_echoes() {
        let error = failed(400, r#"{"request":{"messages":["quota exceeded, context length"]}}"#);
        assert_eq!((error.kind, error.reason), (Protocol, Some(InvalidRequest)));
    }

    #[test]
    fn the_wait_that_a_provider_asks_for_is_read_in_every_form() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (status, headers, expected) in [
            (429, vec![("Retry-After", "7")], Some(7000)),
            (503, vec![("retry-after", "1.5")], Some(1500)),
            (429, vec![("retry-after-ms", "250"), ("retry-after", "1")], Some(250)),
            (429, vec![("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date], Some(30_000)),
            (429, vec![("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date], Some(0)),
            (429, vec![("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None),
            (429, vec![("retry-after", "soon")], None),
            (429, vec![("retry-after", "-1")], None),
            (429, vec![("retry-after", "inf")], None),
            (429, vec![("retry-after", "1e300")], Some(86_400_000)),
            (400, vec![("retry-after", "7")], None),
        ] {
            let error = http_error(&head(status, &headers), b"", &Secret::default());
            assert_eq!(error.retry_after_ms, expected, "{headers:?}");
        }
    }

    #[test]
    fn dates_are_counted_in_the_civil_calendar() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 29 Feb 2024 12:00:00 GMT", Some(1_709_208_000)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("06 Nov 1994", None),
        ] {
            assert_eq!(http_date(text), seconds, "{text}");
        }
    }

    #[test]
    fn quota_words_beside_a_wait_are_a_rate_limit_that_passes() {
        let body = br#"{"error":{"message":"Quota exceeded for requests per minute"}}"#;
        let error = http_error(&head(429, &[("retry-after", "30")]), body, &Secret::default());
        assert_eq!((error.kind, error.reason, error.retryable), (RateLimit, None, true));
        let error = http_error(&head(429, &[]), body, &Secret::default());
        assert_eq!((error.reason, error.retryable), (Some(QuotaExceeded), false));
    }

    #[test]
    fn every_failure_names_who_has_to_act() {
        for (error, fault, retryable) in [
            (failed(401, ""), Fault::Account, false),
            (failed(402, ""), Fault::Account, false),
            (failed(429, ""), Fault::Account, true),
            (failed(404, ""), Fault::Settings, false),
            (failed(500, ""), Fault::Provider, true),
            (failed(400, ""), Fault::Request, false),
            (failed(413, ""), Fault::Request, false),
            (failed(200, "x"), Fault::Provider, false),
            (network_error("Failed to fetch", &Secret::default()), Fault::Network, true),
        ] {
            assert_eq!((error.fault(), error.retryable), (fault, retryable), "{error}");
        }
        assert_eq!(network_error("x", &Secret::default()).kind, Network);
    }
}
