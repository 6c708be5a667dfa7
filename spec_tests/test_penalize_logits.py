"""What must hold of penalize_logits."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_identical, assert_true, exactly
from .inputs.draw import MANY_ROWS, Draw
from .operations.penalize_logits import (
    NO_TOKEN,
    PENALTIES,
    draw_bias,
    draw_count,
    draw_ids,
    draw_inputs,
    draw_one_or_more,
    draw_prompt,
    take_bias,
)
from .trials.invariant import invariant

CTRL = "Keskar et al. 2019, arXiv:1909.05858, section 4.1"
API = "OpenAI, API reference: frequency_penalty, presence_penalty, logit_bias"


def draw_normal(draw: Draw, longest: int = 130) -> np.ndarray:
    """Draw logits of both signs, none of them so small that it may be taken for 0."""
    (vocab,) = draw.dims(vocab=longest)
    x = draw.normal((*draw.batch(MANY_ROWS), vocab), draw.one_of((4.0, 1.0, 20.0)))
    return np.where(np.abs(x) < 2.0**-10, 1.0, x)


def draw_all(draw: Draw, *, longest: int = 130) -> tuple[np.ndarray, np.ndarray]:
    """Draw such logits, and the ids of the output."""
    logits = draw_normal(draw, longest)
    return logits, draw_ids(draw, logits.shape[:-1], logits.shape[-1], draw_count(draw, "n"))


def occurs(ids: np.ndarray, vocab: int) -> np.ndarray:
    """Return which tokens of a vocabulary are among the ids of their row."""
    return np.asarray(np.any(ids[..., None] == np.arange(vocab), axis=-2))


@invariant("E", source=CTRL)
def test_a_token_that_does_not_occur(penalize_logits: Operation, draw: Draw) -> None:
    """A token that is neither in the prompt nor in the output keeps its logit."""
    logits, output_ids = draw_all(draw)
    prompt, vocab = draw_prompt(draw, logits), logits.shape[-1]
    absent = ~occurs(output_ids, vocab)
    if prompt:
        absent &= ~occurs(prompt["prompt_ids"], vocab)
    y = penalize_logits(logits, output_ids, **prompt, **draw_one_or_more(draw, *PENALTIES))
    assert_identical(y.value[absent], logits[absent])


@invariant("E", source=API)
def test_no_penalty(penalize_logits: Operation, draw: Draw) -> None:
    """Penalties of 1, 0 and 0 change nothing, and neither does a bias of zeros."""
    logits, output_ids = draw_all(draw)
    given: dict[str, Any] = {"repetition_penalty": 1.0, "frequency_penalty": 0.0, "presence_penalty": 0.0}
    given = {name: value for name in PENALTIES for name, value in draw.only(name, given[name]).items()}
    if "logit_bias" in draw.variants("logit_bias"):
        given["logit_bias"] = np.zeros(logits.shape)
    assert_identical(penalize_logits(logits, output_ids, **draw_prompt(draw, logits), **given), logits)


@invariant("E", source=CTRL, needs=("keyword:repetition_penalty",))
def test_repetition_never_raises(penalize_logits: Operation, draw: Draw) -> None:
    """A repetition_penalty above 1 raises no logit, of either sign, and one below 1 lowers none."""
    logits, output_ids = draw_all(draw)
    above = draw.keyword("repetition_penalty", (1.25, 2.0, 0.5))
    y = penalize_logits(logits, output_ids, **draw_prompt(draw, logits), **above).value
    moved = y - logits if above["repetition_penalty"] <= 1 else logits - y
    assert_true(bool(np.all(moved >= 0)), "a logit moves against its penalty", **above)


@invariant("B", source="transformers, issue 2302", needs=("keyword:repetition_penalty",))
def test_repetition_of_each_sign(penalize_logits: Operation, draw: Draw) -> None:
    """y · ρ = z where z > 0, and y = z · ρ elsewhere: the penalty of −z is that of 1/ρ for z, with the other sign."""
    logits, output_ids = draw_all(draw)
    allowed = draw.operation.domain.get("repetition_penalty", (2.0, 0.5, 4.0, 1.25))
    factor = draw.one_of(tuple(allowed))
    y = penalize_logits(logits, output_ids, repetition_penalty=factor)
    seen = occurs(output_ids, logits.shape[-1])
    positive, negative = seen & (logits > 0), seen & (logits <= 0)
    assert_equal(y[positive] * factor, logits[positive])
    assert_equal(y[negative], exactly(logits)[negative] * factor)


@invariant("E", source=CTRL, needs=("keyword:repetition_penalty", "keyword:prompt_ids"))
def test_repetition_is_applied_once(penalize_logits: Operation, draw: Draw) -> None:
    """A token is penalized once, however often it is in the prompt, and also where it is in the output, too."""
    logits, output_ids = draw_all(draw)
    given = draw.keyword("repetition_penalty", (2.0, 1.25, 0.5))
    prompt = draw_prompt(draw, logits, always=True)["prompt_ids"]
    allowed = draw.operation.domain.get("m")
    once = penalize_logits(logits, output_ids, prompt, **given)
    both = np.concatenate([prompt, output_ids], axis=-1) if draw.one_of((True, False)) else np.repeat(prompt, 2, axis=-1)
    if allowed is None or isinstance(allowed, str) or both.shape[-1] in allowed:
        assert_identical(penalize_logits(logits, output_ids, both, **given), once)


@invariant("E", source="vLLM and transformers", needs=("keyword:prompt_ids",))
def test_the_prompt_has_no_count(penalize_logits: Operation, draw: Draw) -> None:
    """The prompt changes neither the frequency_penalty nor the presence_penalty."""
    logits, output_ids = draw_all(draw)
    given = draw_one_or_more(draw, "frequency_penalty", "presence_penalty")
    prompt = draw_prompt(draw, logits, always=True)
    assert_identical(penalize_logits(logits, output_ids, **prompt, **given), penalize_logits(logits, output_ids, **given))


@invariant("B", source=API, needs=("keyword:frequency_penalty",))
def test_frequency_is_linear_in_counts(penalize_logits: Operation, draw: Draw) -> None:
    """Each further occurrence lowers a logit by the frequency_penalty, also the second and the 64th."""
    logits = draw_normal(draw)
    vocab = logits.shape[-1]
    given = draw.keyword("frequency_penalty", (0.5, 2.0, 0.25, -1.0))
    times = draw.one_of(tuple(t for t in (1, 2, 3, 8, 64, 256) if t in draw.operation.domain.get("n", range(257))) or (1,))
    token = np.asarray(draw.rng.integers(0, vocab, (*logits.shape[:-1], 1)))
    y = penalize_logits(logits, np.repeat(token, times, axis=-1), **given)
    before: Any = exactly(logits)
    lower = before - times * given["frequency_penalty"]
    assert_equal(y, np.where(np.arange(vocab) == token, lower, before))


@invariant("B", source=API, needs=("keyword:presence_penalty",))
def test_presence_counts_once(penalize_logits: Operation, draw: Draw) -> None:
    """The presence_penalty lowers the logit of a token of the output by itself, however often the token occurs."""
    logits, output_ids = draw_all(draw)
    given = draw.keyword("presence_penalty", (0.5, 1.5, 0.25, -1.0))
    before: Any = exactly(logits)
    lower = before - given["presence_penalty"]
    present = occurs(output_ids, logits.shape[-1])
    assert_equal(penalize_logits(logits, output_ids, **given), np.where(present, lower, before))


@invariant("E", source=API)
def test_order_of_the_ids(penalize_logits: Operation, draw: Draw) -> None:
    """The order of the ids of the output does not matter, nor does where among them those of no token stand."""
    logits, output_ids = draw_all(draw)
    given = draw_one_or_more(draw, *PENALTIES) | draw_prompt(draw, logits)
    order = draw.rng.permutation(output_ids.shape[-1])
    assert_identical(penalize_logits(logits, output_ids[..., order], **given), penalize_logits(logits, output_ids, **given))


@invariant("E", source="vLLM pads ids")
def test_no_token_changes_nothing(penalize_logits: Operation, draw: Draw) -> None:
    """Ids of −1 are those of no token: with them in front or behind, all is as without them."""
    if not draw.operation.domain.get("padding"):
        raise NotImplementedVariant("its domain does not state padding")
    logits, output_ids = draw_all(draw)
    given = draw_one_or_more(draw, *PENALTIES) | draw_prompt(draw, logits)
    none = np.full((*output_ids.shape[:-1], draw.one_of((1, 3))), NO_TOKEN)
    padded = np.concatenate(draw.one_of(((none, output_ids), (output_ids, none))), axis=-1)
    assert_identical(penalize_logits(logits, padded, **given), penalize_logits(logits, output_ids, **given))


@invariant("B", source=API, needs=("keyword:logit_bias",))
def test_bias_is_added_last(penalize_logits: Operation, draw: Draw) -> None:
    """The bias is added to the penalized logits, and is not penalized itself."""
    take_bias(draw)
    logits, output_ids = draw_all(draw)
    used = ("repetition_penalty",) if draw.one_of((True, False)) else PENALTIES
    given = draw_one_or_more(draw, *used) | draw_prompt(draw, logits)
    bias = draw_bias(draw, logits, banning=False)
    without = penalize_logits(logits, output_ids, **given)
    assert_equal(penalize_logits(logits, output_ids, logit_bias=bias, **given), without + bias)


@invariant("E", source=API)
def test_minus_infinity_stays(penalize_logits: Operation, draw: Draw) -> None:
    """A logit of −∞ stays so under every penalty, also a negative one, and a bias of −∞ bans a token."""
    logits, output_ids = draw_inputs(draw)
    given = draw_one_or_more(draw, *PENALTIES) | draw_prompt(draw, logits)
    banned = logits == -np.inf
    if "logit_bias" in draw.variants("logit_bias"):
        given["logit_bias"] = draw_bias(draw, logits)
        banned = banned | (given["logit_bias"] == -np.inf)
    y = penalize_logits(logits, output_ids, **given).value
    assert_identical(np.where(banned, y, 0.0), np.where(banned, -np.inf, 0.0))
    assert_true(not np.any(np.isneginf(y) & ~banned & (np.abs(logits) < 2.0**13)), "a token is banned that was not")


@invariant("B", source=CTRL)
def test_permuted_vocabulary(penalize_logits: Operation, draw: Draw) -> None:
    """Permuting the vocabulary, in the logits and in the ids, permutes the result."""
    logits, output_ids = draw_inputs(draw)
    given, order = draw_one_or_more(draw, *PENALTIES), draw.rng.permutation(logits.shape[-1])
    output_ids[..., -1:] = draw.one_of((0, logits.shape[-1] - 1))  # ids that code may take for something else
    renamed = np.where(output_ids < 0, output_ids, np.argsort(order)[output_ids])
    moved = penalize_logits(np.ascontiguousarray(logits[..., order]), renamed, **given)
    assert_equal(moved, penalize_logits(logits, output_ids, **given)[..., order])
