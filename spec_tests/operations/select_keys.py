"""How select_keys is drawn: different scores, also neighbours in the dtype, with −∞ between them, and k about their number."""

from typing import Any

import numpy as np

from reference_numpy.select_keys import select_keys
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import INTEGER

KEYS = (5, 1, 2, 3, 8, 16, 33, 65, 100)


def arrange(results: list[np.ndarray]) -> list[np.ndarray]:
    """Return the indices of each row in ascending order: as a set."""
    return [np.sort(x, axis=-1) for x in results]


def has_a_tie(scores: Any, k: int) -> Any:
    """Return for each row whether equal scores stand at its last place, of which any may be selected."""
    descending = -np.sort(-np.asarray(scores), axis=-1)
    if k >= descending.shape[-1]:
        return np.zeros((*descending.shape[:-1], 1), bool)
    last, next_one = descending[..., k - 1 : k], descending[..., k : k + 1]
    return np.isfinite(last) & (last == next_one)


def draw_scores(draw: Draw, *, hidden: bool = True) -> np.ndarray:
    """Draw rows of different scores, and hide some of them: those behind a position, any, all or none."""
    m = draw.size("m", KEYS)
    batch = draw.batch(((3,), (), (1,), (2, 2)))
    near = draw.one_of(draw.planned("apart", (False, True)))
    step = 2 * draw.format.u if near else 0.25
    ranks = draw.rng.permuted(np.broadcast_to(np.arange(m), (*batch, m)), axis=-1)
    scores = 1 + ranks * step if near else (ranks - m // 2) * step
    how = draw.one_of(draw.planned("hidden", ("none", "behind", "any", "all"))) if hidden else "none"
    last, some = draw.rng.integers(0, m + 1, (*batch, 1)), draw.rng.random((*batch, m)) < 0.5
    seen = {"none": some | ~some, "behind": np.arange(m) < last, "any": some, "all": some & ~some}[how]
    return np.where(seen, scores, -np.inf)


def draw_k(draw: Draw, scores: np.ndarray, *, most: int | None = None) -> dict[str, Any]:
    """Draw k: 1, about the number of finite scores of a row, about the number of keys, and more."""
    m = scores.shape[-1]
    finite = int(np.max(np.sum(np.isfinite(scores), axis=-1), initial=1))
    high = m + 3 if most is None else most
    return draw.keyword("k", (draw.near(1, finite // 2, finite, m, low=1, high=max(high, 1)),))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    scores = draw_scores(draw)
    return (scores,), draw_k(draw, scores)


def require_k(draw: Draw, k: int) -> dict[str, Any]:
    """Return the keyword for this k, which a law needs."""
    if k not in draw.operation.domain.get("k", (k,)):
        raise NotImplementedVariant(f"its domain has no k = {k}")
    return {"k": k} if draw.operation.accepts("k") else {}


declaration = Declaration(
    equation=select_keys,
    arguments=arguments,
    core={"scores": 1},
    precision="exact",
    results={"": INTEGER},
    arrange=arrange,
    short=True,
    left_open=has_a_tie,
)
