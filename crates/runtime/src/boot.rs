//! What the engine is started with, read from the store.

use futures_util::join;
use panelot_base::{SessionId, SortedSet, ThreadId};
use panelot_engine::Boot;
use panelot_records::{Record, Scan, Table};
use panelot_store::{ReadRecord, Store, StoreError};

/// What the shell knows at the start.
#[derive(Clone, Debug)]
pub struct BootFacts {
    /// Which life of the worker this is; from 1, growing.
    pub epoch: u64,
    /// Which run of the browser.
    pub session: SessionId,
    /// 128 random bits.
    pub seed: [u8; 16],
    /// Language of the browser, a BCP 47 tag.
    pub browser_language: String,
    /// Threads that trapped the engine too often.
    pub quarantined: SortedSet<ThreadId>,
}

/// The tables of what is not of one thread.
const TABLES: [Table; 5] = [Table::Settings, Table::Connections, Table::Rules, Table::Grants, Table::Threads];

/// Reads everything that is not of one thread.
///
/// # Errors
/// [`StoreError`] when the store as a whole cannot be read.
pub async fn read_boot<S: Store>(store: &S, facts: BootFacts) -> Result<Boot, StoreError> {
    let [settings, connections, rules, grants, threads] = TABLES.map(|table| scan(store, table));
    let (settings, connections, rules, grants, threads) =
        join!(settings, connections, rules, grants, threads);
    let reads = [settings?, connections?, rules?, grants?, threads?];
    let mut boot = boot_of(facts, TABLES.into_iter().zip(reads));
    boot.unlocked = store.sealer().is_open(boot.vault.as_ref());
    Ok(boot)
}

async fn scan<S: Store>(store: &S, table: Table) -> Result<Vec<ReadRecord>, StoreError> {
    store.scan(&Scan::table(table)).await
}

/// What the engine is started with, from all records of each table that is not of one thread. A record that cannot be
/// read is reported and passed over. Whether credentials are unlocked is for the caller to say.
#[must_use]
pub fn boot_of(facts: BootFacts, reads: impl IntoIterator<Item = (Table, Vec<ReadRecord>)>) -> Boot {
    let mut boot = Boot {
        epoch: facts.epoch,
        session: facts.session,
        seed: facts.seed,
        browser_language: facts.browser_language,
        settings: None,
        connections: Vec::new(),
        vault: None,
        unlocked: false,
        rules: Vec::new(),
        rules_unreadable: false,
        grants: Vec::new(),
        drafts: Vec::new(),
        threads: Vec::new(),
        quarantined: facts.quarantined,
        problems: Vec::new(),
    };
    for (table, reads) in reads {
        for read in reads {
            match read {
                Ok(Record::Settings(settings)) => boot.settings = Some(settings),
                Ok(Record::Vault(vault)) => boot.vault = Some(vault),
                Ok(Record::Draft(draft)) => boot.drafts.push(draft),
                Ok(Record::Connection(connection)) => boot.connections.push(connection),
                Ok(Record::Rule(rule)) => boot.rules.push(rule),
                Ok(Record::Grant(grant)) => boot.grants.push(grant),
                Ok(Record::Thread(thread)) => boot.threads.push(thread),
                Ok(_) => {}
                Err(error) => {
                    // It may have been a refusal, so nothing is allowed silently any more.
                    boot.rules_unreadable |= table == Table::Rules;
                    boot.problems.push(error.to_string());
                }
            }
        }
    }
    boot
}
