//! One behaviour of the client per test.
