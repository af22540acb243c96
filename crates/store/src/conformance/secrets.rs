//! Credentials: sealed when they lie in the store, and bound to their connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use panelot_base::Secret;
use panelot_records::{Commit, Expected, Key, Record, Write};

use super::Harness;
use super::sample::{connection, get, seal, thread, thread_id};
use crate::error::StoreError;
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
