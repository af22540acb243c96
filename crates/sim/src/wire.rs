//! The Ports between views and worker: messages on their way, and a strict look at their numbers.

use std::rc::Rc;

use panelot_base::{ClientId, ThreadId};
use panelot_engine::{ConnectionHandle, Input};
use panelot_protocol::{Event, EventMessage, decode_op};
use serde_json::Value;

use crate::invariant::Invariant;
use crate::world::{Heard, Holder, Port, ToView, World};

impl World {
    /// A view opens a Port, which wakes the worker. Nothing comes of it when the worker cannot start.
    pub(crate) fn open_port(&mut self, holder: Holder, number: u32) -> Option<u64> {
        self.boot();
        self.worker.as_ref()?;
        let handle = self.next_port;
        self.next_port += 1;
        let port = Port {
            holder,
            number,
            to_view: std::collections::VecDeque::new(),
            to_worker: std::collections::VecDeque::new(),
            threads: std::collections::BTreeMap::new(),
            directory: None,
        };
        self.ports.insert(handle, port);
        let now = self.time();
        if let Some(worker) = &mut self.worker {
            worker.engine.handle(now, Input::Connected(ConnectionHandle(handle)));
        }
        Some(handle)
    }

    /// The view's end is gone.
    pub(crate) fn cut_port(&mut self, handle: u64) {
        if self.ports.remove(&handle).is_none() {
            return;
        }
        let now = self.time();
        if let Some(worker) = &mut self.worker {
            worker.engine.handle(now, Input::Disconnected(ConnectionHandle(handle)));
        }
        if self.hand.as_ref().is_some_and(|(hand, _)| *hand == handle) {
            self.hand = None;
        }
    }

    /// The worker's end is gone; what was posted before still arrives.
    pub(crate) fn close_port(&mut self, handle: u64) {
        match self.ports.get_mut(&handle) {
            Some(port) if port.holder == Holder::Hand => self.cut_port(handle),
            Some(port) => port.to_view.push_back(ToView::Closed),
            None => {}
        }
    }

    /// The worker died: what is under way to it is lost.
    pub(crate) fn close_all_ports(&mut self) {
        for port in self.ports.values_mut() {
            port.to_worker.clear();
            port.to_view.push_back(ToView::Closed);
        }
        self.ports.retain(|_, port| matches!(port.holder, Holder::View(_)));
        self.hand = None;
    }

    /// Sends an event.
    pub(crate) fn post(&mut self, to: &[ConnectionHandle], message: &EventMessage) {
        let json = Rc::new(message.to_json());
        self.trail.add_json(&json);
        self.note(|| format!("  to {to:?}: {}", json.to_string().chars().take(200).collect::<String>()));
        for handle in to {
            self.note_answer(*handle, message, &json);
            self.check_number(handle.0, message);
            // Whoever speaks by hand does not listen.
            if let Some(port) = self.ports.get_mut(&handle.0).filter(|port| port.holder != Holder::Hand) {
                port.to_view.push_back(ToView::Message(Rc::clone(&json)));
            }
        }
    }

    fn note_answer(&mut self, to: ConnectionHandle, message: &EventMessage, json: &Value) {
        let submission = match &message.event {
            Event::CommandAck(it) => &it.submission_id,
            Event::CommandRejected(it) => &it.submission_id,
            _ => return,
        };
        self.answers.push((to.0, submission.clone(), json.clone()));
    }

