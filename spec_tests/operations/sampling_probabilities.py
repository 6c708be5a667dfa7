"""How sampling_probabilities is drawn: filters that keep one token, some or all, ties at their limits, and their orders."""

from typing import Any

import numpy as np

from reference_numpy.sampling_probabilities import sampling_probabilities
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import MANY_ROWS, Draw, single
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

from .penalize_logits import draw_logits

TEMPERATURES = (*single(0.7, 1.3, 0.3, 0.02), 4.0, 0.5, 2.0, 1.0)
MILD = (2.0, 0.5, 4.0, 1.0)  # of which no token loses nearly all of its probability
SHARES = (*single(0.9, 0.6, 0.1, 0.999, 0.01), 0.5, 1.0)  # of the mass, for top_p
LEAST = (*single(0.1, 0.01, 0.7), 0.5, 1.0, 0.0)  # for min_p
FILTERS = ("top_k", "top_p", "min_p")
OPTIONAL = ("temperature", *FILTERS)
LONGEST = (65, 65, 1025)  # vocabulary; the bounds grow with it

Drawn = tuple[tuple[Any, ...], dict[str, Any]]


def pools(draw: Draw, vocab: int) -> dict[str, tuple[Any, ...]]:
    """Return the values of each keyword. top_k is 1, a few, about the half, all, or one more."""
    temperatures = (*TEMPERATURES, 0.0) if 0.0 in draw.operation.domain.get("temperature", ()) else TEMPERATURES
    counts = (draw.near(1, 2, 3, vocab // 2, vocab, low=1, high=vocab + 1),)
    return {"temperature": temperatures, "top_k": counts, "top_p": SHARES, "min_p": LEAST}


def draw_options(draw: Draw, vocab: int, *names: str, always: tuple[str, ...] = ()) -> dict[str, Any]:
    """Draw some of the keywords. Those of `always` are drawn in every example, if the function takes them."""
    used, values = draw.variants(*(name for name in names if name not in always)), pools(draw, vocab)
    chosen = [name for name in OPTIONAL if name in used or name in always]
    return {name: value for one in chosen for name, value in draw.keyword(one, values[one]).items()}


def draw_tempered(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Draw logits; in most examples so that no token has nearly all of the probability."""
    if draw.one_of((True, True, False)):
        return draw.normal(shape, draw.one_of((1.0, 3.0, 0.3)))
    return draw_logits(draw, shape)


def draw_inputs(draw: Draw) -> np.ndarray:
    (vocab,) = draw.dims(vocab=draw.shape.one_of(LONGEST))
    return draw_tempered(draw, (*draw.batch(MANY_ROWS), vocab))


def draw_distinct(draw: Draw, *, longest: int = 65) -> np.ndarray:
    """Draw logits that lie apart from one another, in any order."""
    (vocab,) = draw.dims(vocab=longest)
    shape = (*draw.batch(MANY_ROWS), vocab)
    order = np.argsort(draw.rng.random(shape), axis=-1)
    return np.asarray(order * draw.one_of((0.125, 0.25, 0.5)) - draw.one_of((0.0, 4.0)))


def take_all(draw: Draw, **values: Any) -> dict[str, Any]:
    """Return these values of keywords. Leave the question to functions that take all of them."""
    return {name: value for one in values for name, value in draw.only(one, values[one]).items()}


def one_row(draw: Draw, z: Any) -> np.ndarray:
    """Return rows of these logits, in an order that is drawn."""
    allowed = draw.operation.domain.get("vocab")
    if allowed is not None and not isinstance(allowed, str) and len(z) not in allowed:
        raise NotImplementedVariant(f"its domain has no vocab = {len(z)}")
    draw.drawn_sizes["vocab"] = len(z)
    order = draw.rng.permutation(len(z))
    return np.broadcast_to(np.asarray(z, dtype=float)[order], (*draw.batch(((2,), (), (1,))), len(z))).copy()


def takes(draw: Draw, *names: str) -> tuple[str, ...]:
    """Return those of these keywords that the function takes."""
    return tuple(name for name in names if draw.operation.accepts(name))


def ask_temperature_order(draw: Draw) -> Drawn:
    """Draw tokens of which a filter keeps more at a high temperature."""
    name = draw.one_of(takes(draw, "top_p", "min_p") or ("top_p",))
    given = take_all(draw, temperature=4.0, **{name: {"top_p": 0.75, "min_p": 0.25}[name]})
    return (one_row(draw, -1.0 * np.arange(8)),), given


def ask_top_k_ties(draw: Draw) -> Drawn:
    """Draw tokens of which the second equals two others."""
    return (one_row(draw, [2.0, 1.0, 1.0, 1.0, 0.0, -1.0]),), take_all(draw, top_k=2)


def ask_top_p_mass(draw: Draw) -> Drawn:
    """Draw 48 tokens of nearly the same probability, of which top_k keeps 24, and min_p 16 of these.

    top_p then keeps 13, 9 or 16: a filter that keeps one token more or less has the answer of no other mass.
    """
    others = takes(draw, "top_k", "min_p") or ("top_k",)
    values = {"top_k": 24, "min_p": 0.970703125}  # the token at place 16 has e^(−16/512) of the largest probability
    given = take_all(draw, top_p=0.53125, **{name: values[name] for name in others})
    return (one_row(draw, -np.arange(48) / 512),), given


def ask_top_p_ties(draw: Draw) -> Drawn:
    """Draw one token and three equal ones, of which top_p counts one."""
    return (one_row(draw, [1.0, 0.0, 0.0, 0.0]),), take_all(draw, top_p=0.5625)


def arguments(draw: Draw) -> Drawn:
    logits = draw_inputs(draw)
    return (logits,), draw_options(draw, logits.shape[-1], *OPTIONAL)


declaration = Declaration(
    equation=sampling_probabilities,
    arguments=arguments,
    core={"logits": 1},
    precision="fused",
    results={"": WIDER},
    chooses=True,
    keeps=True,
    refused=("logits",),
    changeable=("temperature",),
    open_questions={
        "temperature_order": ask_temperature_order,
        "top_k_ties": ask_top_k_ties,
        "top_p_mass": ask_top_p_mass,
        "top_p_ties": ask_top_p_ties,
    },
)
