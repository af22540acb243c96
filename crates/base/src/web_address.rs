//! Web addresses, read as the URL standard says.
//!
//! Natively the crate `url` reads them. In a browser that crate would be a tenth of the worker's module, and the browser
//! has a reader of its own: the shell hands it in ([`set_address_reader`]), and a test in the browser compares the two.

/// What the standard's `URL` object says of an address: its members of the same names (WHATWG URL, section 6.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressParts {
    /// The whole address in its normal form.
    pub href: String,
    /// `scheme://host[:port]`, or `null` for an opaque origin.
    pub origin: String,
    /// The scheme with its colon, in lower case.
    pub protocol: String,
    /// The user name; empty for none.
    pub username: String,
    /// The password; empty for none.
    pub password: String,
    /// The host in its ASCII form; empty for none.
    pub hostname: String,
    /// The port in digits; empty for the scheme's usual one.
    pub port: String,
    /// The path.
    pub pathname: String,
    /// The query with its `?`; empty for none.
    pub search: String,
    /// The fragment with its `#`; empty for none.
    pub hash: String,
}

/// A text that is no absolute address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an absolute address")]
pub struct NotAnAddress;

/// An absolute address. Not shown by `Debug` of whatever holds it without thought: it may carry a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebAddress(AddressParts);

impl WebAddress {
    /// Reads an address as the URL standard does, hosts in any script included.
    ///
    /// # Errors
    /// [`NotAnAddress`]; in a browser also as long as no reader was handed in.
    pub fn parse(text: &str) -> Result<Self, NotAnAddress> {
        reader::read(text).map(Self).ok_or(NotAnAddress)
    }

    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.0.protocol.trim_end_matches(':')
    }

    /// Whether a user name or a password is in it.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        !self.0.username.is_empty() || !self.0.password.is_empty()
    }

    /// The host in its ASCII form, an IPv6 address in brackets; empty for none.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.hostname
    }

    /// Whether the host is a name and no IP address.
    #[must_use]
    pub fn has_domain(&self) -> bool {
        // In the normal form only an IPv4 address ends in a number, and only an IPv6 address in a bracket.
        let host = self.0.hostname.strip_suffix('.').unwrap_or(&self.0.hostname);
        let last = host.rsplit('.').next().unwrap_or_default();
        !last.is_empty() && !last.ends_with(']') && !last.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// The port that is written; `None` for the scheme's usual one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.0.port.parse().ok()
    }

    /// The path, with its leading slash where the scheme has hosts.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.pathname
    }

    /// The query with its `?`; empty for none.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.0.search
    }

    /// The fragment with its `#`; empty for none.
    #[must_use]
    pub fn fragment(&self) -> &str {
        &self.0.hash
    }

    /// The origin in its ASCII form, or `null` for an opaque one.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// The address in its normal form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.href
    }
}

#[cfg(not(target_family = "wasm"))]
mod reader {
    use url::{Url, quirks};

    use super::AddressParts;

    pub(super) fn read(text: &str) -> Option<AddressParts> {
        let url = Url::parse(text).ok()?;
        Some(AddressParts {
            href: quirks::href(&url).to_owned(),
            origin: quirks::origin(&url),
            protocol: quirks::protocol(&url).to_owned(),
            username: quirks::username(&url).to_owned(),
            password: quirks::password(&url).to_owned(),
            hostname: quirks::hostname(&url).to_owned(),
            port: quirks::port(&url).to_owned(),
            pathname: quirks::pathname(&url).to_owned(),
            search: quirks::search(&url).to_owned(),
            hash: quirks::hash(&url).to_owned(),
        })
    }
}

#[cfg(target_family = "wasm")]
mod reader {
    use std::sync::OnceLock;

    use super::AddressParts;

    /// Reads an address; `None` when it is none.
    pub type AddressReader = fn(&str) -> Option<AddressParts>;

    static READER: OnceLock<AddressReader> = OnceLock::new();

    /// Hands in the browser's reader. The first one stays; until then no text is an address.
    pub fn set_address_reader(reader: AddressReader) {
        let _ = READER.set(reader);
    }

    pub(super) fn read(text: &str) -> Option<AddressParts> {
        READER.get().and_then(|reader| reader(text))
    }
}

#[cfg(target_family = "wasm")]
pub use reader::{AddressReader, set_address_reader};

#[cfg(test)]
mod tests {
    use super::WebAddress;

    fn host(text: &str) -> Option<String> {
        WebAddress::parse(text).ok().map(|address| address.host().to_owned())
    }

    #[test]
    fn a_host_beyond_ascii_is_read_in_its_ascii_form() {
        for (text, expected) in [
            ("https://münchen.test/", "https://xn--mnchen-3ya.test/"),
            ("https://BÜCHER.example:8443/Ä?ö#ü", "https://xn--bcher-kva.example:8443/%C3%84?%C3%B6#%C3%BC"),
            ("https://例え.テスト/a", "https://xn--r8jz45g.xn--zckzah/a"),
            ("http://中国。中国/", "http://xn--fiqs8s.xn--fiqs8s/"),
            ("https://ｅｘａｍｐｌｅ．ｃｏｍ/", "https://example.com/"),
            ("https://שלום.test/", "https://xn--9dbne9b.test/"),
            ("https://me@例え.test/", "https://me@xn--r8jz45g.test/"),
        ] {
            assert_eq!(WebAddress::parse(text).unwrap().as_str(), expected, "{text}");
        }
    }

    #[test]
    fn the_host_stays_where_the_standard_sees_it() {
        assert_eq!(host("https://bank.test@例え.test/").as_deref(), Some("xn--r8jz45g.test"));
        assert_eq!(host("https://例え.test\\@bank.test/").as_deref(), Some("xn--r8jz45g.test"));
        assert_eq!(host("https://例え.test?@bank.test/").as_deref(), Some("xn--r8jz45g.test"));
        assert_eq!(host("https://例え.test:port/"), None);
        assert_eq!(host("about:blank").as_deref(), Some(""));
    }

    #[test]
    fn an_ip_address_is_no_domain() {
        for (text, domain) in [
            ("https://shop.test/", true),
            ("https://shop.test./", true),
            ("https://a1/", true),
            ("http://127.1/", false),
            ("http://0x7f.1/", false),
            ("http://[::1]:3000/", false),
            ("about:blank", false),
        ] {
            assert_eq!(WebAddress::parse(text).unwrap().has_domain(), domain, "{text}");
        }
    }
}
