"""Which known deviations explain what a backend answered. Several examples together decide between those that agree on one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ..calls.call import Call, Callee
from ..calls.in_domain import dimension_sizes
from ..deviations import SUBSTITUTED, Deviation, deviations_of, deviations_of_parts
from ..specification.work import IsOver, never
from .evidence import Evidence, is_wrong
from .fit import Candidate, Fit, allows, explains, how_far, is_nearer, shows, try_fit
from .wish import Wish

MAX_CANDIDATES = 3  # more than these are no diagnosis
MIN_WRONG_CALLS = 2  # that a deviation explains, if it leaves others to another cause
FURTHER_CALLS = 12  # as laws draw them, on which each deviation is tested that explains all that is known
OTHER_SIZES = (1, 2, 3)  # by so much a dimension is larger in the calls that test what explains wrong answers of one size

Ask = Callable[[Wish], Iterable[Call]]  # answered calls that have what the wish names


def diagnose(evidence: Evidence, is_late: IsOver = never, ask: Ask | None = None) -> list[Deviation]:
    """Return the deviations that explain the evidence, those that fit equally well; none if too many do, or none does.

    Once `is_late` returns True, no other deviation is tried: those that were found by then do. A deviation that explains wrong
    answers of one size alone is tested on calls of other sizes, which `ask` answers, if it is given.
    """
    wrong, right = evidence.wrong, evidence.right
    if not wrong:
        return []
    candidates = _put_nearest_first(list_candidates(wrong[0].operation), wrong[0], is_late)
    fits = [fit for deviation in candidates if (fit := try_fit(deviation, wrong, right, is_late)) is not None]
    fits = fits or [Fit(deviation) for deviation in candidates if not is_late() and _coincides(deviation, wrong, right)]
    fits = fits or [fit for deviation in candidates if (fit := _try_partial_fit(deviation, evidence, is_late)) is not None]
    if ask is not None:
        fits = [fit for fit in fits if not is_contradicted(fit.deviation, wrong, ask, is_late)]
    fits.sort(key=lambda fit: (*fit.order, fit.deviation.part is not None))
    best = _leave_out_equals([fit.deviation for fit in fits if fit.order == fits[0].order])
    return best if len(best) <= MAX_CANDIDATES else []


def _leave_out_equals(fitting: list[Deviation]) -> list[Deviation]:
    """Return the deviations without those that compute the same as another of them: no call tells which it is."""
    ids = {deviation.id for deviation in fitting}
    left = [one for one in fitting if not {f"{one.operation}/{name}" for name in one.like if name != one.name} & ids]
    return left or fitting


def list_candidates(operation: Callee) -> Iterable[Deviation]:
    """Return the deviations that have an equation and show in this dtype."""
    deviations = (*deviations_of(operation.name), *deviations_of_parts(operation.name))
    return (d for d in deviations if d.kind != "fault" and d.shows_in(operation.dtype))


def _put_nearest_first(deviations: Iterable[Deviation], call: Call, is_late: IsOver) -> list[Deviation]:
    """Return the deviations that were reached in time, and first those that come nearest to the wrong answers of one call.

    To judge one takes many calls: models have hundreds of deviations, and the work is limited.
    """
    reached = [deviation for deviation in deviations if not is_late()]
    distances = {deviation.id: 1.0 if is_late() else how_far(deviation, call) for deviation in reached}
    return sorted(reached, key=lambda deviation: distances[deviation.id])


def _try_partial_fit(deviation: Deviation, evidence: Evidence, is_late: IsOver) -> Fit | None:
    """Return how well the deviation explains a part of the wrong calls, if another cause is at work in the others.

    It must explain the failing example, and every other wrong call but those on which it agrees with the right equation: there
    it says nothing. So two bugs that show under different options or sizes are both named.
    """
    if deviation.kind not in SUBSTITUTED or is_late() or not any(is_nearer(deviation, call) for call in evidence.failing):
        return None
    own = [call for call in evidence.wrong if call in evidence.failing or shows(deviation, call)]
    if len(own) < MIN_WRONG_CALLS or len(own) == len(evidence.wrong) or not evidence.failing:
        return None
    return try_fit(deviation, own, evidence.right, is_late)


def is_contradicted(deviation: Deviation, wrong: Sequence[Call], ask: Ask, is_late: IsOver) -> bool:
    """Whether answers to further calls contradict the deviation.

    The few wrong answers that are known may have an option in common for which two bugs give the same. Where they have one size,
    calls of other sizes are asked for too: a bug that shows at one size alone may give there what a deviation gives at many.
    One right answer that the deviation does not give contradicts it. Of wrong answers, which may have another cause, more must do
    so than those that it explains.
    """
    if deviation.kind == "arithmetic":
        return False  # right answers may be those of another arithmetic by luck
    own = [call for call in wrong if len(wrong) == 1 or shows(deviation, call)]
    sizes = {tuple(dimension_sizes(call).items()) for call in own}
    balance = len(sizes)  # wrong answers that it explains, those of one size once, less further ones that it does not
    for call in islice(ask(Wish(as_drawn=True)), FURTHER_CALLS):
        if is_late():
            return False
        is_explained = explains(deviation, call)
        if not is_wrong(call) and not is_explained:
            return True
        balance += is_wrong(call) * (1 if is_explained else -1)
    if balance < 0:
        return True
    for wish in _list_wishes(own[0]) if len(sizes) == 1 else ():
        if is_late():
            return False
        if any(not is_wrong(call) and not explains(deviation, call) for call in islice(ask(wish), 1)):
            return True
    return False


def _list_wishes(call: Call) -> Iterator[Wish]:
    """Yield wishes for calls with the sizes of this one, but for one dimension that is larger."""
    sizes = dimension_sizes(call)
    for more in OTHER_SIZES:
        yield from (Wish({**sizes, name: size + more}) for name, size in sizes.items())


def _coincides(deviation: Candidate, wrong: Sequence[Call], right: Sequence[Call]) -> bool:
    """Whether an arithmetic deviation allows every answer, and is wrong in exactly the calls that are answered wrongly.

    An arithmetic that loses digits has such a wide bound that the truth lies within it, so that `try_fit` cannot name it.
    """
    if deviation.kind != "arithmetic" or len(wrong) < 2 or not right:
        return False
    return all(shows(deviation, call) == (call in wrong) and allows(deviation, call) for call in (*wrong, *right))
