"""Other tests of drafted tokens, with a factor or with a threshold of the target's probability, and another draw after the last.

An answer tells of each drafted token, up to the first that is rejected, whether it was accepted. So it tells between which
numbers a factor or a threshold lies. The decimal numbers of few digits between them are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reference_numpy._acceptance import inverse, number, undecided

from ...calls.call import Call
from ...deviations._drafts import drafted, residual_of, verify_by
from ...specification.registry import Specification
from ..evidence import answer_of
from ..result_parts import split_parts
from .alternative import Alternative, Named
from .binding import bound

DIGITS = (0, 1, 2)  # after the point
LARGEST = 4.0  # a factor

Accepts = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]  # by p(x), q(x), u and the number
RULES: tuple[tuple[str, Accepts], ...] = (
    ("a token is accepted where u q < c p, with c near {}", lambda p, q, u, c: u * q < c * p),
    ("a token is accepted where u q < p, and also where p exceeds about {}", lambda p, q, u, t: (u * q < p) | (p > t)),
    ("a token is accepted where p exceeds about {}, whatever u and q are", lambda p, q, u, t: p > t),
)


def list_acceptances(call: Call) -> Iterator[Alternative]:
    """Yield tests with a number that the answer of a call to verify_draft allows."""
    if call.operation.name != "verify_draft":
        return
    said = "where all are accepted, the one more is drawn from what the target has more than the draft of the last token"
    yield Alternative(call.operation.name, said, _draw_less_the_last_draft, 0.5)
    p, q, u, held = _read_decisions(call)
    with np.errstate(all="ignore"):
        quotients = np.where(p > 0, u * q / p, np.inf)
    beyond = held & (u * q >= p)
    between = (
        _numbers_between(np.max(quotients[held], initial=0.0), np.min(quotients[~held], initial=LARGEST)),
        _numbers_between(np.max(p[~held], initial=0.0), np.min(p[beyond], initial=1.0)) if beyond.any() else [],
        _numbers_between(np.max(p[~held], initial=0.0), np.min(p[held], initial=1.0)),
    )
    for (words, accepts), numbers in zip(RULES, between, strict=True):
        for value, digits in numbers:
            yield Alternative(call.operation.name, words.format(f"{value:g}"), bound(_verify, accepts, value), 0.5 + digits / 4)


def _verify(spec: Specification, named: Named, accepts: Accepts, value: float) -> Any:
    arrays = tuple(named.get(name) for name in spec.positional)
    results = verify_by(arrays, accepts=lambda p, q, u: accepts(p, q, u, value))
    return _as_decided(results, named)


def _as_decided(results: Any, named: Named) -> Any:
    return tuple(undecided(x, np.full(x.shape, np.inf), named["target_probabilities"]) for x in results)


def _draw_less_the_last_draft(spec: Specification, named: Named) -> Any:
    """Return the results if the last draft is subtracted also where all its tokens are accepted."""
    arrays = tuple(named.get(name) for name in spec.positional)
    tokens, accepted = verify_by(arrays)
    one_hot, q, p = drafted(*arrays[:3])
    n = one_hot.shape[1]
    if not n:
        return _as_decided((tokens, accepted), named)
    weights = residual_of(p[:, n], q[:, n - 1])
    total = np.sum(weights, axis=-1)
    weights, total = np.where((total > 0)[:, None], weights, p[:, n]), np.where(total > 0, total, 1.0)
    drawn = inverse(weights, number(arrays[4]) * total)[0]
    is_last = (np.arange(n + 1) == n) & (accepted == n)[:, None]
    return _as_decided((np.where(is_last, drawn[:, None], tokens), accepted), named)


def _read_decisions(call: Call) -> tuple[np.ndarray, ...]:
    """Return p(x), q(x) and u of the tokens of which the answer tells the fate, and which of them were accepted."""
    tokens, draft, target, uniforms, _ = (call.named.get(name) for name in call.operation.spec.positional)
    one_hot, q, p = drafted(tokens, draft, target)
    n = one_hot.shape[1]
    accepted, places = split_parts(call, answer_of(call))["accepted"][:, None], np.arange(n)
    told = places <= accepted
    of_p, of_q = np.sum(p[:, :n] * one_hot, axis=-1), np.sum(q * one_hot, axis=-1)
    return of_p[told], of_q[told], np.asarray(uniforms, dtype=np.float64)[told], (places < accepted)[told]


def _numbers_between(low: float, high: float) -> list[tuple[float, int]]:
    """Return the decimal numbers of few digits in an interval, each with the number of its digits, but for 0 and 1."""
    found: dict[float, int] = {}
    if not 0 <= low < high:  # also if one is NaN
        return []
    for digits in DIGITS:
        scale = 10**digits
        for k in range(int(np.ceil(low * scale)), int(np.floor(high * scale)) + 1):
            found.setdefault(k / scale, digits)
    return [(value, digits) for value, digits in found.items() if value not in (0.0, 1.0)]
