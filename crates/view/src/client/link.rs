//! The Port and its life: handshake, signs of life, reconnects with a growing delay, and the ends without return.

use panelot_base::limits::{PING_INTERVAL_MS, RECONNECT_MAX_MS, RECONNECT_MIN_MS};
use panelot_base::{ThreadId, Timestamp};
use panelot_protocol::op::{Initialize, Nothing, ThreadOnly};
use panelot_protocol::{Op, PROTOCOL, SCHEMA_HASH, Text};
use serde_json::Value;

use super::{Client, ClientEffect, Follow, Out, Timer};
use crate::model::{ConnectionState, Echo};

/// How long the engine may take for any sign of life. A worker starts in well under a second; the rest is a busy machine.
const LIVENESS_MS: u64 = 10_000;

/// Where the Port stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Not started.
    Idle,
    /// A port was asked for.
    Opening,
    /// It is open and the first `initialize` is not answered.
    Handshake,
    /// The conversation is open.
    Open,
    /// Until the next try.
    Waiting,
    /// The engine's words were not understood; the person may order another try.
    Mismatched,
    /// The page is of another version, for ever.
    Outdated,
}

impl Client {
    pub(super) fn start(
        &mut self,
        now: Timestamp,
        thread: Option<ThreadId>,
        outbox: Option<&Value>,
        out: &mut Out,
    ) {
        if self.link != Link::Idle {
            return;
        }
        if let Some(saved) = outbox {
            self.outbox.restore(&self.setup.client_id, saved);
        }
        match thread {
            Some(thread) => self.show_thread(now, thread, out),
            None => self.resume_draft(now, out),
        }
        self.connect(out);
    }

    /// A draft whose first message was on its way when the document was reloaded is shown again.
    fn resume_draft(&mut self, now: Timestamp, out: &mut Out) {
        let created = self.outbox.iter().filter_map(|(id, op)| match op {
            Op::ThreadCreate(create) => {
                create.input.as_ref().map(|input| (id.clone(), input.text.to_string()))
            }
            _ => None,
        });
        if let Some((id, text)) = created.last() {
            self.model.thread.creating = true;
            self.model.thread.show_echo(id.clone(), text, Echo::Message, now, &mut out.changes);
            self.creating = Some(id);
            out.changes.thread_switched = true;
        }
    }

    pub(super) fn connect(&mut self, out: &mut Out) {
        self.port = self.port.wrapping_add(1);
        self.link = Link::Opening;
        out.effects.push(ClientEffect::OpenPort { port: self.port });
    }

    pub(super) fn port_opened(&mut self, port: u32, out: &mut Out) {
        if port != self.port || self.link != Link::Opening {
            return;
        }
        self.link = Link::Handshake;
        self.initialize(out);
    }

    /// Asks for everything anew: the list of threads, the settings and the open thread.
    pub(super) fn initialize(&mut self, out: &mut Out) {
        let thread = self.model.thread.id.clone();
        let request = self.send_now(
            Op::Initialize(Initialize {
                protocol: Text::clipped(PROTOCOL),
                schema_hash: Text::clipped(SCHEMA_HASH),
                client_id: self.setup.client_id.clone(),
                window_id: self.setup.window_id,
                surface: Some(self.setup.surface),
                subscribe: thread.clone(),
            }),
            out,
        );
        self.handshake = Some(request.clone());
        self.directory_at = None;
        self.admitted.clear();
        self.follow = thread.map(|thread| Follow { thread, request: Some(request), at: None });
        self.expect_a_sign(out);
    }

    /// Asks for the open thread, now or with the handshake.
    pub(super) fn subscribe(&mut self, out: &mut Out) {
        self.follow = None;
        let Some(thread_id) = self.model.thread.id.clone() else { return };
        if self.link == Link::Open {
            self.admitted.clear();
            let request =
                self.send_now(Op::ThreadSubscribe(ThreadOnly { thread_id: thread_id.clone() }), out);
            self.follow = Some(Follow { thread: thread_id, request: Some(request), at: None });
        }
    }

    fn expect_a_sign(&mut self, out: &mut Out) {
        self.heard = false;
        out.effects.push(ClientEffect::SetTimer { timer: Timer::Liveness, ms: LIVENESS_MS });
    }

    /// The handshake is answered.
    pub(super) fn linked(&mut self, out: &mut Out) {
        self.handshake = None;
        self.link = Link::Open;
        self.delay_ms = RECONNECT_MIN_MS;
        if self.model.connection != ConnectionState::Connected {
            self.model.connection = ConnectionState::Connected;
            out.changes.connection = true;
        }
        out.effects.push(ClientEffect::SetTimer { timer: Timer::Ping, ms: PING_INTERVAL_MS });
    }

    pub(super) fn ping(&mut self, out: &mut Out) {
        self.send_now(Op::Ping(Nothing {}), out);
        self.expect_a_sign(out);
    }

    pub(super) fn port_lost(&mut self, now: Timestamp, port: u32, out: &mut Out) {
        if port != self.port || !matches!(self.link, Link::Opening | Link::Handshake | Link::Open) {
            return;
        }
        self.link = Link::Waiting;
        self.handshake = None;
        self.history = None;
        if std::mem::take(&mut self.model.thread.loading_older) {
            out.changes.thread = true;
        }
        let (since, attempts) = match self.model.connection {
            ConnectionState::Reconnecting { since, attempts } => (since, attempts.saturating_add(1)),
            _ => (now, 0),
        };
        self.model.connection = ConnectionState::Reconnecting { since, attempts };
        out.changes.connection = true;
        out.effects.push(ClientEffect::SetTimer { timer: Timer::Reconnect, ms: self.delay_ms });
        self.delay_ms = (self.delay_ms * 2).min(RECONNECT_MAX_MS);
    }

    pub(super) fn timer_fired(&mut self, now: Timestamp, timer: Timer, out: &mut Out) {
        match (timer, self.link) {
            (Timer::Reconnect, Link::Waiting) => self.connect(out),
            (Timer::Ping, Link::Open) => {
                self.ping(out);
                out.effects.push(ClientEffect::SetTimer { timer: Timer::Ping, ms: PING_INTERVAL_MS });
            }
            (Timer::Liveness, Link::Handshake | Link::Open) if !self.heard => {
                out.effects.push(ClientEffect::ClosePort { port: self.port });
                self.port_lost(now, self.port, out);
            }
            _ => {}
        }
    }

    /// Stops without another try of its own.
    pub(super) fn stop(&mut self, end: Link, state: ConnectionState, out: &mut Out) {
        self.link = end;
        self.handshake = None;
        self.model.connection = state;
        out.changes.connection = true;
        out.effects.push(ClientEffect::ClosePort { port: self.port });
    }
}
