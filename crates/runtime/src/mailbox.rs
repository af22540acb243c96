//! Inputs on their way to the engine: in order within a lane, fair between lanes.

use std::collections::VecDeque;

use panelot_base::limits::WAITING_OPS_MAX;
use panelot_base::{SortedMap, ThreadId};
use panelot_engine::{ConnectionHandle, Input};
use panelot_protocol::Op;

/// What is kept in order with what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    /// Of a Port: the handshake, pings, refusals.
    Connection(ConnectionHandle),
    /// The list of threads, the settings, time.
    Directory,
    /// Of one thread.
    Thread(ThreadId),
}

/// Waiting inputs. A thread with many of them does not delay the others.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    lanes: SortedMap<Lane, VecDeque<Input>>,
    /// Lanes that have something, in the order of their turns.
    turns: VecDeque<Lane>,
}

impl Mailbox {
    /// Adds an input. An operation that finds too many others of its lane waiting is put aside as overloaded.
    pub(crate) fn push(&mut self, input: Input) {
        let lane = lane_of(&input);
        let input = match input {
            Input::Op { from, message, receipt } if self.waiting_ops(&lane) >= WAITING_OPS_MAX => {
                let _ = receipt;
                return self.push_to(Lane::Connection(from), Input::Overloaded { from, message });
            }
            input => input,
        };
        self.push_to(lane, input);
    }

    fn push_to(&mut self, lane: Lane, input: Input) {
        let queue = self.lanes.get_or_insert_with(lane.clone(), Default::default);
        if queue.is_empty() {
            // A handshake waits for one input at most, however many threads are to be read at the start.
            match lane {
                Lane::Connection(_) => self.turns.push_front(lane),
                _ => self.turns.push_back(lane),
            }
        }
        queue.push_back(input);
    }

    fn waiting_ops(&self, lane: &Lane) -> usize {
        let ops =
            |queue: &VecDeque<Input>| queue.iter().filter(|input| matches!(input, Input::Op { .. })).count();
        self.lanes.get(lane).map_or(0, ops)
    }

    /// The next input: the first of the lane whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Input> {
        let lane = self.turns.pop_front()?;
        let queue = self.lanes.get_mut(&lane)?;
        let input = queue.pop_front();
        if queue.is_empty() {
            self.lanes.remove(&lane);
        } else {
            self.turns.push_back(lane);
        }
        input
    }
}

fn lane_of(input: &Input) -> Lane {
    match input {
        Input::Connected(from) | Input::Disconnected(from) => Lane::Connection(*from),
        Input::Malformed { from, .. } | Input::Overloaded { from, .. } => Lane::Connection(*from),
        Input::Op { from, message, .. } | Input::Branch { from, message, .. } => match &message.op {
            Op::Initialize(_) | Op::Ping(_) => Lane::Connection(*from),
            op => op.thread_id().map_or(Lane::Directory, |thread| Lane::Thread(thread.clone())),
        },
        Input::Load { thread }
        | Input::Loaded { thread, .. }
        | Input::Found { thread, .. }
        | Input::Cut { thread, .. }
        | Input::Unreadable { thread, .. }
        | Input::Model { thread, .. }
        | Input::Target { thread, .. }
        | Input::Report { thread, .. }
        | Input::Elicitation { thread, .. }
        | Input::History { thread, .. } => Lane::Thread(thread.clone()),
        Input::Page { .. }
        | Input::Swept { .. }
        | Input::UpdateAvailable { .. }
        | Input::Wake
        | Input::Checked { .. }
        | Input::Unlocked { .. }
        | Input::TryStep { .. }
        | Input::Tried { .. } => Lane::Directory,
    }
}

#[cfg(test)]
mod tests {
    use super::Mailbox;
    use panelot_base::limits::WAITING_OPS_MAX;
    use panelot_base::{SubmissionId, ThreadId};
    use panelot_engine::{ConnectionHandle, Input};
    use panelot_protocol::op::{Nothing, ThreadOnly};
    use panelot_protocol::{Op, OpMessage};

    fn op(from: u64, id: usize, op: Op) -> Input {
        let submission_id = SubmissionId::new(format!("s{id}")).unwrap();
        Input::Op { from: ConnectionHandle(from), message: OpMessage { submission_id, op }, receipt: None }
    }

    fn interrupt(thread: &str, id: usize) -> Input {
        op(1, id, Op::TurnInterrupt(ThreadOnly { thread_id: ThreadId::new(thread).unwrap() }))
    }

    #[test]
    fn a_busy_thread_does_not_delay_another() {
        let mut mailbox = Mailbox::default();
        for id in 0..10 {
            mailbox.push(interrupt("busy", id));
        }
        mailbox.push(interrupt("other", 99));
        let order: Vec<_> = std::iter::from_fn(|| mailbox.pop()).collect();
        assert_eq!(order[1], interrupt("other", 99));
        assert_eq!(order.len(), 11);
        assert_eq!(order[10], interrupt("busy", 9), "within a thread the order is kept");
    }

    #[test]
    fn a_handshake_does_not_wait_for_the_threads_that_are_read_at_the_start() {
        let mut mailbox = Mailbox::default();
        for thread in ["a", "b", "c"] {
            mailbox.push(Input::Load { thread: ThreadId::new(thread).unwrap() });
        }
        mailbox.push(op(1, 1, Op::Ping(Nothing {})));
        assert!(matches!(mailbox.pop(), Some(Input::Op { .. })));
    }

    #[test]
    fn too_many_operations_of_one_thread_are_put_aside_and_others_are_not() {
        let mut mailbox = Mailbox::default();
        for id in 0..=WAITING_OPS_MAX {
            mailbox.push(interrupt("busy", id));
        }
        mailbox.push(interrupt("other", 0));
        mailbox.push(op(2, 1, Op::Ping(Nothing {})));
        let inputs: Vec<_> = std::iter::from_fn(|| mailbox.pop()).collect();
        let refused = inputs.iter().filter(|input| matches!(input, Input::Overloaded { .. })).count();
        assert_eq!((refused, inputs.len()), (1, WAITING_OPS_MAX + 3));
    }
}
