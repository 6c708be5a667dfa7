"""Gradients over ranks: each is a sum of what reaches an argument through each rank, which may be summed wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from ...calls.asked_rank import RANK
from ...calls.call import Call
from ...specification.registry import Specification
from ..operator.alternative import Alternative, Named, call_right, take
from ..operator.binding import bound
from ..result_parts import map_parts
from .layout import Layout
from .steps import SUMS, Manner

MAX_TOGETHER = 2  # gradients in which one mistake shows, unless it shows in all


def list_gradients(layout: Layout, calls: Sequence[Call]) -> Iterator[Alternative]:
    """Yield the wrong sums of the gradients that the calls ask for."""
    if not layout.spec.is_gradient:
        return
    names = _list_asked(layout, calls)
    once = () if _cuts_cotangent(layout) else layout.forward.declaration.linear  # what is added to the sum has no parts
    whole, cut = ([name for name in names if (layout.of_result(name) is None) is is_whole] for is_whole in (True, False))
    sets = [subset for of in (whole, cut) for size in range(1, MAX_TOGETHER + 1) for subset in combinations(of, size)]
    in_sum = tuple(name for name in names if name not in once or layout.of_result(name) is not None)
    for subset in dict.fromkeys((*sets, tuple(whole), tuple(cut), tuple(names), in_sum)):
        if not subset:
            continue
        said, several = f"the gradient{'s' * (len(subset) > 1)} of {_join(subset)}", len(subset) > 1
        yield Alternative(
            layout.spec.name,
            f"{said} {'are' if several else 'is'} multiplied by the number of ranks",
            bound(_multiply, layout, frozenset(subset)),
            0.25 + 0.1 * len(subset),
        )
        if not (_find_linear(layout) or _cuts_cotangent(layout)) or any(
            name in once and layout.of_result(name) is None for name in subset
        ):
            continue
        for pattern, (manner, cost) in SUMS.items():
            if "multiplied" not in pattern:
                words = pattern.format(what=said)
                words = words.replace(f"{said} is", f"{said} are").replace("it is not", "they are not") if several else words
                compute = bound(_compute, layout, frozenset(subset), manner)
                yield Alternative(layout.spec.name, words, compute, cost + 0.1 * len(subset), evaluations=layout.count)


def _list_asked(layout: Layout, calls: Sequence[Call]) -> list[str]:
    """Return the arguments of which some call asks the gradient, in their order."""
    asked = [call.keywords["wrt"] for call in calls]
    names = {name for wrt in asked for name in ([wrt] if isinstance(wrt, str) else wrt)}
    firsts = {name.partition("[")[0] for name in names}
    return [name for name in layout.forward.positional if name in firsts]


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _cuts_cotangent(layout: Layout) -> bool:
    forward = layout.forward
    return any(layout.stated.of_result(forward.name, name) is not None for name in forward.results)


def _find_linear(layout: Layout) -> str:
    """Return the argument whose parts each add one term to the result, "" if there is none."""
    forward = layout.forward
    cut = [name for name in forward.declaration.linear if layout.of_argument(name) is not None and name != forward.positional[0]]
    return cut[0] if cut else ""


def _multiply(spec: Specification, named: Named, layout: Layout, names: frozenset[str]) -> Any:
    def change(path: str, y: Any) -> Any:
        return y * float(layout.count) if path.partition("[")[0] in names else y

    return map_parts(change, spec, call_right(spec, named))


def _compute(spec: Specification, named: Named, layout: Layout, names: frozenset[str], manner: Manner) -> Any:
    right = call_right(spec, named)
    shares = [call_right(spec, _restrict(layout, named, rank)) for rank in range(layout.count)]

    def choose(path: str, right: Any, *parts: Any) -> Any:
        if path.partition("[")[0] not in names:
            return right
        cut = layout.of_result(path)
        if cut is None:
            return manner(parts, RANK.get())
        axis = cut.axis if cut.axis < 0 else cut.axis - right.ndim
        places = cut.places(right.shape[axis], layout.count)
        return layout.join(cut, [take(manner(parts, rank), places[rank], axis) for rank in range(layout.count)])

    return map_parts(choose, spec, right, *shares)


def _restrict(layout: Layout, named: Named, rank: int) -> Named:
    """Return the arguments with which what reaches the result through one rank alone has a gradient."""
    forward = layout.forward
    if not _cuts_cotangent(layout):
        name = _find_linear(layout)
        cut = layout.of_argument(name)
        assert cut is not None
        return {**named, name: layout.only(cut, named[name], rank)}
    cotangent = named["cotangent"]
    if not forward.has_several_results:
        cut = layout.stated.of_result(forward.name)
        assert cut is not None
        return {**named, "cotangent": layout.only(cut, cotangent, rank)}
    parts = []
    for name, part in zip(forward.results, cotangent, strict=True):
        cut = layout.stated.of_result(forward.name, name)
        parts.append(part if cut is None or part is None else layout.only(cut, part, rank))
    return {**named, "cotangent": tuple(parts)}
