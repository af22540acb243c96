//! Credentials: sealed when they lie in the store, and bound to their connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use panelot_base::Secret;
use panelot_records::{Commit, Expected, Key, Record, Write};

use super::Harness;
use super::sample::{connection, get, seal, thread, thread_id};
use crate::error::{CommitError, SealError, StoreError};
use crate::store::Store;

const CLEAR: &str = "sk-test-密钥-0123456789";

pub(super) async fn a_sealed_secret_opens_again_and_does_not_lie_in_the_clear<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    store.apply(seal("c", CLEAR)).await.unwrap();
    assert_eq!(store.secret(&connection("c")).await.unwrap(), Some(Secret::new(CLEAR)));
    assert_eq!(store.secret(&connection("d")).await.unwrap(), None);
    let row = harness.row(&store, &Key::secret(&connection("c"))).await.unwrap();
    let Some(Record::Secret(sealed)) = get(&store, &Key::secret(&connection("c"))).await else { panic!() };
    let bytes = STANDARD.decode(&sealed.sealed).unwrap();
    assert!(STANDARD.decode(&sealed.iv).is_ok_and(|iv| !iv.is_empty()));
    for piece in ["sk-test", "0123456789", "密钥"] {
        assert!(!row.json.contains(piece));
        assert!(!bytes.windows(piece.len()).any(|window| window == piece.as_bytes()));
    }
    assert!(!row.json.contains(&STANDARD.encode(CLEAR)));
}

pub(super) async fn a_sealed_secret_opens_for_no_other_connection<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    store.apply(seal("c", CLEAR)).await.unwrap();
    let Some(Record::Secret(mut sealed)) = get(&store, &Key::secret(&connection("c"))).await else {
        panic!()
    };
    sealed.connection = connection("d");
    store.apply(Commit { writes: vec![Write::Put(sealed.into())], ..Commit::default() }).await.unwrap();
    assert!(matches!(store.secret(&connection("d")).await, Err(StoreError::Seal(_))));
}

pub(super) async fn a_changed_secret_does_not_open<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    store.apply(seal("c", CLEAR)).await.unwrap();
    let Some(Record::Secret(mut sealed)) = get(&store, &Key::secret(&connection("c"))).await else {
        panic!()
    };
    let mut bytes = STANDARD.decode(&sealed.sealed).unwrap();
    if let Some(byte) = bytes.first_mut() {
        *byte ^= 1;
    }
    sealed.sealed = STANDARD.encode(bytes);
    store.apply(Commit { writes: vec![Write::Put(sealed.into())], ..Commit::default() }).await.unwrap();
    let error = store.secret(&connection("c")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Seal(_)), "{error:?}");
    assert!(!error.to_string().contains("sk-test"));
}

pub(super) async fn a_failed_commit_seals_nothing<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    let mut all = seal("c", CLEAR);
    all.put(thread("t"));
    all.expect(Key::settings(), Expected::Revision(7));
    assert!(store.apply(all).await.is_err());
    assert_eq!(store.secret(&connection("c")).await.unwrap(), None);
    assert!(store.get(&Key::thread(&thread_id("t"))).await.unwrap().is_none());
}

pub(super) async fn a_secret_is_replaced_deleted_and_kept_across_reopening<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    store.apply(seal("c", CLEAR)).await.unwrap();
    store.apply(seal("d", "")).await.unwrap();
    store.apply(seal("c", "second")).await.unwrap();
    let store = harness.reopen(store).await;
    assert_eq!(store.secret(&connection("c")).await.unwrap(), Some(Secret::new("second")));
    assert_eq!(store.secret(&connection("d")).await.unwrap(), Some(Secret::default()));
    let delete = Write::Delete(Key::secret(&connection("c")));
    store.apply(Commit { writes: vec![delete], ..Commit::default() }).await.unwrap();
    assert_eq!(store.secret(&connection("c")).await.unwrap(), None);
}

/// A key as a passphrase gives it.
fn passphrase(byte: u8) -> Secret {
    Secret::new(STANDARD.encode([byte; 32]))
}

fn protect(next: u8, current: Option<u8>) -> Commit {
    let salt = STANDARD.encode([next; 16]);
    let (key, current) = (passphrase(next), current.map(passphrase));
    Commit { writes: vec![Write::Protect { salt, iterations: 600_000, key, current }], ..Commit::default() }
}

async fn unlock<S: Store>(store: &S, byte: u8) -> Result<(), SealError> {
    let vault = store.vault().await.unwrap().unwrap();
    store.sealer().unlock(&vault, &passphrase(byte)).await
}

