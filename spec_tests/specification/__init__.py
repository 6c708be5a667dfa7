"""What is specified: the operations, their arguments and dimensions, the dtypes, and the precision classes."""
