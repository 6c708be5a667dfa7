"""Which calls to ask for: those like a known one with another fact, and those that could contradict a region."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..calls.in_domain import dimension_sizes
from ..implementation.layouts import LAYOUTS
from .asking import Answer, Ask, Wish
from .condition import Condition, is_integer, is_number
from .conjunction import Conjunction
from .region_facts import WITH_OPTIONS
from .region_fills import LARGEST_OF_CALL, MAX_ORDINARY, STRANGE_FILLS, Fill, fill_equal_rows, fill_near, fill_up_to

SMALL_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)

SIZES = (  # common sizes and limits, and their neighbours
    *SMALL_SIZES, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72, 80, 96, 100, 104, 112, 127, 128, 129, 160, 192, 200,
    255, 256, 257, 300, 384, 511, 512, 513, 768, 1000, 1023, 1024, 1025, 1536, 2047, 2048, 2049, 3072, 4095, 4096, 4097, 5000,
)  # fmt: skip

BATCHES = (
    (), (1,), (2,), (3,), (2, 2), (4,), (1, 3), (3, 1), (5,), (2, 1, 2), (2, 2, 2), (6,), (8,), (9,), (10,), (16,), (17,),
    (33,), (65,),
)  # fmt: skip


def wish_like(ask: Ask, answer: Answer) -> Wish:
    """Return the wish for a call with the sizes and options of an answered one, and other values."""
    call = answer.call
    spec, named = call.operation.spec, call.named
    first = next((x for x in named.values() if isinstance(x, np.ndarray) and x is not named.get("cotangent")), None)
    core = next((n for name, n in spec.core.items() if named.get(name) is first), next(iter(spec.core.values()), 0)) or 1
    plain = {
        name: x for name, x in call.keywords.items() if name in spec.parameters and not hasattr(x, "shape") and name != "wrt"
    }
    sizes = {name: size for name, size in {**dimension_sizes(call), **plain}.items() if ask.largest(name) and is_integer(size)}
    return Wish(
        sizes={name: int(size) for name, size in sizes.items()},
        keywords={name: x for name, x in plain.items() if name not in sizes and not isinstance(x, dict | list)},
        given={name: named.get(name) is not None and not _is_default(call, name) for name in _list_optional(answer)},
        batch=None if first is None else _batch_of(first, core, call.keywords.get("axis", -1)),
        layout=call.layout,
        fill=_strange_fill(answer),
    )


def fill_rows(wish: Wish, fill: Fill) -> Wish:
    """Return the wish with ordinary values that lie along the last axis, which is the one that an `axis` names then."""
    return wish.but(fill=fill, is_ordinary=True, keywords={"axis": -1} if "axis" in wish.keywords else {})


def _strange_fill(answer: Answer) -> Fill | None:
    """Return what fills arrays as strangely as those of the answer, None if its values are finite and differ."""
    if answer.call.layout == "broadcast":
        return fill_equal_rows
    if any(name.startswith("NaN in ") and value for name, value in answer.facts.items()):
        return STRANGE_FILLS[0]
    infinite = any(name.endswith(" is finite") and not value for name, value in answer.facts.items())
    minus = any(name.startswith("−∞ in ") and value for name, value in answer.facts.items())
    return STRANGE_FILLS[1] if infinite and not minus else None


def _batch_of(first: np.ndarray, core: int, axis: int) -> tuple[int, ...]:
    """Return the shape of the batch: what is left of the first array without its own dimensions, or without its axis."""
    shape = list(first.shape)
    if core == 1 and shape:
        del shape[axis]
        return tuple(shape)
    return tuple(shape[: max(len(shape) - core, 0)])


def _list_optional(answer: Answer) -> list[str]:
    parameters = answer.call.operation.spec.parameters
    return [name for name, p in parameters.items() if p.default is not p.empty and answer.call.operation.accepts(name)]


def _is_default(call: Any, name: str) -> bool:
    value = call.named.get(name)
    return not hasattr(value, "shape") and value == call.operation.spec.parameters[name].default


def change(ask: Ask, wish: Wish, answer: Answer, fact: str, value: Any) -> Wish | None:
    """Return the wish with another value of one fact, None if the fact cannot be chosen. `answer` is a call like the wish."""
    parameters = answer.call.operation.spec.parameters
    if fact == WITH_OPTIONS:
        names = _list_optional(answer)
        return wish.but(given=dict.fromkeys(names, False) if not value else {names[0]: True} if names else {})
    if fact.startswith("with "):
        return wish.but(given={fact.removeprefix("with "): bool(value)})
    if fact in parameters and not ask.largest(fact):
        given = {fact: value != parameters[fact].default} if fact in _list_optional(answer) else {}
        return wish.but(keywords={fact: value}, given=given)
    if fact == "storage":
        return wish.but(layout=value, fill=fill_equal_rows if value == "broadcast" else wish.fill)
    if fact == "empty":
        return wish.but(batch=(0, *(wish.batch or ())[1:])) if value else wish
    if fact == "batch_dims":
        return wish.but(batch=(2, 3, 2, 1)[:value]) if value <= 4 else None
    if fact == "batch entries":
        return wish.but(batch=(int(value),))
    if fact == "first batch axis":
        return wish.but(batch=(int(value), *(wish.batch or ())[1:]))
    if fact.endswith(" is finite") or fact.startswith("NaN in "):
        return wish.but(fill=STRANGE_FILLS[0] if value == fact.startswith("NaN") else None)
    if fact.startswith("rows of "):
        rows = [name for name, size in wish.sizes.items() if answer.call.value.shape[-2:-1] == (size,)]
        return wish.but(sizes=dict.fromkeys(rows[:1], int(value)), given={fact.removeprefix("rows of "): True})
    if fact == "a square result":
        return _make_square(wish, answer) if value else wish
    if fact.startswith(LARGEST_OF_CALL):
        return wish.but(fill=fill_up_to(abs(value), np.sign(value)), is_ordinary=abs(value) < MAX_ORDINARY)
    one, _, other = fact.partition(" = ")
    if other:
        size = wish.sizes.get(one)
        return None if size is None else wish.but(sizes={other: size if value else size + 1})
    one, _, shared = fact.partition(" / ")
    if shared:
        return wish.but(sizes={one: int(value) * wish.sizes[shared]}) if wish.sizes.get(shared) else None
    if ask.largest(fact) and is_number(value):
        return wish.but(sizes={fact: int(value)})
    return None


def _make_square(wish: Wish, answer: Answer) -> Wish | None:
    """Return the wish with the last two axes of the result equal: two dimensions, or a dimension and the batch."""
    shape = answer.call.value.shape
    names = [name for name, size in wish.sizes.items() if shape and size == shape[-1]]
    if wish.batch and len(wish.batch) == len(shape) >= 2:  # the axis is reduced, and the batch is the result
        return wish.but(batch=(*wish.batch[:-1], wish.batch[-2]))
    if wish.batch and names and len(wish.batch) == len(shape) - 1:
        return wish.but(batch=(*wish.batch[:-1], wish.sizes[names[-1]]))
    rows = [name for name, size in wish.sizes.items() if len(shape) > 1 and size == shape[-2] and name not in names]
    return wish.but(sizes={rows[0]: wish.sizes[names[-1]]}) if rows and names else None


def list_probes(ask: Ask, region: Conjunction, answers: Sequence[Answer], source: random.Random) -> Iterator[Wish]:
    """Yield wishes whose answers could contradict the region: near its boundaries first, then on both sides at random."""
    inside = [answer for answer in answers if answer.failure and region.covers(answer).any()]
    if not inside:
        return
    base_answer = inside[-1]
    base = wish_like(ask, base_answer)
    for condition in region.of_call:
        for value in list_probe_values(condition, answers, source):
            if wish := change(ask, base, base_answer, condition.fact, value):
                yield wish
        if condition.fact.startswith(("calls before", "the call before", "a wider")):
            for _ in range(3):
                yield from (Wish(like=base_answer.call), Wish(like=source.choice(answers).call), Wish(like=ask.last))
    yield from _list_degenerate(base)
    for name in {name: None for answer in answers for name, x in answer.call.keywords.items() if is_integer(x)}:
        if name not in base.sizes:
            yield from (wish for value in (1, 2) if (wish := change(ask, base, base_answer, name, value)))
    fills = [fill_near(condition, next(iter(base_answer.call.named), "")) for condition in region.of_element]
    yield from (fill_rows(base, fill) for fill in fills if fill)
    shape = base_answer.call.value.shape
    for name in [name for name, size in base.sizes.items() if shape and size == shape[-1]]:
        limits = [v for c in region.of_element for v in (*c.values, *re.findall(r"(?<=blocks of )\d+", c.fact))]
        numbers = [int(str(v)) for v in limits if str(v).isdigit() and int(str(v)) > 1]
        sizes = [s for v in numbers for s in (v - 1, v, v + 1, v + 2, v + v // 2, 2 * v, 2 * v + 1, 2 * v + v // 2, 3 * v, 5 * v)]
        yield from (base.but(sizes={name: size}) for size in dict.fromkeys(sizes) if size <= ask.largest(name))
    for number in range(24):
        if wish := (wish_inside if number % 2 else wish_outside)(ask, region, answers, source):
            yield wish


def _list_degenerate(base: Wish) -> Iterator[Wish]:
    """Yield wishes with sizes at which many errors vanish: one or two dimensions of size 1, all of them, or equal sizes."""
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
    if condition.fact.startswith(LARGEST_OF_CALL) and kind in ("above", "below"):  # a sign stands for values of that sign
        return [sign * share * values[0] for share in (0.5, 0.9, 1.1, 2.0) for sign in (1, -1)]
    if kind in ("no multiple", "multiple"):
        step = values[0]
        near = [step, 2 * step, 3 * step, step + 1, 2 * step - 1, step // 2, 3 * step // 2, 5 * step // 2, *range(1, 6)]
        return [v for v in dict.fromkeys([*near, *source.sample(SIZES, 4)]) if v > 0]
    if kind in ("power of two", "remainder"):
        return [2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 33, 64]
    if all(is_integer(v) for v in values) and values:
        near = [v + d for v in values for d in (-1, 1, v)]
        return [v for v in dict.fromkeys([*near, *source.sample(SIZES, 8)]) if v > 0]
    if values and isinstance(values[0], bool):
        return [True, False]
    return [*seen[:8], *_list_near(values)]


def _list_near(values: Sequence[Any]) -> list[int]:
    """Return integers beside those that a condition lists beside other values, such as None or 4."""
    return [v + d for v in values if is_integer(v) for d in (-2, -1, 1, 2, v) if v + d > 0]


def wish_inside(ask: Ask, region: Conjunction, answers: Sequence[Answer], source: random.Random) -> Wish | None:
    """Return a wish for a call that the region holds, as far as its conditions can be chosen."""
    known = [answer for answer in answers if answer.failure]
    answer = source.choice(known)
    if any(c.fact.startswith("the call before") for c in region.of_call) and source.random() < 0.7:
        return Wish(like=ask.last)
    if any(c.fact.startswith("calls before") for c in region.of_call) and source.random() < 0.7:
        return Wish(like=source.choice(answers).call)
    if source.random() < 0.2:
        return Wish(as_drawn=True)
    return _vary(ask, wish_like(ask, answer), answer, region, source, violated=None)


def wish_outside(ask: Ask, region: Conjunction, answers: Sequence[Answer], source: random.Random) -> Wish | None:
    """Return a wish for a call outside of the region: one condition is violated, or all is drawn as for a law."""
    if not region.of_call or source.random() < 0.3:
        return Wish(as_drawn=True)
    answer = source.choice([answer for answer in answers if answer.failure])
    return _vary(ask, wish_like(ask, answer), answer, region, source, violated=source.choice(region.of_call))


def _vary(
    ask: Ask, wish: Wish, answer: Answer, region: Conjunction, source: random.Random, violated: Condition | None
) -> Wish | None:
    """Return the wish with other values of some facts, and the conditions of the region as they shall be."""
    facts = {condition.fact for condition in region.of_call}
    grown = source.choice([*wish.sizes, ""])  # one size may be any
    for name in wish.sizes:
        if name not in facts and source.random() < 0.4:
            sizes = [size for size in SIZES if size <= ask.largest(name)] if name == grown else SMALL_SIZES
            wish = wish.but(sizes={name: source.choice(sizes)})
    for name in wish.given:
        if f"with {name}" not in facts and name not in facts and WITH_OPTIONS not in facts and source.random() < 0.3:
            wish = wish.but(given={name: source.random() < 0.5})
    if wish.batch is not None and not any("batch" in fact for fact in facts) and source.random() < 0.4:
        wish = wish.but(batch=source.choice(BATCHES[:16]))
    for condition in region.of_call:
        pool = [v for v in _list_pool(condition, answer, ask, source) if condition.holds(v) is not (condition is violated)]
        if pool and (changed := change(ask, wish, answer, condition.fact, source.choice(pool))):
            wish = changed
    for condition in region.of_element:
        if (fill := fill_near(condition, next(iter(answer.call.named), ""))) and source.random() < 0.5:
            wish = fill_rows(wish, fill)
    return wish


def _list_pool(condition: Condition, answer: Answer, ask: Ask, source: random.Random) -> list[Any]:
    """Return values that a fact may have: near the boundary of the condition, and others."""
    now, largest = answer.facts.get(condition.fact), ask.largest(condition.fact)
    if isinstance(now, bool):
        return [True, False]
    if condition.fact.startswith(LARGEST_OF_CALL):
        return [sign * share * v for v in condition.values for share in (0.25, 0.9, 1.1, 3.0) for sign in (1, -1)]
    if condition.fact == "storage":
        return list(LAYOUTS)
    if is_integer(now):
        near = [v + d for v in condition.values if is_integer(v) for d in range(-3, 4)]
        steps = [v * k for v in condition.values if is_integer(v) for k in range(1, 8)]
        top = max(largest, *near, int(now or 0), 1)
        if condition.fact == "batch_dims":
            return [0, 1, 2, 3]
        return [v for v in (*near, *steps, *SIZES, now) if 0 < v <= top]
    return [now, *condition.values, *_list_near(condition.values)]
