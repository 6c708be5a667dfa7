import math
from typing import Any

import numpy as np

from ._yarn import yarn_limits

SCALINGS = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")


def rope_frequencies(
    *,
    d_k: int,
    theta: float = 10000.0,
    scaling: str = "default",
    factor: float = 1.0,
    original_length: int | None = None,
    length: int | None = None,
    low_frequency_factor: float = 1.0,
    high_frequency_factor: float = 4.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    attention_factor: float | None = None,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
    short_factors: tuple[float, ...] | None = None,
    long_factors: tuple[float, ...] | None = None,
) -> Any:
    """Frequencies of RoPE, scaled for longer contexts: how far each pair turns from one position to the next.

        default   f_k = theta^(-2k / r),   k = 0, ..., r/2 - 1,   for r = d_k turned features
        linear    f / F
        dynamic   the default of theta (F L / o - (F - 1))^(r / (r - 2)),   L = max(length, o)
        yarn      (1 - p) f + p f / F,   p = clamp((k - lo) / (hi - lo), 0, 1)
        llama3    f / F where t = o f / 2 pi < low,   f where t > high,   between (1 - s) f / F + s f
        longrope  f / long_factors if length > o,   else f / short_factors

    for the factor F and the original length o. In yarn the limits are r ln(o / (2 pi beta)) / (2 ln theta), lo for
    beta_fast, rounded down, and hi for beta_slow, rounded up, kept in 0, ..., r - 1. In llama3 s = (t - low) / (high - low).

    Shapes
        ->  inverse_frequencies (d_k / 2),  attention_factor (), which may be a Python float
    Dtypes
        inverse_frequencies and attention_factor float32
    Units
        Radians for each position.
    Domain
        d_k even; theta > 1; factor >= 1; dynamic: d_k >= 4; yarn: beta_fast > beta_slow and
        original_length > 2 pi beta_slow, the limits no nearer to an integer than 0.001; llama3: low < high.
    Edges
        The first pair turns by one radian under every scaling but linear and longrope. A length of None is
        the original one.

    Raises
        ValueError where scaling is none of these.
    Choices
        attention_factor, which multiplies the cosine and the sine, is the given one in yarn and longrope; without one
        0.1 ln F + 1 in yarn, and sqrt(1 + ln F / ln o) in longrope; 1 for F <= 1 and under every other scaling. It is
        final, as in transformers; vLLM multiplies yarn's by a given one. With mscale = s and mscale_all_dim = t yarn's is
        (0.1 s ln F + 1) / (0.1 t ln F + 1), which is 1 where they are equal, as in DeepSeek-V3; where one of them is 0 or
        not given, neither counts. DeepSeek's factor of the scores, (0.1 t ln F + 1)^2, is part of attention's scale.
        gpt-oss does not round the limits (truncate=False). If both limits are equal, hi is 0.001 more.
    Source
        Chen et al. 2023, arXiv:2306.15595 (linear). Peng et al. 2023, arXiv:2309.00071 (yarn). Ding et al. 2024,
        arXiv:2402.13753 (longrope). The documentation of transformers on its rope types (dynamic, llama3).

    >>> frequencies, factor = rope_frequencies(d_k=4, scaling="linear", factor=4.0)
    >>> frequencies, float(factor)
    (array([0.25  , 0.0025]), 1.0)
    >>> frequencies, factor = rope_frequencies(d_k=8, scaling="yarn", factor=4.0, original_length=4096)
    >>> frequencies, round(float(factor), 4)
    (array([1.00e+00, 1.00e-01, 6.25e-03, 2.50e-04]), 1.1386)
    """
    if scaling not in SCALINGS:
        raise ValueError(f"rope_frequencies: scaling={scaling!r} is unknown; there are {', '.join(map(repr, SCALINGS))}.")
    k, o = np.arange(d_k // 2), original_length
    f = np.power(theta, -2 * k / d_k)
    a = 1.0
    if scaling == "linear":
        f = f / factor
    elif scaling == "dynamic" and o is not None:
        stretch = factor * max(length or o, o) / o - (factor - 1)
        f = np.power(theta * stretch ** (d_k / (d_k - 2)), -2 * k / d_k)
    elif scaling == "yarn" and o is not None:
        lo, hi = yarn_limits(d_k, theta, o, beta_fast, beta_slow, truncate)
        p = np.clip((k - lo) / (hi - lo), 0.0, 1.0)
        f = (1 - p) * f + p * f / factor
        above, below = (mscale, mscale_all_dim) if mscale and mscale_all_dim else (1.0, 0.0)
        a = (0.1 * above * math.log(factor) + 1) / (0.1 * below * math.log(factor) + 1) if factor > 1 else 1.0
    elif scaling == "llama3" and o is not None:
        low, high = low_frequency_factor, high_frequency_factor
        s = np.clip((o * f / (2 * np.pi) - low) / (high - low), 0.0, 1.0)
        f = (1 - s) * f / factor + s * f
    elif scaling == "longrope" and o is not None:
        f = f / np.asarray(long_factors if length is not None and length > o else short_factors)
        a = math.sqrt(1 + math.log(factor) / math.log(o)) if factor > 1 else 1.0
    given = attention_factor if scaling in ("yarn", "longrope") else None
    return f, np.asarray(a if given is None else given)
