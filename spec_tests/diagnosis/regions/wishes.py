"""Which calls to ask for: those that could contradict a region, and those on either side of it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..wish import Wish
from .asking import Answer, Ask
from .condition import Condition
from .conjunction import Conjunction
from .facts.of_calls.arguments import WITH_OPTIONS, Option, given
from .facts.of_elements import ElementFact
from .like_calls import fill_near, name_first, wish_like
from .values import is_integer

SMALL_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)

SIZES = (  # common sizes and limits, and their neighbours
    *SMALL_SIZES, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72, 80, 96, 100, 104, 112, 127, 128, 129, 160, 192, 200,
    255, 256, 257, 300, 384, 511, 512, 513, 768, 1000, 1023, 1024, 1025, 1536, 2047, 2048, 2049, 3072, 4095, 4096, 4097, 5000,
)  # fmt: skip

BATCHES = (
    (), (1,), (2,), (3,), (2, 2), (4,), (1, 3), (3, 1), (5,), (2, 1, 2), (2, 2, 2), (6,), (8,), (9,), (10,), (16,), (17,),
    (33,), (65,),
)  # fmt: skip

SHARES_OF_A_LIMIT = (1 / 16, 1 / 4, 1 / 2, 0.9, 1.1, 2.0, 4.0, 16.0)

NEAR_SHARE = 0.5  # of the calls on a side of a region that lie next to its limits

MANY, TRIES = (64,), 8  # the batch of calls next to a limit, and how often each is asked for

DEGENERATE_BATCHES = ((1, 2), (2, 1), (1, 3, 2))


def list_probes(ask: Ask, region: Conjunction, answers: Sequence[Answer], source: random.Random) -> Iterator[Wish]:
    """Yield wishes whose answers could contradict the region: near its boundaries first, then on both sides at random."""
    inside = [answer for answer in answers if answer.failure and region.covers(answer).any()]
    if not inside:
        return
    base_answer = inside[-1]
    base = wish_like(ask, base_answer)
    for condition in region.of_call:
        for value in list_probe_values(condition, answers, source):
            if wish := condition.fact.change(base, value, base_answer.call, ask.largest):
                yield wish
        if condition.fact.is_of_history:
            for _ in range(3):
                yield from (Wish(like=base_answer.call), Wish(like=source.choice(answers).call), Wish(like=ask.last))
    yield from _list_at_limits(ask, base, base_answer, region)
    yield from _list_outside_with_options(ask, base, base_answer, region, answers, source)
    yield from _list_degenerate(base)
    for name in {name: None for answer in answers for name, x in answer.call.keywords.items() if is_integer(x)}:
        if name not in base.sizes:
            yield from (wish for value in (1, 2) if (wish := Option.of(name).change(base, value, base_answer.call, ask.largest)))
    yield from _list_near_ids(ask, base, base_answer, region)
    fills = [fill_near(condition, name_first(base_answer.call)) for condition in region.of_element]
    yield from (base.with_rows(fill) for fill in fills if fill)
    shape = base_answer.call.value.shape
    for name in [name for name, size in base.sizes.items() if shape and size == shape[-1]]:
        limits = [v for c in region.of_element for v in (*c.values, *_list_sizes_of(c))]
        numbers = [int(str(v)) for v in limits if str(v).isdigit() and int(str(v)) > 1]
        sizes = [s for v in numbers for s in (v - 1, v, v + 1, v + 2, v + v // 2, 2 * v, 2 * v + 1, 2 * v + v // 2, 3 * v, 5 * v)]
        yield from (base.but(sizes={name: size}) for size in dict.fromkeys(sizes) if size <= ask.largest(name))
    for number in range(24):
        if wish := (wish_inside if number % 2 else wish_outside)(ask, region, answers, source):
            yield wish


def _list_at_limits(ask: Ask, base: Wish, answer: Answer, region: Conjunction) -> Iterator[Wish]:
    """Yield wishes for calls just outside of a limit with many rows, of which a few may be wrong."""
    for condition in region.of_call:
        if condition.kind not in ("above", "below") or condition.fact.name not in base.sizes or base.batch is None:
            continue
        if wish := condition.fact.change(base, condition.values[0], answer.call, ask.largest):
            yield from (wish.but(batch=MANY) for _ in range(TRIES))


def _list_outside_with_options(
    ask: Ask, base: Wish, answer: Answer, region: Conjunction, answers: Sequence[Answer], source: random.Random
) -> Iterator[Wish]:
    """Yield wishes that violate one condition and have one optional argument more, with which an answer may still be wrong."""
    facts = {condition.fact for condition in region.of_call}
    for condition in region.of_call:
        values = [value for value in list_probe_values(condition, answers, source) if not condition.holds(value)]
        outside = condition.fact.change(base, values[0], answer.call, ask.largest) if values else None
        for name, is_given in base.given.items():
            if outside and not is_given and not facts & {Option.of(name), given(name)}:
                yield outside.but(given={name: True})


def _list_near_ids(ask: Ask, base: Wish, answer: Answer, region: Conjunction) -> Iterator[Wish]:
    """Yield wishes for integers next to a limit: their largest is often the last index of a dimension, such as a vocabulary."""
    for condition in region.of_element:
        if (
            condition.kind in ("above", "below")
            and condition.fact.name in answer.call.named
            and float(condition.values[0]).is_integer()
        ):
            limit = int(condition.values[0])
            for name, size in itertools.product(base.sizes, (limit, limit + 1, limit + 2)):
                if 0 < size <= ask.largest(name):
                    yield from (base.but(sizes={name: size}, batch=None if base.batch is None else MANY) for _ in range(TRIES))


def _list_degenerate(base: Wish) -> Iterator[Wish]:
    """Yield wishes with sizes at which many errors vanish: one or two dimensions of size 1, all of them, or equal sizes.

    So may a batch axis of size 1 beside a longer one.
    """
    if base.batch is not None:
        yield from (base.but(batch=batch) for batch in DEGENERATE_BATCHES)
    for name, other in itertools.combinations_with_replacement(base.sizes, 2):
        yield base.but(sizes={name: 1, other: 1})
    for name, other in itertools.permutations(base.sizes, 2):
        yield base.but(sizes={name: base.sizes[other]})
    yield base.but(sizes=dict.fromkeys(base.sizes, 1))
    yield base.but(sizes=dict.fromkeys(base.sizes, 1), given=dict.fromkeys(base.given, False), batch=base.batch and ())


def list_probe_values(condition: Condition, answers: Sequence[Answer], source: random.Random) -> list[Any]:
    """Return values of a fact near where the condition begins to hold, and some others."""
    kind, values = condition.kind, condition.values
    seen = list({repr(a.facts.get(condition.fact)): a.facts.get(condition.fact) for a in answers}.values())
    if kind in ("above", "below") and is_integer(values[0]):
        return [v for v in (values[0] - 1, values[0], values[0] + 1, values[0] + 2, *source.sample(SIZES, 4)) if v > 0]
    if (near := condition.fact.list_near(kind, values)) is not None:
        return near
    if _has_real_limit(condition):
        return _list_beside(condition, answers)
    if kind in ("no multiple", "multiple"):
        step = values[0]
        near = [step, 2 * step, 3 * step, step + 1, 2 * step - 1, step // 2, 3 * step // 2, 5 * step // 2, *range(1, 6)]
        return [v for v in dict.fromkeys([*near, *source.sample(SIZES, 4)]) if v > 0]
    if kind in ("power of two", "no power of two", "remainder"):
        return [2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 33, 64]
    if all(is_integer(v) for v in values) and values:
        near = [v + d for v in values for d in (-1, 1, v)]
        return [v for v in dict.fromkeys([*near, *source.sample(SIZES, 8)]) if v > 0]
    if values and isinstance(values[0], bool):
        return [True, False]
    return [*seen[:8], *_list_near(values)]


def _list_sizes_of(condition: Condition) -> list[int]:
    return condition.fact.list_sizes() if isinstance(condition.fact, ElementFact) else []


def _has_real_limit(condition: Condition) -> bool:
    return condition.kind in ("above", "below") and not is_integer(condition.values[0])


def _list_beside(condition: Condition, answers: Sequence[Answer]) -> list[float]:
    """Return real numbers on both sides of a limit, no larger and no smaller than those of answers.

    Where the limit depends on other values, some of them contradict it.
    """
    seen = [value for answer in answers if isinstance(value := answer.facts.get(condition.fact), int | float)]
    if not seen:
        return []
    limit, least, most = condition.values[0], min(seen), max(seen)
    return [x for x in (share * limit for share in SHARES_OF_A_LIMIT) if least <= x <= most] + [least, most]


def _is_near(value: Any, condition: Condition) -> bool:
    """Whether an integer lies next to a limit, where a wrong limit would show."""
    limits = condition.values if condition.kind in ("above", "below") else ()
    return is_integer(value) and any(is_integer(limit) and -2 <= value - limit <= 2 for limit in limits)


def _list_near(values: Sequence[Any]) -> list[int]:
    """Return integers beside those that a condition lists beside other values, such as None or 4."""
    return [v + d for v in values if is_integer(v) for d in (-2, -1, 1, 2, v) if v + d > 0]


def wish_inside(ask: Ask, region: Conjunction, answers: Sequence[Answer], source: random.Random) -> Wish | None:
    """Return a wish for a call that the region holds, as far as its conditions can be chosen."""
    known = [answer for answer in answers if answer.failure]
    answer = source.choice(known)
    if any(c.fact.is_of_history and not c.fact.is_counted for c in region.of_call) and source.random() < 0.7:
        return Wish(like=ask.last)
    if any(c.fact.is_of_history and c.fact.is_counted for c in region.of_call) and source.random() < 0.7:
        return Wish(like=source.choice(answers).call)
    if source.random() < 0.2:
        return Wish(as_drawn=True)
    return _vary(ask, answers, answer, region, source, violated=None)


def wish_outside(
    ask: Ask, region: Conjunction, answers: Sequence[Answer], source: random.Random, violated: Sequence[Condition] = ()
) -> Wish | None:
    """Return a wish for a call outside of the region: one condition is violated, or all is drawn as for a law.

    violated: the conditions one of which is, any one if none is given.
    """
    if not region.of_call or (not violated and source.random() < 0.3):
        return Wish(as_drawn=True)
    answer = source.choice([answer for answer in answers if answer.failure])
    return _vary(ask, answers, answer, region, source, violated=source.choice(violated or region.of_call))


def _vary(
    ask: Ask, answers: Sequence[Answer], answer: Answer, region: Conjunction, source: random.Random, violated: Condition | None
) -> Wish | None:
    """Return the wish for a call like that of an answer, with other values of some facts.

    The conditions of the region hold, but for one that may be violated.
    """
    wish = wish_like(ask, answer)
    facts = {condition.fact for condition in region.of_call}
    named = {fact.name for fact in facts}
    grown = source.choice([*wish.sizes, ""])  # one size may be any
    for name in wish.sizes:
        if name not in named and source.random() < 0.4:
            sizes = [size for size in SIZES if size <= ask.largest(name)] if name == grown else SMALL_SIZES
            wish = wish.but(sizes={name: source.choice(sizes)})
    for name in wish.given:
        if not facts & {given(name), Option.of(name), WITH_OPTIONS} and source.random() < 0.3:
            wish = wish.but(given={name: source.random() < 0.5})
    if wish.batch is not None and not any(fact.is_of_batch for fact in facts) and source.random() < 0.4:
        wish = wish.but(batch=source.choice(BATCHES[:16]))
    for condition in region.of_call:
        pool = [v for v in _list_pool(condition, answer, answers, ask) if condition.holds(v) is not (condition is violated)]
        if source.random() < NEAR_SHARE:
            pool = [v for v in pool if _is_near(v, condition)] or pool
        if pool and (changed := condition.fact.change(wish, source.choice(pool), answer.call, ask.largest)):
            wish = changed
    for condition in region.of_element:
        if (fill := fill_near(condition, name_first(answer.call))) and source.random() < 0.5:
            wish = wish.with_rows(fill)
    return wish


def _list_pool(condition: Condition, answer: Answer, answers: Sequence[Answer], ask: Ask) -> list[Any]:
    """Return values that a fact may have: near the boundary of the condition, and others."""
    now, largest = answer.facts.get(condition.fact), ask.largest(condition.fact.name)
    if isinstance(now, bool):
        return [True, False]
    if (pool := condition.fact.list_pool(condition.values)) is not None:
        return pool
    if _has_real_limit(condition):
        return _list_beside(condition, answers)
    if is_integer(now):
        near = [v + d for v in condition.values if is_integer(v) for d in range(-3, 4)]
        steps = [v * k for v in condition.values if is_integer(v) for k in range(1, 8)]
        top = max(largest, *near, int(now or 0), 1)
        least = 0 if any(answer.facts.get(condition.fact) == 0 for answer in answers) else 1
        return [v for v in (*near, *steps, *SIZES, now) if least <= v <= top]
    return [now, *condition.values, *_list_near(condition.values)]
