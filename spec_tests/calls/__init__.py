"""One call of an operation: its arguments, its answer, and the error bound around the answer."""
