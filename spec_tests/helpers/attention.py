"""What the statements about attention share: keys that some queries do not see, and what may stand there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reference_numpy.causal_mask import causal_mask

from ..bounds.bounded import Bounded
from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.result import WIDE, Result
from ..calls.violation import NotImplementedVariant, Violation
from ..inputs.draw import Draw, within_domain
from .assertions import assert_equal, assert_finite, assert_true, assert_unmoved, assert_within, exactly


def kinds(draw: Draw, *names: str) -> tuple[str, ...]:
    """The ways to hide a key that the function has."""
    found = tuple(name for name in names if draw.operation.accepts(name))
    if not found:
        raise NotImplementedVariant(f"{draw.operation.name} takes none of {', '.join(names)}")
    return found


def taken(keywords: dict[str, Any], operation: Operation) -> dict[str, Any]:
    """The keywords, all of which another operation must take for the two to be compared."""
    for name, value in keywords.items():
        if value is not None and not operation.accepts(name):
            raise NotImplementedVariant(f"{operation.backend.name}'s {operation.name} takes no {name}")
    return keywords


def for_identity(draw: Draw) -> Draw:
    """The same example, drawing as many keys as values have features where the domain restricts those: then v may be the
    identity, and the result is the attention weights."""
    domain = draw.operation.domain
    width = domain.get("d_v")
    tied = {"m": domain.get(width), "d_k": "m"} if isinstance(width, str) else {"m": width}
    operation = replace(draw.operation)
    operation.__dict__["domain"] = domain | {name: allowed for name, allowed in tied.items() if allowed is not None}
    return draw.of(operation)


def identity(draw: Draw, k: np.ndarray) -> np.ndarray:
    """As values of as many features as there are keys; of the keys' batch where the domain wants one."""
    one = np.eye(k.shape[-2])
    return one if "batch_dims" not in draw.operation.domain else np.broadcast_to(one, (*k.shape[:-2], *one.shape)).copy()


def widened(draw: Draw, *arrays: np.ndarray) -> list[np.ndarray]:
    """q, k and v with three times as many features more, all zero; v only where its width is that of the others."""
    tied = draw.operation.domain.get("d_v") == "d_k"
    q, k, v = (np.concatenate([x, np.zeros((*x.shape[:-1], 3 * x.shape[-1]))], axis=-1) for x in arrays)
    return [q, k, v if tied else arrays[-1]]


def hidden_key(draw: Draw, m: int, mask: np.ndarray | None) -> tuple[int, np.ndarray | None]:
    """A key of two or more, and the mask, if there is one, with most queries kept from it; each keeps a key."""
    if mask is None:
        return draw.integer(1, m - 1), None  # by causality the first query does not see it
    j, mask = draw.integer(0, m - 1), mask.copy()
    away = np.asarray(draw.rng.random(mask.shape[:-1]) < 0.7)
    away.flat[0] = True
    mask[..., j] &= ~away
    mask[..., j - 1] |= away
    return j, mask


def sees(j: int, shape: tuple[int, ...], mask: np.ndarray | None) -> np.ndarray:
    """Which queries, of that shape, see key j: under the mask, or else under causality."""
    return np.broadcast_to(np.arange(shape[-1]) >= j if mask is None else mask[..., j], shape)


