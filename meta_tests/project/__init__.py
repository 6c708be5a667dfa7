"""Tests of the repository: the layout, the package, the benchmarks."""
