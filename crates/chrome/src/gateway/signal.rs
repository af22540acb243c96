//! Lets a running command see the events of its tab.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

use crate::event::ChromeEvent;

/// Most events that wait for one listener; the oldest are dropped. A navigation has about six.
const QUEUE_MAX: usize = 256;

/// Where events are posted.
#[derive(Default)]
pub(super) struct Board {
    listeners: RefCell<Vec<Weak<RefCell<Queue>>>>,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<ChromeEvent>,
    waker: Option<Waker>,
}

/// Collects events from its creation on, so that a command that listens before it acts misses nothing.
pub(super) struct Listener(Rc<RefCell<Queue>>);

impl Board {
    pub(super) fn listen(&self) -> Listener {
        let queue = Rc::new(RefCell::new(Queue::default()));
        self.listeners.borrow_mut().push(Rc::downgrade(&queue));
        Listener(queue)
    }

    pub(super) fn publish(&self, event: &ChromeEvent) {
        if tab_of(event).is_none() {
            return;
        }
        let mut wakers = Vec::new();
        self.listeners.borrow_mut().retain(|listener| {
            let Some(queue) = listener.upgrade() else { return false };
            let mut queue = queue.borrow_mut();
            if queue.events.len() == QUEUE_MAX {
                queue.events.pop_front();
            }
            queue.events.push_back(event.clone());
            wakers.extend(queue.waker.take());
            true
        });
        // A waker may run the listener's task at once, which may listen again.
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Listener {
    /// The next event of a tab.
    pub(super) async fn next(&self, tab_id: u32) -> ChromeEvent {
        poll_fn(|context| {
            let mut queue = self.0.borrow_mut();
            while let Some(event) = queue.events.pop_front() {
                if tab_of(&event) == Some(tab_id) {
                    return Poll::Ready(event);
                }
            }
            queue.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// The tab whose top frame an event is about; `None` for any other event.
fn tab_of(event: &ChromeEvent) -> Option<u32> {
    match event {
        ChromeEvent::NavigationCommitted { tab_id, frame_id: 0, .. }
        | ChromeEvent::NavigationReady { tab_id, frame_id: 0, .. }
        | ChromeEvent::NavigationFailed { tab_id, frame_id: 0, .. }
        | ChromeEvent::TabRemoved { tab_id }
        | ChromeEvent::TabUpdated { tab_id, .. }
        | ChromeEvent::TabReplaced { removed: tab_id, .. } => Some(*tab_id),
        _ => None,
    }
}
