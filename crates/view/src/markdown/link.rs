//! Which addresses a link of foreign text may lead to.

/// The address as it may be put into a link: `http`, `https` or `mailto`, absolute, without control characters.
///
/// Everything else (scripts, data, files, extension pages, relative addresses) gives `None`.
#[must_use]
pub fn safe_link(address: &str) -> Option<&str> {
    let address = address.trim();
    if address.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let (scheme, rest) = address.split_once(':')?;
    let allowed = match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => rest.strip_prefix("//").is_some_and(|rest| !host_of(rest).is_empty()),
        "mailto" => !rest.is_empty(),
        _ => false,
    };
    allowed.then_some(address)
}

/// The host of an `http` or `https` address, with its port; empty for other addresses.
#[must_use]
pub(crate) fn link_host(address: &str) -> &str {
    match address.split_once("://") {
        Some((_, rest)) => host_of(rest),
        None => "",
    }
}

/// What stands before the path, without a user name: that is where a request would go.
fn host_of(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::{link_host, safe_link};

    #[test]
    fn only_web_and_mail_addresses_are_links() {
        for good in
            ["https://a.example/x?y#z", "HTTP://a.example", "mailto:a@b.example", " https://a.example "]
        {
            assert_eq!(safe_link(good), Some(good.trim()));
        }
        let bad = [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,x",
            "file:///etc",
            "chrome-extension://abc/x",
            "//a.example",
            "/path",
            "a",
            "",
            "https:",
            "https://",
            "https:///x",
            "mailto:",
            "https://a.example/\u{0}",
            "vbscript:x",
            "blob:https://a.example/1",
        ];
        for bad in bad {
            assert_eq!(safe_link(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_host_is_where_a_request_would_go() {
        assert_eq!(link_host("https://good.example@evil.example:8/x"), "evil.example:8");
        assert_eq!(link_host("https://evil.example\\@good.example/"), "evil.example");
        assert_eq!(link_host("mailto:a@b.example"), "");
    }
}
