//! The `chrome.*` calls that Panelot makes, typed, and the driver that carries out the engine's browser commands.
//!
//! Every call goes through the trait [`Api`] as JSON: [`Chrome`] hands it to the browser, `fake::FakeChrome` answers it
//! from a script, and the typed functions (one module per namespace of `chrome`) are the same over both. Events come as
//! [`ChromeEvent`]. Read next: `api.rs`, `event.rs`, then `gateway.rs`. Nothing is decided here.

mod api;
mod browser;
mod calls;
mod clock;
mod event;
#[cfg(not(target_family = "wasm"))]
pub mod fake;
mod gateway;
pub mod permissions;
mod port;
pub mod tabs;
pub mod web_navigation;

pub use api::{Api, ChromeError, ErrorKind};
pub use browser::{Chrome, JsPort, Ports};
pub use calls::{action, alarms, i18n, notifications, runtime, scripting, side_panel, storage, windows};
pub use clock::Clock;
pub use event::{ChromeEvent, EventError, PortId, decode};
pub use gateway::{Gateway, Lookup};
pub use port::{Connect, Port};
