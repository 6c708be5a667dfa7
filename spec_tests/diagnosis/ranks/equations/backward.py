"""Gradients in whose formulas ranks meet: where a mean, a normalizer, logits or the weights of experts go backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._expert_weights import weigh_vjp
from reference_numpy._marks import float64, rounded
from reference_numpy._sums import rows
from reference_numpy._targets import is_kept, is_zero
from reference_numpy.cross_entropy_vjp import cross_entropy_vjp as reference_cross_entropy_vjp
from reference_numpy.linear import linear
from reference_numpy.linear_vjp import linear_vjp
from reference_numpy.log_softmax import log_softmax
from reference_numpy.logsumexp import logsumexp
from reference_numpy.softmax import softmax
from reference_numpy.softmax_vjp import softmax_vjp

from ...operator.alternative import Named, call_right, take
from ...operator.experts import Mixture, read_mixture
from ..layout import Layout
from ..steps import Steps, Values
from . import Equations

EQUATIONS = Equations()


def _normed(layout: Layout, named: Named, own: list[Named], *, centred: bool) -> tuple[Values, Values, Any]:
    """Return each rank's normed features, the cotangents of these, and the reciprocal of the deviation."""
    x = float64(named["x"])
    x = x - np.mean(x, axis=-1, keepdims=True) if centred else x
    r = 1 / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + named["eps"])
    cotangents = layout.split_as("x", float64(named["cotangent"]))
    inner = [c * float64(a["weight"]) for c, a in zip(cotangents, own, strict=True)]
    return [rounded(part * r) for part in layout.split_as("x", x)], inner, r


def _without_mean(steps: Steps, what: str, terms: Values, width: int) -> Values:
    """Return the mean of the terms over the features of all ranks, which each has."""
    sums = steps.sum(what, [np.sum(y, axis=-1, keepdims=True) for y in terms])
    return [y / float(max(width, 1)) for y in sums]


@EQUATIONS.add("rms_norm_vjp", x=-1, weight=-1)
def rms_norm_vjp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    normed, inner, r = _normed(layout, named, own, centred=False)
    terms = [c * y for c, y in zip(inner, normed, strict=True)]
    means = _without_mean(steps, "the gradient of the mean square", terms, named["x"].shape[-1])
    right = _split_right(layout, named)
    return [
        (rounded(r * c) - rounded(r * y * mean), *others[1:])
        for c, y, mean, others in zip(inner, normed, means, right, strict=True)
    ]


@EQUATIONS.add("layer_norm_vjp", x=-1, weight=-1, bias=-1)
def layer_norm_vjp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    normed, inner, r = _normed(layout, named, own, centred=True)
    width = named["x"].shape[-1]
    terms = [c * y for c, y in zip(inner, normed, strict=True)]
    of_variance = _without_mean(steps, "the gradient of the variance", terms, width)
    centred = [rounded(r * c) - rounded(r * y * mean) for c, y, mean in zip(inner, normed, of_variance, strict=True)]
    of_mean = _without_mean(steps, "the gradient of the mean", centred, width)
    right = _split_right(layout, named)
    return [(c - rounded(mean), *others[1:]) for c, mean, others in zip(centred, of_mean, right, strict=True)]


def _split_right(layout: Layout, named: Named) -> list[tuple[Any, ...]]:
    """Return each rank's part of the right gradients."""
    names = layout.spec.positional[1:]
    parts = [layout.split(name, y) for name, y in zip(names, call_right(layout.spec, named), strict=False)]
    return list(zip(*parts, strict=True))


@EQUATIONS.add("log_softmax_vjp", x=-1)
def log_softmax_vjp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    shares, cotangents = np.exp(log_softmax(named["x"], axis=-1)), layout.split_as("x", float64(named["cotangent"]))
    sums = steps.sum("the gradient of the sum of the exponentials", [np.sum(c, axis=-1, keepdims=True) for c in cotangents])
    return [(c - y * total,) for c, y, total in zip(cotangents, layout.split_as("x", shares), sums, strict=True)]


@EQUATIONS.add("softmax_vjp", x=-1)
def softmax_of_ranks_vjp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    shares = layout.split_as("x", softmax(named["x"], axis=-1))
    cotangents = layout.split_as("x", float64(named["cotangent"]))
    terms = [np.sum(c * y, axis=-1, keepdims=True) for c, y in zip(cotangents, shares, strict=True)]
    sums = steps.sum("the gradient of the sum of the exponentials", terms)
    return [(y * (c - total),) for c, y, total in zip(cotangents, shares, sums, strict=True)]