def perhaps_opposed(draw: Draw, q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q and k as they are, or such that every score is as low as the format holds: lower than what stands in for −∞."""
    if draw.one_of((False, False, True)):
        size = 2.0 ** ((draw.format.emax - 1) // 2)
        direction = np.eye(q.shape[-1])[0] * size
        return np.broadcast_to(direction, q.shape), np.broadcast_to(-direction, k.shape)
    return q, k


def perhaps_far_below(draw: Draw, q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q and k as they are, or with every score a thousand lower: its exponential is 0, unless the largest is subtracted."""
    if draw.one_of((False, True)):
        direction = np.eye(q.shape[-1])[0] * np.sqrt(1000 * np.sqrt(q.shape[-1]))
        return draw.held(q + direction), draw.held(k - direction)
    return q, k


def far(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """What may be added to keys of a grid up to 1, exactly, and moves all of a query's scores by a little or by hundreds."""
    return draw.grid(shape, 16.0, 3) if draw.one_of((False, True)) else draw.grid(shape)


def other_values(draw: Draw, shape: tuple[int, ...], largest: float) -> np.ndarray:
    """Finite values, ordinary or as large as they may be."""
    size = draw.one_of((1.0, 300.0, draw.format.max))
    return draw.held(draw.rng.uniform(-1, 1, shape) * min(size, largest))


def largest_key(draw: Draw, q: np.ndarray) -> float:
    """Beyond it a score might overflow, in any order of its steps."""
    return float(draw.format.max / (8 * q.shape[-1] * max(float(np.max(np.abs(q), initial=0.0)), 1.0)))


def replaced_key(draw: Draw, q: np.ndarray, k: np.ndarray, v: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """k and v with another key j and other values beside it, finite, however large."""
    k, v = k.copy(), v.copy()
    k[..., j, :] = other_values(draw, k[..., j, :].shape, largest_key(draw, q))
    v[..., j, :] = other_values(draw, v[..., j, :].shape, draw.format.max)
    return k, v


def assert_hidden(attention: Operation, q: np.ndarray, kv: Any, others: Any, keywords: dict[str, Any], away: Any) -> None:
    """Other keys and values leave the queries that see none of them as they are. Where the scores are so low that no bound is
    known, the results are still finite, and where the bits differ lie among the values seen, as those of any weights do."""
    y = attention(q, *kv, **keywords)
    if _moderate(attention, q, kv[0]):
        assert_finite(y)
    z = Result(attention(q, *others, **keywords).value, y.call)
    assert_unmoved(z, y, away)
    finite = np.isfinite(y.value[away])
    if not np.array_equal(z.value[away], y.value[away], equal_nan=True):
        k, v = kv
        constant = (np.broadcast_to(f(v, axis=-2, keepdims=True), v.shape) for f in (np.min, np.max))
        low, high = (attention(np.zeros(q.shape), k, same, **keywords)[away][finite] for same in constant)
        assert_within(Bounded(z.value[away][finite], np.maximum(low.error, high.error), WIDE), low, high)


def _moderate(attention: Operation, q: np.ndarray, k: np.ndarray) -> bool:
    """No rounding of a score is so large that it would itself overflow an exponential, as in exp2(x log₂ e − max(x) log₂ e)."""
    with np.errstate(over="ignore"):
        longest = [np.max(np.linalg.norm(x, axis=-1), initial=0.0) for x in (q, k)]
        return bool(np.prod(longest) / np.sqrt(q.shape[-1]) * attention.storage.u < 32)


def full(array: Any, n: int, m: int) -> Any:
    """A mask or bias in which every query and key has its own entry."""
    return None if array is None else np.broadcast_to(array, (*np.shape(array)[:-2], n, m)).copy()


def attended(q: np.ndarray, k: np.ndarray, keywords: dict[str, Any]) -> np.ndarray:
    """Which keys each query attends to, by the mask and by causality."""
    seen: np.ndarray = full(keywords.get("mask", True), q.shape[-2], k.shape[-2])
    return seen & causal_mask(n=q.shape[-2]) if keywords.get("is_causal") else seen


def scores(q: np.ndarray, k: np.ndarray) -> Any:
    """The scaled scores, in the algebra. A score is the sum of d_k products; where q and k have independent features of
    variance 1 its variance is d_k, and that of the scaled score 1: hence 1/√d_k."""
    queries, keys = exactly(q), exactly(np.swapaxes(k, -1, -2))
    return queries @ keys / np.sqrt(exactly(float(q.shape[-1])))


def extremes(v: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of each feature, over the keys that each query sees."""
    v, seen = v[..., None, :, :], seen[..., None]
    return np.min(np.where(seen, v, np.inf), axis=-2), np.max(np.where(seen, v, -np.inf), axis=-2)


# --- conventions ----------------------------------------------------------------------------------------------------


def assert_aligned(attention: Operation, draw: Draw, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    """is_causal hides what the backend states, where n ≠ m and the equation is silent."""
    conventions, (n, m) = attention.backend.conventions, (q.shape[-2], k.shape[-2])
    aligned = conventions["causal_alignment"]
    if n > m and aligned == "bottom-right" and "fully_masked_rows" not in conventions:
        q, n = q[..., :m, :], m  # the first queries would have no key
        within_domain(draw, n=n)
    call = attention.call(q, k, v, is_causal=True)
    plain = {name: value for name, value in call.keywords.items() if name != "is_causal"}

    def stated(alignment: str) -> Call:
        return Call(attention, call.arguments, {**plain, "mask": causal_mask(n=n, m=m, aligned=alignment)})

    call.value = stated(aligned).value
    values = attention.values(call, attention.run(call))
    try:
        assert_equal(Result(values, stated(aligned)), exactly(call.value))
    except Violation as violation:
        for other in {"bottom-right", "top-left"} - {aligned}:
            if np.all(stated(other).expectation(attention.precision).accepts(values)):
                violation.facts.append(("diagnosis", f"it is aligned {other}, where the backend states {aligned}"))
        raise
    if aligned == "bottom-right" and n > m and "fully_masked_rows" in conventions:
        assert_blind(attention, values[..., : n - m, :])


def assert_blind(attention: Operation, rows: np.ndarray) -> None:
    """The results of queries that attend to no key are what the backend states."""
    stated = attention.backend.conventions["fully_masked_rows"]
    right = np.isnan(rows) if stated == "nan" else rows == 0
    if not np.all(right):
        assert_true(False, f"a query that attends to no key gives {rows[~right][0]}", stated=stated)
