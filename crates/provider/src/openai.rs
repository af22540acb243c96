//! OpenAI's chat completions, as OpenAI and everybody who calls themselves compatible speak it.
//!
//! Sends the common core only; reads with tolerance for what real servers were seen to send (see `tests/`).

mod encode;
mod frames;

pub(crate) use encode::{encode, is_openai_reasoner, joined};
pub(crate) use frames::{Frames, read_usage};
