"""How rope_frequencies is drawn."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._yarn import yarn_limits
from reference_numpy.rope_frequencies import SCALINGS, rope_frequencies
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, single
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.pytree import join, tree_map

WIDTHS = (2, 4, 6, 8, 32, 64, 96, 128, 256)
THETAS = single(10_000.0, 500_000.0, 150_000.0, 1_000_000.0, 100.0)
FACTORS = (8.0, 32.0, 4.0, 1.0, 2.5, 40.0)
ORIGINALS = (4096, 8192, 2048, 32_768, 300)
MSCALE = (None, 1.0, 0.707, 2.0)
MSCALE_ALL_DIM = (None, 1.0, 0.707, 0.5, 0.0)  # the first two as in DeepSeek's models
NEAREST = 1e-3  # of a limit of yarn to an integer


def bound(wrap: Callable[[Any], Any], **given: Any) -> Any:
    """Evaluate the equation with errors: of the exponent and the power, of the ramp, and of the slope of llama3's middle band."""
    plain = tree_map(lambda x: float(x.value) if hasattr(x, "value") else x, given)
    spec, (_, a) = {**DEFAULTS, **plain}, rope_frequencies(**plain)
    d_k, scaling, factor, o = (spec[name] for name in ("d_k", "scaling", "factor", "original_length"))
    k, theta = np.arange(d_k // 2), spec["theta"]
    if scaling == "dynamic":
        theta = theta * (factor * max(spec["length"] or o, o) / o - (factor - 1)) ** (d_k / (d_k - 2))
    exponents = wrap(-2.0 * k) / float(d_k)
    f = np.power(_rounded_once(wrap, theta), exponents)
    if scaling == "linear":
        f = f / wrap(factor)
    elif scaling == "yarn":
        limits = yarn_limits(d_k, theta, o, spec["beta_fast"], spec["beta_slow"], spec["truncate"])
        lo, hi = (_rounded_once(wrap, x) for x in limits)
        p = np.minimum(np.maximum((wrap(k.astype(float)) - lo) / (hi - lo), 0.0), 1.0)
        f = (1 - p) * f + p * f / wrap(factor)
    elif scaling == "llama3":
        low, high = spec["low_frequency_factor"], spec["high_frequency_factor"]
        s = np.minimum(np.maximum((o * f / _rounded_once(wrap, 2 * np.pi) - low) / (high - low), 0.0), 1.0)
        f = (1 - s) * f / wrap(factor) + s * f
    elif scaling == "longrope":
        is_long = spec["length"] is not None and spec["length"] > o
        f = f / _rounded_once(wrap, np.asarray(spec["long_factors" if is_long else "short_factors"]))
    return join([f, _rounded_once(wrap, a)])


def _rounded_once(wrap: Callable[[Any], Any], x: Any) -> Any:
    """Return numbers that code may have rounded to float32."""
    return wrap(np.asarray(x, dtype=float)) * 1.1 / 1.1


DEFAULTS: Mapping[str, Any] = MappingProxyType({
    "theta": 10_000.0, "scaling": "default", "factor": 1.0, "original_length": None, "length": None,
    "low_frequency_factor": 1.0, "high_frequency_factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True,
    "attention_factor": None, "mscale": None, "mscale_all_dim": None, "short_factors": None, "long_factors": None,
})  # fmt: skip


def draw_scaling(draw: Draw, *scalings: str) -> dict[str, Any]:
    """Draw one of these scalings, or of all, with what it needs."""
    wanted = tuple(s for s in draw.operation.domain.get("scaling", SCALINGS) if s in (scalings or SCALINGS))
    if not wanted:
        raise NotImplementedVariant("its domain lacks these scalings")
    kind = draw.one_of(wanted)
    given: dict[str, Any] = draw.keyword("d_k", WIDTHS[1:]) | draw.keyword("theta", THETAS) | {"scaling": kind}
    return _keep_to_the_domain(draw, given | (_draw_parameters(draw, kind, given["d_k"]) if kind != "default" else {}))


def _draw_parameters(draw: Draw, kind: str, d_k: int) -> dict[str, Any]:
    """Draw what a scaling needs."""
    for name in ("factor",) if kind == "linear" else ("factor", "original_length"):
        if not draw.operation.accepts(name):
            raise NotImplementedVariant(f"{draw.operation.name} takes no {name}, which {kind} needs", "signature")
    given = draw.keyword("factor", FACTORS)
    if kind == "linear":
        return given
    given |= draw.keyword("original_length", ORIGINALS)
    o = given["original_length"]
    if kind in ("dynamic", "longrope"):
        given |= draw.keyword("length", (None, o, o + 1, o - 1, 2 * o, 10 * o))
    if kind == "longrope":
        for name in ("short_factors", "long_factors"):
            given[name] = tuple(float(x) for x in draw.rng.integers(8, 256, d_k // 2) / 8)
    if kind in ("yarn", "longrope") and draw.one_of((False, True)):
        given["attention_factor"] = draw.one_of((1.25, 0.5, 0.0))
    if kind == "llama3":
        given |= draw.one_of(({}, {"low_frequency_factor": 2.0, "high_frequency_factor": 32.0}, {"high_frequency_factor": 1.5}))
    if kind == "yarn":
        given |= draw.one_of(({}, {}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"truncate": False}))
        given |= draw.keyword("mscale", MSCALE) | draw.keyword("mscale_all_dim", MSCALE_ALL_DIM)
    return given


def _keep_to_the_domain(draw: Draw, given: dict[str, Any]) -> dict[str, Any]:
    """Pass a stated value for each keyword whose default the domain excludes, and keep yarn's limits away from integers."""
    for name, allowed in draw.operation.domain.items():
        needed = name == "scaling" or (name in given and name.endswith("factors"))
        if name in DEFAULTS and not needed and given.get(name, DEFAULTS[name]) not in allowed:
            given |= draw.keyword(name, allowed)
    if given["scaling"] == "yarn":
        _avoid_integers(given)
    return given


def _avoid_integers(given: dict[str, Any]) -> None:
    """Raise the original length until neither limit of yarn is near an integer."""
    betas = given.get("beta_fast", 32.0), given.get("beta_slow", 1.0)
    theta = given.get("theta", DEFAULTS["theta"])

    def is_near() -> bool:
        limits = (given["d_k"] * math.log(given["original_length"] / (2 * math.pi * b)) / (2 * math.log(theta)) for b in betas)
        return any(abs(x - round(x)) < 2 * NEAREST for x in limits)

    while is_near():
        given["original_length"] += 37


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (), draw_scaling(draw)


declaration = Declaration(
    equation=rope_frequencies,
    arguments=arguments,
    dtype="float32",
    results={"inverse_frequencies": "float32", "attention_factor": "float32"},
    choices={"scaling": SCALINGS},
    bound=bound,
    short=True,
)
