"""What must hold of rope_frequencies."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_true, exactly
from .inputs.draw import Draw
from .operations.rope_frequencies import MSCALE, MSCALE_ALL_DIM, draw_scaling
from .trials.invariant import invariant

YARN = "Peng et al. 2023, arXiv:2309.00071"
TYPES = "the documentation of transformers on its rope types"


def frequencies(operation: Operation, given: dict[str, Any]) -> Any:
    return operation(**given).parts["inverse_frequencies"]


def default_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments without the scaling."""
    return {name: value for name, value in given.items() if name in ("d_k", "theta")}


def shares(operation: Operation, given: dict[str, Any]) -> np.ndarray:
    """Return how much of the default each frequency is."""
    return np.asarray(frequencies(operation, given).value / frequencies(operation, default_of(given)).value)


@invariant("B", source="Su et al. 2021, section 3.3")
def test_geometric(rope_frequencies: Operation, draw: Draw) -> None:
    """Without scaling the first pair turns by one radian, and each next one by the same share less."""
    f = frequencies(rope_frequencies, default_of(draw_scaling(draw)))
    assert_equal(f[0], 1.0)
    assert_equal(f[1:-1] * f[1:-1], f[:-2] * f[2:])


@invariant("B", source=TYPES)
def test_factor_of_one(rope_frequencies: Operation, draw: Draw) -> None:
    """A factor of 1 is no scaling: linear, yarn, llama3, and dynamic up to the original length."""
    given = draw_scaling(draw, "linear", "yarn", "llama3", "dynamic") | {"factor": 1.0}
    if given["scaling"] == "dynamic" and "length" in given:
        given["length"] = given["original_length"]
    given.pop("attention_factor", None)
    f, a = rope_frequencies(**given)
    assert_equal(f, frequencies(rope_frequencies, default_of(given)))
    assert_equal(a, 1.0)


@invariant("B", source="Chen et al. 2023, arXiv:2306.15595")
def test_linear(rope_frequencies: Operation, draw: Draw) -> None:
    """linear divides every frequency by the factor."""
    given = draw_scaling(draw, "linear")
    assert_equal(frequencies(rope_frequencies, given) * given["factor"], frequencies(rope_frequencies, default_of(given)))


@invariant("B", source=TYPES)
def test_between(rope_frequencies: Operation, draw: Draw) -> None:
    """yarn and llama3 divide each frequency by 1 to the factor, never less for a slower pair, and leave the first one."""
    given = draw_scaling(draw, "yarn", "llama3")
    scaled, plain = frequencies(rope_frequencies, given), frequencies(rope_frequencies, default_of(given))
    assert_equal(scaled[0], plain[0])
    low, high = exactly(plain.value) / given["factor"], plain
    slack = scaled.error + plain.error
    inside = (scaled.value >= low.value - slack) & (scaled.value <= high.value + slack)
    assert_true(bool(np.all(inside)), "a frequency is above the default, or below the default divided by the factor")
    rates, error = shares(rope_frequencies, given), slack / plain.value
    assert_true(bool(np.all(rates[1:] <= rates[:-1] + error[1:] + error[:-1])), "a slower pair is divided by less")


@invariant("B", source=TYPES)
def test_slow_pairs(rope_frequencies: Operation, draw: Draw) -> None:
    """llama3 divides the pairs that turn less than low_frequency_factor times in the original length by the whole factor, and
    leaves those that turn more than high_frequency_factor times."""
    given = draw_scaling(draw, "llama3")
    scaled, plain = frequencies(rope_frequencies, given), frequencies(rope_frequencies, default_of(given))
    turns = given["original_length"] * plain.value / (2 * np.pi)
    slow = turns < given.get("low_frequency_factor", 1.0) * 0.999
    fast = turns > given.get("high_frequency_factor", 4.0) * 1.001
    assert_equal(scaled[slow] * given["factor"], plain[slow])
    assert_equal(scaled[fast], plain[fast])


@invariant("B", source=TYPES)
def test_dynamic(rope_frequencies: Operation, draw: Draw) -> None:
    """dynamic is the default up to the original length; beyond it the last pair is divided by FL/o − (F − 1), the first not."""
    given = draw_scaling(draw, "dynamic")
    scaled, plain = frequencies(rope_frequencies, given), frequencies(rope_frequencies, default_of(given))
    o, factor = given["original_length"], given["factor"]
    stretch = factor * max(given.get("length") or o, o) / o - (factor - 1)
    assert_equal(scaled[0], plain[0])
    assert_equal(scaled[-1] * stretch, plain[-1])


@invariant("B", source="Ding et al. 2024, arXiv:2402.13753")
def test_longrope(rope_frequencies: Operation, draw: Draw) -> None:
    """longrope divides by the long factors where the length is above the original one, and by the short ones up to it."""
    given = draw_scaling(draw, "longrope")
    is_long = given.get("length") is not None and given["length"] > given["original_length"]
    factors = np.asarray(given["long_factors" if is_long else "short_factors"])
    assert_equal(frequencies(rope_frequencies, given) * factors, frequencies(rope_frequencies, default_of(given)))


def attention_factor_of_yarn(given: dict[str, Any]) -> float:
    scale, all_dim, logarithm = given.get("mscale"), given.get("mscale_all_dim"), float(np.log(given["factor"]))
    above, below = (scale, all_dim) if scale and all_dim else (1.0, 0.0)
    return (0.1 * above * logarithm + 1) / (0.1 * below * logarithm + 1)


@invariant("B", source="DeepSeek-AI 2024, arXiv:2412.19437", needs=("keyword:mscale", "keyword:mscale_all_dim"))
def test_mscales(rope_frequencies: Operation, draw: Draw) -> None:
    """yarn's attention factor is (0.1 mscale ln F + 1) / (0.1 mscale_all_dim ln F + 1), 1 where the two are equal. Where one of
    them is 0 or not given, it is 0.1 ln F + 1."""
    given = draw_scaling(draw, "yarn")
    given.pop("attention_factor", None)
    given |= draw.only("mscale", *MSCALE[1:]) | draw.keyword("mscale_all_dim", MSCALE_ALL_DIM)
    assert_equal(rope_frequencies(**given).parts["attention_factor"], attention_factor_of_yarn(given))


@invariant("B", source=YARN)
def test_attention_factor(rope_frequencies: Operation, draw: Draw) -> None:
    """The attention factor is the given one, or 0.1 ln F + 1 in yarn and √(1 + ln F / ln o) in longrope, and 1 elsewhere."""
    given = draw_scaling(draw, *draw.one_of(((), ("yarn",), ("yarn",), ("longrope",))))
    kind, factor, expected = given["scaling"], given.get("factor", 1.0), 1.0
    if kind in ("yarn", "longrope") and given.get("attention_factor") is not None:
        expected = given["attention_factor"]
    elif kind == "yarn":
        expected = attention_factor_of_yarn(given)
    elif kind == "longrope":
        expected = np.sqrt(1 + np.log(factor) / np.log(given["original_length"]))
    assert_equal(rope_frequencies(**given).parts["attention_factor"], expected)
