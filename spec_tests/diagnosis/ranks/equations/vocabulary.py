"""Operations over a vocabulary, of which each rank has a part."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_numpy._marks import exact, finite_or_zero, float64
from reference_numpy._sums import rows
from reference_numpy._targets import counted_mean, is_kept, is_zero
from reference_numpy.linear import linear

from ...operator.alternative import Named
from ..layout import Layout
from ..steps import Steps, Values
from . import Equations
from .layers import mean

EQUATIONS = Equations()


@EQUATIONS.add("embedding", weight=-2, result=None)
def embedding(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    ids = np.asarray(named["token_ids"])
    return steps.sum("the result", steps.rows("token ids", [float64(a["weight"]) for a in own], ids))


def normalizers(steps: Steps, zs: list[Any]) -> tuple[Values, Values]:
    """Return the maximum of the scores of all ranks, and the sum of the exponentials over it."""
    if steps.one_of({"what fills up shorter parts takes part in the sum of the exponentials, as scores of 0": (True, 0.2)}):
        longest = max(z.shape[-1] for z in zs)
        zs = [np.concatenate([z, np.zeros((*z.shape[:-1], longest - z.shape[-1]))], axis=-1) for z in zs]
    own = [exact(np.max(z, axis=-1, keepdims=True, initial=-np.inf)) for z in zs]
    tops = steps.max("the maximum", own)
    alone = steps.one_of({"each rank normalizes its own part: its maximum and its sum are not reduced": (True, 0.05)})
    if alone:
        tops = [finite_or_zero(top) for top in own]
    sums = [np.sum(np.exp(z - top), axis=-1, keepdims=True) for z, top in zip(zs, tops, strict=True)]
    reduced = steps.sum("the sum of the exponentials", sums)
    return tops, sums if alone else reduced


def logarithms(steps: Steps, zs: list[Any]) -> tuple[Values, Values]:
    """Return the maximum of the scores of all ranks, and the logarithm of the sum of the exponentials over it."""
    tops, sums = normalizers(steps, zs)
    late = steps.one_of({"the logarithms of the ranks' sums are summed, not the sums": (True, 0.3)})
    with np.errstate(divide="ignore"):
        if not late:
            return tops, [np.log(y) for y in sums]
        parts = [np.log(np.sum(np.exp(z - top), axis=-1, keepdims=True)) for z, top in zip(zs, tops, strict=True)]
        return tops, [np.sum(np.stack(parts, axis=0), axis=0)] * len(parts)


@EQUATIONS.add("logsumexp", x=-1, result=None)
def logsumexp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    pairs = zip(*logarithms(steps, [float64(a["x"]) for a in own]), strict=True)
    return [np.squeeze(top + y, axis=-1) for top, y in pairs]


@EQUATIONS.add("log_softmax", x=-1, result=-1)
def log_softmax(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    xs = [float64(a["x"]) for a in own]
    return [(x - top) - y for x, top, y in zip(xs, *logarithms(steps, xs), strict=True)]


@EQUATIONS.add("softmax", x=-1, result=-1)
def softmax(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    xs = [float64(a["x"]) for a in own]
    tops, sums = normalizers(steps, xs)
    return [np.exp(x - top) / y for x, top, y in zip(xs, tops, sums, strict=True)]


@EQUATIONS.add("cross_entropy", logits=-1, result=None)
def cross_entropy(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    if named.get("weight") is not None:
        raise NotImplementedError("the weights of classes")
    return losses(steps, named, [rows(float64(a["logits"])) for a in own])


@EQUATIONS.add("linear_cross_entropy", weight=-2, result=None)
def linear_cross_entropy(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    return losses(steps, named, [rows(linear(a["x"], a["weight"])) for a in own])


def losses(steps: Steps, named: Named, zs: list[Any]) -> Values:
    cap = named.get("softcap")
    zs = zs if cap is None else [cap * np.tanh(z / cap) for z in zs]
    kept, ids = is_kept(named["targets"], named.get("ignore_index", -100))
    lengths = [z.shape[-1] for z in zs]
    tops, sums = logarithms(steps, zs)
    logs = [(top + y)[:, 0] for top, y in zip(tops, sums, strict=True)]
    firsts = steps.firsts("targets", lengths)
    targets = steps.one_of(
        {
            "the target's logit counts as that of the rank's first token where another rank has it": (lambda i, n: 0 * i, 0.1),
            "the target's logit counts as that of the rank's last token where another rank has it": (
                lambda i, n: 0 * i + n - 1,
                0.2,
            ),
            "the target's logit counts as that of the nearest token of the rank where another rank has it": (
                lambda i, n: np.clip(i, 0, n - 1),
                0.2,
            ),
        }
    )
    found = [_chosen(z, ids - first, n, targets) for z, first, n in zip(zs, firsts, lengths, strict=True)]
    chosen = steps.sum("the target's logit", found)
    loss = [y - target for y, target in zip(logs, chosen, strict=True)]
    if not is_zero(smoothing := named.get("label_smoothing", 0.0)):
        means = mean(steps, "the mean of the logits", zs, many="tokens")
        even = [y - m[:, 0] for y, m in zip(logs, means, strict=True)]
        loss = [(1 - smoothing) * a + smoothing * b for a, b in zip(loss, even, strict=True)]
    if not is_zero(named.get("z_loss", 0.0)):
        loss = [a + named["z_loss"] * np.square(y) for a, y in zip(loss, logs, strict=True)]
    counted = [kept] * len(loss)
    given = np.ravel(np.asarray(named["targets"]))
    own_alone = steps.one_of(
        {
            "each rank counts the rows alone whose targets are among its own tokens": (kept, 0.2),
            "each rank counts the rows alone whose targets are among its own tokens, ignored ones too": (True, 0.25),
        }
    )
    if own_alone is not None:
        own = [(given >= first) & (given < first + n) for first, n in zip(firsts, lengths, strict=True)]
        counted = [of_rank & own_alone for of_rank in own]
    return [_reduced(np.where(of_rank, a, 0.0), of_rank, named) for a, of_rank in zip(loss, counted, strict=True)]


def _chosen(z: Any, ids: np.ndarray, n: int, outside: Any) -> Any:
    """Return the logits of the targets of a rank, zeros where another rank has them."""
    inside = (ids >= 0) & (ids < n)
    padded = np.concatenate([z, np.zeros((z.shape[0], 1))], axis=-1)
    places = np.where(inside, ids, outside(ids, n) if outside and n else n)
    return padded[np.arange(len(ids)), places]


def _reduced(loss: Any, kept: Any, named: Named) -> Any:
    reduction = named.get("reduction", "mean")
    if reduction == "none":
        return np.reshape(loss, np.shape(named["targets"]))
    return np.sum(loss, axis=0) if reduction == "sum" else counted_mean(loss, kept)
