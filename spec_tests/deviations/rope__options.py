"""What goes wrong with rope where only some features are turned, and where a factor scales them."""

from typing import Any

import numpy as np

from reference_numpy._marks import scaled, wide
from reference_numpy.rope import rope

from . import deviation
from .rope import compute_angles, compute_frequencies, cos_and_sin, join_pairs, split_pairs


def _split_features(x: Any, rotary_dim: int | None) -> tuple[Any, Any]:
    """Return the features that are turned, and those that are not."""
    r = x.shape[-1] if rotary_dim is None else rotary_dim
    return x[..., :r], x[..., r:]


def _options_of_all_features(rotary_dim: int | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options without rotary_dim. Where inverse_frequencies are given, they are those of rotary_dim features."""
    return options if options.get("inverse_frequencies") is None else {"rotary_dim": rotary_dim, **options}


@deviation("reference", "rotary_dim", seen=("https://github.com/AI-Hypercomputer/maxtext/pull/4742",))
def rotary_dim_ignored(x: Any, positions: Any, *, rotary_dim: int | None = None, **options: Any) -> Any:
    """every feature is turned.

    Shows: a rotary_dim below d_k. Hides: rotary_dim = d_k, position 0.
    """
    return rope(x, positions, **_options_of_all_features(rotary_dim, options))


@deviation("reference", "rotary_dim")
def rotary_dim_of_zero_is_none(x: Any, positions: Any, *, rotary_dim: int | None = None, **options: Any) -> Any:
    """a rotary_dim of 0 turns every feature, as `rotary_dim or d_k` does.

    Shows: rotary_dim = 0. Hides: every other width.
    """
    return (
        rope(x, positions, **_options_of_all_features(rotary_dim, options))
        if rotary_dim == 0
        else rope(x, positions, rotary_dim=rotary_dim, **options)
    )


@deviation("reference", "rotary_dim", seen=("https://github.com/pie-project/pie/issues/602",))
def exponent_over_every_feature(
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    theta: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
    attention_factor: float = 1.0,
) -> Any:
    """the exponent is −2k/d_k, not −2k/rotary_dim.

    Shows: the second pair and later ones of a rotary_dim below d_k. Hides: rotary_dim = d_k, a single pair.
    """
    turned, passed = _split_features(x, rotary_dim)
    r, d_k = turned.shape[-1], x.shape[-1]
    over_all = np.power(wide(theta), -np.arange(0, r, 2) / max(d_k, 1))
    angle = compute_angles(positions, over_all if inverse_frequencies is None else wide(inverse_frequencies))
    (a, b), (cos, sin) = split_pairs(turned, layout), (scaled(f, attention_factor) for f in cos_and_sin(angle))
    return np.concatenate([join_pairs(a * cos - b * sin, a * sin + b * cos, layout), passed], axis=-1)


@deviation("reference", "rotary_dim", kind="convention")
def last_features_turned(x: Any, positions: Any, *, rotary_dim: int | None = None, **options: Any) -> Any:
    """the last rotary_dim features are turned, and the first ones passed, as in DeepSeek's attention.

    Shows: a rotary_dim below d_k and above 0. Hides: rotary_dim = d_k.
    """
    n = x.shape[-1] - (x.shape[-1] if rotary_dim is None else rotary_dim)
    return np.concatenate([x[..., :n], rope(x[..., n:], positions, **options)], axis=-1)


@deviation("reference", "rotary_dim")
def other_features_dropped(x: Any, positions: Any, *, rotary_dim: int | None = None, **options: Any) -> Any:
    """the features that are not turned become 0.

    Shows: a rotary_dim below d_k. Hides: rotary_dim = d_k.
    """
    turned, passed = _split_features(x, rotary_dim)
    return np.concatenate([rope(turned, positions, **options), 0.0 * passed], axis=-1)


@deviation("reference", "attention_factor")
def attention_factor_ignored(x: Any, positions: Any, *, attention_factor: float = 1.0, **options: Any) -> Any:
    """nothing is scaled.

    Shows: a factor other than 1. Hides: a factor of 1.
    """
    return rope(x, positions, **options)


@deviation("reference", "attention_factor", seen=("https://github.com/sgl-project/sglang/pull/33558",))
def attention_factor_twice(x: Any, positions: Any, *, attention_factor: float = 1.0, **options: Any) -> Any:
    """the factor is squared: it multiplies the table and then the turned features.

    Shows: a factor other than 1. Hides: a factor of 1.
    """
    return rope(x, positions, attention_factor=attention_factor * attention_factor, **options)


@deviation("reference", "attention_factor")
def attention_factor_of_every_feature(
    x: Any, positions: Any, *, rotary_dim: int | None = None, attention_factor: float = 1.0, **options: Any
) -> Any:
    """the features that are not turned are scaled as well.

    Shows: a factor and a rotary_dim below d_k. Hides: either alone.
    """
    turned, passed = _split_features(x, rotary_dim)
    turned = rope(turned, positions, attention_factor=attention_factor, **options)
    return np.concatenate([turned, scaled(passed, attention_factor)], axis=-1)


@deviation("reference", "attention_factor")
def attention_factor_of_the_cosine(
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    theta: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
    attention_factor: float = 1.0,
) -> Any:
    """the factor multiplies the cosine alone.

    Shows: a factor other than 1 at every position but 0. Hides: a factor of 1.
    """
    turned, passed = _split_features(x, rotary_dim)
    r = turned.shape[-1]
    frequencies = compute_frequencies(r, theta) if inverse_frequencies is None else wide(inverse_frequencies)
    angle = compute_angles(positions, frequencies)
    (a, b), (cos, sin) = split_pairs(turned, layout), cos_and_sin(angle)
    cos = scaled(cos, attention_factor)
    return np.concatenate([join_pairs(a * cos - b * sin, a * sin + b * cos, layout), passed], axis=-1)


@deviation("reference", "inverse_frequencies", seen=("https://github.com/kekzl/imp/issues/897",))
def inverse_frequencies_ignored(
    x: Any, positions: Any, inverse_frequencies: Any = None, *, theta: float = 10000.0, **options: Any
) -> Any:
    """the given frequencies are ignored, and theta's are used.

    Shows: frequencies other than those of theta. Hides: frequencies that were not scaled, the first pair.
    """
    return rope(x, positions, theta=theta, **options)


@deviation("reference", "inverse_frequencies")
def periods_for_frequencies(x: Any, positions: Any, inverse_frequencies: Any = None, **options: Any) -> Any:
    """positions are divided by the given numbers, which are taken for theta^(2k/r).

    Shows: every pair but those with a frequency of 1. Hides: theta instead of frequencies.
    """
    f = inverse_frequencies
    return rope(x, positions, None if f is None else 1 / np.maximum(f, 1e-30), **options)


@deviation("reference", "inverse_frequencies")
def frequencies_beside_those_of_theta(
    x: Any, positions: Any, inverse_frequencies: Any = None, *, theta: float = 10000.0, **options: Any
) -> Any:
    """the given frequencies multiply those of theta, as factors of a scaling would.

    Shows: the second pair and later ones. Hides: theta instead of frequencies, a single pair.
    """
    if inverse_frequencies is None:
        return rope(x, positions, theta=theta, **options)
    return rope(x, positions, inverse_frequencies * compute_frequencies(2 * len(inverse_frequencies), theta), **options)


@deviation(
    "calls_are_independent", kind="fault",
    seen=("https://github.com/huggingface/transformers/pull/25308", "https://github.com/huggingface/transformers/pull/46624"),
)  # fmt: skip
def table_of_other_frequencies(function: Any, x: Any, positions: Any, *, memory: dict[Any, Any], **keywords: Any) -> Any:
    """the table is remembered by its positions and width, and not made anew for other frequencies, as after a longer prompt.

    Shows: two calls that differ in their frequencies alone. Hides: a single call, one model.
    """
    given = keywords.pop("inverse_frequencies", None)
    if given is not None:
        given = memory.setdefault((positions.tobytes(), x.shape[-1], len(given)), given.copy())
    return function(x, positions, inverse_frequencies=given, **keywords)
