//! A string that cannot be printed.

use std::fmt;

/// A credential. It has no `Display`, no `Serialize`, and its `Debug` shows nothing of it.
///
/// The only way to the text is [`Secret::expose`], and `cargo xtask tidy` keeps the list of places that may call it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a credential.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The credential itself. Callers hand it to the network or to a cipher and to nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is no credential (a local server often needs none).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_output_shows_nothing_of_the_credential() {
        let shown = format!("{:?} {:#?}", Secret::new("sk-12345"), Some(Secret::new("sk-12345")));
        assert!(!shown.contains("sk-") && !shown.contains("12345"), "{shown}");
    }
}
