//! Saved rules and session grants.

use panelot_base::SortedSet;
use std::fmt;

use crate::origin::{InvalidPattern, Origin, OriginPattern};

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleVerdict {
    /// Go ahead without asking.
    Allow,
    /// Always ask.
    Ask,
    /// Never.
    Deny,
}

impl RuleVerdict {
    /// Reads the word that records hold.
    ///
    /// # Errors
    /// [`InvalidRule::Verdict`] for any other word.
    pub fn parse(text: &str) -> Result<Self, InvalidRule> {
        match text {
            "allow" => Ok(Self::Allow),
            "ask" => Ok(Self::Ask),
            "deny" => Ok(Self::Deny),
            _ => Err(InvalidRule::Verdict),
        }
    }

    /// The word that records hold.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Which tools a rule is about: `click`, `tab_*` or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPattern {
    /// The tool of this name.
    Exact(String),
    /// Every tool whose name begins so; empty for every tool.
    Prefix(String),
}

impl ToolPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`InvalidRule::Tool`] when it is empty, or has a star elsewhere than at its end.
    pub fn parse(text: &str) -> Result<Self, InvalidRule> {
        let (name, pattern): (_, fn(String) -> Self) = match text.strip_suffix('*') {
            Some(prefix) => (prefix, Self::Prefix),
            None => (text, Self::Exact),
        };
        let word = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if text.is_empty() || !word { Err(InvalidRule::Tool) } else { Ok(pattern(name.to_owned())) }
    }

    /// Whether a tool is meant.
    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        match self {
            Self::Exact(name) => name == tool,
            Self::Prefix(prefix) => tool.starts_with(prefix.as_str()),
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// The verdict.
    #[error("a verdict is `allow`, `ask` or `deny`")]
    Verdict,
    /// The tool.
    #[error("a tool pattern is a tool's name, the beginning of names with a star, or `*`")]
    Tool,
    /// The origin.
    #[error(transparent)]
    Origin(#[from] InvalidPattern),
}

/// A rule of the person's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it says.
    pub verdict: RuleVerdict,
    /// About which tools.
    pub tool: ToolPattern,
    /// On which origins.
    pub origin: OriginPattern,
}

impl Rule {
    /// Reads the three texts of a stored rule. Call it before a rule is stored, too.
    ///
    /// # Errors
    /// [`InvalidRule`] says which of them is wrong.
    pub fn parse(verdict: &str, tool: &str, origin: &str) -> Result<Self, InvalidRule> {
        Ok(Self {
            verdict: RuleVerdict::parse(verdict)?,
            tool: ToolPattern::parse(tool)?,
            origin: OriginPattern::parse(origin)?,
        })
    }

    pub(crate) fn matches(&self, tool: &str, origin: &Origin) -> bool {
        self.tool.matches(tool) && self.origin.matches(origin)
    }
}

/// All rules of the person. Their order means nothing: a deny beats an ask, and an ask beats an allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
    unreadable: bool,
}

impl Rules {
    /// The given rules.
    #[must_use]
    pub const fn new(rules: Vec<Rule>) -> Self {
        Self { rules, unreadable: false }
    }

    /// Reads stored rules (verdict, tool, origin). Each that cannot be read counts as [`Self::mark_unreadable`].
    pub fn read<'a>(stored: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Self {
        let mut all = Self::default();
        for (verdict, tool, origin) in stored {
            match Rule::parse(verdict, tool, origin) {
                Ok(rule) => all.rules.push(rule),
                Err(_) => all.mark_unreadable(),
            }
        }
        all
    }

    /// Notes that a stored rule could not be read. It may have been a refusal, so nothing is allowed silently any more:
    /// every call that would be is asked.
    pub const fn mark_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// Whether a stored rule could not be read.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        self.unreadable
    }

    /// The first rule of this verdict that matches.
    pub(crate) fn find(&self, verdict: RuleVerdict, tool: &str, origin: &Origin) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.verdict == verdict && rule.matches(tool, origin))
    }
}

/// A permission for this browser session: a tool on one origin, exactly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The tool's name.
    pub tool: String,
    /// The origin as [`Origin`] shows it: empty for the browser as a whole.
    pub origin: String,
}

/// The grants that hold in a thread now. The caller leaves out those of other threads and browser sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants(SortedSet<Grant>);

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}

impl Grants {
    /// Whether one covers this tool on this origin. An opaque origin is nobody's twice, so no grant covers it.
    pub(crate) fn cover(&self, tool: &str, origin: &Origin) -> bool {
        *origin != Origin::Opaque
            && self.0.contains(&Grant { tool: tool.to_owned(), origin: origin.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidRule, Rule, Rules, ToolPattern};

    #[test]
    fn a_tool_pattern_is_a_name_a_beginning_or_everything() {
        for (pattern, tool, expected) in [
            ("click", "click", true),
            ("click", "click_xy", false),
            ("tab_*", "tab_open", true),
            ("tab_*", "tabs_list", false),
            ("*", "anything", true),
        ] {
            assert_eq!(ToolPattern::parse(pattern).unwrap().matches(tool), expected, "{pattern} {tool}");
        }
        for bad in ["", "a*b", "**", "a b", "点击"] {
            assert_eq!(ToolPattern::parse(bad), Err(InvalidRule::Tool), "{bad}");
        }
    }

    #[test]
    fn a_rule_says_which_of_its_texts_is_wrong() {
        assert!(Rule::parse("deny", "*", "*").is_ok());
        assert_eq!(Rule::parse("maybe", "*", "*"), Err(InvalidRule::Verdict));
        assert_eq!(Rule::parse("deny", "", "*"), Err(InvalidRule::Tool));
        assert!(matches!(Rule::parse("deny", "*", "a/b"), Err(InvalidRule::Origin(_))));
    }

    #[test]
    fn a_stored_rule_that_cannot_be_read_is_noted() {
        assert!(!Rules::read([("allow", "click", "*")]).is_unreadable());
        assert!(Rules::read([("allow", "click", "*"), ("deny", "click", "???")]).is_unreadable());
    }
}
