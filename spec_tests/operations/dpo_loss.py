"""How dpo_loss is drawn: pairs of answers whose margins reach from 0 to where one of the two losses vanishes."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.dpo_loss import dpo_loss
from spec_tests.inputs.draw import Draw, single
from spec_tests.specification.declaration import Declaration

REDUCTIONS = ("mean", "none")
BETAS = (0.1, 0.5, 0.01, 1.0, 2.0)
SMOOTHINGS = single(0.1, 0.25, 0.5, 1.0, 0.0)
OPTIONAL = ("beta", "label_smoothing", "reduction")
POOLS = MappingProxyType({"beta": BETAS, "label_smoothing": SMOOTHINGS, "reduction": REDUCTIONS})
SCORES = (0.0, 0.001, 0.3, 1.0, 4.0, 20.0, 100.0)  # sizes of beta times the margin, times a number below 2
LENGTHS = (1.0, 30.0, 300.0)  # sizes of the logarithms of the probabilities of whole answers

Pairs = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def draw_options(draw: Draw, *names: str) -> dict[str, Any]:
    """Draw some of the optional keywords."""
    used = draw.variants(*names)
    return {name: value for one in names if one in used for name, value in draw.keyword(one, POOLS[one]).items()}


def draw_pairs(draw: Draw, beta: float, *, longest: int = 5000, scores: tuple[float, ...] = SCORES) -> Pairs:
    """Draw the four logarithms of each pair of answers, none above 0, with scores of one size or of all sizes."""
    (b,) = draw.dims(b=longest)
    size = draw.one_of((*[None] * 4, *scores))
    sizes = draw.rng.choice(scores, b) if size is None else np.full(b, size)
    margin = sizes * draw.rng.uniform(0.5, 2.0, b) * draw.rng.choice((1.0, -1.0), b) / beta
    length, share = draw.one_of(LENGTHS), draw.rng.uniform(0.0, 1.0, b)
    reference = [draw.held(-length * draw.rng.uniform(0.0, 1.0, b) - np.abs(margin)) for _ in range(2)]
    chosen, rejected = draw.held(reference[0] + share * margin), draw.held(reference[1] - (1 - share) * margin)
    return chosen, rejected, reference[0], reference[1]


def draw_inputs(
    draw: Draw, *options: str, longest: int = 5000, scores: tuple[float, ...] = SCORES
) -> tuple[Pairs, dict[str, Any]]:
    """Draw pairs of answers, beta, and some of these optional keywords."""
    keywords = draw.keyword("beta", BETAS) | draw_options(draw, *options)
    return draw_pairs(draw, beta_of(draw, keywords), longest=longest, scores=scores), keywords


def beta_of(draw: Draw, keywords: dict[str, Any]) -> float:
    """Return the beta that a call with these keywords has."""
    return float(keywords.get("beta", draw.operation.spec.defaults["beta"]))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    keywords = draw_options(draw, *OPTIONAL)
    return draw_pairs(draw, beta_of(draw, keywords)), keywords


declaration = Declaration(
    equation=dpo_loss,
    arguments=arguments,
    core=dict.fromkeys(("policy_chosen", "policy_rejected", "reference_chosen", "reference_rejected"), 0),
    precision="fused",
    dtypes=("float32", "float64"),
    choices={"reduction": REDUCTIONS},
    constant_arguments=("reference_chosen", "reference_rejected"),
    changeable=("beta",),
    unbatched=True,  # the mean
    joins_rows=True,  # the mean
)
