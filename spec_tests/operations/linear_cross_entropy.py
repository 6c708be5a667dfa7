"""How linear_cross_entropy is drawn: as cross_entropy is, with tokens and a weight in place of the logits."""

from typing import Any

import numpy as np

from reference_numpy.linear_cross_entropy import linear_cross_entropy
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations.cross_entropy import OPTIONAL, REDUCTIONS, draw_options, draw_targets, ignores_rows
from spec_tests.operations.linear import SMALL_TOKEN_BATCHES
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER


def draw_inputs(draw: Draw, *options: str) -> tuple[Any, ...]:
    """Draw x, the weight, targets, and some of these optional keywords. Weights are large enough for unequal probabilities."""
    d, vocab = draw.dims(d=257, vocab=1025)
    keywords = draw_options(draw, *options)
    if vocab == 1 and keywords.get("ignore_index") == 0:
        keywords["ignore_index"] = -100  # else no row could be kept
    batch = draw.batch(SMALL_TOKEN_BATCHES)
    weight = draw.held(draw.weight(vocab, d) * draw.one_of((1.0, 4.0)))
    return draw.vectors((*batch, d)), weight, draw_targets(draw, batch, vocab, keywords.get("ignore_index", -100)), keywords


def draw_ignored(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw tokens of which none counts: every target is ignored, or there is none."""
    if not ignores_rows(draw):
        raise NotImplementedVariant("the function takes no ignore_index", "signature")
    x, weight, targets, keywords = draw_inputs(draw, "ignore_index", "label_smoothing", "z_loss", "softcap")
    if targets.ndim and draw.one_of((False, False, True)):
        x, targets = x[..., :0, :], targets[..., :0]
    return (x, weight, np.full(targets.shape, keywords.get("ignore_index", -100))), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, weight, targets, keywords = draw_inputs(draw, *OPTIONAL)
    return (x, weight, targets), keywords


declaration = Declaration(
    equation=linear_cross_entropy,
    arguments=arguments,
    core={"x": 1, "targets": 0},
    composed=True,
    results={"": WIDER},
    choices={"reduction": REDUCTIONS},
    changeable=("z_loss", "softcap"),
    open_questions={"all_ignored": draw_ignored},
    unbatched=True,  # two of its reductions
    joins_rows=True,  # two of its reductions
)
