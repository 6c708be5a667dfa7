"""Which narrower arithmetic explains the wrong answers of a backend: of operands, of sums, of results, of functions."""
