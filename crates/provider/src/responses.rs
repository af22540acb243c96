//! OpenAI's Responses, used without state at the provider: every request brings the whole conversation, and encrypted
//! reasoning travels with it.

mod encode;
mod frames;

pub(crate) use encode::encode;
pub(crate) use frames::Frames;
