//! Randomness that is the same every time: a step's draws depend on its own seed, not on what came before it.

use serde_json::Value;

/// A seeded source of draws.
#[derive(Clone, Debug)]
pub(crate) struct Chance(fastrand::Rng);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give neighbouring lives.
        Self(fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1F3D_5B79_A2C4_E688))
    }

    /// From zero, below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.u64(..bound) }
    }

    pub(crate) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        if len == 0 { 0 } else { self.0.usize(..len) }
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.index(from.len());
        from.get(index)
    }

    /// One of a table, by its weight.
    pub(crate) fn weighted<T: Copy>(&mut self, table: &[(u64, T)]) -> Option<T> {
        let mut at = self.below(table.iter().map(|(weight, _)| weight).sum());
        for (weight, value) in table {
            if at < *weight {
                return Some(*value);
            }
            at -= weight;
        }
        None
    }
}

/// A hash of everything that happened, in order; the same on every machine. Each step of it can be undone, so two
/// sequences that differ in one place only never meet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trail(u64);

impl Trail {
    pub(crate) const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    const fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.mix(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        self.mix(rest.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)));
    }

    /// Adds a value without writing it out first.
    pub(crate) fn add_json(&mut self, value: &Value) {
        match value {
            Value::Null => self.mix(1),
            Value::Bool(it) => self.mix(2 + u64::from(*it)),
            Value::Number(it) => match it.as_u64() {
                Some(number) => {
                    self.mix(4);
                    self.mix(number);
                }
                None => self.add(it.to_string().as_bytes()),
            },
            Value::String(it) => self.add(it.as_bytes()),
            Value::Array(list) => {
                self.mix(5);
                self.mix(list.len() as u64);
                list.iter().for_each(|it| self.add_json(it));
            }
            Value::Object(fields) => {
                self.mix(6);
                self.mix(fields.len() as u64);
                for (name, it) in fields {
                    self.add(name.as_bytes());
                    self.add_json(it);
                }
            }
        }
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}
