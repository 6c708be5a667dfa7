"""The frequencies of the oracle, compared with 60 digits and with numbers that were computed by hand."""

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy._yarn import yarn_limits
from reference_numpy.rope import rope
from reference_numpy.rope_frequencies import rope_frequencies

from ..support.sixty_digits import DIGITS, U, assert_within

WIDTH, THETA, ORIGINAL, FACTOR = 16, 10_000.0, 4096, 8.0
LONG = tuple(1.0 + 0.25 * i for i in range(WIDTH // 2))


def _expected(scaling: str, f: Any, k: int) -> Any:
    """Return the frequency of one pair in 60 digits."""
    o, factor, theta = mpf(ORIGINAL), mpf(FACTOR), mpf(THETA)
    if scaling == "linear":
        return f / factor
    if scaling == "dynamic":
        stretch = factor * 3 - (factor - 1)
        return (theta * stretch ** (mpf(WIDTH) / (WIDTH - 2))) ** (-mpf(2 * k) / WIDTH)
    if scaling == "yarn":
        lo, hi = (WIDTH * mpmath.log(o / (2 * mpmath.pi * beta)) / (2 * mpmath.log(theta)) for beta in (32, 1))
        lo, hi = mpmath.floor(lo), mpmath.ceil(hi)
        p = min(max((k - lo) / (hi - lo), mpf(0)), mpf(1))
        return (1 - p) * f + p * f / factor
    if scaling == "llama3":
        s = min(max((o * f / (2 * mpmath.pi) - 1) / 3, mpf(0)), mpf(1))
        return (1 - s) * f / factor + s * f
    return f / mpf(LONG[k]) if scaling == "longrope" else f


@pytest.mark.parametrize("scaling", ["default", "linear", "dynamic", "yarn", "llama3", "longrope"])
def test_frequencies(scaling: str) -> None:
    """The exponent of at most ln θ and the steps after it err by 40 u; the middle band multiplies that by o f / 2π < 4."""
    given: dict[str, Any] = {"original_length": ORIGINAL, "factor": FACTOR, "length": 3 * ORIGINAL}
    given |= {"short_factors": LONG[::-1], "long_factors": LONG}
    got, _ = rope_frequencies(d_k=WIDTH, theta=THETA, scaling=scaling, **given)
    with mpmath.workdps(DIGITS):
        exact = [_expected(scaling, mpf(THETA) ** (-mpf(2 * k) / WIDTH), k) for k in range(WIDTH // 2)]
        assert_within(np.asarray(got) / np.array(exact, dtype=float), [mpf(1)] * (WIDTH // 2), 400 * U)


def test_attention_factors() -> None:
    yarn = {"d_k": 64, "scaling": "yarn", "original_length": 4096}
    assert rope_frequencies(**yarn, factor=8.0)[1] == pytest.approx(1.2079441541679836, rel=1e-15)  # 0.1 ln 8 + 1
    assert rope_frequencies(**yarn, factor=8.0, attention_factor=0.0)[1] == 0.0
    assert rope_frequencies(**yarn, factor=1.0)[1] == 1.0
    longrope = {"d_k": 2, "scaling": "longrope", "original_length": 4096, "short_factors": (1.0,), "long_factors": (2.0,)}
    assert rope_frequencies(**longrope, factor=16.0)[1] == pytest.approx((1 + 1 / 3) ** 0.5, rel=1e-15)  # ln 16 / ln 4096 = 1/3
    assert rope_frequencies(**longrope, factor=16.0, length=4096)[0] == 1.0
    assert rope_frequencies(**longrope, factor=16.0, length=4097)[0] == 0.5


def test_limits_of_yarn() -> None:
    """Those of 64 features, θ = 150000 and 4096 positions, to one digit."""
    assert np.round(yarn_limits(64, 150_000.0, 4096, 32.0, 1.0, False), 1).tolist() == [8.1, 17.4]
    assert yarn_limits(64, 150_000.0, 4096, 32.0, 1.0, True) == (8, 18)
    assert yarn_limits(4, 10_000.0, 300, 1.1, 1.0, True)[0] < yarn_limits(4, 10_000.0, 300, 1.1, 1.0, True)[1]


def test_unknown_scalings_are_named() -> None:
    with pytest.raises(ValueError, match="ntk"):
        rope_frequencies(d_k=4, scaling="ntk")


def test_rope_turns_by_the_given_frequencies() -> None:
    """The angle p f errs by u p f, and the result by that and a few roundings more."""
    frequencies, positions = np.array([0.7, 3.0, 0.0, 1e-5]), np.array([0, 3, -40, 100_000])
    x = np.linspace(-1.0, 1.0, 32).reshape(4, 8)
    exact = []
    with mpmath.workdps(DIGITS):
        for row, p in zip(x, positions, strict=True):
            for k, f in enumerate(frequencies):
                angle = mpf(int(p)) * mpf(f)
                a, b, c, s = mpf(row[2 * k]), mpf(row[2 * k + 1]), mpmath.cos(angle), mpmath.sin(angle)
                exact += [a * c - b * s, a * s + b * c]
    limit = 2.0 * U * (np.repeat(np.abs(positions[:, None] * frequencies), 2, axis=-1) + 5)
    assert_within(rope(x, positions, frequencies), exact, limit)
    turned = rope(x, positions, frequencies[:1], rotary_dim=2, attention_factor=2.0)
    assert np.array_equal(turned[:, 2:], x[:, 2:])
    assert np.array_equal(turned[:, :2], 2.0 * rope(x, positions, frequencies)[:, :2])


def test_sections_turn_each_pair_by_its_own_axis() -> None:
    """Of 16 pairs of Qwen's kind, as its papers list them: by which axis each turns."""
    axes = {
        "chunked": ((4, 6, 6), "ttttHHHHHHWWWWWW"),
        "interleaved": ((6, 5, 5), "tHWtHWtHWtHWtHWt"),
        "interleaved with more of time": ((8, 5, 3), "tHWtHWtHWtHttHtt"),
    }
    x, positions = np.tile((1.0, 0.0), 16)[None], np.array([[1], [20], [300]])
    for name, (sections, letters) in axes.items():
        f = 0.9 ** np.arange(16)
        turned = rope(x, positions, f, sections=sections, section_layout=name.partition(" ")[0])
        assert np.array_equal(turned[0, ::2], np.cos(f * [{"t": 1, "H": 20, "W": 300}[letter] for letter in letters])), name


@pytest.mark.parametrize(
    ("sections", "layout", "positions", "match"),
    [((1, 1), "chunked", [[1]] * 3, "three numbers"), ((1, 1, 1), "chunked", [[1]] * 3, "whose sum is 2"),
     ((1, 1, 0), "mixed", [[1]] * 3, "mixed"), ((1, 1, 0), "chunked", [[1]] * 2, "3 entries")],
)  # fmt: skip
def test_wrong_sections_are_named(sections: Any, layout: str, positions: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        rope([[1.0, 0.0, 1.0, 0.0]], positions, sections=sections, section_layout=layout)
