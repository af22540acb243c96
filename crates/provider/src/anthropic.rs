//! Anthropic's messages, as Anthropic and the servers that copy it speak them.

mod encode;
mod frames;

pub(crate) use encode::encode;
pub(crate) use frames::Frames;
