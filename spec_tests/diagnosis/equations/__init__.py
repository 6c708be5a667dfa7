"""Which small change of the reference equation explains the wrong answers of a backend."""
