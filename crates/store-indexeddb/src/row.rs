//! Keys, ranges and rows between Rust and IndexedDB. A row is the plain object `{v, r, j}`: version, revision, JSON text.

use js_sys::{Array, Object, Reflect};
use panelot_records::{Key, KeyPart, Record, RecordError, Row, Scan, Table};
use panelot_store::ReadRecord;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::IdbKeyRange;

use crate::event::Failure;

fn part_to_js(part: &KeyPart) -> JsValue {
    match part {
        // Sequences stay far below 2^53, up to which a double is exact.
        KeyPart::Number(number) => JsValue::from_f64(*number as f64),
        KeyPart::Text(text) => JsValue::from_str(text),
    }
}

fn parts_to_js(parts: &[KeyPart]) -> Array {
    parts.iter().map(part_to_js).collect()
}

/// A key as IndexedDB orders it: an array, numbers before texts.
pub(crate) fn key_to_js(key: &Key) -> JsValue {
    parts_to_js(&key.parts).into()
}

/// A key that was read. What we did not write ourselves becomes a text, so that the error about its row names it.
pub(crate) fn key_from_js(table: Table, key: &JsValue) -> Key {
    let part = |value: JsValue| match value.as_f64() {
        Some(number) if number >= 0.0 && number.fract() == 0.0 => KeyPart::Number(number as u64),
        _ => KeyPart::Text(value.as_string().unwrap_or_else(|| format!("{value:?}"))),
    };
    let parts = match key.dyn_ref::<Array>() {
        Some(parts) => parts.iter().map(part).collect(),
        None => vec![part(key.clone())],
    };
    Key { table, parts }
}

/// The keys that a scan is about: from its prefix up to its bound, or to the end of the prefix.
pub(crate) fn range(scan: &Scan) -> Result<JsValue, Failure> {
    if scan.prefix.is_empty() && scan.before.is_none() {
        return Ok(JsValue::UNDEFINED);
    }
    let lower = parts_to_js(&scan.prefix);
    let upper = parts_to_js(&scan.prefix);
    // Arrays sort after every number and text, so an empty one closes the prefix.
    upper.push(&scan.before.as_ref().map_or_else(|| Array::new().into(), part_to_js));
    IdbKeyRange::bound_with_lower_open_and_upper_open(&lower, &upper, false, true)
        .map(Into::into)
        .map_err(|error| Failure::of(&error))
}

/// The keys that a scan of the greatest numbers below a bound finds when no number is missing, with the lowest of them.
/// `None` when its bound is no number.
pub(crate) fn window(scan: &Scan) -> Result<Option<(u64, JsValue)>, Failure> {
    let Some(KeyPart::Number(before)) = scan.before else { return Ok(None) };
    let lowest = before.saturating_sub(u64::try_from(scan.limit).unwrap_or(u64::MAX));
    let [lower, upper] = [lowest, before].map(|number| {
        let parts = parts_to_js(&scan.prefix);
        parts.push(&part_to_js(&number.into()));
        parts
    });
    let range = IdbKeyRange::bound_with_lower_open_and_upper_open(&lower, &upper, false, true);
    range.map(|range| Some((lowest, range.into()))).map_err(|error| Failure::of(&error))
}

/// A row as an object.
pub(crate) fn row_to_js(row: &Row) -> JsValue {
    let object = Object::new();
    let fields: [(&str, JsValue); 3] = [
        ("v", JsValue::from_f64(f64::from(row.version))),
        ("r", JsValue::from_f64(row.revision as f64)),
        ("j", JsValue::from_str(&row.json)),
    ];
    for (name, value) in fields {
        // Setting a property of a fresh object cannot fail.
        let _ = Reflect::set(&object, &name.into(), &value);
    }
    object.into()
}

/// The revision of a row that was read; `None` when it has none that a precondition could name.
pub(crate) fn revision_of(row: &JsValue) -> Option<u64> {
    let revision = Reflect::get(row, &"r".into()).ok()?.as_f64()?;
    (revision >= 0.0 && revision.fract() == 0.0).then_some(revision as u64)
}

/// A row that was read; `None` when it is not an object of our form.
pub(crate) fn row_from_js(row: &JsValue) -> Option<Row> {
    let version = Reflect::get(row, &"v".into()).ok()?.as_f64()?;
    let json = Reflect::get(row, &"j".into()).ok()?.as_string()?;
    let whole = (0.0..=f64::from(u32::MAX)).contains(&version) && version.fract() == 0.0;
    whole.then_some(Row { version: version as u32, revision: revision_of(row)?, json })
}

/// A record that was read.
pub(crate) fn record(key: &Key, row: &JsValue) -> ReadRecord {
    match row_from_js(row) {
        Some(row) => Record::from_row(key, &row),
        None => Err(RecordError { key: key.clone(), why: "its row is not of the expected form".to_owned() }),
    }
}
