//! The engine as a whole, input by input: what it commits, tells and orders.
