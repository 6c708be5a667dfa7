"""How group_advantages is drawn: rewards of a few kinds, as verifiers and models of rewards give them."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.group_advantages import group_advantages
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

GROUP_SIZES = (2, 3, 4, 5, 8, 16, 33, 64)
NORMALIZED = ("std", "batch_std")
NORMALIZE = (*NORMALIZED, "none")
BASELINES = ("mean", "leave-one-out")
EPSILONS = (1e-6, 1e-4, 1e-2, 0.1)
POOLS = MappingProxyType({"normalize": NORMALIZE, "baseline": BASELINES, "eps": EPSILONS})
SMALL = "small scores"  # whose deviation is not far above 1e-4
KINDS = ("right or wrong", "halves", "scores", "scores far from 0", "different sizes", SMALL)


def draw_rewards(draw: Draw, groups: int, group_size: int, kinds: tuple[str, ...] = KINDS) -> np.ndarray:
    """Draw the rewards of groups. Some groups have equal rewards, but not all."""
    shape, kind = (groups, group_size), draw.one_of(kinds)
    x = draw.rng.standard_normal(shape)
    if kind == "right or wrong":
        x = (draw.rng.random(shape) < draw.rng.uniform(0.1, 0.9, (groups, 1))).astype(float)
    elif kind == "halves":
        x = draw.rng.integers(-8, 9, shape) / 2
    elif kind == "scores far from 0":
        x = x + draw.rng.choice((8.0, -24.0), (groups, 1))
    elif kind == "different sizes":
        x = x * draw.rng.choice((0.125, 1.0, 8.0), (groups, 1))
    elif kind == SMALL:
        x = x * 2.0**-12
    equal = draw.rng.random((groups, 1)) < draw.one_of((0.0, 0.0, 0.3))
    x = draw.held(np.where(equal, np.rint(4 * x[:, :1]) / 2, x))
    if not np.any(np.ptp(x, axis=-1)):
        x[0, 0] += 1.0
    return np.asarray(x.reshape(-1))


def draw_options(draw: Draw, *names: str) -> dict[str, Any]:
    """Draw some of the optional keywords."""
    used = draw.variants(*names)
    return {name: value for one in names if one in used for name, value in draw.keyword(one, POOLS[one]).items()}


def draw_groups(
    draw: Draw, sizes: tuple[int, ...] = GROUP_SIZES, kinds: tuple[str, ...] = KINDS
) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw rewards, and the size of their groups."""
    if "n" in draw.operation.domain:
        (n,) = draw.dims(n=257)
        given = draw.keyword("group_size", tuple(size for size in sizes if n % size == 0) or (n,))
        groups, rest = divmod(n, given["group_size"])
        if rest or given["group_size"] < 2:
            raise NotImplementedVariant(f"{n} rewards are no groups of {given['group_size']}", "suite")
    else:
        (groups,) = draw.dims(groups=257)
        given = draw.keyword("group_size", sizes)
    return draw_rewards(draw, groups, given["group_size"], kinds), given


def draw_question(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw small groups of rewards that differ, whose deviation shows."""
    rewards, given = draw_groups(draw, GROUP_SIZES[:4], tuple(kind for kind in KINDS if kind != SMALL))
    return (rewards,), given | draw.only("normalize", *NORMALIZED) | draw_options(draw, "baseline", "eps")


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    rewards, given = draw_groups(draw)
    return (rewards,), given | draw_options(draw, "normalize", "baseline", "eps")


declaration = Declaration(
    equation=group_advantages,
    arguments=arguments,
    core={"rewards": 1},
    precision="fused",
    choices={"normalize": NORMALIZE, "baseline": BASELINES},
    changeable=("eps",),
    open_questions={"advantage_std": draw_question},
    unbatched=True,  # groups share one axis
    joins_rows=True,
)
