//! The renaming rules of serde that this project uses.

use syn::{Error, LitStr, Result};

/// How names of fields or variants are written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// `someName`.
    Camel,
    /// `some_name`.
    Snake,
    /// `some-name`.
    Kebab,
}

impl Case {
    /// Reads the value of `rename_all`.
    pub(crate) fn parse(rule: &LitStr) -> Result<Self> {
        match rule.value().as_str() {
            "camelCase" => Ok(Self::Camel),
            "snake_case" => Ok(Self::Snake),
            "kebab-case" => Ok(Self::Kebab),
            _ => Err(Error::new(rule.span(), "FromJson knows camelCase, snake_case and kebab-case")),
        }
    }

    /// A field's name; fields are written `some_name` in Rust.
    pub(crate) fn field(self, name: &str) -> String {
        match self {
            Self::Snake => name.to_owned(),
            Self::Kebab => name.replace('_', "-"),
            Self::Camel => {
                let mut words = name.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                words.fold(first, |name, word| name + &capitalised(word))
            }
        }
    }

    /// A variant's name; variants are written `SomeName` in Rust.
    pub(crate) fn variant(self, name: &str) -> String {
        let separator = match self {
            Self::Camel => return uncapitalised(name),
            Self::Snake => '_',
            Self::Kebab => '-',
        };
        let mut out = String::new();
        for (index, letter) in name.char_indices() {
            if letter.is_uppercase() && index > 0 {
                out.push(separator);
            }
            out.extend(letter.to_lowercase());
        }
        out
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn uncapitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Case;

    #[test]
    fn names_are_written_as_serde_writes_them() {
        assert_eq!(Case::Camel.field("default_tab_id"), "defaultTabId");
        assert_eq!(Case::Kebab.field("a_b"), "a-b");
        assert_eq!(Case::Camel.variant("PutConnection"), "putConnection");
        assert_eq!(Case::Snake.variant("WaitingApproval"), "waiting_approval");
        assert_eq!(Case::Kebab.variant("RetrySafe"), "retry-safe");
    }
}
