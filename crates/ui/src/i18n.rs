//! The words of the interface, in English and Simplified Chinese.
//!
//! Every text is a method of [`Messages`], made by `build.rs` from `locales/*.ftl`.

use panelot_protocol::settings::Language;

/// A language that the interface speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lang {
    /// English.
    En,
    /// Simplified Chinese.
    ZhCn,
}

impl Lang {
    /// The language for a setting, where `browser` is the browser's own language tag.
    #[must_use]
    pub fn choose(setting: Language, browser: &str) -> Self {
        match setting {
            Language::En => Self::En,
            Language::ZhCn => Self::ZhCn,
            Language::System if browser.to_ascii_lowercase().starts_with("zh") => Self::ZhCn,
            Language::System => Self::En,
        }
    }

    /// Its tag (BCP 47).
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::ZhCn => "zh-CN",
        }
    }
}

/// The words in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    lang: Lang,
}

impl Messages {
    /// The words in `lang`.
    #[must_use]
    pub const fn new(lang: Lang) -> Self {
        Self { lang }
    }

    /// Their language.
    #[must_use]
    pub const fn lang(self) -> Lang {
        self.lang
    }
}

include!(concat!(env!("OUT_DIR"), "/messages.rs"));

#[cfg(test)]
mod tests {
    use super::{Lang, Language, Messages};

    #[test]
    fn the_browsers_language_counts_until_the_person_chooses() {
        assert_eq!(Lang::choose(Language::System, "zh-TW"), Lang::ZhCn);
        assert_eq!(Lang::choose(Language::System, "de"), Lang::En);
        assert_eq!(Lang::choose(Language::En, "zh-CN"), Lang::En);
        assert_eq!(Lang::choose(Language::ZhCn, "en-GB"), Lang::ZhCn);
    }

    #[test]
    fn one_thing_is_not_called_many() {
        let english = Messages::new(Lang::En);
        assert_eq!(english.queue_title(1), "1 message waits its turn");
        assert_eq!(english.queue_title(2), "2 messages wait their turn");
        assert_eq!(Messages::new(Lang::ZhCn).queue_title(1), "1 条消息在排队");
    }

    #[test]
    fn arguments_stand_where_the_language_wants_them() {
        assert_eq!(Messages::new(Lang::En).tool_origin("https://a.example"), "On https://a.example");
        // In a method they stand in the order of their names.
        assert_eq!(Messages::new(Lang::En).error_said("no", "The provider"), "The provider says: no");
        assert_eq!(Messages::new(Lang::ZhCn).usage_hint("10", "2"), "输入 10 词元，输出 2 词元");
    }

    #[test]
    fn both_languages_have_the_same_keys_and_no_empty_text() {
        let keys = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .map(|line| {
                    let (key, value) = line.split_once(" = ").expect(line);
                    assert!(!value.trim().is_empty(), "{key} is empty");
                    key.to_owned()
                })
                .filter(|key| !key.contains('.'))
                .collect()
        };
        let (en, zh) = (keys(include_str!("../locales/en.ftl")), keys(include_str!("../locales/zh-CN.ftl")));
        assert_eq!(en, zh, "the same keys in the same order");
        assert!(en.len() > 150);
    }
}
