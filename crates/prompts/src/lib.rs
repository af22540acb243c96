//! Every word that the engine says to a model: the system prompt, the fences around foreign text, and the answers to
//! calls that did not run. English, whatever language the person speaks: models follow it best.
//!
//! Invariants: all output depends on the arguments alone, so that rebuilding a history gives the same bytes (providers
//! cache by prefix); no body can close its own fence. Read next: `system.rs`, `fence.rs`, `wording.rs`.

mod context;
mod fence;
mod kernel;
mod look_alike;
mod system;
pub mod wording;

pub use context::{Attachment, attached_context, submission_tab};
pub use fence::{InvalidNonce, Nonce, fence};
pub use kernel::KERNEL;
pub use system::{Language, Layers, Policy, system_prompt};
