"""How moe_router is drawn."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.moe_router import moe_router
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs import regimes
from spec_tests.inputs.draw import MANY_ROWS, Draw, single
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import INTEGER, WIDER

SCORES = MappingProxyType({name: fill for name, fill in regimes.LOGITS.items() if name not in ("minus infinity", "extreme")})
SCALING_FACTORS = single(2.5, 1.0, 0.125, 16.0)
LOWEST_SIGMOID = -20.0  # below it, all chosen scores may be so small that their sum says nothing
FEW_EXPERTS = 8  # of which it is often asked for all, for all but one, or for half


def arrange(results: list[np.ndarray]) -> list[np.ndarray]:
    """Return the weights and the indices of each row in the order of the indices: as a set."""
    weights, indices = results
    order = np.argsort(indices, axis=-1, kind="stable")
    return [np.take_along_axis(x, order, axis=-1) for x in (weights, indices)]


def draw_groups(draw: Draw, experts: int) -> dict[str, Any]:
    """Draw how many groups the experts form, and how many of them may be chosen from."""
    divisors = [g for g in range(2, experts + 1) if experts % g == 0 and g <= 16] or [1]
    several = [g for g in divisors if 2 * g <= experts]  # mostly, a group has several experts
    groups = draw.keyword("groups", (*several, *several, *several, *divisors))
    count = groups.get("groups", 1)
    if experts % count:
        raise NotImplementedVariant(f"its domain has no groups of {experts} experts")
    return groups | draw.keyword("top_groups", (draw.near(1, count // 2, count, low=1, high=count),))


def draw_k(draw: Draw, experts: int, options: dict[str, Any]) -> dict[str, Any]:
    """Draw how many experts are chosen: one, a few, all that can be, or about half of these."""
    most = experts // options.get("groups", 1) * options.get("top_groups", 1)
    points = (1, 2, most // 2, most) if most <= FEW_EXPERTS else (1, 2, 4, 8, most)
    k = draw.keyword("k", (draw.near(*points, low=1, high=most),))
    if k["k"] > most:
        raise NotImplementedVariant(f"its domain has no k that {most} experts leave")
    return k


def draw_logits(draw: Draw, shape: tuple[int, ...], options: dict[str, Any]) -> np.ndarray:
    """Draw logits, those of sigmoid scores not so low that what is renormalized vanishes."""
    logits = draw.array(shape, SCORES)
    sums = options.get("scoring") == "sigmoid" and options.get("renormalize", True)
    return np.maximum(logits, LOWEST_SIGMOID) if sums else logits


def draw_bias(draw: Draw, experts: int) -> np.ndarray:
    """Draw a bias that decides some choices, or most; sometimes all of it is negative, or large beside the scores."""
    return draw.held(draw.normal((experts,), draw.one_of((0.02, 0.3, 2.0))) + draw.one_of((0.0, 0.0, -4.0, 12.0)))


def draw_options(draw: Draw, experts: int, *names: str) -> dict[str, Any]:
    """Draw some of the optional keywords, and k."""
    used = draw.variants(*names)
    pools: dict[str, tuple[Any, ...]] = {
        "scoring": ("sigmoid", "softmax"),
        "renormalize": (False, True),
        "scaling_factor": SCALING_FACTORS,
        "group_score": ("two", "max"),
    }
    options: dict[str, Any] = {}
    for name in pools:
        always = name in draw.operation.domain and draw.operation.spec.defaults[name] not in draw.operation.domain[name]
        options |= draw.keyword(name, pools[name]) if name in used or always else {}
    if "groups" in used or "group_score" in used:
        options |= draw_groups(draw, experts) if draw.operation.accepts("groups") else {}
    return options | draw_k(draw, experts, options)


def with_scoring(draw: Draw, options: dict[str, Any], scoring: str) -> dict[str, Any]:
    """Return the options with this scoring, which a law is about."""
    return {**options, **draw.only("scoring", scoring)}


def take_bias(draw: Draw) -> None:
    """Leave a law about the bias to functions that take one."""
    if not draw.operation.accepts("bias"):
        raise NotImplementedVariant("the function takes no bias", "signature")


OPTIONAL = ("scoring", "renormalize", "scaling_factor", "groups", "group_score")


def fit_groups(draw: Draw, experts: int) -> int:
    """Return a number of experts that the number of groups divides, if the domain states one number of groups."""
    stated = draw.operation.domain.get("groups", ())
    if len(stated) != 1 or "experts" in draw.operation.domain:
        return experts
    (groups,) = stated
    return max(experts - experts % groups, groups)


def draw_inputs(draw: Draw, *names: str, most: int = 257) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw logits, k, and some of these optional keywords."""
    experts = fit_groups(draw, *draw.dims(experts=most))
    options = draw_options(draw, experts, *names)
    return draw_logits(draw, (*draw.batch(MANY_ROWS), experts), options), options


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    logits, options = draw_inputs(draw, *OPTIONAL)
    if "bias" in draw.variants("bias"):
        return (logits, draw_bias(draw, logits.shape[-1])), options
    return (logits,), options


declaration = Declaration(
    equation=moe_router,
    arguments=arguments,
    core={"logits": 1},
    results={"weights": WIDER, "indices": INTEGER},
    arrange=arrange,
    chooses=True,
    changeable=("scaling_factor",),
)
