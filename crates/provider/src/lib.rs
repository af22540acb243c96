//! Model providers without the network: what is asked of a model, how each wire says it, and what its bytes mean.
//!
//! Invariants: no credential leaves except inside a `Secret` header; a [`Response`] has tool calls exactly when its stop
//! reason is `ToolUse`; foreign bytes never make a decoder panic or grow without bound. Absent: sockets, clocks, keys at
//! rest. Read next: `request.rs`, `response.rs`, `codec.rs`, then `openai/decode.rs`.

mod codec;
mod endpoint;
mod error;
mod history;
mod http;
pub mod limits;
pub mod openai;
mod registry;
mod request;
mod response;
pub mod retry;
mod sanitise;
pub mod sse;
mod upstream;
pub mod verify;

pub use codec::{Decoder, Progress, Wire};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{ErrorKind, Fault, ProviderError, Reason};
pub use history::HistoryError;
pub use http::{HeaderValue, HttpRequest, Method, ResponseHead};
pub use registry::{CONTEXT_TOKENS_DEFAULT, ModelFacts, model_facts};
pub use request::{Effort, Message, Parameters, Part, Request, ToolCall, ToolSchema};
pub use response::{Response, StopReason, StreamEvent, Usage};
pub use upstream::{http_error, network_error};
