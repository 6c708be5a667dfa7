"""Answers of a recurrence that are not finite because its decays are products: e^(G_i − G_m) · e^(G_m − G_j).

G sums the logarithms of the decays, which are at most 0, from the first token on. Chunked code takes the decay from token j to a
later token i apart at a token m of the chunk, or makes an exponential of each pair and masks those with i < j afterwards. Either
takes exponentials of positive numbers, which overflow where the logarithms between two tokens sum to less than −ln(largest).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, product
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._steps import UNLIMITED, step_sizes

from ...calls.call import Call
from ...specification.formats import FORMATS
from ...specification.registry import Specification
from ..evidence import Evidence, answer_of, wrong_in
from ..explanation import Explanation
from ..further_calls import Ask
from ..wish import Wish

ASKED_CALLS = 64
ASKED_OF_A_SIZE = 12
MIN_SEQUENCES = 4  # of heads and members whose answers are not finite, and as many whose answers are right though they decay
CHUNKS = (0, 16, 32, 64, 128)  # tokens; 0: all tokens of a call
COMPUTED_IN = ("float32", "float16", "float64")

Named = dict[str, Any]


def _given_decays(named: Named) -> np.ndarray:
    return np.asarray(named["g"], dtype=np.float64)


def _decays_of_steps(named: Named) -> np.ndarray:
    limits = named.get("dt_limit", UNLIMITED)
    steps = step_sizes(named["dt"], named.get("dt_bias"), named.get("dt_softplus", False), limits)
    return np.asarray(steps * np.reshape(named["a"], (-1, 1)), dtype=np.float64)[..., None]


LOGARITHMS: MappingProxyType[str, Callable[[Named], np.ndarray]] = MappingProxyType(
    {"linear_attention": _given_decays, "mamba2_scan": _decays_of_steps}
)
"""The logarithms of the decays of each recurrence: (..., h, n, channels)."""


def _from_the_second(g: np.ndarray) -> float:
    return float(-g[1:].sum(axis=0).min(initial=0.0))


def _from_the_first(g: np.ndarray) -> float:
    return float(-g.sum(axis=0).min(initial=0.0))


def _to_the_middle(g: np.ndarray) -> float:
    middle = len(g) // 2
    return max(_from_the_first(g[1 : middle + 1]), _from_the_first(g[middle + 1 :]))


RANGES: tuple[tuple[str, Callable[[np.ndarray], float]], ...] = (  # words, and the largest exponent in a chunk with these decays
    ("from the second token {of} to the last", _from_the_second),
    ("over all tokens {of}", _from_the_first),
    ("between the middle token {of} and another", _to_the_middle),
)


@dataclass(frozen=True)
class Overflow:
    """Which exponents overflow: those over a part of each chunk of so many tokens, in a format."""

    chunk: int
    words: str
    reach: Callable[[np.ndarray], float]
    format: str

    @property
    def limit(self) -> float:
        return math.log(FORMATS[self.format].max)

    def find_largest(self, g: np.ndarray) -> float:
        """Return the largest exponent for the decays (n, channels) of one sequence."""
        size = self.chunk or max(len(g), 1)
        return max((self.reach(g[start : start + size]) for start in range(0, len(g), size)), default=0.0)


@dataclass(frozen=True)
class Told:
    """What one sequence of a call tells: one head of one member, or all of a gradient."""

    decays: tuple[np.ndarray, ...]  # (n, channels) each
    is_wrong: bool
    slack: float  # how far below the limit an exponent may overflow, because the factors beside it are larger than 1

    def fits(self, overflow: Overflow) -> bool:
        """Whether the sequence is wrong if an exponent overflows, and right if none can."""
        largest = max(map(overflow.find_largest, self.decays), default=0.0)
        if self.is_wrong:
            return largest > overflow.limit - self.slack
        return largest * (1 - self._roundings) <= overflow.limit

    @property
    def _roundings(self) -> float:
        """Return the relative error of a sum of logarithms in float32."""
        return FORMATS["float32"].u * max(map(len, self.decays), default=0)

    def decay_at_all(self) -> bool:
        return any(float(-g.sum(axis=0).min(initial=0.0)) > 1 for g in self.decays)


def find_overflow(evidence: Evidence, ask: Ask, is_late: Callable[[], bool]) -> Explanation | None:
    """Return the explanation of answers that are not finite by exponents that overflow, None if it does not hold.

    ask: answers further calls, each sequence of which must be wrong where an exponent overflows, and right where none does.
    """
    wrong = evidence.wrong
    if not wrong or _recurrence_of(wrong[0].operation.spec) not in LOGARITHMS or not all(map(_is_not_finite, wrong)):
        return None
    told = [each for call in (*wrong, *evidence.right) for each in _list_told(call)]
    forms = [form for form in _list_forms() if all(each.fits(form) for each in told)]
    for call in _list_asked(ask):
        if is_late() or not forms:
            return None
        if call.operation.name == wrong[0].operation.name and call.observed is not None and not call.inexact:
            if not _is_not_finite(call):
                return None
            more = _list_told(call)
            told += more
            forms = [form for form in forms if all(each.fits(form) for each in more)]
    seen, right = sum(each.is_wrong for each in told), sum(not each.is_wrong and each.decay_at_all() for each in told)
    if not forms or min(seen, right) < MIN_SEQUENCES:
        return None
    predicts = partial(_predicts, wrong[0].operation.name, forms[0])
    return Explanation("near miss", "exponents overflow", _say(forms), wrong[0].operation.name, predicts)


def _list_asked(ask: Ask) -> Iterator[Call]:
    """Yield the answers to further calls, also to such with two tokens more than two chunks have."""
    yield from islice(ask(), ASKED_CALLS)
    for chunk in CHUNKS[1:-1]:
        yield from islice(ask(Wish(sizes={"n": 2 * chunk + 2})), ASKED_OF_A_SIZE)


def _list_forms() -> Iterator[Overflow]:
    for name, chunk, (words, reach) in product(COMPUTED_IN, CHUNKS, RANGES):
        yield Overflow(chunk, words, reach, name)


def _say(forms: Sequence[Overflow]) -> str:
    """Return the sentence for what all forms that fit have in common."""
    first, chunks, words = forms[0], {form.chunk for form in forms}, {form.words for form in forms}
    of = ("of a chunk" if first.chunk else "of a sequence") if len(chunks) == 1 else "of a sequence or a chunk of it"
    of += f" of {first.chunk}" if len(chunks) == 1 and first.chunk else ""
    where = (first.words if len(words) == 1 else "between two tokens {of}").format(of=of)
    power = f"e^{first.limit:.3g} overflows in {first.format}"
    return f"not finite where the logarithms of the decays {where} sum to less than −{first.limit:.3g}: {power}"


def _recurrence_of(spec: Specification) -> str:
    return spec.name.removesuffix("_vjp")


def _is_not_finite(call: Call) -> bool:
    """Whether no wrong element of an answer is finite."""
    return not bool(np.isfinite(answer_of(call)[wrong_in(call)]).any())


def _predicts(operation: str, overflow: Overflow, call: Call) -> bool | None:
    """Whether the sequences of an answer are wrong where an exponent overflows, and no others."""
    if call.operation.name != operation or call.observed is None or call.inexact:
        return None
    return _is_not_finite(call) and all(each.fits(overflow) for each in _list_told(call))


def _list_told(call: Call) -> list[Told]:
    """Return what each sequence of a call tells."""
    spec, named = call.operation.spec, call.named
    wrong, slack = wrong_in(call), _find_slack(call)
    if _recurrence_of(spec) == "linear_attention" and named.get("g") is None:
        return [Told((), bool(wrong.any()), slack)]
    decays = LOGARITHMS[_recurrence_of(spec)](named)
    ends = named.get("cu_seqlens")
    members = [slice(None)] if ends is None else [slice(*pair) for pair in pairwise(np.asarray(ends, dtype=int).tolist())]
    if spec.is_gradient or call.parts is None:
        own = tuple(row for member in members for row in _list_rows(decays[..., member, :]))
        return [Told(own, bool(wrong.any()), slack)]
    parts = call.parts.split(wrong)
    found = []
    for i, member in enumerate(members):
        state = parts["state"] if ends is None else parts["state"][i]
        is_wrong = parts["out"][..., member, :].any(axis=(-2, -1)) | state.any(axis=(-2, -1))
        for row, told in zip(_list_rows(decays[..., member, :]), is_wrong.ravel().tolist(), strict=True):
            found.append(Told((row,), told, slack))
    return found


def _list_rows(decays: np.ndarray) -> list[np.ndarray]:
    """Return the decays (n, channels) of each batch entry and head."""
    return list(decays.reshape(int(np.prod(decays.shape[:-2])), *decays.shape[-2:]))


def _find_slack(call: Call) -> float:
    """Return the logarithm of what the other arguments may multiply an exponential by: each by its largest entry, in sums."""
    arrays = [x for x in call.named.values() if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size]
    return sum(math.log1p(float(np.abs(x).max())) for x in arrays) + math.log(max(call.size, 1))
