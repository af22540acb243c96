//! Canonical JSON and its SHA-256, for receipts, approvals, environments and the schema hash.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::sorted::SortedMap;

/// The JSON text of `value` with object keys sorted by code point and no white space.
///
/// Two values that JSON calls equal give the same text, so that the digest of a payload does not depend on the
/// order in which a client happened to write its fields (the idea of RFC 8785, without its number rewriting).
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            // They come in order already, unless some crate switched that off in serde_json.
            let keys: SortedMap<&str, &Value> =
                fields.iter().map(|(key, item)| (key.as_str(), item)).collect();
            out.push('{');
            for (index, (key, item)) in keys.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::from(*key));
                write_canonical(item, out);
            }
            out.push('}');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

/// SHA-256 of `bytes` as 64 lowercase hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// [`sha256_hex`] of the [`canonical_json`] of `value`.
#[must_use]
pub fn json_digest(value: &Value) -> String {
    sha256_hex(canonical_json(value).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{canonical_json, json_digest, sha256_hex};
    use serde_json::json;

    #[test]
    fn key_order_does_not_change_the_text() {
        let a: serde_json::Value =
            serde_json::from_str(r#"{"b":[1,{"y":null,"x":"é\n"}],"a":true}"#).unwrap();
        let b: serde_json::Value =
            serde_json::from_str(r#"{"a":true,"b":[1,{"x":"é\n","y":null}]}"#).unwrap();
        assert_eq!(canonical_json(&a), r#"{"a":true,"b":[1,{"x":"é\n","y":null}]}"#);
        assert_eq!(json_digest(&a), json_digest(&b));
        assert_ne!(json_digest(&a), json_digest(&json!({"a": true, "b": [{"x": "é\n", "y": null}, 1]})));
    }

    #[test]
    fn sha_256_of_the_standard_vector() {
        // FIPS 180-4, example "abc".
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
