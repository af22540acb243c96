//! Randomness that is the same every time: a step's draws depend on its own seed, not on what came before it.

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

/// A hash of everything that happened, in order (FNV-1a, so that it is the same on every machine).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trail(u64);

impl Trail {
    pub(crate) const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}
