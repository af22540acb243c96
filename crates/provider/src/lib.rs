//! Model providers without the network: what is asked of a model, how each wire says it, and what its bytes mean.
//!
//! Invariants: no credential leaves except inside a `Secret` header; a [`Response`] has tool calls exactly when its stop
//! reason is `ToolUse`; foreign bytes never make a decoder panic or grow without bound. Absent: sockets, clocks, keys at
//! rest. Read next: `request.rs`, `response.rs`, `codec.rs`, `decode.rs`, then a wire's `frames.rs`.

mod answer;
mod anthropic;
mod built_in;
mod codec;
mod decode;
mod endpoint;
mod error;
mod gather;
mod history;
mod http;
mod layout;
pub mod limits;
mod models;
mod names;
mod offered;
mod openai;
mod picture;
mod quirks;
mod registry;
mod request;
mod response;
mod responses;
pub mod retry;
mod sanitise;
mod schema;
pub mod sse;
mod surrogates;
mod think;
pub mod tokens;
mod upstream;
pub mod verify;

pub use codec::{Progress, Wire};
pub use decode::Decoder;
pub use endpoint::{Endpoint, EndpointError};
pub use error::{ErrorKind, Fault, ProviderError, Reason};
pub use history::HistoryError;
pub use http::{HeaderValue, HttpRequest, Method, ResponseHead};
pub use models::ListedModel;
pub use quirks::{MaxTokensField, Quirks};
pub use registry::{CONTEXT_TOKENS_DEFAULT, KnownFacts, ModelFacts, Price, known_facts, model_facts};
pub use request::{Effort, Message, Parameters, Part, Request, ToolCall, ToolSchema};
pub use response::{Response, StopReason, StreamEvent, Usage};
pub use upstream::{NO_ACCESS, explained, http_error, network_error, stalled};
