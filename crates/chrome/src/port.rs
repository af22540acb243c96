//! A connection between a view and the engine, from the view's side.

use serde_json::Value;

use crate::api::ChromeError;

/// One end of a connection. Dropping it disconnects.
pub trait Port {
    /// Sends a message; the other end gets it as plain JSON.
    ///
    /// # Errors
    /// [`ChromeError`] when the port is disconnected.
    fn post(&self, message: &Value) -> Result<(), ChromeError>;

    /// Ends the connection. The own `on_disconnect` is not called for it.
    fn disconnect(&self);
}

/// Opens connections.
pub trait Connect {
    /// What a connection is.
    type Port: Port;

    /// Connects to the service worker, waking it when it sleeps. `on_message` gets every message of the other end;
    /// `on_disconnect` is called once, when the other end or the worker is gone.
    ///
    /// # Errors
    /// [`ChromeError`] when the extension was reloaded or removed, so that nobody can be reached from this document.
    fn connect(
        &self,
        name: &str,
        on_message: impl FnMut(Value) + 'static,
        on_disconnect: impl FnMut() + 'static,
    ) -> Result<Self::Port, ChromeError>;
}
