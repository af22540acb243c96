//! What is known about models by their names, for as long as nobody has said more.

/// Context window that is assumed of an unknown model: the smallest among the hosted models of the table. A local
/// server with less answers `context_too_long`, which shortens the conversation.
pub const CONTEXT_TOKENS_DEFAULT: u32 = 128_000;

/// What is assumed about a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// Tokens that a request and its answer may have together.
    pub context_tokens: u32,
    /// Whether it sees pictures.
    pub vision: bool,
    /// Whether it reasons before it answers, and so takes [`Effort`](crate::Effort).
    pub reasoning: bool,
}

const fn facts(context_tokens: u32, vision: bool, reasoning: bool) -> ModelFacts {
    ModelFacts { context_tokens, vision, reasoning }
}

/// By prefix of the name in lower case; from the makers' published model pages. The first match counts.
const TABLE: [(&str, ModelFacts); 13] = [
    ("claude-", facts(200_000, true, true)),
    ("gpt-5", facts(272_000, true, true)),
    ("gpt-4.1", facts(1_000_000, true, false)),
    ("gpt-4o", facts(128_000, true, false)),
    ("o3", facts(200_000, true, true)),
    ("o4", facts(200_000, true, true)),
    ("gemini-", facts(1_000_000, true, true)),
    ("deepseek-reasoner", facts(128_000, false, true)),
    ("deepseek-", facts(128_000, false, false)),
    ("kimi-", facts(128_000, true, false)),
    ("glm-", facts(128_000, false, false)),
    ("qwen", facts(131_072, false, false)),
    ("llama", facts(128_000, false, false)),
];

/// What is assumed about `model`; routers' prefixes (`vendor/model`) are read over.
#[must_use]
pub fn model_facts(model: &str) -> ModelFacts {
    let name = bare_name(model);
    let known = TABLE.iter().find(|(prefix, _)| name.starts_with(prefix));
    known.map_or(facts(CONTEXT_TOKENS_DEFAULT, false, false), |(_, facts)| *facts)
}

/// The name without a router's prefix, in lower case.
pub(crate) fn bare_name(model: &str) -> String {
    model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{CONTEXT_TOKENS_DEFAULT, TABLE, model_facts};

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
    }

    #[test]
    fn an_unknown_model_gets_the_smallest_window_of_the_known_ones_and_no_pictures() {
        let facts = model_facts("somebody-1b");
        assert_eq!((facts.context_tokens, facts.vision), (CONTEXT_TOKENS_DEFAULT, false));
        let smallest = TABLE.iter().map(|(_, facts)| facts.context_tokens).min();
        assert_eq!(smallest, Some(CONTEXT_TOKENS_DEFAULT));
    }
}
