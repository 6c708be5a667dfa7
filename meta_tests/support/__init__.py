"""Code that the tests, the measurements, the benchmarks and the documentation share."""
