//! What runs beside the loop: lookups, tools, tries of connections, reads of older messages.

use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use futures_util::pin_mut;
use panelot_base::limits::SNAPSHOT_PAGE_NODES;
use panelot_base::{ConnectionId, ItemId, SortedMap, SubmissionId, ThreadId};
use panelot_engine::{ConnectionHandle, Input, TargetLookup, Trial};
use panelot_gatekeeper::Permit;
use panelot_model_client::{CallError, Models, Probe};
use panelot_protocol::OpMessage;
use panelot_provider::verify::Tried;
use panelot_provider::{ErrorKind, ProviderError};
use panelot_store::{HeadError, PathPage, Store};
use panelot_tools::Command;

use crate::driver::Runtime;
use crate::model::{Reach, place, unopened};
use crate::ports::{Browser, Ports};

/// Tells an attempt of a call from a later one of the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// The ways to stop what is under way, by thread and by call.
#[derive(Debug, Default)]
pub(crate) struct Cancels {
    handles: SortedMap<(ThreadId, String), (Ticket, oneshot::Sender<()>)>,
    tickets: u64,
}

impl Cancels {
    /// Registers something that can be stopped; the receiver resolves when it should.
    pub(crate) fn register(&mut self, thread: &ThreadId, id: &str) -> (Ticket, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.handles.insert((thread.clone(), id.to_owned()), (ticket, sender));
        (ticket, receiver)
    }

    /// Forgets something that ended. A later attempt of the same call stays stoppable.
    pub(crate) fn finished(&mut self, thread: &ThreadId, id: &str, ticket: Ticket) {
        let key = (thread.clone(), id.to_owned());
        if self.handles.get(&key).is_some_and(|(held, _)| *held == ticket) {
            self.handles.remove(&key);
        }
    }

    /// Stops one thing.
    pub(crate) fn cancel(&mut self, thread: &ThreadId, id: &str) {
        if let Some((_, handle)) = self.handles.remove(&(thread.clone(), id.to_owned())) {
            let _ = handle.send(());
        }
    }

    /// Stops all that runs for a thread.
    pub(crate) fn cancel_thread(&mut self, thread: &ThreadId) {
        let ids: Vec<String> =
            self.handles.keys().filter(|(of, _)| of == thread).map(|(_, id)| id.clone()).collect();
        for id in ids {
            self.cancel(thread, &id);
        }
    }
}

impl<P: Ports> Runtime<P> {
    #[inline(never)]
    pub(crate) fn spawn_lookup(self: &Rc<Self>, lookup: TargetLookup) {
        let runtime = Rc::clone(self);
        self.spawn_task(async move {
            let found = runtime.ports.browser().resolve(&lookup).await;
            let TargetLookup { thread, item, phase, .. } = lookup;
            runtime.push(Input::Target { thread, item, phase, found });
        });
    }

    #[inline(never)]
    pub(crate) fn spawn_dispatch(
        self: &Rc<Self>,
        thread: ThreadId,
        item: ItemId,
        attempt: u32,
        permit: Permit,
        command: Command,
    ) {
        let runtime = Rc::clone(self);
        let (ticket, cancelled) = self.cancels.borrow_mut().register(&thread, item.as_str());
        self.spawn_task(async move {
            #[cfg(feature = "failpoints")]
            let is_write = !is_read(&command);
            let stopped = async move {
                // A handle that is dropped with the runtime stops nothing.
                if cancelled.await.is_err() {
                    futures_util::future::pending::<()>().await;
                }
            };
            let report = runtime.ports.browser().run(command, stopped).await;
            drop(permit);
            runtime.cancels.borrow_mut().finished(&thread, item.as_str(), ticket);
            #[cfg(feature = "failpoints")]
            if is_write {
                runtime.ports.failpoint("tool.after_dispatch", &thread).await;
            }
            runtime.push(Input::Report { thread, item, attempt, report });
        });
    }

    /// Tries a connection. A try of the same connection by the same view that is under way ends.
    #[inline(never)]
    pub(crate) fn spawn_try(self: &Rc<Self>, trial: Box<Trial>) {
        let runtime = Rc::clone(self);
        let (sender, cancelled) = oneshot::channel::<()>();
        let key = (trial.from, trial.connection.clone());
        // Dropping the sender of another try ends it.
        self.tries.borrow_mut().insert(key.clone(), sender);
        self.spawn_task(async move {
            let ended = {
                let tried = runtime.tried(&trial);
                pin_mut!(tried);
                match select(tried, cancelled).await {
                    Either::Left((tried, _)) => Some(tried),
                    Either::Right(_) => None,
                }
            };
            // Of one that was ended the place may be another's by now.
            if ended.is_some() {
                runtime.tries.borrow_mut().remove(&key);
            }
            runtime.push(Input::Tried { trial, result: ended });
        });
    }

