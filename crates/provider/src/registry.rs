//! What is known about models: by their names, then by what a listing and a test said, then by what the person says; each
//! overrides the one before.

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};

use crate::response::Usage;

/// Context window that is assumed of an unknown model: the smallest among the hosted models of the table. A local
/// server with less answers `context_too_long`, which shortens the conversation.
pub const CONTEXT_TOKENS_DEFAULT: u32 = 128_000;

/// What holds for a model when everything that is known was put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// Tokens that a request and its answer may have together.
    pub context_tokens: u32,
    /// Tokens that an answer may have, where that is known.
    pub max_output_tokens: Option<u32>,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether it sees pictures.
    pub vision: bool,
    /// Whether it reasons before it answers, and so takes [`Effort`](crate::Effort).
    pub reasoning: bool,
    /// What it costs; `None` when nobody knows.
    pub price: Option<Price>,
}

/// What one source knows about a model. Stored with connections: add fields with a default, never rename one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct KnownFacts {
    /// Tokens that a request and its answer may have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// Tokens that an answer may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Whether it calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it sees pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// Whether it reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Prices in micro-dollars for a million tokens ($3 are 3,000,000), which is also picodollars for one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Input that no cache had.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from a cache; that of other input when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input written to a cache; that of other input when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

impl Price {
    /// What a call cost, in nanodollars (a millionth of a thousandth of a dollar). Each token is counted once.
    #[must_use]
    pub fn nanodollars(&self, usage: &Usage) -> u64 {
        let cached = usage.cache_read.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let fresh = usage.input - cached - written;
        let parts = [
            (fresh, self.input),
            (cached, self.cache_read.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output, self.output),
        ];
        parts.into_iter().fold(0u64, |sum, (tokens, price)| sum.saturating_add(tokens.saturating_mul(price)))
            / 1000
    }
}

impl KnownFacts {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These facts, and where they say nothing those of `below`.
    #[must_use]
    pub const fn over(self, below: Self) -> Self {
        const fn first<T: Copy>(above: Option<T>, below: Option<T>) -> Option<T> {
            if above.is_some() { above } else { below }
        }
        Self {
            context_tokens: first(self.context_tokens, below.context_tokens),
            max_output_tokens: first(self.max_output_tokens, below.max_output_tokens),
            tools: first(self.tools, below.tools),
            vision: first(self.vision, below.vision),
            reasoning: first(self.reasoning, below.reasoning),
            price: first(self.price, below.price),
        }
    }

    /// What holds when nothing more is known: a model calls tools and sees nothing.
    #[must_use]
    pub fn settled(self) -> ModelFacts {
        ModelFacts {
            context_tokens: self.context_tokens.unwrap_or(CONTEXT_TOKENS_DEFAULT),
            max_output_tokens: self.max_output_tokens,
            tools: self.tools.unwrap_or(true),
            vision: self.vision.unwrap_or(false),
            reasoning: self.reasoning.unwrap_or(false),
            price: self.price,
        }
    }
}

/// How a model on Anthropic's wire is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Not at all.
    None,
    /// With a number of tokens.
    Budget,
    /// With an effort.
    Adaptive,
}

/// By prefix of the name in lower case; from the makers' published pages. The first match counts. Thousands of tokens of
/// context and of the answer (0 where it is not published), what it can (`v` sees, `r` reasons), and thousandths of a
/// dollar for a million tokens of input, output and cached input (0 where it is not published).
type Row = (&'static str, u32, u32, &'static str, [u64; 3]);

