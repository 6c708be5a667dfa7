"""A pytest run of this suite: its options, its selection, the outcome of each test, and the record of the run."""
