"""Networks of our own, each used by several rooms: transformer (two-sided or causal) and LSTM."""
