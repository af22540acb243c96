//! Reading a thread: its head, and its branches from the newest node back.
//!
//! A node's parent is always older, so a branch is found by reading downwards and skipping what belongs to others. Where
//! a parent is missing the branch begins: what can be read is read, and the reader is told.

use panelot_base::limits::SNAPSHOT_PAGE_NODES;
use panelot_base::{ApprovalId, RunId, SortedSet, ThreadId};
use panelot_records::{
    Approval, CallState, Key, KeyPart, Node, Record, RecordError, Run, Scan, Table, Thread, ThreadHead,
};

use crate::error::HeadError;
use crate::store::{ReadRecord, Store};

/// A stretch of one branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathPage {
    /// Its nodes, oldest first.
    pub nodes: Vec<Node>,
    /// The node that the oldest one follows: where the page before this one ends. `None` at the root.
    pub older: Option<u64>,
    /// Whether the oldest node follows one that does not exist or is not older, so that the branch begins with it.
    pub is_cut: bool,
}

pub(crate) async fn read_head<S: Store + ?Sized>(
    store: &S,
    id: &ThreadId,
) -> Result<Option<ThreadHead>, HeadError> {
    let thread = match store.get(&Key::thread(id)).await? {
        None => return Ok(None),
        Some(Err(error)) => return Err(error.into()),
        Some(Ok(Record::Thread(thread))) => thread,
        Some(Ok(_)) => return Err(HeadError::Missing { key: Key::thread(id) }),
    };
    if thread.deleted_at.is_some() {
        return Ok(None);
    }
    let runs = read_runs(store, &thread).await?;
    let approvals = read_approvals(store, id, &runs).await?;
    let batch = runs.iter().filter_map(|run| run.batch.as_ref()).map(|batch| batch.assistant_seq).min();
    let reach = batch.unwrap_or(u64::MAX);
    let mut leaf_lost = false;
    let path = match thread.leaf {
        Some(leaf) => match read_path(store, id, leaf, SNAPSHOT_PAGE_NODES, reach).await {
            Err(HeadError::Missing { .. }) => {
                leaf_lost = true;
                match newest_node(store, id).await? {
                    Some(leaf) => read_path(store, id, leaf, SNAPSHOT_PAGE_NODES, reach).await?,
                    None => PathPage::default(),
                }
            }
            path => path?,
        },
        None => PathPage::default(),
    };
    let PathPage { nodes: page, older, is_cut } = path;
    Ok(Some(ThreadHead { thread, runs, approvals, page, has_older: older.is_some(), is_cut, leaf_lost }))
}

/// The newest node that can be read, for a head whose leaf does not exist.
async fn newest_node<S: Store + ?Sized>(store: &S, thread: &ThreadId) -> Result<Option<u64>, HeadError> {
    let scan = Scan::newest_nodes(thread, None, SNAPSHOT_PAGE_NODES);
    let newest = store.scan(&scan).await?.into_iter().find_map(|read| match read {
        Ok(Record::Node(node)) => Some(node.seq),
        _ => None,
    });
    Ok(newest)
}

async fn read_runs<S: Store + ?Sized>(store: &S, thread: &Thread) -> Result<Vec<Run>, HeadError> {
    let mut runs = Vec::with_capacity(thread.open_runs.len());
    for id in &thread.open_runs {
        let key = Key::run(&thread.id, id);
        match store.get(&key).await? {
            Some(Ok(Record::Run(run))) => {
                let place = runs.partition_point(|held: &Run| held.order <= run.order);
                runs.insert(place, run);
            }
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(_)) | None => return Err(HeadError::Missing { key }),
        }
    }
    Ok(runs)
}

/// The approvals of the open runs. One of an ended run that cannot be read is nobody's loss and is passed over; one
/// that a call waits for must be there.
async fn read_approvals<S: Store + ?Sized>(
    store: &S,
    thread: &ThreadId,
    runs: &[Run],
) -> Result<Vec<Approval>, HeadError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let needed = needed_approvals(runs);
    let open: SortedSet<&RunId> = runs.iter().map(|run| &run.id).collect();
    let mut found = Vec::new();
    for read in store.scan(&Scan::of_thread(Table::Approvals, thread)).await? {
        match read {
            Ok(Record::Approval(approval)) if open.contains(&approval.run) => found.push(approval),
            Ok(_) => {}
            Err(error) if needed.iter().any(|id| Key::approval(thread, id) == error.key) => {
                return Err(error.into());
            }
            Err(_) => {}
        }
    }
    let held: SortedSet<&ApprovalId> = found.iter().map(|approval| &approval.id).collect();
    match needed.iter().find(|id| !held.contains(*id)) {
        Some(missing) => Err(HeadError::Missing { key: Key::approval(thread, missing) }),
        None => Ok(found),
    }
}

fn needed_approvals(runs: &[Run]) -> Vec<&ApprovalId> {
    let calls = runs.iter().filter_map(|run| run.batch.as_ref()).flat_map(|batch| &batch.calls);
    calls
        .filter_map(|call| match &call.state {
            CallState::Waiting { approval } | CallState::Approved { approval } => Some(approval),
            CallState::Proposed
            | CallState::Dispatched { .. }
            | CallState::Uncertain { .. }
            | CallState::Done
            | CallState::Skipped => None,
        })
        .collect()
}

/// Reads at least `at_least` nodes of the branch that ends in `leaf`, and further back down to the node `reach`.
pub(crate) async fn read_path<S: Store + ?Sized>(
    store: &S,
    thread: &ThreadId,
    leaf: u64,
    at_least: usize,
    reach: u64,
) -> Result<PathPage, HeadError> {
    let mut nodes = Vec::new();
    let mut wanted = Some(leaf);
    let mut is_cut = false;
    while let Some(seq) = wanted.filter(|seq| nodes.len() < at_least || *seq >= reach) {
        let scan = Scan::newest_nodes(thread, Some(seq.saturating_add(1)), at_least.max(1));
        let before = nodes.len();
        for read in store.scan(&scan).await? {
            let enough = nodes.len() >= at_least && wanted.is_none_or(|seq| seq < reach);
            if enough {
                break;
            }
            if let Some(node) = wanted_node(read, wanted)? {
                wanted = node.parent.filter(|parent| *parent < node.seq);
                is_cut = wanted != node.parent;
                nodes.push(node);
            }
        }
        // The scan begins at the wanted node, so a scan that does not find it means that it is not there.
        if nodes.len() == before {
            if nodes.is_empty() {
                return Err(HeadError::Missing { key: Key::node(thread, seq) });
            }
            (wanted, is_cut) = (None, true);
        }
    }
    nodes.reverse();
    Ok(PathPage { nodes, older: wanted, is_cut })
}

/// The node that was read, if it is the wanted one. A broken row of another branch is passed over.
fn wanted_node(read: ReadRecord, wanted: Option<u64>) -> Result<Option<Node>, RecordError> {
    match read {
        Ok(Record::Node(node)) if Some(node.seq) == wanted => Ok(Some(node)),
        Ok(_) => Ok(None),
        Err(error) => match (error.key.parts.last(), wanted) {
            (Some(KeyPart::Number(seq)), Some(wanted)) if *seq == wanted => Err(error),
            _ => Ok(None),
        },
    }
}
