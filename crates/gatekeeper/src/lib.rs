//! Whether a call may go ahead: policies, rules, grants, and the permit without which nothing is dispatched.
//!
//! Pure and total: every fact is handed in, and a fact that is missing means a question or a refusal, never a yes.
//! A [`Permit`] can be made nowhere else. Read next: `decide.rs`, then `recheck.rs`.

mod decide;
mod landing;
mod origin;
mod payload;
mod permit;
mod recheck;
mod rule;
mod sensitive;

pub use decide::{Ask, Denial, Field, Flag, Policy, Question, Verdict, decide};
pub use landing::{Landing, judge_landing};
pub use origin::{InvalidPattern, Origin, OriginPattern};
pub use permit::Permit;
pub use recheck::{Approved, Drift, Refusal, recheck};
pub use rule::{Grant, Grants, InvalidRule, Rule, RuleVerdict, Rules, ToolPattern};
