//! What a navigation may yield once its document is there: redirects are judged after the fact.

use crate::decide::Denial;
use crate::origin::Origin;
use crate::rule::{RuleVerdict, Rules};
use crate::sensitive::is_sensitive_origin;

/// Where a navigation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// On the origin that was judged.
    AsAsked,
    /// On another one that nothing speaks against: its content is foreign data like any other.
    Redirected {
        /// That origin.
        origin: Origin,
    },
    /// On one whose content must not be used. The tab is there; nothing of the document reaches the model.
    Refused(Denial),
}

/// Judges the origin of the document that a permitted navigation ended on.
///
/// `tool` is the one that navigated, `destination` the address that it was permitted to go to, `committed` the origin of
/// the document that came. `reading_tool` is the tool by which the document's content would otherwise be read: a rule that denies it on that
/// origin withholds the content of the landing, too.
#[must_use]
pub fn judge_landing(
    tool: &str,
    destination: Option<&str>,
    rules: &Rules,
    reading_tool: &str,
    committed: &str,
) -> Landing {
    let origin = Origin::parse(committed);
    let denies = |tool| rules.find(RuleVerdict::Deny, tool, &origin);
    if let Some(rule) = denies(tool).or_else(|| denies(reading_tool)) {
        let (tool, origin) = (rule.tool.to_string(), rule.origin.to_string());
        return Landing::Refused(Denial::Rule { tool, origin });
    }
    if is_sensitive_origin(&origin) {
        return Landing::Refused(Denial::SensitiveOrigin { origin: origin.to_string() });
    }
    if destination.is_some_and(|asked| Origin::parse(asked) == origin) {
        return Landing::AsAsked;
    }
    if matches!(&origin, Origin::Site { .. }) && !origin.is_web() {
        return Landing::Refused(Denial::NoAccess);
    }
    Landing::Redirected { origin }
}
