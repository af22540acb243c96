//! A map and a set for the few: sorted vectors.
//!
//! The worker starts anew for every burst of work, so the bytes of its module count. A tree of the standard library costs
//! it five to eight kilobytes for each pair of types; these cost some hundred bytes.

use std::borrow::Borrow;

/// A map in the order of its keys, for small numbers of entries.
///
/// Looking up is a binary search; inserting and removing move what stands behind, so they take time in proportion to the
/// number of entries. Filling it in the order of the keys moves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many entries it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The entries in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values, to be changed, in the order of their keys.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Keeps the entries of which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where `key` stands, or where it would.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(held, _)| held.borrow().cmp(key))
    }

    /// The value of `key`.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().and_then(|place| self.0.get(place)).map(|(_, value)| value)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().and_then(|place| self.0.get_mut(place)).map(|(_, value)| value)
    }

    /// Whether `key` has a value.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Gives `key` a value; returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => self.0.get_mut(place).map(|(_, held)| std::mem::replace(held, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Takes the value of `key` out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    /// The value of `key`; where it has none, it gets the one that `make` returns.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (key, make()));
                place
            }
        };
        #[expect(clippy::indexing_slicing, reason = "found or inserted at this very place")]
        &mut self.0[place].1
    }
}

/// Of two entries with one key, the later stays.
impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

/// A set in order, for small numbers of entries: see [`SortedMap`] for what its methods cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedSet<K>(SortedMap<K, ()>);

impl<K> Default for SortedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> SortedSet<K> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// How many entries it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.0.keys()
    }
}

impl<K: Ord> SortedSet<K> {
    /// Whether `key` is in it.
    #[must_use]
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Puts `key` in; false if it was there.
    pub fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }

    /// Takes `key` out; false if it was not there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).is_some()
    }
}

impl<K: Ord> Extend<K> for SortedSet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<K: Ord> FromIterator<K> for SortedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K> IntoIterator for SortedSet<K> {
    type Item = K;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(K, ())>, fn((K, ())) -> K>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.0.into_iter().map(|(key, ())| key)
    }
}

#[cfg(test)]
mod tests {
    use super::{SortedMap, SortedSet};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// One thing that can be done to a map, by the number of the method, a key and a value.
    fn step() -> impl Strategy<Value = (u8, u8, u32)> {
        (0..6u8, 0..12u8, any::<u32>())
    }

    proptest! {
        #[test]
        fn a_map_behaves_as_the_tree_does(steps in prop::collection::vec(step(), 0..60)) {
            let mut map = SortedMap::new();
            let mut tree = BTreeMap::new();
            for (method, key, value) in steps {
                match method {
                    0 | 1 => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                    2 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    3 => {
                        let held = map.get_or_insert_with(key, || value);
                        let expected = tree.entry(key).or_insert_with(|| value);
                        prop_assert_eq!(&*held, &*expected);
                        (*held, *expected) = (value / 2, value / 2);
                    }
                    4 => {
                        let changed = map.get_mut(&key).map(|held| std::mem::replace(held, value));
                        prop_assert_eq!(changed, tree.get_mut(&key).map(|held| std::mem::replace(held, value)));
                    }
                    _ => {
                        map.retain(|held, it| !(*it).is_multiple_of(3) || *held == key);
                        tree.retain(|held, it| !(*it).is_multiple_of(3) || *held == key);
                    }
                }
                prop_assert_eq!(map.len(), tree.len());
                prop_assert_eq!(map.is_empty(), tree.is_empty());
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert_eq!(map.contains_key(&key), tree.contains_key(&key));
                prop_assert!(map.iter().eq(tree.iter()));
                prop_assert!(map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
            }
        }

        #[test]
        fn a_map_is_collected_as_the_tree_is(entries: Vec<(u8, u32)>) {
            let map: SortedMap<_, _> = entries.iter().copied().collect();
            let tree: BTreeMap<_, _> = entries.into_iter().collect();
            prop_assert!(map.iter().eq(tree.iter()));
        }

        #[test]
        fn a_set_behaves_as_the_tree_does(first: Vec<u8>, steps: Vec<(bool, u8)>) {
            let mut set: SortedSet<_> = first.iter().copied().collect();
            let mut tree: BTreeSet<_> = first.into_iter().collect();
            for (insert, key) in steps {
                if insert {
                    prop_assert_eq!(set.insert(key), tree.insert(key));
                } else {
                    prop_assert_eq!(set.remove(&key), tree.remove(&key));
                }
                prop_assert_eq!(set.contains(&key), tree.contains(&key));
                prop_assert_eq!(set.len(), tree.len());
            }
            prop_assert!(set.iter().eq(tree.iter()));
            prop_assert!(set.into_iter().eq(tree));
        }
    }

    #[test]
    fn every_value_can_be_changed_and_everything_removed() {
        let mut map: SortedMap<_, _> = [(2, 20), (1, 10)].into_iter().collect();
        map.values_mut().for_each(|value| *value += 1);
        assert!(map.values().eq(&[11, 21]));
        map.clear();
        assert!(map.is_empty());
    }
}
