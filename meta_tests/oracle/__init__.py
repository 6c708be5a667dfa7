"""Tests of reference_numpy: each equation against exact arithmetic and against other formulas."""