const TABLE: [Row; 52] = [
    ("claude-3-haiku", 200, 4, "v", [250, 1250, 30]),
    ("claude-3-opus", 200, 4, "v", [15_000, 75_000, 1500]),
    ("claude-3-5-haiku", 200, 8, "v", [800, 4000, 80]),
    ("claude-3-5", 200, 8, "v", [3000, 15_000, 300]),
    ("claude-3-7", 200, 64, "vr", [3000, 15_000, 300]),
    ("claude-3-", 200, 4, "v", [3000, 15_000, 300]),
    ("claude-opus-4-2", 200, 32, "vr", [15_000, 75_000, 1500]),
    ("claude-opus-4-1", 200, 32, "vr", [15_000, 75_000, 1500]),
    ("claude-opus-4-0", 200, 32, "vr", [15_000, 75_000, 1500]),
    ("claude-opus", 200, 64, "vr", [5000, 25_000, 500]),
    ("claude-sonnet", 200, 64, "vr", [3000, 15_000, 300]),
    ("claude-haiku", 200, 64, "vr", [1000, 5000, 100]),
    ("claude-", 200, 64, "vr", [0, 0, 0]),
    ("gpt-5-chat", 128, 16, "v", [1250, 10_000, 125]),
    ("gpt-5-mini", 272, 128, "vr", [250, 2000, 25]),
    ("gpt-5-nano", 272, 128, "vr", [50, 400, 5]),
    ("gpt-5-pro", 272, 128, "vr", [15_000, 120_000, 0]),
    ("gpt-5.2-pro", 272, 128, "vr", [21_000, 168_000, 0]),
    ("gpt-5.2", 272, 128, "vr", [1750, 14_000, 175]),
    ("gpt-5.1-codex-mini", 272, 128, "vr", [250, 2000, 25]),
    ("gpt-5.1", 272, 128, "vr", [1250, 10_000, 125]),
    ("gpt-5.", 272, 128, "vr", [0, 0, 0]),
    ("gpt-5", 272, 128, "vr", [1250, 10_000, 125]),
    ("gpt-4.1-mini", 1000, 32, "v", [400, 1600, 100]),
    ("gpt-4.1-nano", 1000, 32, "v", [100, 400, 25]),
    ("gpt-4.1", 1000, 32, "v", [2000, 8000, 500]),
    ("gpt-4o-mini", 128, 16, "v", [150, 600, 75]),
    ("gpt-4o", 128, 16, "v", [2500, 10_000, 1250]),
    ("o3-mini", 200, 100, "r", [1100, 4400, 550]),
    ("o3-pro", 200, 100, "vr", [20_000, 80_000, 0]),
    ("o3", 200, 100, "vr", [2000, 8000, 500]),
    ("o4-mini", 200, 100, "vr", [1100, 4400, 275]),
    ("o4", 200, 100, "vr", [0, 0, 0]),
    ("gpt-oss", 131, 0, "r", [0, 0, 0]),
    ("gemini-3-pro", 1000, 64, "vr", [2000, 12_000, 200]),
    ("gemini-3-flash", 1000, 64, "vr", [500, 3000, 50]),
    ("gemini-2.5-pro", 1000, 64, "vr", [1250, 10_000, 125]),
    ("gemini-2.5-flash-lite", 1000, 64, "vr", [100, 400, 10]),
    ("gemini-2.5-flash", 1000, 64, "vr", [300, 2500, 30]),
    ("gemini-2.0-flash", 1000, 8, "v", [100, 400, 25]),
    ("gemini-nano", 9, 0, "", [0, 0, 0]),
    ("gemini-", 1000, 0, "vr", [0, 0, 0]),
    ("deepseek-reasoner", 128, 0, "r", [280, 420, 28]),
    ("deepseek-chat", 128, 0, "", [280, 420, 28]),
    ("deepseek-", 128, 0, "", [0, 0, 0]),
    ("kimi-k2-thinking", 256, 0, "r", [600, 2500, 150]),
    ("kimi-", 128, 0, "v", [0, 0, 0]),
    ("glm-4.6", 200, 0, "r", [600, 2200, 110]),
    ("glm-4.5v", 64, 0, "vr", [600, 1800, 110]),
    ("glm-", 128, 0, "", [0, 0, 0]),
    ("qwen", 131, 0, "", [0, 0, 0]),
    ("llama", 128, 0, "", [0, 0, 0]),
];

/// What the name of a model tells; routers' prefixes (`vendor/model`) are read over. Nothing for an unknown one.
#[must_use]
pub fn known_facts(model: &str) -> KnownFacts {
    let name = bare_name(model);
    let Some((_, context, output, can, price)) = TABLE.iter().find(|(prefix, ..)| name.starts_with(prefix))
    else {
        return KnownFacts::default();
    };
    let micro = |thousandths: u64| thousandths.saturating_mul(1000);
    let [input, output_price, cached] = *price;
    let is_claude = name.starts_with("claude");
    KnownFacts {
        // Their makers count a thousand as 1,000, except where the number is a power of two.
        context_tokens: Some(if *context == 131 { 131_072 } else { context.saturating_mul(1000) }),
        max_output_tokens: (*output > 0).then(|| match output {
            4 | 8 if is_claude => output.saturating_mul(1024),
            _ => output.saturating_mul(1000),
        }),
        tools: Some(true),
        vision: Some(can.contains('v')),
        reasoning: Some(can.contains('r')),
        price: (input > 0).then(|| Price {
            input: micro(input),
            output: micro(output_price),
            cache_read: (cached > 0).then(|| micro(cached)),
            // Anthropic alone takes more for writing: a quarter on top, for the five minutes that we ask for.
            cache_write: is_claude.then(|| micro(input) / 4 * 5),
        }),
    }
}

/// What is assumed about `model` when nobody has said more.
#[must_use]
pub fn model_facts(model: &str) -> ModelFacts {
    known_facts(model).settled()
}

