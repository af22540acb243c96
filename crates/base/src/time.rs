//! Points in time, always handed in from outside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::{FromJson, ToJson};

/// Milliseconds since the Unix epoch (UTC), as `Date.now()` gives them.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    FromJson,
    ToJson,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The point `ms` milliseconds later; the end of time when that overflows.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to `self`; zero when the clock went backwards.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn a_clock_that_goes_backwards_measures_zero() {
        assert_eq!(Timestamp(5).ms_since(Timestamp(9)), 0);
        assert_eq!(Timestamp(9).ms_since(Timestamp(5)), 4);
    }

    #[test]
    fn time_does_not_wrap_around() {
        assert_eq!(Timestamp(u64::MAX).plus_ms(1), Timestamp(u64::MAX));
    }
}
