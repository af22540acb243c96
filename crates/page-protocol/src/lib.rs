//! The wire between the engine and the page executor: what may be asked of a document, and what it answers.
//!
//! The TypeScript types and the request validator of `page/` are generated from these types ([`typescript`]), and
//! both sides refuse a message whose schema hash is not [`SCHEMA_HASH`]. Read next: `action.rs`, then `envelope.rs`.

mod action;
mod budget;
mod envelope;
mod facts;
pub mod limits;
mod outcome;
mod schema;
mod typescript;

pub use action::{Action, ElementRef, InvalidRef, OptionChoice};
pub use budget::{Budget, BudgetError, PAGE_BUDGET};
pub use envelope::{Answer, PROTOCOL_ID, Request, RequestBody, RequestId, Response, WireError};
pub use facts::{FieldValue, FrameFacts, Node, OptionFacts, PageFacts, Rect, State, Viewport};
pub use outcome::{
    ActionFailure, ActionResult, EffectSeen, FailureCode, Observed, Outcome, Reach, Subject, Submission,
};
pub use schema::{SCHEMA_HASH, computed_schema_hash, schema_hash, schema_manifest};
pub use typescript::generate as typescript;
