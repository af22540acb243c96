//! The browser's own reader of addresses.

use panelot_base::AddressParts;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = URL)]
    type BrowserUrl;

    #[wasm_bindgen(constructor, js_class = "URL", catch)]
    fn new(text: &str) -> Result<BrowserUrl, JsValue>;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn href(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn origin(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn protocol(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn username(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn password(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn hostname(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn port(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn pathname(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn search(this: &BrowserUrl) -> String;
    #[wasm_bindgen(method, getter, js_class = "URL")]
    fn hash(this: &BrowserUrl) -> String;
}

/// Reads an absolute address; `None` when the text is none. For `panelot_base::set_address_reader`.
#[must_use]
pub fn read_address(text: &str) -> Option<AddressParts> {
    let url = BrowserUrl::new(text).ok()?;
    Some(AddressParts {
        href: url.href(),
        origin: url.origin(),
        protocol: url.protocol(),
        username: url.username(),
        password: url.password(),
        hostname: url.hostname(),
        port: url.port(),
        pathname: url.pathname(),
        search: url.search(),
        hash: url.hash(),
    })
}

#[cfg(all(test, target_family = "wasm"))]
mod tests {
    use panelot_base::AddressParts;
    use url::{Url, quirks};
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::read_address;

    /// What the crate `url` says, which reads addresses everywhere but in a browser.
    fn oracle(text: &str) -> Option<AddressParts> {
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

    const SCHEMES: [&str; 9] =
        ["https://", "HTTP:", "http:\\\\", "file:///", "about:", "data:", "blob:https://", "chrome://", ""];
    const AUTHORITIES: [&str; 14] = [
        "a.test",
        "A.Test:443",
        "me:pw@a.test",
        "@a.test",
        "127.1",
        "0x7f.1",
        "[::1]:3000",
        "a.test.",
        "münchen.test",
        "中国。中国",
        "ｅｘａｍｐｌｅ．ｃｏｍ",
        "שלום.test",
        "a b",
        "a.test:99999",
    ];
    const TAILS: [&str; 9] =
        ["", "/", "/a/../b", "/x?y=1#z", "?@b.test/", "\\@b.test", "#", "/ä?ö#ü", "/%41 \t\"<>`{}"];

    #[wasm_bindgen_test]
    fn the_browser_and_the_crate_read_the_same() {
        let mut read = 0;
        for scheme in SCHEMES {
            for authority in AUTHORITIES {
                for tail in TAILS {
                    let text = format!("{scheme}{authority}{tail}");
                    let expected = oracle(&text);
                    read += u32::from(expected.is_some());
                    assert_eq!(read_address(&text), expected, "{text}");
                }
            }
        }
        assert!(read > 300, "only {read} of them are addresses");
    }
}
