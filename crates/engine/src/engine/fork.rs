//! Copies of a branch as threads of their own.

use panelot_base::Timestamp;
use panelot_protocol::{Op, OpMessage};
use panelot_records::{Node, Receipt, Thread};

use super::{
    Admitted, Command, ConnectionHandle, Context, Draft, Engine, ErrorCode, Refused, Step, ThreadMachine,
    answer, refused_step,
};

impl Engine {
    /// Makes a thread of a branch that was read for it.
    pub(super) fn on_branch(
        &mut self,
        now: Timestamp,
        from: ConnectionHandle,
        message: OpMessage,
        receipt: Option<Receipt>,
        path: Result<Vec<Node>, String>,
    ) -> Step {
        let Some(client) = self.clients.get(&from).and_then(|client| client.id.clone()) else {
            // Nobody waits any more; whoever asks again is answered then.
            return Step::default();
        };
        let command = Command { from, client, message };
        if let Some(receipt) = receipt {
            return answer(from, command.replay(&receipt));
        }
        let Op::ThreadFork(fork) = &command.message.op else { return Step::default() };
        let refuse = |code, why: &str| {
            let refused = Refused { thread: Some(fork.thread_id.clone()), ..Refused::new(code, why) };
            refused_step(now, &command, &refused)
        };
        let Some(source) = self.directory.threads.get(&fork.thread_id).cloned() else {
            return refuse(ErrorCode::ThreadNotFound, "this conversation does not exist any more");
        };
        let nodes = match path {
            Ok(nodes) if nodes.is_empty() => {
                return refuse(ErrorCode::InvalidCommand, "there is no such entry");
            }
            Ok(nodes) => nodes,
            // It may be read another time, so it is no answer for ever.
            Err(why) => {
                return answer(from, command.refusal(&Refused::new(ErrorCode::StorageFailed, why)));
            }
        };
        let thread = Thread {
            title: source.title,
            // It is the person's copy: no model renames it.
            title_source: panelot_records::thread::TitleSource::Person,
            folder: source.folder_id,
            tags: source.tags,
            preset: source.preset,
            forked_from: Some(source.id),
            ..self.new_thread(now)
        };
        let id = thread.id.clone();
        let mut machine = ThreadMachine::create(thread);
        let mut draft = Draft::default();
        let mut context =
            Context { now, ids: &mut self.ids, directory: &mut self.directory, catalogue: &self.catalogue };
        machine.take_copies(&mut context, &mut draft, nodes);
        let admitted = Admitted { thread: Some(id), ..Admitted::default() };
        let step = self.finish(now, &mut machine, draft, Some((&command, admitted)));
        self.machines.insert(machine.id().clone(), machine);
        step
    }
}
