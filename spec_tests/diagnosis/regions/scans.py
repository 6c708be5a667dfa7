"""The first calls to ask for: those that differ from a wrong one in one fact, and those that look for a failure everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...implementation.layouts import LAYOUTS
from ..wish import Wish
from .asking import Answer, Ask
from .facts.of_calls.arguments import Option
from .fills import WITH_INFINITY, WITH_NAN, fill_equal_rows
from .like_calls import wish_like
from .wishes import BATCHES, SIZES, SMALL_SIZES

OTHER_LAYOUTS = tuple(layout for layout in LAYOUTS if layout != "contiguous")

EMPTY_BATCHES = ((0,), (0, 2), (2, 0))


def list_contrasts(ask: Ask, failing: Answer, answers: Sequence[Answer]) -> Iterator[Wish]:
    """Yield wishes that differ from a failing call in one fact at a time, after some that differ in their values alone."""
    base = wish_like(ask, failing)
    yield from [base] * 2
    yield Wish(like=failing.call)
    for name in base.given:
        yield base.but(given={name: not base.given[name]})
    for name, x in base.keywords.items():
        others = {repr(a.call.keywords.get(name)): a.call.keywords.get(name) for a in answers}
        for other in list(others.values())[:6]:
            if repr(other) != repr(x) and (wish := Option.of(name).change(base, other, failing.call, ask.largest)):
                yield wish
    for name, size in base.sizes.items():
        sizes = [s for s in (*SMALL_SIZES, *SIZES[len(SMALL_SIZES) :: 4]) if s <= ask.largest(name)]
        for other in dict.fromkeys([size - 1, size + 1, *sizes]):
            if other > 0:
                yield base.but(sizes={name: other})
    if base.batch is not None:
        yield from (base.but(batch=batch) for batch in BATCHES[:14])


def list_scans(ask: Ask, answers: Sequence[Answer]) -> Iterator[Wish]:
    """Yield wishes that look for a failure where none is known: other layouts, the same shapes again, and each size in turn."""
    known = [answer for answer in answers if not answer.failure]
    if not known:
        return
    for answer in known[:3]:
        yield from [Wish(like=answer.call)] * 2
    base = wish_like(ask, known[0])
    for batch in ((2, 3), (3,)) if base.batch is not None else (None,):
        larger = base.but(sizes={name: max(size, 4) for name, size in base.sizes.items()}, batch=batch)
        yield from (larger.but(layout=layout, fill=fill) for layout in OTHER_LAYOUTS for fill in (None, fill_equal_rows))
    for name in base.sizes:
        yield from (base.but(sizes={name: size}) for size in SIZES if size <= ask.largest(name))
    if base.batch is not None:
        yield from (base.but(batch=batch) for batch in (*BATCHES, *EMPTY_BATCHES))
    if base.batch is not None:
        yield from (base.but(fill=fill, batch=batch) for fill in (WITH_NAN, WITH_INFINITY) for batch in ((), (2,), (3,)))
    yield from [Wish(as_drawn=True)] * 20