    /// Each Port hears each stream number by number; only a commit that failed may leave a gap, and then it must.
    fn check_number(&mut self, handle: u64, message: &EventMessage) {
        let Some(port) = self.ports.get_mut(&handle) else { return };
        let (at, heard, whole) = if let Some(at) = &message.stream {
            let whole = matches!(message.event, Event::ThreadSnapshot(_));
            if whole {
                // Whoever follows a thread follows no other any more.
                port.threads.retain(|thread, _| *thread == at.thread_id);
            }
            let heard = port.threads.insert(at.thread_id.clone(), Heard::At(at.epoch, at.sequence));
            ((at.epoch, at.sequence), heard, whole)
        } else if let Some(at) = &message.directory {
            let whole = matches!(message.event, Event::Initialized(_));
            let heard = port.directory.replace(Heard::At(at.epoch, at.sequence));
            ((at.epoch, at.sequence), heard, whole)
        } else {
            return;
        };
        let fits = match heard {
            _ if whole => true,
            None => true,
            Some(Heard::At(epoch, sequence)) => at == (epoch, sequence + 1),
            Some(Heard::Gap(epoch, sequence)) => at.0 == epoch && at.1 > sequence,
        };
        if !fits {
            let name = message.event.name();
            self.fail(Invariant::Views, format!("port {handle} hears {at:?} ({name}) after {heard:?}"));
        }
    }

    /// One message of a Port reaches the worker.
    pub(crate) fn deliver_to_worker(&mut self, handle: u64) {
        let Some(value) = self.ports.get_mut(&handle).and_then(|port| port.to_worker.pop_front()) else {
            return;
        };
        self.receive(handle, &value);
    }

    /// The worker hears something from a Port.
    pub(crate) fn receive(&mut self, handle: u64, value: &Value) {
        let from = ConnectionHandle(handle);
        let input = match decode_op(value) {
            Ok(message) => Input::Op { from, message, receipt: None },
            Err(rejected) => Input::Malformed { from, rejected },
        };
        self.push(input);
    }

    /// One message of a Port reaches its view.
    pub(crate) fn deliver_to_view(&mut self, handle: u64) {
        let Some(port) = self.ports.get_mut(&handle) else { return };
        let (holder, number) = (port.holder, port.number);
        let Some(message) = port.to_view.pop_front() else { return };
        if matches!(message, ToView::Closed) {
            self.ports.remove(&handle);
        }
        if let Holder::View(place) = holder {
            self.hear(place, number, message);
        }
    }

    /// Somebody who speaks by hand, under the id of a client.
    pub(crate) fn hand(&mut self, client: &ClientId) -> Option<u64> {
        if let Some((handle, id)) = &self.hand {
            if id == client {
                return Some(*handle);
            }
            let handle = *handle;
            self.cut_port(handle);
        }
        let handle = self.open_port(Holder::Hand, 0)?;
        self.hand = Some((handle, client.clone()));
        let hello = serde_json::json!({
            "type": "initialize", "submissionId": self.submission(), "protocol": panelot_protocol::PROTOCOL,
            "schemaHash": panelot_protocol::SCHEMA_HASH, "clientId": client,
        });
        self.receive(handle, &hello);
        self.handle_lane(&crate::driver::Lane::Connection(handle));
        self.ports.contains_key(&handle).then_some(handle)
    }

    /// Whether every lane and every wire is empty.
    pub(crate) fn is_still(&self) -> bool {
        self.worker.as_ref().is_none_or(|worker| worker.lanes.is_empty())
            && self.ports.values().all(|port| port.to_worker.is_empty() && port.to_view.is_empty())
    }

    /// Lets everything that is on its way arrive; models, tools and time stand still.
    pub(crate) fn flow(&mut self) {
        for _ in 0..400 {
            if self.is_over() {
                return;
            }
            self.serve_views();
            let handles: Vec<u64> = self.ports.keys().copied().collect();
            for handle in &handles {
                self.deliver_to_worker(*handle);
            }
            for lane in self.lanes() {
                self.handle_lane(&lane);
            }
            for handle in &handles {
                while self.ports.get(handle).is_some_and(|port| !port.to_view.is_empty()) {
                    self.deliver_to_view(*handle);
                }
            }
            if self.is_still() && !self.views_want() {
                return;
            }
        }
        self.fail(Invariant::Liveness, "the views and the worker talk without end");
    }

    /// Threads that a crash, a trap or a broken record has taken from people.
    pub(crate) fn is_closed(&self, thread: &ThreadId) -> bool {
        self.quarantined.contains(thread) || self.shadow.exempt.contains(thread)
    }
}
