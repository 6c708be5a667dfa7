"""How penalize_logits is drawn: tokens that occur never, once or often, in the prompt, in the output, or in both."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.penalize_logits import penalize_logits
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs import regimes
from spec_tests.inputs.draw import MANY_ROWS, Draw, single
from spec_tests.specification.declaration import Declaration

LONGEST = 5000  # vocabulary
SCORES = MappingProxyType({name: fill for name, fill in regimes.LOGITS.items() if name != "extreme"})
POOLS = MappingProxyType(
    {
        "repetition_penalty": (*single(1.2, 0.7), 2.0, 1.0),
        "frequency_penalty": (*single(0.3, -0.7), 2.0, 0.0),
        "presence_penalty": (*single(0.6, -0.4), 1.5, 0.0),
    }
)
PENALTIES = tuple(POOLS)
NO_TOKEN = -1

Drawn = tuple[tuple[Any, ...], dict[str, Any]]


def draw_penalties(draw: Draw, *names: str) -> dict[str, Any]:
    """Draw some of the penalties."""
    used = draw.variants(*names)
    return {name: value for one in names if one in used for name, value in draw.keyword(one, POOLS[one]).items()}


def draw_one_or_more(draw: Draw, *names: str) -> dict[str, Any]:
    """Draw some of the penalties, of which one at least changes a logit."""
    given, accepted = draw_penalties(draw, *names), [name for name in names if draw.operation.accepts(name)]
    active = [name for name, value in given.items() if value != draw.operation.spec.defaults[name]]
    if accepted and not active:
        one = draw.one_of(tuple(accepted))
        given |= draw.keyword(one, POOLS[one][:-1])
    return given


def has_finite_row(logits: np.ndarray) -> np.ndarray:
    """Return logits of which no row is -inf as a whole."""
    lost = np.all(logits == -np.inf, axis=-1, keepdims=True)
    return np.where(lost, 1.0, logits)


def draw_logits(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Draw logits of both signs, some of which may be removed."""
    logits = has_finite_row(draw.array(shape, SCORES))
    if draw.operation.domain.get("removed_entries") is False:
        return np.where(np.isfinite(logits), logits, draw.held(np.asarray(-8.0)))
    return logits


def draw_ids(draw: Draw, batch: tuple[int, ...], vocab: int, n: int, *, padded: bool | None = None) -> np.ndarray:
    """Draw ids of each row: any, a few that repeat, one alone, or the ends of the vocabulary, some of them no token."""
    kind, shape = draw.one_of(("any", "few", "few", "one", "ends")), (*batch, n)
    ids = draw.rng.integers(0, vocab, shape)
    if kind == "few":
        pool = draw.rng.integers(0, vocab, (*batch, 3))
        ids = np.take_along_axis(pool, draw.rng.integers(0, 3, shape), axis=-1)
    elif kind == "one":
        ids = np.broadcast_to(draw.rng.integers(0, vocab, (*batch, 1)), shape).copy()
    elif kind == "ends":
        ids = draw.rng.choice((0, vocab - 1), shape)
    if draw.operation.domain.get("padding") and (draw.one_of((False, True)) if padded is None else padded):
        ids = np.where(draw.rng.random(shape) < draw.one_of((0.3, 0.8)), NO_TOKEN, ids)
    return np.asarray(ids)


def draw_count(draw: Draw, name: str) -> int:
    """Draw how many ids a row has: mostly a few, sometimes none, or as many as an id may occur."""
    allowed = draw.operation.domain.get(name)
    pool: tuple[int, ...] = (5, 3, 8, 1, 0, 17, 64, 256)
    if allowed is not None and not isinstance(allowed, str):
        pool = tuple(n for n in pool if n in allowed) or tuple(sorted(allowed))[:3]
    return draw.size(name, pool)


def draw_bias(draw: Draw, logits: np.ndarray, *, banning: bool = True) -> np.ndarray:
    """Draw a bias that is 0 for many tokens, and bans some, but not all that a row has."""
    bias = draw.rng.standard_normal(logits.shape) * draw.one_of((1.0, 8.0, 100.0))
    bias = np.where(draw.rng.random(logits.shape) < draw.one_of((0.0, 0.5, 0.9)), 0.0, bias.astype(np.float32).astype(float))
    if banning and draw.one_of((True, False)):
        banned = (draw.rng.random(logits.shape) < 0.2) & (np.arange(logits.shape[-1]) != np.argmax(logits, axis=-1)[..., None])
        bias = np.where(banned, -np.inf, bias)
    return bias


def draw_inputs(draw: Draw, *, longest: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Draw logits, and the ids of the output."""
    (vocab,) = draw.dims(vocab=longest)
    batch, n = draw.batch(MANY_ROWS), draw_count(draw, "n")
    return draw_logits(draw, (*batch, vocab)), draw_ids(draw, batch, vocab, n)


def draw_prompt(draw: Draw, logits: np.ndarray, *, always: bool = False) -> dict[str, Any]:
    """Draw the ids of a prompt, in some examples or in all. A function that takes no prompt has none."""
    if not draw.operation.accepts("prompt_ids"):
        if always:
            raise NotImplementedVariant("the function takes no prompt_ids", "signature")
        return {}
    if not always and "prompt_ids" not in draw.variants("prompt_ids"):
        return {}
    return {"prompt_ids": draw_ids(draw, logits.shape[:-1], logits.shape[-1], draw_count(draw, "m"))}


def take_bias(draw: Draw) -> None:
    """Leave a law about the bias to functions that take one."""
    if not draw.operation.accepts("logit_bias"):
        raise NotImplementedVariant("the function takes no logit_bias", "signature")


def arguments(draw: Draw) -> Drawn:
    logits, output_ids = draw_inputs(draw, longest=LONGEST)
    given = draw_penalties(draw, *PENALTIES) | draw_prompt(draw, logits)
    if "logit_bias" in draw.variants("logit_bias"):
        given["logit_bias"] = draw_bias(draw, logits)
    return (logits, output_ids), given


declaration = Declaration(
    equation=penalize_logits,
    arguments=arguments,
    core={"logits": 1, "output_ids": 1, "prompt_ids": 1, "logit_bias": 1},
    refused=("logits",),
    precision="fused",
    wide_arguments=("logit_bias",),
    linear=("logit_bias",),
    changeable=PENALTIES,
)
