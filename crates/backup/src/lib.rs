//! A backup file: what it is made of, whether a file is one, and what of it a profile takes.
//!
//! A file is lines of JSON, so that it is written and checked piece by piece: a header, one record to a line, and an end
//! that proves that nothing is missing or changed. It holds no credential. `docs/backup.md` is its description.

mod file;
mod merge;

pub use file::{Contents, Damage, FILE_BYTES_MAX, LINE_BYTES_MAX, Reader, Why, Writer};
pub use merge::{Kept, Present, Verdict, decide};
