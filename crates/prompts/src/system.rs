//! The system prompt, put together from its layers.

use panelot_base::Timestamp;

use crate::kernel::KERNEL;

/// What goes into a system prompt beside the kernel. A blank layer is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers<'a> {
    /// The person's own standing instructions, from the settings.
    pub user_instructions: &'a str,
    /// When the run begins. Only the UTC day is told, so that the prompt stays the same (and cached) for a day.
    pub now: Timestamp,
    /// Language of the person's interface.
    pub language: Language,
    /// The permission policy in force.
    pub policy: Policy,
}

/// The languages of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// Simplified Chinese.
    SimplifiedChinese,
}

/// How much the person is asked, as far as a model needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Every call is asked.
    Always,
    /// Reads go ahead, writes are asked.
    Untrusted,
    /// Calls go ahead except where a rule or the content demands a question.
    Auto,
}

/// Kernel, user instructions and environment, joined by blank lines, in this order: what changes least comes first.
#[must_use]
pub fn system_prompt(layers: &Layers<'_>) -> String {
    let mut prompt = KERNEL.to_owned();
    let instructions = layers.user_instructions.trim();
    if !instructions.is_empty() {
        prompt.push_str("\n\n# The person's standing instructions\n");
        prompt.push_str(instructions);
    }
    let language = match layers.language {
        Language::English => "English",
        Language::SimplifiedChinese => "Simplified Chinese",
    };
    let policy = match layers.policy {
        Policy::Always => "the person is asked before every call, also before reading.",
        Policy::Untrusted => {
            "reading goes ahead; the person is asked before anything that may change something."
        }
        Policy::Auto => "calls go ahead without a question, except where a rule or the content demands one.",
    };
    let date = utc_date(layers.now);
    prompt.push_str(&format!(
        "\n\n# Environment\n- Date (UTC): {date}\n- Language of the person's interface: {language}\n- Permission policy: {policy}"
    ));
    prompt
}

/// The UTC day as `YYYY-MM-DD`.
fn utc_date(now: Timestamp) -> String {
    // Civil calendar in years that start in March, so that a leap day is the last day of its year.
    let days = now.0 / 86_400_000 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use panelot_base::Timestamp;

    use super::{Language, Layers, Policy, system_prompt, utc_date};
    use crate::kernel::KERNEL;

    fn layers(user_instructions: &str) -> Layers<'_> {
        Layers {
            user_instructions,
            now: Timestamp(1_796_083_200_000),
            language: Language::SimplifiedChinese,
            policy: Policy::Untrusted,
        }
    }

    #[test]
    fn layers_follow_each_other_from_the_steadiest_to_the_most_changing() {
        let prompt = system_prompt(&layers("  Be kind.\n"));
        let rest = prompt.strip_prefix(KERNEL).unwrap();
        assert!(
            rest.starts_with("\n\n# The person's standing instructions\nBe kind.\n\n# Environment\n"),
            "{rest}"
        );
        assert!(rest.contains("Date (UTC): 2026-12-01\n"), "{rest}");
        assert!(rest.contains("Simplified Chinese"), "{rest}");
    }

    #[test]
    fn a_blank_layer_is_left_out() {
        let prompt = system_prompt(&layers(" \n "));
        assert!(prompt.strip_prefix(KERNEL).unwrap().starts_with("\n\n# Environment\n"));
        assert!(!prompt.contains("\n\n\n"));
    }

    #[test]
    fn each_policy_is_told_in_its_own_words() {
        let told = |policy| system_prompt(&Layers { policy, ..layers("") });
        let all = [told(Policy::Always), told(Policy::Untrusted), told(Policy::Auto)];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    }

    #[test]
    fn days_are_counted_in_the_civil_calendar() {
        for (ms, date) in [
            (0, "1970-01-01"),
            (86_399_999, "1970-01-01"),
            (86_400_000, "1970-01-02"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_709_251_199_999, "2024-02-29"),
            (4_107_542_400_000, "2100-03-01"),
            (1_798_675_200_000, "2026-12-31"),
        ] {
            assert_eq!(utc_date(Timestamp(ms)), date);
        }
    }
}
