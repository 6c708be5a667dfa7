"""What must hold of verify_draft."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.result import Result
from .helpers.assertions import assert_identical, assert_true, assert_within
from .inputs.draw import Draw, within_domain
from .operations.verify_draft import DRAFTS, LARGEST_UNIFORM, draw_arrays, draw_pair, draw_probabilities, draw_uniforms
from .trials.invariant import invariant

LEVIATHAN = "Leviathan et al. 2023, arXiv:2211.17192"
STRATA = 128
VOCABULARIES = (2, 3, 5, 4)


def whole(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens and how many were accepted."""
    tokens, accepted = (result.parts[name].value for name in ("tokens", "accepted"))
    return tokens.astype(int), accepted.astype(int)


def draw_drafted(draw: Draw, kinds: tuple[str, ...] = DRAFTS, **given: Any) -> Any:
    return draw_arrays(draw, kinds, longest=64, **given)


@invariant("E", source=LEVIATHAN)
def test_tokens_are_those_accepted_and_one(verify_draft: Operation, draw: Draw) -> None:
    """The tokens are the accepted ones, one more, and −1 to the end."""
    arrays = draw_drafted(draw)
    tokens, accepted = whole(verify_draft(*arrays))
    n, vocab, r = arrays[0].shape[1], arrays[2].shape[2], accepted[:, None]
    assert_true(bool(np.all((accepted >= 0) & (accepted <= n))), "more tokens are accepted than drafted", n=n)
    places = np.arange(n)
    assert_identical(np.where(places < r, tokens[:, :n], 0), np.where(places < r, arrays[0], 0))
    one_more = np.take_along_axis(tokens, r, axis=1)
    is_token = bool(np.all((one_more >= 0) & (one_more < vocab)))
    assert_true(is_token, "the token after the accepted ones is outside the vocabulary", vocab=vocab)
    behind = np.arange(n + 1) > r
    assert_identical(np.where(behind, tokens, -1), np.full(tokens.shape, -1))


@invariant("E", source=LEVIATHAN)
def test_the_target_allows_every_token(verify_draft: Operation, draw: Draw) -> None:
    """The target has a probability above 0 of every token that is accepted, and of the one more."""
    arrays = draw_drafted(draw)
    tokens, accepted = whole(verify_draft(*arrays))
    of_tokens = np.take_along_axis(arrays[2], np.maximum(tokens, 0)[..., None], axis=-1)[..., 0]
    drawn = np.arange(tokens.shape[1]) <= accepted[:, None]
    assert_true(bool(np.all(of_tokens[drawn] > 0)), "a token is drawn that has probability 0 in the target")


@invariant("E", source=LEVIATHAN)
def test_a_draft_like_the_target_is_accepted(verify_draft: Operation, draw: Draw) -> None:
    """Where the draft's distributions are the target's, all tokens are accepted, whatever the uniforms."""
    arrays = draw_drafted(draw, ("equal",), given=True)
    _, accepted = whole(verify_draft(*arrays))
    assert_identical(accepted, np.full(accepted.shape, arrays[0].shape[1]))


@invariant("E", source="sglang, issue 35771")
def test_what_the_target_forbids_is_rejected(verify_draft: Operation, draw: Draw) -> None:
    """A token of which the target has the probability 0 is rejected, also where its uniform or its draft's probability is 0."""
    tokens, q, p, uniforms, final = draw_drafted(draw, given=True)
    if p.shape[2] < 2 or not tokens.shape[1]:
        return
    forbidden = draw.rng.integers(0, tokens.shape[1], len(tokens))
    rows = np.arange(len(tokens))
    p, q, uniforms = p.copy(), q.copy(), uniforms.copy()
    x = tokens[rows, forbidden]
    other = (x + 1) % p.shape[2]
    p[rows, forbidden], p[rows, forbidden, other] = 0.0, 1.0
    if draw.one_of((True, False)):
        q[rows, forbidden], q[rows, forbidden, other] = 0.0, 1.0
    uniforms[rows, forbidden] = draw.one_of((0.0, 0.0, LARGEST_UNIFORM))
    _, accepted = whole(verify_draft(tokens, q, p, uniforms, final))
    assert_true(bool(np.all(accepted <= forbidden)), "a token is accepted that the target forbids")


