//! What bounds a message between engine and page. Part of the schema hash: both sides must agree on them.

/// UTF-16 units of the text of one `type` action. A long letter has about 5,000; the executor inserts it in one step.
pub const TYPE_TEXT_UNITS_MAX: u32 = 100_000;
/// UTF-16 units of an option's value or label in `select_option`.
pub const OPTION_UNITS_MAX: u32 = 1_000;
/// UTF-16 units of an address in a message. Chrome itself shows and follows up to 2 MiB; nobody reads that.
pub const URL_UNITS_MAX: u32 = 8_192;
/// UTF-16 units of an accessible name or description. Longer ones are cut and marked with an ellipsis.
pub const NAME_UNITS_MAX: u32 = 400;
/// UTF-16 units of the value of a field. Longer ones are cut and marked with an ellipsis.
pub const VALUE_UNITS_MAX: u32 = 400;
/// UTF-16 units of one text block; a longer block is split, not cut.
pub const TEXT_UNITS_MAX: u32 = 2_000;
/// UTF-16 units of a failure's message.
pub const MESSAGE_UNITS_MAX: u32 = 1_000;
/// Nodes of one page. With at most 25 JSON values each they stay inside [`crate::PAGE_BUDGET`].
pub const NODES_MAX: u32 = 5_000;
/// Text blocks among the nodes; when there are more, later ones are left out and counted, controls are kept.
pub const TEXT_NODES_MAX: u32 = 3_000;
/// Options listed of one select box; the rest is counted.
pub const OPTIONS_MAX: u32 = 100;
/// Options listed of all select boxes of a page together.
pub const OPTIONS_TOTAL_MAX: u32 = 2_000;
/// Depth of the outline. Deeper nodes are reported at this depth.
pub const DEPTH_MAX: u32 = 64;
/// Depth of nested same-origin frames that are looked into; guards against a page that embeds itself.
pub const FRAME_DEPTH_MAX: u32 = 4;
/// How long a target may take to become visible, still and uncovered before the action is refused, in milliseconds.
pub const READY_WAIT_MS_MAX: u32 = 1_500;
/// A page has settled when nothing in it changed for this long, in milliseconds…
pub const QUIET_MS: u32 = 200;
/// …or when this long has passed since the action, in milliseconds.
pub const SETTLE_MS_MAX: u32 = 2_500;
