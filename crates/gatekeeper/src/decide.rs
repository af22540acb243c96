//! The decision about one call.

use panelot_base::WebAddress;
use panelot_base::digest::json_digest;
use panelot_tools::descriptor::{Descriptor, Effect, Level, TargetKind};
use panelot_tools::target::{HostAccess, TargetFacts};
use serde_json::{Value, json};

use crate::origin::{Origin, is_web_scheme};
use crate::payload::is_sensitive;
use crate::permit::Permit;
use crate::rule::{Grants, RuleVerdict, Rules};
use crate::sensitive::is_sensitive_origin;

/// How much is asked where no rule and no grant says anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Every call is asked, reads included.
    Always,
    /// Reads go ahead, writes are asked.
    #[default]
    Untrusted,
    /// Reads and writes go ahead.
    Auto,
}

impl Policy {
    /// Reads the stored word; one that is not known means [`Policy::Untrusted`].
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "always" => Self::Always,
            "auto" => Self::Auto,
            _ => Self::Untrusted,
        }
    }

    /// The stored word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Untrusted => "untrusted",
            Self::Auto => "auto",
        }
    }
}

/// What is known about the field that a call writes into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field {
    /// None, or nothing is known about it: the value alone is looked at.
    #[default]
    Unknown,
    /// A field whose content a page may show.
    Plain,
    /// A password, a one-time code or payment data.
    Secret,
}

/// One call, with everything that bears on the decision.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What the tool is.
    pub tool: &'a Descriptor,
    /// The arguments, already checked against the tool's schema.
    pub arguments: &'a Value,
    /// What the call is aimed at, as the browser reports it now.
    pub facts: &'a TargetFacts,
    /// The address that a tab is sent to, for tools that have one.
    pub destination: Option<&'a str>,
    /// The field that is written into.
    pub field: Field,
}

/// Why a call is a question, or what the person should know when they answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// It uses the debugger.
    EscalationL2,
    /// Chrome's own permission for the site is missing; agreeing includes granting it.
    HostPermission,
    /// The site handles money, identity or the state.
    SensitiveOrigin,
    /// It carries a card number, a password, a key or a token, or fills a secret field.
    SensitivePayload,
}

impl Flag {
    /// The word on the wire and in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EscalationL2 => "escalation_l2",
            Self::HostPermission => "host_permission",
            Self::SensitiveOrigin => "sensitive_origin",
            Self::SensitivePayload => "sensitive_payload",
        }
    }
}

/// A question to the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What they should know.
    pub flags: Vec<Flag>,
    /// Digest of what is shown and judged; an approval is bound to it.
    pub digest: String,
    /// The origin it is judged by, which a session grant or a site rule would be about.
    pub origin: Origin,
}

impl Ask {
    /// Whether a session grant or an allow rule could answer this question the next time. Where it could not, "this
    /// session" and "this site" promise something that does not happen, and views should not offer them.
    #[must_use]
    pub fn can_be_remembered(&self) -> bool {
        self.origin != Origin::Opaque
            && !self.flags.iter().any(|flag| matches!(flag, Flag::HostPermission | Flag::SensitivePayload))
    }
}

/// Why a call is refused. The text is for the model and the record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Chrome lets no extension in there.
    #[error("Chrome lets no extension work on this page")]
    NoAccess,
    /// There is no document to work on.
    #[error("there is no page to work on")]
    NoTarget,
    /// There is no usable address to go to.
    #[error(
        "the address cannot be used: it must be absolute, start with http or https, and hold no password"
    )]
    Destination,
    /// A rule of the person's.
    #[error("a permission rule denies {tool} on {origin}")]
    Rule {
        /// The rule's tool pattern.
        tool: String,
        /// The rule's origin pattern.
        origin: String,
    },
    /// A site that the agent never changes anything on.
    #[error("the agent does not act on {origin}, which handles money, identity or the state")]
    SensitiveOrigin {
        /// The site.
        origin: String,
    },
}

/// What is decided about a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes ahead.
    Allow(Permit),
    /// The person is asked.
    Ask(Ask),
    /// It does not go ahead.
    Deny(Denial),
}

