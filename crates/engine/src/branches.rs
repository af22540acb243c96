//! The tree of a conversation, as far as its head knows it: which chains there are, what is a version of what, and
//! where a branch ends.
//!
//! Invariant: the nodes of one chain follow each other, so a chain and a sequence say whether a node is on a branch,
//! and no branch is ever walked to find out. Read next: `thread/tree.rs`.

use panelot_base::SortedSet;
use panelot_records::{Chain, Node, Thread};

fn chain(thread: &Thread, first: u64) -> Option<&Chain> {
    thread.chains.iter().find(|chain| chain.first == first)
}

/// All versions of a message, oldest first; empty while there is only one.
pub(crate) fn versions(thread: &Thread, seq: u64) -> Vec<u64> {
    let is_edit = |chain: &&Chain| chain.first != 0;
    let group = thread.chains.iter().filter(is_edit).find(|chain| chain.first == seq || chain.beside == seq);
    let Some(after) = group.map(|chain| chain.after) else { return Vec::new() };
    let same = thread.chains.iter().filter(is_edit).filter(|chain| chain.after == after);
    let all: SortedSet<u64> = same.flat_map(|chain| [chain.first, chain.beside]).collect();
    all.into_iter().collect()
}

/// Whether a node is on the active branch.
pub(crate) fn is_active(thread: &Thread, node: &Node) -> bool {
    let (mut at, mut end) = (thread.chain, thread.leaf);
    loop {
        if node.chain == at {
            return Some(node.seq) <= end;
        }
        match chain(thread, at) {
            // A chain hangs on an older one; else the record is damaged.
            Some(chain) if chain.from < chain.first => (at, end) = (chain.from, chain.after),
            _ => return false,
        }
    }
}

/// Notes where the active chain ends, before the active branch changes.
fn park(thread: &mut Thread) {
    let end = thread.leaf.unwrap_or_default();
    if thread.chains.is_empty() {
        thread.chains.push(Chain { first: 0, after: None, from: 0, beside: 0, end });
    }
    let at = thread.chain;
    if let Some(chain) = thread.chains.iter_mut().find(|chain| chain.first == at) {
        chain.end = end;
    }
}

/// Begins a branch with another version of a message: the next node of the thread is its first one.
pub(crate) fn begin(thread: &mut Thread, beside: &Node) {
    park(thread);
    let from = match chain(thread, beside.seq) {
        Some(version) => version.from,
        None => beside.chain,
    };
    let first = thread.next_seq;
    thread.chains.push(Chain { first, after: beside.parent, from, beside: beside.seq, end: first });
    (thread.chain, thread.leaf) = (first, beside.parent);
}

/// The newest end below a version of a message, and its chain; none for what has no versions.
pub(crate) fn newest_end(thread: &Thread, version: u64) -> Option<(u64, u64)> {
    let edit = thread.chains.iter().find(|it| it.first != 0 && (it.first == version || it.beside == version));
    // A version that is no chain's first node lies in the chain of the node before it.
    let own = if chain(thread, version).is_some() { version } else { edit?.from };
    let mut below = vec![(own, version)];
    let mut best = None;
    for chain in &thread.chains {
        let hangs = below.iter().any(|(on, least)| chain.from == *on && chain.after >= Some(*least));
        if chain.first == own || hangs {
            let end = if chain.first == thread.chain { thread.leaf? } else { chain.end };
            best = best.max(Some((end, chain.first)));
            below.push((chain.first, if chain.first == own { version } else { 0 }));
        }
    }
    best
}

/// Makes another end the active one.
pub(crate) fn select(thread: &mut Thread, (end, chain): (u64, u64)) {
    park(thread);
    (thread.leaf, thread.chain) = (Some(end), chain);
}

#[cfg(test)]
mod tests {
    use super::{begin, is_active, newest_end, select, versions};
    use panelot_base::{SubmissionId, ThreadId, Timestamp, TurnId};
    use panelot_records::{Body, Node, Thread};

    /// A tree that is grown as the engine grows it.
    struct Tree(Thread, Vec<Node>);

    impl Tree {
        fn new() -> Self {
            let json = r#"{"id":"t","revision":0,"title":"","createdAt":0,"updatedAt":0,"leaf":null,"nextSeq":1,
                "nextOrder":1,"openRuns":[]}"#;
            Self(serde_json::from_str(json).unwrap(), Vec::new())
        }

        fn grow(&mut self, count: usize) {
            for _ in 0..count {
                let seq = self.0.next_seq;
                self.1.push(Node {
                    thread: ThreadId::new("t").unwrap(),
                    seq,
                    parent: self.0.leaf,
                    chain: self.0.chain,
                    at: Timestamp(0),
                    turn: TurnId::new("turn").unwrap(),
                    body: Body::User {
                        text: String::new(),
                        default_tab: None,
                        submission: SubmissionId::new("s").unwrap(),
                        steered: false,
                    },
                });
                (self.0.leaf, self.0.next_seq) = (Some(seq), seq + 1);
            }
        }

        fn node(&self, seq: u64) -> &Node {
            self.1.iter().find(|node| node.seq == seq).unwrap()
        }

        fn edit(&mut self, beside: u64, count: usize) {
            let beside = self.node(beside).clone();
            begin(&mut self.0, &beside);
            self.grow(count);
        }

        fn path(&self, leaf: Option<u64>) -> Vec<u64> {
            let mut path: Vec<u64> = std::iter::successors(leaf, |seq| self.node(*seq).parent).collect();
            path.reverse();
            path
        }
    }

    #[test]
    fn what_the_head_says_of_a_tree_is_what_a_walk_would_find() {
        // Trees of random edits and selections, judged by walking the nodes.
        let mut seed = 7_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for _ in 0..200 {
            let mut tree = Tree::new();
            tree.grow(1 + next(4));
            for _ in 0..next(8) {
                let path = tree.path(tree.0.leaf);
                match next(3) {
                    0 => tree.grow(1 + next(3)),
                    1 => tree.edit(path[next(path.len())], 1 + next(3)),
                    _ => {
                        let seq = tree.1[next(tree.1.len())].seq;
                        if let Some(end) = newest_end(&tree.0, seq) {
                            select(&mut tree.0, end);
                            assert!(tree.path(tree.0.leaf).contains(&seq));
                        }
                    }
                }
                let active = tree.path(tree.0.leaf);
                for node in &tree.1 {
                    assert_eq!(is_active(&tree.0, node), active.contains(&node.seq), "{:?}", tree.0);
                    let siblings: Vec<u64> =
                        tree.1.iter().filter(|it| it.parent == node.parent).map(|it| it.seq).collect();
                    let expected = if siblings.len() > 1 { siblings } else { Vec::new() };
                    assert_eq!(versions(&tree.0, node.seq), expected, "{:?}", tree.0);
                    if !expected.is_empty() {
                        let below = tree
                            .1
                            .iter()
                            .map(|it| it.seq)
                            .filter(|it| tree.path(Some(*it)).contains(&node.seq));
                        assert_eq!(
                            newest_end(&tree.0, node.seq).map(|end| end.0),
                            below.max(),
                            "{:?}",
                            tree.0
                        );
                    }
                }
            }
        }
    }
}
