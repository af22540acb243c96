//! Bounds on what a provider may send us. Each is far above what honest services send; they keep a broken or hostile
//! server from filling the worker's memory.

/// Bytes of one line of an event stream, and of one event's data. A delta is a few hundred bytes; a relay that sends a
/// whole answer in one event stays below this.
pub const EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a whole answer: text, reasoning and arguments together. About four million tokens.
pub const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Tool calls of one answer. The most that models are known to send at once is a few dozen.
pub const TOOL_CALLS_MAX: usize = 128;
/// Bytes of a tool's name or a call's id; wires allow 64 characters for a name.
pub const NAME_BYTES_MAX: usize = 256;
/// Bytes of the vendor's own members of one call. Thought signatures are a few kilobytes.
pub const VENDOR_BYTES_MAX: usize = 64 * 1024;
/// Bytes of an error answer, or of a list of models, that are looked at.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Characters of a provider's own error text that are kept.
pub const UPSTREAM_CHARS_MAX: usize = 2000;
/// Models that are read from a listing; the largest router lists several hundred.
pub const MODELS_MAX: usize = 5000;
