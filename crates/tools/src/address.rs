//! Which addresses a tab may be sent to.

use std::fmt;

use panelot_base::WebAddress;

/// Longest address, in bytes of its normal form.
pub const ADDRESS_BYTES_MAX: usize = 8_192;

/// Why a tab may not be sent to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// It is not an absolute address.
    NotAnAddress,
    /// Its scheme is neither `http` nor `https`: scripts, files and the browser's own pages are out of reach.
    Scheme,
    /// It carries a user name or password.
    Credentials,
    /// It is too long.
    TooLong,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnAddress => "must be an absolute address such as https://example.com/path",
            Self::Scheme => "must start with http:// or https://",
            Self::Credentials => "must not contain a user name or password",
            Self::TooLong => "is too long",
        })
    }
}

impl std::error::Error for AddressError {}

/// The normal form of an address that a tab may be sent to (WHATWG URL: lower-case host, resolved dots, punycode).
///
/// # Errors
/// [`AddressError`] says what is wrong with it.
pub fn normalise(text: &str) -> Result<String, AddressError> {
    let address = WebAddress::parse(text.trim()).map_err(|_| AddressError::NotAnAddress)?;
    if !matches!(address.scheme(), "http" | "https") {
        return Err(AddressError::Scheme);
    }
    if address.host().is_empty() {
        return Err(AddressError::NotAnAddress);
    }
    if address.has_credentials() {
        return Err(AddressError::Credentials);
    }
    if address.as_str().len() > ADDRESS_BYTES_MAX {
        return Err(AddressError::TooLong);
    }
    Ok(address.as_str().to_owned())
}

/// The origin of an address in its ASCII form, or `null` for an opaque one.
#[must_use]
pub fn origin_of(address: &str) -> String {
    WebAddress::parse(address).map_or_else(|_| "null".to_owned(), |address| address.origin().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{AddressError, normalise, origin_of};

    #[test]
    fn only_web_addresses_without_credentials_pass_and_they_are_normalised() {
        let cases = [
            (" HTTPS://Example.COM:443/a/../b?x=1#y ", Ok("https://example.com/b?x=1#y")),
            ("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080/")),
            ("https://münchen.test/", Ok("https://xn--mnchen-3ya.test/")),
            ("https://שלום.test/", Ok("https://xn--9dbne9b.test/")),
            ("example.com", Err(AddressError::NotAnAddress)),
            ("/path", Err(AddressError::NotAnAddress)),
            ("https://", Err(AddressError::NotAnAddress)),
            ("javascript:alert(1)", Err(AddressError::Scheme)),
            ("java\nscript:alert(1)", Err(AddressError::Scheme)),
            ("data:text/html,x", Err(AddressError::Scheme)),
            ("file:///etc/passwd", Err(AddressError::Scheme)),
            ("blob:https://a.test/1", Err(AddressError::Scheme)),
            ("view-source:https://a.test/", Err(AddressError::Scheme)),
            ("chrome://settings", Err(AddressError::Scheme)),
            ("about:blank", Err(AddressError::Scheme)),
            ("https://me@a.test/", Err(AddressError::Credentials)),
            ("https://me:pw@a.test/", Err(AddressError::Credentials)),
            ("https://:pw@a.test/", Err(AddressError::Credentials)),
        ];
        for (text, want) in cases {
            assert_eq!(normalise(text).as_deref(), want.as_ref().map(|url| *url), "{text}");
        }
        assert_eq!(normalise(&format!("https://a.test/{}", "x".repeat(9000))), Err(AddressError::TooLong));
    }

    #[test]
    fn an_opaque_origin_is_null() {
        assert_eq!(origin_of("https://a.test:8443/x"), "https://a.test:8443");
        assert_eq!(origin_of("about:blank"), "null");
        assert_eq!(origin_of("not an address"), "null");
    }
}
