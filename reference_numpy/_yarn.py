"""The pairs between which YaRN passes from one scaling to the other."""

import math


def yarn_limits(
    d_k: int, theta: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool
) -> tuple[float, float]:
    """Return the pair from which yarn scales, and the pair from which it divides by the whole factor."""
    turns = (math.log(original_length / (2 * math.pi * beta)) for beta in (beta_fast, beta_slow))
    lo, hi = (d_k * x / (2 * math.log(theta)) for x in turns)
    if truncate:
        lo, hi = math.floor(lo), math.ceil(hi)
    lo, hi = max(lo, 0), min(hi, d_k - 1)
    return lo, hi + 0.001 if lo == hi else hi
