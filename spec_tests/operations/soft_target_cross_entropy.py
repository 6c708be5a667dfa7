"""How soft_target_cross_entropy is drawn: logits, and rows of probabilities that each dtype holds."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.soft_target_cross_entropy import soft_target_cross_entropy
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs import regimes
from spec_tests.inputs.draw import MANY_ROWS, MAX_SHORT_ROW, TALL_BATCHES, Draw
from spec_tests.operations.cross_entropy import LARGEST_WEIGHT, REDUCTIONS, SMOOTHINGS
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

SHARES = 64  # probabilities are multiples of 1/64, which every dtype holds, as it does their sums
KINDS = ("any", "two classes", "one class", "near the scores")
OPTIONAL = ("label_smoothing", "reduction")
SCORES = MappingProxyType(
    {name: fill for name, fill in regimes.LOGITS.items() if name not in ("minus infinity", "extreme")}
)  # as those of cross_entropy


def draw_probabilities(draw: Draw, logits: np.ndarray) -> np.ndarray:
    """Draw a probability of each class: of any classes, of two (mixup), of one, or about as the scores have them."""
    kind, (*batch, vocab) = draw.one_of(KINDS), logits.shape
    counts = np.zeros((*batch, vocab))
    if kind == "near the scores":
        e = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
        return np.asarray(draw.rng.multinomial(SHARES, e / np.sum(e, axis=-1, keepdims=True)) / SHARES)
    if kind == "any":
        chances = draw.rng.dirichlet(np.full(vocab, draw.one_of((0.1, 1.0))), tuple(batch))
        return np.asarray(draw.rng.multinomial(SHARES, chances) / SHARES)
    first, second = draw.rng.integers(0, vocab, (2, *batch, 1))
    share = draw.rng.integers(1, SHARES, (*batch, 1)) if kind == "two classes" else np.full((*batch, 1), SHARES)
    for ids, part in ((first, share), (second, SHARES - share)):
        counts = counts + np.where(np.arange(vocab) == ids, part, 0)
    return np.asarray(counts / SHARES)


def draw_inputs(
    draw: Draw, *options: str, longest: int = 5000, batches: tuple[tuple[int, ...], ...] = MANY_ROWS
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw logits, targets, and some of these optional keywords."""
    (vocab,) = draw.dims(vocab=longest)
    used, keywords = draw.variants(*options), dict[str, Any]()
    if "label_smoothing" in used:
        keywords |= draw.keyword("label_smoothing", SMOOTHINGS)
    if "reduction" in used:
        keywords |= draw.keyword("reduction", REDUCTIONS)
    logits = draw.array((*draw.batch(batches), vocab), SCORES)
    return logits, draw_probabilities(draw, logits), keywords


def draw_many_rows(draw: Draw, *options: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw as `draw_inputs` does; but half the examples have many short rows, whose sum needs a wide accumulator."""
    if draw.shape.one_of((False, True)):
        return draw_inputs(draw, *options)
    return draw_inputs(draw, *options, longest=MAX_SHORT_ROW, batches=TALL_BATCHES)


def draw_weight(draw: Draw, vocab: int) -> np.ndarray:
    """Draw the weight of each class: unequal ones, some of them 0."""
    weight = LARGEST_WEIGHT ** draw.rng.uniform(-1.0, 1.0, vocab)
    return draw.held(np.where(draw.rng.random(vocab) < draw.one_of((0.0, 0.0, 0.3)), 0.0, weight))


def draw_weighted(draw: Draw, *options: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw logits, targets, the weight among the keywords, and some of these optional ones."""
    if not draw.operation.accepts("weight"):
        raise NotImplementedVariant("the function takes no weight", "signature")
    logits, targets, keywords = draw_inputs(draw, *options, longest=257)
    return logits, targets, keywords | {"weight": draw_weight(draw, logits.shape[-1])}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    logits, targets, keywords = draw_inputs(draw, *OPTIONAL)
    if "weight" in draw.variants("weight"):
        keywords["weight"] = draw_weight(draw, logits.shape[-1])
    return (logits, targets), keywords


declaration = Declaration(
    equation=soft_target_cross_entropy,
    arguments=arguments,
    core={"logits": 1, "targets": 1},
    results={"": WIDER},
    choices={"reduction": REDUCTIONS},
    constant_arguments=("targets", "weight"),
    linear=("targets", "weight"),
    unbatched=True,  # two of its reductions
    joins_rows=True,  # two of its reductions
)