@invariant("E", source=LEVIATHAN)
def test_what_comes_after_a_rejection_does_not_show(verify_draft: Operation, draw: Draw) -> None:
    """Other tokens, other distributions and other uniforms after the first rejection change nothing."""
    tokens, q, p, uniforms, final = draw_drafted(draw)
    before = whole(verify_draft(tokens, q, p, uniforms, final))
    n, r = tokens.shape[1], before[1][:, None]
    later, later_row = np.arange(n) > r, (np.arange(n + 1) > r)[..., None]
    other_q, other_p = draw_pair(draw, p.shape, "any")
    other_tokens = np.argmax(other_q[:, :n] * other_p[:, :n], axis=-1)
    changed = (
        np.where(later, other_tokens, tokens),
        None if q is None else np.where(later_row[:, :n], other_q[:, :n], q),
        np.where(later_row, other_p, p),
        np.where(later, draw_uniforms(draw, uniforms.shape), uniforms),
    )
    after = whole(verify_draft(*changed, final))
    for one, other in zip(after, before, strict=True):
        assert_identical(one, other)


@invariant("E", source=LEVIATHAN)
def test_a_target_of_one_token(verify_draft: Operation, draw: Draw) -> None:
    """Where each distribution of the target is one token, the drafted tokens are accepted as far as they are these."""
    arrays = draw_drafted(draw, ("one-hot target",))
    largest = np.argmax(arrays[2], axis=-1)
    tokens, accepted = whole(verify_draft(*arrays))
    agrees = np.cumprod(arrays[0] == largest[:, :-1], axis=-1)
    assert_identical(accepted, np.sum(agrees, axis=-1))
    drawn = np.arange(tokens.shape[1]) <= accepted[:, None]
    assert_identical(np.where(drawn, tokens, -1), np.where(drawn, largest, -1))


def draw_apart(draw: Draw, vocab: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a draft and a target of the same tokens, with other probabilities."""
    weights = 0.1 + draw.rng.random((2, 1, 1, vocab))
    weights[:, 0, 0, :2] *= [[4.0, 1.0], [1.0, 4.0]] if draw.one_of((True, False)) else [[1.0, 4.0], [4.0, 1.0]]
    q, p = (draw.format.round(w / np.sum(w)) for w in weights)
    return q, p


def stratified(count: int) -> np.ndarray:
    return np.asarray((np.arange(count) + 0.5) / count)


@invariant("B", source=f"{LEVIATHAN}, appendix A.1", cost=8)
def test_losslessness(verify_draft: Operation, draw: Draw) -> None:
    """The first token has the distribution of the target, whatever the draft: over all drafted tokens by their probabilities,
    and over 128 strata of each uniform, each probability is within 2/128, and that of acceptance within 1/128."""
    vocab = draw.size("vocab", VOCABULARIES)
    size = vocab * STRATA**2
    within_domain(draw, n=1, m=2, b=size)
    q, p = draw_apart(draw, vocab) if draw.one_of((True, True, False)) else draw_pair(draw, (1, 1, vocab), draw.one_of(DRAFTS))
    x, u, final = (part.ravel() for part in np.meshgrid(np.arange(vocab), stratified(STRATA), stratified(STRATA), indexing="ij"))
    second = np.repeat(draw.format.round(draw_probabilities(draw, (1, 1, vocab))), size, axis=0)
    target = np.concatenate([np.repeat(p, size, axis=0), second], axis=1)
    tokens, accepted = whole(verify_draft(x[:, None], np.repeat(q, size, axis=0), target, u[:, None], final))
    weight = q[0, 0][x] / STRATA**2
    law = np.array([np.sum(weight * (tokens[:, 0] == t)) for t in range(vocab)])
    assert_within(law, p[0, 0] - 2 / STRATA, p[0, 0] + 2 / STRATA)
    share, exact = np.asarray(np.sum(weight * accepted)), np.sum(np.minimum(p, q))
    assert_within(share, exact - 1 / STRATA, exact + 1 / STRATA)


@invariant("B", source=LEVIATHAN)
def test_a_draft_without_probabilities(verify_draft: Operation, draw: Draw) -> None:
    """Without the draft's distributions a token is accepted for the share of the uniforms that the target has of it."""
    within_domain(draw, n=1, m=2, b=STRATA)
    vocab = draw.size("vocab", (2, 3, 5, 33, 1))
    p = np.repeat(draw.format.round(draw_probabilities(draw, (1, 2, vocab))), STRATA, axis=0)
    x = int(draw.rng.integers(0, vocab))
    _, accepted = whole(
        verify_draft(np.full((STRATA, 1), x), None, p, stratified(STRATA)[:, None], draw_uniforms(draw, (STRATA,)))
    )
    share = np.asarray(np.mean(accepted))
    assert_within(share, p[0, 0, x] - 1 / STRATA, p[0, 0, x] + 1 / STRATA)
