//! A renderer that looks only at what it is told has changed, and must still show everything.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::markdown::Block;
use crate::model::{Changes, Entry, EntryBody, EntryKey, ThreadView};

#[derive(Default)]
pub(super) struct Mirror {
    keys: Vec<EntryKey>,
    drawn: BTreeMap<EntryKey, Drawn>,
}

struct Drawn {
    revision: u64,
    picture: String,
    nodes: Vec<(u64, Arc<Block>)>,
}

fn picture(entry: &Entry) -> String {
    format!("{:?} {:?} {:?}", entry.at, entry.turn_id, entry.body)
}

fn nodes(entry: &Entry) -> Vec<(u64, Arc<Block>)> {
    match &entry.body {
        EntryBody::Assistant { document, .. } => {
            document.nodes().iter().map(|node| (node.revision, Arc::new((*node.block).clone()))).collect()
        }
        _ => Vec::new(),
    }
}

impl Mirror {
    pub(super) fn draw(&mut self, thread: &ThreadView, changes: &Changes) {
        if changes.thread_switched {
            self.drawn.clear();
        }
        if changes.thread_switched || changes.entry_list {
            self.keys = thread.keys().cloned().collect();
            self.drawn.retain(|key, _| thread.entry(key).is_some());
        }
        for key in &self.keys {
            let Some(entry) = thread.entry(key) else { continue };
            match self.drawn.get_mut(key) {
                Some(drawn) if changes.entries.contains(key) => {
                    assert!(entry.revision > drawn.revision, "{key:?} changed without a new revision");
                    let now = nodes(entry);
                    for ((old_revision, old), (revision, new)) in drawn.nodes.iter().zip(&now) {
                        assert!(
                            old == new || revision > old_revision,
                            "a block changed without a new revision"
                        );
                    }
                    *drawn = Drawn { revision: entry.revision, picture: picture(entry), nodes: now };
                }
                Some(_) => {}
                None => {
                    let drawn =
                        Drawn { revision: entry.revision, picture: picture(entry), nodes: nodes(entry) };
                    self.drawn.insert(key.clone(), drawn);
                }
            }
        }
    }

    pub(super) fn check(&self, thread: &ThreadView) {
        assert!(thread.keys().eq(&self.keys), "the list changed untold");
        for entry in thread.entries() {
            let drawn = self.drawn.get(&entry.key).expect("every entry is drawn");
            assert_eq!(drawn.picture, picture(entry), "an entry changed untold");
        }
    }
}
