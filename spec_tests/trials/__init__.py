"""One invariant on one backend in one dtype: its examples, and what they showed."""
