"""What goes wrong with rope_frequencies: the factor of attention, yarn's ramp, llama3's bands, and when longrope switches."""

import math
from typing import Any

import numpy as np

from reference_numpy._marks import double
from reference_numpy.rope_frequencies import rope_frequencies

from . import deviation


def _change_factor(given: dict[str, Any], scaling: str, change: Any) -> Any:
    """Return the result with the attention factor of one scaling changed."""
    f, a = rope_frequencies(**given)
    return f, np.asarray(change(float(a))) if given.get("scaling") == scaling else a


def _without_scaling(given: dict[str, Any]) -> Any:
    """Return the frequencies that the scaling changes."""
    return rope_frequencies(d_k=given["d_k"], theta=given.get("theta", 10_000.0))[0]


@deviation("reference", "attention_factor", seen=("https://github.com/sgl-project/sglang/pull/33558",))
def yarn_factor_squared(**given: Any) -> Any:
    """yarn's attention factor is squared, as where it is applied to the cache of angles and again to the scores.

    Shows: yarn with a factor above 1. Hides: every other scaling.
    """
    return _change_factor(given, "yarn", lambda a: a * a)


@deviation("reference", "attention_factor", kind="convention")
def yarn_factor_multiplies(**given: Any) -> Any:
    """a given attention factor multiplies yarn's own 0.1 ln F + 1, as in vLLM, instead of replacing it.

    Shows: yarn with a given factor. Hides: none given.
    """
    own = 0.1 * math.log(double(given.get("factor", 1.0))) + 1
    return _change_factor(given, "yarn", lambda a: a if given.get("attention_factor") is None else a * own)


@deviation("reference", "attention_factor", seen=("https://github.com/NVIDIA/TensorRT-LLM/pull/16379",))
def yarn_logarithm_twice(**given: Any) -> Any:
    """yarn's logarithm is taken of what is the attention factor already: 0.1 ln(0.1 ln F + 1) + 1.

    Shows: yarn without a given factor. Hides: a given one.
    """
    return _change_factor(given, "yarn", lambda a: a if given.get("attention_factor") is not None else 0.1 * math.log(a) + 1)


@deviation("reference", "mscales")
def mscale_all_dim_ignored(**given: Any) -> Any:
    """mscale_all_dim is ignored: yarn's attention factor is 0.1 mscale ln F + 1, and not divided.

    Shows: both of them given. Hides: none given; a given attention factor.
    """
    f, a = rope_frequencies(**given)
    return f, _scale_of_yarn(given, double(given["mscale"])) if _has_mscales(given) else a


@deviation("reference", "mscales")
def mscales_ignored(**given: Any) -> Any:
    """mscale and mscale_all_dim are ignored: yarn's attention factor is 0.1 ln F + 1.

    Shows: both of them given. Hides: none given; a given attention factor.
    """
    return rope_frequencies(**{**given, "mscale": None, "mscale_all_dim": None})


@deviation("reference", "mscales")
def mscale_counts_alone(**given: Any) -> Any:
    """mscale alone counts where mscale_all_dim is not given or 0, which transformers ignores.

    Shows: mscale without the other. Hides: both given, or none.
    """
    f, a = rope_frequencies(**given)
    alone = given.get("scaling") == "yarn" and given.get("attention_factor") is None
    alone = alone and bool(given.get("mscale")) and not given.get("mscale_all_dim")
    return f, _scale_of_yarn(given, double(given["mscale"])) if alone else a


def _has_mscales(given: dict[str, Any]) -> bool:
    is_own = given.get("scaling") == "yarn" and given.get("attention_factor") is None
    return is_own and bool(given.get("mscale")) and bool(given.get("mscale_all_dim"))


def _scale_of_yarn(given: dict[str, Any], mscale: float) -> Any:
    """Return 0.1 mscale ln F + 1."""
    return np.asarray(0.1 * mscale * math.log(double(given.get("factor", 1.0))) + 1)


@deviation("reference", "attention_factor")
def given_factor_of_zero_is_none(**given: Any) -> Any:
    """a given attention factor of 0 is treated as not given, as `factor or default` does.

    Shows: a factor of 0. Hides: every other one.
    """
    return rope_frequencies(**{**given, "attention_factor": given.get("attention_factor") or None})


@deviation(
    "reference",
    "attention_factor",
    seen=("https://github.com/vllm-project/vllm/pull/48351", "https://github.com/ml-explore/mlx-lm/pull/1507"),
)
def given_factor_ignored(**given: Any) -> Any:
    """a given attention factor is ignored: the scaling's own is returned.

    Shows: a given factor other than the scaling's own. Hides: none given.
    """
    return rope_frequencies(**{**given, "attention_factor": None})


@deviation("reference", "attention_factor")
def factor_of_attention_left_out(**given: Any) -> Any:
    """the attention factor is always 1.

    Shows: yarn and longrope. Hides: every other scaling.
    """
    f, a = rope_frequencies(**given)
    return f, 0 * a + 1


@deviation("reference", kind="convention")
def limits_never_rounded(**given: Any) -> Any:
    """yarn's limits are not rounded, as in gpt-oss, whatever truncate says.

    Shows: yarn. Hides: truncate = False.
    """
    return rope_frequencies(**{**given, "truncate": False})


@deviation("reference")
def limits_of_the_stretched_length(**given: Any) -> Any:
    """yarn's limits are those of the stretched length, factor times the original one.

    Shows: yarn with a factor above 1. Hides: a factor of 1; few pairs, all of them beyond both limits.
    """
    f, a = rope_frequencies(**given)
    if given.get("scaling") != "yarn":
        return f, a
    return rope_frequencies(**{**given, "original_length": given["original_length"] * double(given["factor"])})[0], a