async fn opens<S: Store>(store: &S, connection_id: &str) -> bool {
    match store.secret(&connection(connection_id)).await {
        Ok(secret) => secret == Some(Secret::new(CLEAR)),
        Err(error) => {
            assert_eq!(error, StoreError::Seal(SealError::Locked));
            false
        }
    }
}

pub(super) async fn a_passphrase_locks_what_was_sealed_before_it_and_what_is_sealed_after<H: Harness>(
    harness: &H,
) {
    let store = harness.fresh().await;
    store.apply(seal("c", CLEAR)).await.unwrap();
    let before = get(&store, &Key::secret(&connection("c"))).await;
    store.apply(protect(1, None)).await.unwrap();
    assert_ne!(get(&store, &Key::secret(&connection("c"))).await, before, "it was sealed with another key");
    assert!(opens(&store, "c").await, "whoever sets a passphrase has unlocked");
    store.apply(seal("d", CLEAR)).await.unwrap();
    let kept = store.sealer().session_key().unwrap();
    let store = harness.reopen(store).await;
    assert!(!opens(&store, "c").await && !opens(&store, "d").await);
    let refused = store.apply(seal("e", CLEAR)).await;
    assert_eq!(refused, Err(CommitError::Seal(SealError::Locked)));
    assert_eq!(unlock(&store, 2).await, Err(SealError::WrongPassphrase));
    assert!(!opens(&store, "c").await);
    unlock(&store, 1).await.unwrap();
    assert!(opens(&store, "c").await && opens(&store, "d").await);
    store.sealer().lock();
    assert!(!opens(&store, "c").await);
    store.sealer().restore(&Secret::new("no such key")).await;
    assert!(!opens(&store, "c").await);
    store.sealer().restore(&kept).await;
    assert!(opens(&store, "c").await);
}

pub(super) async fn another_passphrase_takes_the_place_of_the_first_and_its_removal_opens_all<H: Harness>(
    harness: &H,
) {
    let store = harness.fresh().await;
    store.apply(seal("c", CLEAR)).await.unwrap();
    store.apply(protect(1, None)).await.unwrap();
    let sealed = get(&store, &Key::secret(&connection("c"))).await;
    store.apply(protect(2, Some(1))).await.unwrap();
    assert_eq!(get(&store, &Key::secret(&connection("c"))).await, sealed, "the sealing key stays");
    let store = harness.reopen(store).await;
    assert_eq!(unlock(&store, 1).await, Err(SealError::WrongPassphrase));
    unlock(&store, 2).await.unwrap();
    store.sealer().lock();
    let remove = |byte| {
        let current = passphrase(byte);
        Commit { writes: vec![Write::Unprotect { current }], ..Commit::default() }
    };
    assert_eq!(store.apply(remove(1)).await, Err(CommitError::Seal(SealError::WrongPassphrase)));
    assert!(!opens(&store, "c").await);
    store.apply(remove(2)).await.unwrap();
    assert_eq!(store.vault().await.unwrap(), None);
    store.apply(seal("d", CLEAR)).await.unwrap();
    let store = harness.reopen(store).await;
    assert!(opens(&store, "c").await && opens(&store, "d").await);
}

pub(super) async fn a_change_of_the_passphrase_that_fails_leaves_the_old_one<H: Harness>(harness: &H) {
    let store = harness.fresh().await;
    store.apply(seal("c", CLEAR)).await.unwrap();
    let failing = |mut commit: Commit| {
        commit.expect(Key::settings(), Expected::Revision(7));
        commit
    };
    assert!(store.apply(failing(protect(1, None))).await.is_err());
    assert_eq!(store.vault().await.unwrap(), None);
    assert!(opens(&store, "c").await);
    store.apply(protect(1, None)).await.unwrap();
    assert!(store.apply(failing(protect(2, Some(1)))).await.is_err());
    assert_eq!(
        store.apply(protect(2, Some(3))).await,
        Err(CommitError::Seal(SealError::WrongPassphrase)),
        "the present passphrase is asked for"
    );
    assert_eq!(store.apply(protect(2, None)).await, Err(CommitError::Seal(SealError::WrongPassphrase)));
    assert!(opens(&store, "c").await, "what was unlocked stays so");
    let removal = Commit { writes: vec![Write::Unprotect { current: passphrase(1) }], ..Commit::default() };
    assert!(store.apply(failing(removal)).await.is_err());
    let store = harness.reopen(store).await;
    assert!(!opens(&store, "c").await);
    assert_eq!(unlock(&store, 2).await, Err(SealError::WrongPassphrase));
    unlock(&store, 1).await.unwrap();
    assert!(opens(&store, "c").await);
}
