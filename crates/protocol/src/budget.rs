//! How much a message may hold, checked before any of its fields is looked at.

use serde_json::Value;

/// Upper bounds of a JSON value; a count strictly above one fails.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Nesting; the root has depth 0.
    pub depth: usize,
    /// Values in all.
    pub nodes: usize,
    /// Entries of one array.
    pub array: usize,
    /// Keys of one object.
    pub keys: usize,
    /// Bytes of all texts, keys included.
    pub text_bytes: usize,
}

/// What a view may send.
pub const OP: Budget = Budget {
    depth: 64,
    nodes: 25_000,
    array: 8192,
    keys: 8192,
    text_bytes: panelot_base::limits::OP_BYTES_MAX,
};
/// What the engine may send.
pub const EVENT: Budget = Budget {
    depth: 96,
    nodes: 250_000,
    array: 100_000,
    keys: 16_384,
    text_bytes: panelot_base::limits::MESSAGE_BYTES_MAX,
};

/// Which bound a value broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message is too large: more than {max} {what}")]
pub struct OverBudget {
    /// What there is too much of.
    pub what: &'static str,
    /// How much there may be.
    pub max: usize,
}

impl Budget {
    /// Measures a value, without recursion.
    ///
    /// # Errors
    /// [`OverBudget`] names the first bound that is broken.
    pub fn check(&self, root: &Value) -> Result<(), OverBudget> {
        let over = |what, max| Err(OverBudget { what, max });
        let mut pending = vec![(root, 0)];
        let (mut nodes, mut text) = (0_usize, 0_usize);
        while let Some((value, depth)) = pending.pop() {
            nodes += 1;
            if nodes > self.nodes {
                return over("values", self.nodes);
            }
            if depth > self.depth {
                return over("levels", self.depth);
            }
            match value {
                Value::String(string) => text += string.len(),
                Value::Array(items) => {
                    if items.len() > self.array {
                        return over("entries in a list", self.array);
                    }
                    pending.extend(items.iter().map(|item| (item, depth + 1)));
                }
                Value::Object(fields) => {
                    if fields.len() > self.keys {
                        return over("keys in an object", self.keys);
                    }
                    text += fields.keys().map(String::len).sum::<usize>();
                    pending.extend(fields.values().map(|item| (item, depth + 1)));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
            if text > self.text_bytes {
                return over("bytes of text", self.text_bytes);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, OverBudget};
    use serde_json::json;

    const SMALL: Budget = Budget { depth: 2, nodes: 6, array: 3, keys: 2, text_bytes: 8 };

    #[test]
    fn each_bound_is_the_last_value_that_passes() {
        let cases = [
            (json!([[1]]), None),
            (json!([[[1]]]), Some("levels")),
            (json!([1, 2, 3]), None),
            (json!([1, 2, 3, 4]), Some("entries in a list")),
            (json!([[1, 2], [1, 2]]), Some("values")),
            (json!({"a": 1, "b": 2}), None),
            (json!({"a": 1, "b": 2, "c": 3}), Some("keys in an object")),
            (json!("12345678"), None),
            (json!({"1234": "56789"}), Some("bytes of text")),
        ];
        for (value, broken) in cases {
            assert_eq!(SMALL.check(&value).err().map(|OverBudget { what, .. }| what), broken, "{value}");
        }
    }
}
