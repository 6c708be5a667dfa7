"""Measure what a verdict costs, and compare this suite with other test suites.

`python -m benchmarks` runs every part, `python -m benchmarks.<part>` one.
"""