@deviation("reference", "between")
def ramp_reversed(**given: Any) -> Any:
    """yarn's ramp falls: fast pairs are divided and slow ones are left.

    Shows: yarn with a factor above 1. Hides: a factor of 1.
    """
    f, a = rope_frequencies(**given)
    if given.get("scaling") != "yarn":
        return f, a
    plain = _without_scaling(given)
    return plain + plain / given["factor"] - f, a


@deviation("reference", "slow_pairs")
def smooth_factor_reversed(**given: Any) -> Any:
    """llama3's bands are exchanged: fast pairs are divided and slow ones are left.

    Shows: llama3 with a factor above 1. Hides: a factor of 1.
    """
    f, a = rope_frequencies(**given)
    if given.get("scaling") != "llama3":
        return f, a
    plain, _ = rope_frequencies(d_k=given["d_k"], theta=given.get("theta", 10_000.0))
    return plain + plain / given["factor"] - f, a


@deviation("reference")
def no_band_between(**given: Any) -> Any:
    """llama3 has no middle band: pairs that turn less than high_frequency_factor times are divided by the whole factor.

    Shows: pairs between both limits. Hides: a factor of 1.
    """
    if given.get("scaling") != "llama3":
        return rope_frequencies(**given)
    return rope_frequencies(**{**given, "low_frequency_factor": given.get("high_frequency_factor", 4.0) - 1e-9})


@deviation("reference", "longrope", seen=("https://github.com/unslothai/unsloth/pull/10681",))
def long_from_the_original_length_on(**given: Any) -> Any:
    """longrope takes the long factors at the original length, too, not only beyond it.

    Shows: a length equal to the original one. Hides: every other one.
    """
    length = given.get("length")
    if given.get("scaling") == "longrope" and length is not None and length == given["original_length"]:
        return rope_frequencies(**{**given, "length": length + 1})
    return rope_frequencies(**given)


@deviation("reference", "longrope")
def always_short(**given: Any) -> Any:
    """longrope never takes the long factors.

    Shows: a length beyond the original one. Hides: shorter ones.
    """
    return rope_frequencies(**{**given, "long_factors": given.get("short_factors")})


@deviation("reference", "longrope", seen=("https://github.com/ggml-org/llama.cpp/issues/24823",))
def always_long(**given: Any) -> Any:
    """longrope always takes the long factors, as where the room in the cache decides, not the length.

    Shows: a length up to the original one, or none. Hides: longer ones.
    """
    return rope_frequencies(**{**given, "short_factors": given.get("long_factors")})


@deviation("reference", seen=("https://github.com/apache/tvm/pull/18576",))
def factor_under_the_exponent(**given: Any) -> Any:
    """yarn's slow pairs have the frequency (F theta)^(-2k/r): the factor multiplies theta, not the period.

    Shows: yarn with a factor above 1. Hides: a factor of 1.
    """
    f, a = rope_frequencies(**given)
    if given.get("scaling") != "yarn":
        return f, a
    plain = _without_scaling(given)
    unscaled, _ = rope_frequencies(**{**given, "factor": 1e30})  # (1 - ρ) f
    return unscaled + (plain - unscaled) * np.power(given["factor"], -2 * np.arange(len(plain)) / given["d_k"]), a


@deviation("reference", "dynamic")
def dynamic_divides(**given: Any) -> Any:
    """dynamic divides every frequency by the stretch, as linear does by its factor.

    Shows: lengths beyond the original one. Hides: shorter ones.
    """
    if given.get("scaling") != "dynamic":
        return rope_frequencies(**given)
    f, a = rope_frequencies(d_k=given["d_k"], theta=given.get("theta", 10_000.0))
    o, factor = given["original_length"], given["factor"]
    return f / (factor * max(given.get("length") or o, o) / o - (factor - 1)), a


@deviation("reference", "dynamic")
def exponent_of_the_base_left_out(**given: Any) -> Any:
    """dynamic multiplies theta by the stretch itself, not by its power r / (r − 2).

    Shows: lengths beyond the original one. Hides: shorter ones.
    """
    if given.get("scaling") != "dynamic":
        return rope_frequencies(**given)
    o, factor = given["original_length"], given["factor"]
    stretch = factor * max(given.get("length") or o, o) / o - (factor - 1)
    return rope_frequencies(d_k=given["d_k"], theta=given.get("theta", 10_000.0) * stretch)


@deviation("reference", "linear")
def linear_multiplies(**given: Any) -> Any:
    """linear multiplies by the factor instead of dividing.

    Shows: linear with a factor above 1. Hides: a factor of 1.
    """
    f, a = rope_frequencies(**given)
    return (f * given["factor"] * given["factor"] if given.get("scaling") == "linear" else f), a


@deviation("reference", "geometric")
def pairs_counted_from_one(**given: Any) -> Any:
    """the exponents begin with −2/r: every pair turns as the next one should.

    Shows: every pair. Hides: nothing.
    """
    f, a = rope_frequencies(**given)
    return f * np.power(double(given.get("theta", 10_000.0)), -2 / given["d_k"]), a


@deviation("reference", "factor_of_one", "between")
def weights_above_one(**given: Any) -> Any:
    """yarn adds the divided part to the whole frequency: f + ρ f / F, without the weight 1 − ρ.

    Shows: yarn, with any factor. Hides: every other scaling.
    """
    f, a = rope_frequencies(**given)
    if given.get("scaling") != "yarn":
        return f, a
    plain = _without_scaling(given)
    divided, _ = rope_frequencies(**{**given, "factor": 1e30})  # (1 - ρ) f
    return f + plain - divided, a
