// Reads what the engine starts with, while its wasm still compiles: crate store-indexeddb takes the connection over, with
// what was read (`adopt` in its store.rs). It checks both, and opens and reads for itself whatever it does not get here.
const DATABASE = "panelot";
const TABLES = ["settings", "connections", "rules", "grants", "threads"]; // the ones that crate runtime starts with
const PATIENCE_MS = 2_000; // an upgrade that is still under way elsewhere must not hold the worker up for ever

const EPOCH_KEY = "panelot_engine_stream_epoch"; // in storage.session: how many instances this browser session has had
const SESSION_KEY = "panelot_browser_session"; // there too: its random name
const UNLOCKED_KEY = "panelot_unlocked"; // there too: what unlocks the keys while a passphrase protects them

/**
 * Counts this instance, and reads what the session has stored under `trapsKey`. The count goes off to the storage before
 * anything is said to a view, and is not waited for.
 */
export async function enlist(trapsKey) {
  const stored = await chrome.storage.session.get([trapsKey, EPOCH_KEY, SESSION_KEY, UNLOCKED_KEY]);
  const epoch = (stored[EPOCH_KEY] ?? 0) + 1;
  const session = stored[SESSION_KEY] ?? crypto.randomUUID();
  chrome.storage.session.set({ [EPOCH_KEY]: epoch, [SESSION_KEY]: session }).catch(console.error);
  return { counted: stored[trapsKey] ?? {}, epoch, session, unlocked: stored[UNLOCKED_KEY] };
}

/** @returns {Promise<{database: IDBDatabase, tables: [string, IDBValidKey[], unknown[]][]} | undefined>} */
export function prefetch() {
  return new Promise((resolve) => {
    const request = indexedDB.open(DATABASE);
    let late = false;
    const giveUp = () => { late = true; resolve(undefined); };
    const timer = setTimeout(giveUp, PATIENCE_MS);
    request.onupgradeneeded = () => request.transaction.abort(); // there is none yet; making it is the module's business
    request.onerror = (event) => { event.preventDefault(); giveUp(); };
    request.onsuccess = () => {
      clearTimeout(timer);
      const database = request.result;
      if (late) return database.close();
      database.onversionchange = () => database.close();
      const fail = () => { database.close(); resolve(undefined); };
      try {
        const transaction = database.transaction(TABLES, "readonly");
        const read = TABLES.map((name) => {
          const table = transaction.objectStore(name);
          return [name, table.getAllKeys(), table.getAll()];
        });
        // Requests are answered in order: with the last one all are.
        read.at(-1)[2].onsuccess = () => {
          resolve({ database, tables: read.map(([name, keys, rows]) => [name, keys.result, rows.result]) });
        };
        transaction.onabort = fail;
      } catch { fail(); } // a table is missing: the module says so
    };
  });
}
