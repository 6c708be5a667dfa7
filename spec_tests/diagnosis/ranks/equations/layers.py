"""Layers whose features or hidden units are cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_numpy._marks import float64, rounded
from reference_numpy.feed_forward import feed_forward as reference_feed_forward
from reference_numpy.linear import linear as reference_linear
from reference_numpy.multihead_self_attention import multihead_self_attention as reference_attention
from reference_numpy.swiglu import swiglu as reference_swiglu

from ...operator.alternative import Named
from ..layout import Layout
from ..steps import Steps, Values
from . import Equations

EQUATIONS = Equations()


def plus(parts: Values, terms: Values) -> Values:
    """Return the sums of two values of each rank, the second of which may be None."""
    return [y if term is None else y + float64(term) for y, term in zip(parts, terms, strict=True)]


@EQUATIONS.add("linear", x=-1, weight=-1)
def linear(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    y = steps.sum("the result", [reference_linear(a["x"], a["weight"]) for a in own])
    return plus(y, steps.once("bias", named.get("bias")))


@EQUATIONS.add("swiglu", w1=-2, w2=-1, w3=-2)
def swiglu(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    parts = [reference_swiglu(a["x"], a["w1"], a["w2"], a["w3"], a.get("b1"), None, a.get("b3")) for a in own]
    return plus(steps.sum("the result", parts), steps.once("b2", named.get("b2")))


@EQUATIONS.add("feed_forward", w1=-2, w2=-1)
def feed_forward(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    activation = named.get("activation", "relu")
    parts = [reference_feed_forward(a["x"], a["w1"], a["w2"], a.get("b1"), None, activation=activation) for a in own]
    return plus(steps.sum("the result", parts), steps.once("b2", named.get("b2")))


@EQUATIONS.add("multihead_self_attention", w_q=-2, w_k=-2, w_v=-2, w_o=-1)
def multihead_self_attention(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    parts = []
    for a in own:
        heads = {"num_heads": named["num_heads"] // layout.count, "b_o": None}
        if named.get("num_kv_heads") is not None:
            heads["num_kv_heads"] = named["num_kv_heads"] // layout.count
        parts.append(reference_attention(**{**a, **heads}))
    return plus(steps.sum("the result", parts), steps.once("b_o", named.get("b_o")))


@EQUATIONS.add("rms_norm", x=-1, weight=-1, result=-1)
def rms_norm(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    xs = [float64(a["x"]) for a in own]
    means = mean(steps, "the mean square", [np.square(x) for x in xs])
    return [
        rounded(x / np.sqrt(square + named["eps"])) * float64(a["weight"]) for x, square, a in zip(xs, means, own, strict=True)
    ]


@EQUATIONS.add("layer_norm", x=-1, weight=-1, bias=-1, result=-1)
def layer_norm(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    xs = [float64(a["x"]) for a in own]
    centred = [x - m for x, m in zip(xs, mean(steps, "the mean", xs), strict=True)]
    apart = steps.one_of({"the squares in the variance are of distances from the mean of the rank's own features": (True, 0.1)})
    distances = [x - m for x, m in zip(xs, _own_means(xs), strict=True)] if apart else centred
    variances = mean(steps, "the variance", [np.square(c) for c in distances])
    return [
        rounded(c / np.sqrt(variance + named["eps"])) * float64(a["weight"]) + float64(a["bias"])
        for c, variance, a in zip(centred, variances, own, strict=True)
    ]


def mean(steps: Steps, what: str, xs: list[Any], *, many: str = "features") -> Values:
    """Return the mean over the last axis of all ranks, whose entries are called `many`."""
    lengths = [x.shape[-1] for x in xs]
    whole = steps.one_of(
        {
            f"{what} is that of the rank's own {many}": (_own_means, 0.05),
            f"{what} is the mean of the ranks' means, whatever their numbers of {many}": (_mean_of_means, 0.3),
        }
    )
    sums = steps.sum(f"the sum in {what}", [np.sum(x, axis=-1, keepdims=True) for x in xs])
    sizes = steps.size(f"the sum in {what}", many, lengths)
    return whole(xs) if whole else [y / float(n) for y, n in zip(sums, sizes, strict=True)]


def _own_means(xs: list[Any]) -> Values:
    return [np.sum(x, axis=-1, keepdims=True) / float(max(x.shape[-1], 1)) for x in xs]


def _mean_of_means(xs: list[Any]) -> Values:
    means = _own_means(xs)
    return [np.sum(np.stack(means, axis=0), axis=0) / float(len(xs))] * len(xs)
