//! The second look, right before an approved call is dispatched.
//!
//! Only what mattered to the person's decision is compared: another tab's rule or a changed policy voids nothing.

use panelot_tools::descriptor::TargetKind;
use panelot_tools::target::Target;
use serde_json::Value;

use crate::decide::{self, Ask, Denial, Flag, Policy, Question, Verdict, decide};
use crate::permit::Permit;
use crate::rule::{Grants, Rules};

/// What the person agreed to, as the approval's record holds it.
#[derive(Clone, Copy, Debug)]
pub struct Approved<'a> {
    /// The tool.
    pub tool: &'a str,
    /// All arguments, as shown.
    pub arguments: &'a Value,
    /// The origin it was judged by, in the text form of [`crate::Origin`].
    pub origin: &'a str,
    /// The flags, as words.
    pub flags: &'a [String],
    /// The target as it was judged.
    pub target: Option<&'a Target>,
    /// The digest that the question carried.
    pub digest: &'a str,
}

/// What differs from what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Drift {
    /// The approval's record does not agree with itself.
    #[error("the record of the approval was changed")]
    Record,
    /// Another tool.
    #[error("it is another tool")]
    Tool,
    /// Other arguments.
    #[error("the arguments are different")]
    Arguments,
    /// Another site.
    #[error("the page now belongs to another site")]
    Origin,
    /// Another tab, or none.
    #[error("it is another tab")]
    Tab,
    /// The tab shows another document.
    #[error("the tab shows another document")]
    Document,
}

/// Why an approved call is not dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Something that was approved is no longer so: the model looks again and asks anew.
    Drift {
        /// What.
        what: Drift,
    },
    /// It is refused now, by a rule that appeared since, say.
    Denied(Denial),
    /// The person must be asked again: access was withdrawn, or the field turned out to be a secret one.
    AskAgain(Ask),
}

/// Judges an approved call again. `Ok` is the permit for exactly what was approved, aimed at the target as it is now.
///
/// # Errors
/// See [`Refusal`]. A denial is reported before a drift, because asking anew would not help.
pub fn recheck(
    approved: &Approved<'_>,
    policy: Policy,
    rules: &Rules,
    now: &Question<'_>,
) -> Result<Permit, Refusal> {
    let drift = drift(approved, now);
    // Without grants every flag is weighed anew, and a yes that needs no question is a yes all the same.
    match (decide(policy, rules, &Grants::default(), now), drift) {
        (Verdict::Deny(denial), _) => Err(Refusal::Denied(denial)),
        (_, Some(what)) => Err(Refusal::Drift { what }),
        (Verdict::Ask(ask), None) if is_new(&ask, approved) => Err(Refusal::AskAgain(ask)),
        (Verdict::Allow(_) | Verdict::Ask(_), None) => Ok(decide::permit(now, approved.digest.to_owned())),
    }
}

fn drift(approved: &Approved<'_>, now: &Question<'_>) -> Option<Drift> {
    let is_document = now.tool.target == TargetKind::Document;
    let document = approved.target.filter(|_| is_document);
    let flags: Vec<&str> = approved.flags.iter().map(String::as_str).collect();
    let tab = approved.target.map(|target| target.tab_id);
    let recorded =
        decide::digest_of(approved.tool, approved.arguments, approved.origin, &flags, tab, document);
    let target = now.facts.target.as_ref();
    let place = |target: &Target| (target.frame_id, target.document_id.clone());
    let same_origin = decide::judged_origin(now).is_ok_and(|origin| origin.to_string() == approved.origin);
    let checks = [
        (approved.tool == now.tool.name, Drift::Tool),
        (recorded == approved.digest, Drift::Record),
        (approved.arguments == now.arguments, Drift::Arguments),
        (tab == target.map(|it| it.tab_id), Drift::Tab),
        (same_origin, Drift::Origin),
        (!is_document || document.map(place) == target.map(place), Drift::Document),
    ];
    checks.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
}

/// Whether the person would learn something that they did not know when they agreed. Missing access blocks in any case:
/// their agreement included granting it.
fn is_new(ask: &Ask, approved: &Approved<'_>) -> bool {
    let known = |flag: Flag| approved.flags.iter().any(|it| it == flag.as_str());
    ask.flags.iter().any(|flag| match flag {
        Flag::HostPermission => true,
        Flag::SensitivePayload | Flag::SensitiveOrigin => !known(*flag),
        Flag::EscalationL2 => false,
    })
}

#[cfg(test)]
mod tests;
