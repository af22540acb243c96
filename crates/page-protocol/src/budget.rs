//! How much a message may hold, checked before anything else is looked at.

use serde_json::Value;

/// Upper bounds of a message; each is still allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Nesting, where the root has 0.
    pub depth: usize,
    /// Values, counting every object, array and scalar.
    pub values: usize,
    /// Length of an array.
    pub array_len: usize,
    /// Keys of an object.
    pub keys: usize,
    /// UTF-16 units of all strings and keys together.
    pub string_units: usize,
}

/// The budget of a message between engine and page, in either direction.
///
/// The numbers are those of the TypeScript Panelot's content protocol, except for strings: a page of
/// [`crate::limits::NODES_MAX`] nodes needs a few MiB, not 64.
pub const PAGE_BUDGET: Budget =
    Budget { depth: 64, values: 150_000, array_len: 50_000, keys: 16_384, string_units: 16 * 1024 * 1024 };

/// What a message has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetError {
    /// Nesting.
    Depth,
    /// Values.
    Values,
    /// Elements of one array.
    ArrayLen,
    /// Keys of one object.
    Keys,
    /// Text.
    StringUnits,
}

impl Budget {
    /// Checks a value without recursion.
    ///
    /// # Errors
    /// The first bound that is exceeded.
    pub fn check(&self, value: &Value) -> Result<(), BudgetError> {
        let mut open = vec![(value, 0_usize)];
        let (mut values, mut units) = (0_usize, 0_usize);
        while let Some((value, depth)) = open.pop() {
            values = values.saturating_add(1);
            if depth > self.depth {
                return Err(BudgetError::Depth);
            }
            match value {
                Value::String(text) => units = units.saturating_add(utf16_len(text)),
                Value::Array(items) => {
                    if items.len() > self.array_len {
                        return Err(BudgetError::ArrayLen);
                    }
                    open.extend(items.iter().map(|item| (item, depth + 1)));
                }
                Value::Object(fields) => {
                    if fields.len() > self.keys {
                        return Err(BudgetError::Keys);
                    }
                    for (key, item) in fields {
                        units = units.saturating_add(utf16_len(key));
                        open.push((item, depth + 1));
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
            if values.saturating_add(open.len()) > self.values {
                return Err(BudgetError::Values);
            }
            if units > self.string_units {
                return Err(BudgetError::StringUnits);
            }
        }
        Ok(())
    }
}

fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use super::{Budget, BudgetError};
    use serde_json::{Value, json};

    const SMALL: Budget = Budget { depth: 2, values: 6, array_len: 3, keys: 2, string_units: 4 };

    #[test]
    fn each_bound_is_allowed_and_one_more_is_not() {
        let cases: [(Value, Result<(), BudgetError>); 10] = [
            (json!([[1]]), Ok(())),
            (json!([[[1]]]), Err(BudgetError::Depth)),
            (json!([1, [1, 2, 3]]), Ok(())),
            (json!([[1, 2, 3], [1]]), Err(BudgetError::Values)),
            (json!([1, 2, 3]), Ok(())),
            (json!([1, 2, 3, 4]), Err(BudgetError::ArrayLen)),
            (json!({"a": 1, "b": 2}), Ok(())),
            (json!({"a": 1, "b": 2, "c": 3}), Err(BudgetError::Keys)),
            (json!({"ab": "\u{1F600}"}), Ok(())),
            (json!({"abc": "\u{1F600}"}), Err(BudgetError::StringUnits)),
        ];
        for (value, want) in cases {
            assert_eq!(SMALL.check(&value), want, "{value}");
        }
    }
}