/// How `model` is asked to think on Anthropic's wire. Other makers' models there know the older way.
pub(crate) fn thinking_of(model: &str) -> Thinking {
    let name = bare_name(model);
    let Some(rest) = name.strip_prefix("claude-") else { return Thinking::Budget };
    if rest.starts_with("3-7") {
        return Thinking::Budget;
    }
    if rest.starts_with(['2', '3']) || rest.starts_with("instant") {
        return Thinking::None;
    }
    let version = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches('-');
    match version.strip_prefix("4").map(|minor| minor.trim_start_matches(['-', '.'])) {
        // A date in the place of the minor version is that of the first one.
        Some(minor) if !matches!(minor.as_bytes(), [b'6'..=b'9'] | [b'6'..=b'9', b'-', ..]) => {
            Thinking::Budget
        }
        _ => Thinking::Adaptive,
    }
}

/// The name without a router's prefix, in lower case.
pub(crate) fn bare_name(model: &str) -> String {
    model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        CONTEXT_TOKENS_DEFAULT, KnownFacts, Price, TABLE, Thinking, known_facts, model_facts, thinking_of,
    };
    use crate::response::Usage;

    #[test]
    fn names_are_known_by_prefix_also_behind_a_router() {
        for name in ["gpt-5-mini", "openai/GPT-5", "a/b/gpt-5"] {
            let facts = model_facts(name);
            assert_eq!(
                (facts.context_tokens, facts.vision, facts.reasoning),
                (272_000, true, true),
                "{name}"
            );
        }
        assert!(model_facts("deepseek-reasoner").reasoning);
        assert!(!model_facts("deepseek-chat").reasoning);
        assert_eq!(model_facts("claude-3-5-sonnet-20241022").max_output_tokens, Some(8192));
    }

    #[test]
    fn no_row_is_hidden_by_an_earlier_one() {
        for (place, (prefix, ..)) in TABLE.iter().enumerate() {
            let first = TABLE.iter().position(|(earlier, ..)| prefix.starts_with(earlier));
            assert_eq!(first, Some(place), "{prefix}");
        }
    }

    #[test]
    fn an_unknown_model_gets_the_usual_window_and_no_pictures() {
        let facts = model_facts("somebody-1b");
        assert_eq!((facts.context_tokens, facts.vision, facts.tools), (CONTEXT_TOKENS_DEFAULT, false, true));
        assert_eq!(facts.price, None);
        assert_eq!(known_facts("somebody-1b"), KnownFacts::default());
    }

    #[test]
    fn each_source_overrides_the_one_before() {
        let listed = KnownFacts { context_tokens: Some(8192), vision: Some(true), ..KnownFacts::default() };
        let typed = KnownFacts { vision: Some(false), ..KnownFacts::default() };
        let facts = typed.over(listed).over(known_facts("gpt-4o")).settled();
        assert_eq!((facts.context_tokens, facts.vision, facts.reasoning), (8192, false, false));
        assert_eq!(facts.price, known_facts("gpt-4o").price);
    }

    #[test]
    fn a_call_costs_each_token_once_at_its_own_price() {
        let price = known_facts("claude-sonnet-4-5").price.unwrap();
        assert_eq!(
            (price.input, price.cache_read, price.cache_write),
            (3_000_000, Some(300_000), Some(3_750_000))
        );
        let usage = Usage { input: 1_000_000, output: 100_000, cache_read: 600_000, cache_write: 200_000 };
        // 200,000 at $3, 600,000 at $0.30, 200,000 at $3.75, 100,000 at $15: $0.60 + $0.18 + $0.75 + $1.50.
        assert_eq!(price.nanodollars(&usage), 3_030_000_000);
        let plain = Price { input: 1_000_000, output: 0, cache_read: None, cache_write: None };
        assert_eq!(plain.nanodollars(&usage), 1_000_000_000);
        let absurd = Usage { input: 5, output: 0, cache_read: 50, cache_write: 50 };
        assert_eq!(plain.nanodollars(&absurd), 5000);
        assert_eq!(plain.nanodollars(&Usage { input: u64::MAX, ..usage }), u64::MAX / 1000);
    }

    #[test]
    fn claude_models_are_asked_to_think_in_the_way_that_they_know() {
        for (model, expected) in [
            ("claude-3-5-haiku-latest", Thinking::None),
            ("claude-3-7-sonnet-latest", Thinking::Budget),
            ("claude-sonnet-4-20250514", Thinking::Budget),
            ("claude-sonnet-4-5", Thinking::Budget),
            ("claude-opus-4-5-20251101", Thinking::Budget),
            ("anthropic/claude-sonnet-4.5", Thinking::Budget),
            ("claude-opus-4-6", Thinking::Adaptive),
            ("claude-sonnet-4-6-20260101", Thinking::Adaptive),
            ("claude-opus-5", Thinking::Adaptive),
            ("claude-next", Thinking::Adaptive),
            ("glm-4.6", Thinking::Budget),
        ] {
            assert_eq!(thinking_of(model), expected, "{model}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_stored() {
        let known = KnownFacts { tools: Some(false), ..KnownFacts::default() };
        assert_eq!(serde_json::to_value(known).unwrap(), json!({"tools": false}));
    }
}