    async fn tried(self: &Rc<Self>, trial: &Trial) -> Tried {
        let failed = |error: ProviderError| Tried { error: Some(error), ..Tried::default() };
        let secrets = match self.secrets_of(&trial.access).await {
            Ok(secrets) => secrets,
            Err(error) => return failed(unopened(&error)),
        };
        let probe =
            Probe { place: place(&trial.access), model: trial.model.clone(), only_lists: trial.only_lists };
        let (runtime, told) = (Rc::clone(self), trial.clone());
        let told = Box::new(move |report| {
            runtime.push(Input::TryStep { trial: Box::new(told.clone()), report });
        });
        match self.ports.models().verify(probe, secrets, told).await {
            Ok(tried) => tried,
            Err(CallError::Provider(error)) => failed(error),
            Err(CallError::Ours(why)) => {
                let mut error = ProviderError::new(ErrorKind::Protocol, None);
                error.upstream_message = Some(why);
                failed(error)
            }
        }
    }

    /// Ends the tries of a view, of one connection or of all.
    pub(crate) fn cancel_tries(&self, from: ConnectionHandle, connection: Option<&ConnectionId>) {
        let is_other = |(of, id): &(ConnectionHandle, ConnectionId)| {
            *of != from || connection.is_some_and(|it| it != id)
        };
        self.tries.borrow_mut().retain(|key, _| is_other(key));
    }

    #[inline(never)]
    pub(crate) fn spawn_branch(
        self: &Rc<Self>,
        from: ConnectionHandle,
        message: OpMessage,
        thread: ThreadId,
        leaf: u64,
    ) {
        let runtime = Rc::clone(self);
        self.spawn_task(async move {
            let path = match runtime.branch(&thread, leaf, Reach::Root).await {
                Err(HeadError::Missing { .. }) => Ok(Vec::new()),
                path => path.map_err(|error| error.to_string()),
            };
            runtime.push(Input::Branch { from, message, receipt: None, path });
        });
    }

    pub(crate) fn spawn_history(
        self: &Rc<Self>,
        from: ConnectionHandle,
        submission: SubmissionId,
        thread: ThreadId,
        before: u64,
    ) {
        let runtime = Rc::clone(self);
        self.spawn_task(async move {
            // The node before which the page lies knows its parent, which may be far below its sequence.
            let read = runtime.ports.store().path(&thread, before, SNAPSHOT_PAGE_NODES + 1).await;
            let page = read.map_err(|error| error.to_string()).map(|page| {
                runtime.tell_cut(&thread, &page);
                let mut nodes = page.nodes;
                nodes.pop();
                (nodes, page.older.is_some())
            });
            runtime.push(Input::History { from, submission, thread, page });
        });
    }
}

impl<P: Ports> Runtime<P> {
    /// Has a link that leads nowhere mended.
    pub(crate) fn tell_cut(&self, thread: &ThreadId, page: &PathPage) {
        if let Some(first) = page.nodes.first().filter(|_| page.is_cut) {
            self.push(Input::Cut { thread: thread.clone(), node: Box::new(first.clone()) });
        }
    }
}

#[cfg(feature = "failpoints")]
fn is_read(command: &Command) -> bool {
    match command {
        Command::ListTabs => true,
        Command::Page { action, .. } => matches!(action, panelot_page_protocol::Action::ReadPage {}),
        Command::Navigate { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Cancels;
    use panelot_base::ThreadId;

    #[test]
    fn an_attempt_that_ends_late_leaves_the_next_one_stoppable() {
        let thread = ThreadId::new("thread").unwrap();
        let mut cancels = Cancels::default();
        let (first, _overtaken) = cancels.register(&thread, "call");
        let (_, mut second) = cancels.register(&thread, "call");
        cancels.finished(&thread, "call", first);
        cancels.cancel(&thread, "call");
        assert_eq!(second.try_recv(), Ok(Some(())));
    }

    #[test]
    fn a_stop_of_a_thread_stops_all_of_it_and_nothing_else() {
        let (thread, other) = (ThreadId::new("thread").unwrap(), ThreadId::new("other").unwrap());
        let mut cancels = Cancels::default();
        let (_, mut model) = cancels.register(&thread, "model");
        let (_, mut tool) = cancels.register(&thread, "tool");
        let (_, mut elsewhere) = cancels.register(&other, "tool");
        cancels.cancel_thread(&thread);
        assert_eq!((model.try_recv(), tool.try_recv()), (Ok(Some(())), Ok(Some(()))));
        assert_eq!(elsewhere.try_recv(), Ok(None));
    }
}