@EQUATIONS.add("linear_cross_entropy_vjp", weight=-2)
def linear_cross_entropy_vjp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    options = {name: value for name, value in named.items() if name not in ("cotangent", "x", "weight", "targets")}
    z = linear(named["x"], named["weight"])
    dz = reference_cross_entropy_vjp(named["cotangent"], z, named["targets"], **options)[0]
    parts = [take(dz, places, -1) for places in layout.places("weight", named["weight"])]
    pairs = [linear_vjp(part, named["x"], a["weight"]) for part, a in zip(parts, own, strict=True)]
    dx = steps.sum("the gradient of x", [pair[0] for pair in pairs])
    return [(y, pair[1], *(None,) * (len(layout.spec.positional) - 3)) for y, pair in zip(dx, pairs, strict=True)]


@EQUATIONS.add("cross_entropy_vjp", logits=-1)
def cross_entropy_vjp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    if named.get("weight") is not None:
        raise NotImplementedError("the weights of classes")
    raw, cap, smoothing = rows(float64(named["logits"])), named.get("softcap"), named.get("label_smoothing", 0.0)
    z = raw if cap is None else cap * np.tanh(raw / cap)
    kept, ids = is_kept(named["targets"], named.get("ignore_index", -100))
    reduction, c = named.get("reduction", "mean"), float64(named["cotangent"])
    share = np.reshape(c, (-1, 1)) if reduction == "none" else c
    share = share / np.float64(max(int(np.sum(kept)), 1)) if reduction == "mean" else share
    p, vocab = np.exp(log_softmax(z, axis=-1)), z.shape[-1]
    if not is_zero(z_loss := named.get("z_loss", 0.0)):
        p = p * (1 + 2 * z_loss * logsumexp(z, axis=-1)[:, None])
    is_target = np.arange(vocab) == ids[:, None]
    rest = np.where(is_target, (1 - smoothing) + smoothing / max(vocab, 1), smoothing / max(vocab, 1))
    slope = 1.0 if cap is None else 1 - np.square(np.tanh(raw / cap))
    found = []
    for of_sum in steps.once("the gradient of the sum of the exponentials", p):
        dz = np.where(kept[:, None], share * (of_sum - rest), 0.0) * slope
        found.append(np.reshape(dz, named["logits"].shape))
    places = layout.places("logits", named["logits"])
    others = (None,) * (len(layout.spec.positional) - 2)
    return [(take(y, of_rank, -1), *others) for y, of_rank in zip(found, places, strict=True)]


@EQUATIONS.add("mixture_of_experts_vjp", x=None, w1=-3, w2=-3, w3=-3)
def mixture_of_experts_vjp(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    spec = layout.spec
    forward = {name: value for name, value in named.items() if name != "cotangent"}
    mixture, c = read_mixture(layout.forward, forward), rows(float64(named["cotangent"]))
    owner = np.repeat(np.arange(layout.count), [a["w1"].shape[0] for a in own])
    names, right = spec.positional[1:], call_right(spec, named)
    through_router = _through_router(named, mixture)
    slopes = np.sum(np.stack([c * mixture.outputs[e] for e in range(mixture.count)], axis=1), axis=-1)
    parts = [np.where(owner == rank, slopes, 0.0) for rank in range(layout.count)]
    routers = [through_router(part) for part in steps.sum("the gradient of the experts' weights", parts)]
    x_of_router = steps.each_once("the gradient of x through the router", [router[0] for router in routers])
    whole = right[0] - np.reshape(through_router(slopes)[0], named["x"].shape)
    found = []
    for rank, router in enumerate(routers):
        x = whole + np.reshape(x_of_router[rank], named["x"].shape)
        changed = {"x": x, "router": router[1], "b_router": router[2]}
        split = {name: layout.split(name, y)[rank] for name, y in zip(names, right, strict=False)}
        found.append(tuple(changed.get(name, split.get(name)) for name in names))
    return found


def _through_router(named: Named, mixture: Mixture) -> Callable[[Any], tuple[Any, Any, Any]]:
    """Return what makes of the slopes of all experts' weights the gradients of x, the router and its bias."""
    tokens, router = rows(float64(named["x"])), float64(named["router"])
    logits = rounded(linear(tokens, router, named.get("b_router")))
    scores = softmax(logits, axis=-1)

    def go_back(slopes: Any) -> tuple[Any, Any, Any]:
        taken = np.stack([slopes[np.arange(mixture.tokens), mixture.experts[:, j]] for j in range(mixture.k)], axis=-1)
        options = {"renormalize": named.get("renormalize", True), "scaling_factor": 1.0}
        dscores = weigh_vjp(rounded(taken), scores, mixture.experts, **options)
        (dlogits,) = softmax_vjp(dscores, logits, axis=-1)
        found: tuple[Any, Any, Any] = linear_vjp(rounded(dlogits), tokens, router, named.get("b_router"))
        return found

    return go_back