/// Decides about a call. The order is the contract:
///
/// 1. What cannot be done is refused: no access, no document, no usable address.
/// 2. A deny rule refuses. It beats everything that follows, whatever is more specific.
/// 3. Writing to a sensitive site, or going to one, is refused.
/// 4. An ask rule asks.
/// 5. Sensitive payload or missing host access asks: neither grant nor rule nor policy `auto` silences that.
/// 6. A session grant, then an allow rule, lets it go ahead.
/// 7. Reading a sensitive site asks; so does writing to a document without an origin of its own.
/// 8. The policy decides.
///
/// While a stored rule cannot be read, whatever would go ahead is asked.
#[must_use]
pub fn decide(policy: Policy, rules: &Rules, grants: &Grants, question: &Question<'_>) -> Verdict {
    let tool = question.tool.name;
    let origin = match judged_origin(question) {
        Ok(origin) => origin,
        Err(denial) => return Verdict::Deny(denial),
    };
    if let Some(rule) = rules.find(RuleVerdict::Deny, tool, &origin) {
        return Verdict::Deny(Denial::Rule { tool: rule.tool.to_string(), origin: rule.origin.to_string() });
    }
    let sensitive_site = is_sensitive_origin(&origin);
    if sensitive_site && question.tool.effect == Effect::Write {
        return Verdict::Deny(Denial::SensitiveOrigin { origin: origin.to_string() });
    }
    let flags = flags(policy, question, sensitive_site);
    let digest = digest(question, &origin, &flags);
    let asked_by_rule = rules.find(RuleVerdict::Ask, tool, &origin).is_some();
    let hard = flags.iter().any(|flag| matches!(flag, Flag::SensitivePayload | Flag::HostPermission));
    let goes_ahead = !asked_by_rule
        && !hard
        && !rules.is_unreadable()
        && (is_allowed(rules, grants, tool, &origin)
            || (!is_floor(question, &origin, sensitive_site) && policy_allows(policy, question)));
    if goes_ahead {
        Verdict::Allow(permit(question, digest))
    } else {
        Verdict::Ask(Ask { flags, digest, origin })
    }
}

/// The origin that a call is judged by: the destination's for a navigation, else the document's.
pub(crate) fn judged_origin(question: &Question<'_>) -> Result<Origin, Denial> {
    if question.facts.host_access == HostAccess::Impossible {
        return Err(Denial::NoAccess);
    }
    match question.tool.target {
        TargetKind::Browser => Ok(Origin::Browser),
        TargetKind::Document => {
            let target = question.facts.target.as_ref().ok_or(Denial::NoTarget)?;
            Ok(Origin::parse(&target.origin))
        }
        TargetKind::Destination => {
            let text = question.destination.ok_or(Denial::Destination)?;
            let address = WebAddress::parse(text.trim()).map_err(|_| Denial::Destination)?;
            let usable = is_web_scheme(address.scheme()) && !address.has_credentials();
            if usable { Ok(Origin::of(&address)) } else { Err(Denial::Destination) }
        }
    }
}

fn flags(policy: Policy, question: &Question<'_>, sensitive_site: bool) -> Vec<Flag> {
    let is_write = question.tool.effect == Effect::Write;
    let debugger = question.tool.level == Level::L2 && (is_write || policy == Policy::Always);
    // What the engine only shows to the person goes nowhere.
    let leaves = is_write || question.tool.level != Level::Builtin;
    let payload = question.field == Field::Secret && is_write || leaves && is_sensitive(question.arguments);
    let all = [
        (debugger, Flag::EscalationL2),
        (question.facts.host_access == HostAccess::Missing, Flag::HostPermission),
        (sensitive_site, Flag::SensitiveOrigin),
        (payload, Flag::SensitivePayload),
    ];
    all.into_iter().filter_map(|(holds, flag)| holds.then_some(flag)).collect()
}

fn is_allowed(rules: &Rules, grants: &Grants, tool: &str, origin: &Origin) -> bool {
    let by_rule = || *origin != Origin::Opaque && rules.find(RuleVerdict::Allow, tool, origin).is_some();
    grants.cover(tool, origin) || by_rule()
}

/// What even `auto` asks for.
fn is_floor(question: &Question<'_>, origin: &Origin, sensitive_site: bool) -> bool {
    sensitive_site || (*origin == Origin::Opaque && question.tool.effect == Effect::Write)
}

fn policy_allows(policy: Policy, question: &Question<'_>) -> bool {
    match (policy, question.tool.effect) {
        (Policy::Auto, _) | (Policy::Untrusted, Effect::Read) => true,
        (Policy::Untrusted, Effect::Write) => false,
        // What the engine answers by itself without looking anywhere is not worth a question.
        (Policy::Always, effect) => question.tool.level == Level::Builtin && effect == Effect::Read,
    }
}

/// SHA-256 over what is shown and judged. A navigation is bound to its destination, not to the page that is left.
pub(crate) fn digest(question: &Question<'_>, origin: &Origin, flags: &[Flag]) -> String {
    let flags: Vec<&str> = flags.iter().map(|flag| flag.as_str()).collect();
    let target = question.facts.target.as_ref();
    digest_of(
        question.tool.name,
        question.arguments,
        &origin.to_string(),
        &flags,
        target.map(|it| it.tab_id),
        target.filter(|_| question.tool.target == TargetKind::Document),
    )
}

pub(crate) fn digest_of(
    tool: &str,
    arguments: &Value,
    origin: &str,
    flags: &[&str],
    tab: Option<u32>,
    document: Option<&panelot_tools::target::Target>,
) -> String {
    json_digest(&json!({
        "tool": tool,
        "arguments": arguments,
        "origin": origin,
        "flags": flags,
        "tab": tab,
        "frame": document.map(|it| it.frame_id),
        "document": document.and_then(|it| it.document_id.as_deref()),
    }))
}

pub(crate) fn permit(question: &Question<'_>, digest: String) -> Permit {
    let target = question.facts.target.as_ref();
    Permit::new(question.tool.name, question.arguments, target, question.destination, digest)
}

#[cfg(test)]
pub(crate) mod tests;
