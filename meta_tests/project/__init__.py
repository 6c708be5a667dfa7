"""Tests of the repository: its layout, the package, the benchmarks."""
