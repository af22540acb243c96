//! What the browser tells by itself: of watched tabs, and of an update that waits.

use panelot_base::{ThreadId, Timestamp};
use panelot_protocol::Event;
use panelot_protocol::event::UpdateAvailable;
use panelot_protocol::snapshot::Activity;

use super::Engine;
use crate::input::PageSignal;
use crate::step::Step;
use crate::thread::ThreadMachine;

impl Engine {
    /// Whether a call watches a tab.
    #[must_use]
    pub fn watches(&self, tab_id: u32) -> bool {
        self.machines.values().any(|machine| machine.watches.values().any(|watch| watch.tab_id == tab_id))
    }

    /// Whether the extension should be started anew, for an update that waits: the person said so, or nothing is under
    /// way and no page of ours is open. What merely waits is taken up again by the new version.
    #[must_use]
    pub fn wants_reload(&self) -> bool {
        let works = |activity: &Activity| activity.running;
        let quiet =
            || self.clients.is_empty() && !self.is_busy() && !self.directory.activity.values().any(works);
        self.update.is_some() && (self.update_now || quiet())
    }

    pub(super) fn on_update(&mut self, version: String) -> Step {
        self.update = Some(version.clone());
        let event = Event::UpdateAvailable(UpdateAvailable { version });
        Step { effects: vec![self.broadcast(event)], ..Step::default() }
    }

    pub(super) fn on_page(&mut self, now: Timestamp, tab_id: u32, signal: &PageSignal) -> Vec<Step> {
        let watching = |machine: &ThreadMachine| machine.watches.values().any(|it| it.tab_id == tab_id);
        let threads: Vec<ThreadId> =
            self.machines.values().filter(|it| watching(it)).map(|it| it.id().clone()).collect();
        let mut steps = Vec::new();
        for thread in threads {
            steps.extend(self.on_thread(now, &thread, |machine, context, draft| {
                machine.on_page_signal(context, draft, tab_id, signal);
            }));
        }
        steps
    }
}
