"""How token_log_probs is drawn: scores, some of which may be removed, and targets among those that are left."""

from typing import Any

import numpy as np

from reference_numpy.token_log_probs import token_log_probs
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import MANY_ROWS, Draw, single
from spec_tests.operations.cross_entropy import SCORES
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

TEMPERATURES = single(0.7, 2.0, 0.25, 1.0, 10.0)


def draw_targets(draw: Draw, logits: np.ndarray) -> np.ndarray:
    """Draw a target of each row among its finite scores: any, the first, the last, or the one with the largest score."""
    kind = draw.one_of(("any", "any", "first", "last", "largest"))
    order = {
        "any": draw.rng.random(logits.shape),
        "first": -np.arange(logits.shape[-1]) + np.zeros(logits.shape),
        "last": np.arange(logits.shape[-1]) + np.zeros(logits.shape),
        "largest": logits,
    }[kind]
    return np.asarray(np.argmax(np.where(np.isfinite(logits), order, -np.inf), axis=-1))


def draw_temperature(draw: Draw) -> dict[str, Any]:
    """Draw the temperature, in some examples."""
    return draw.keyword("temperature", TEMPERATURES) if "temperature" in draw.variants("temperature") else {}


def draw_inputs(draw: Draw, *, longest: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    """Draw finite logits, and targets."""
    (vocab,) = draw.dims(vocab=longest)
    logits = draw.array((*draw.batch(MANY_ROWS), vocab), SCORES)
    return logits, draw_targets(draw, logits)


def draw_removed(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw logits of which some entries are −inf, the same ones in every row; targets; and the entries that are left."""
    if draw.operation.domain.get("removed_entries") is False:
        raise NotImplementedVariant("its domain has no logits of −∞")
    (vocab,) = draw.dims(vocab=300)
    logits = draw.array((*draw.batch(MANY_ROWS), vocab), SCORES)
    left = draw.rng.random(vocab) < draw.one_of((0.5, 0.9, 0.1))
    left[draw.integer(0, 99) * vocab // 100] = True
    logits = np.where(left, logits, -np.inf)
    return logits, draw_targets(draw, logits), left


def draw_with_removed_entries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    logits, targets, _ = draw_removed(draw)
    return (logits, targets), draw_temperature(draw)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw), draw_temperature(draw)


declaration = Declaration(
    equation=token_log_probs,
    arguments=arguments,
    core={"logits": 1, "targets": 0},
    refused=("logits",),
    precision="fused",
    results={"log_probs": WIDER, "entropy": WIDER},
    changeable=("temperature",),
    branches={"removed entries might be absent": draw_with_removed_entries},
)
