"""The same change in several results or gradients at once, as where one loop over rows or heads computes them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...specification.registry import Specification, specification
from ..result_parts import map_parts
from .alternative import Alternative, Named, call_right

COST = 0.25


def join_parts(alternatives: Iterable[Alternative]) -> Iterator[Alternative]:
    """Yield each change that was found in more than one result, in all of these; the cheapest of each result stands for it."""
    found: dict[str, dict[str, Alternative]] = {}
    for alternative in sorted(alternatives, key=lambda each: each.cost):
        if alternative.only_in and alternative.compute is not None:
            found.setdefault(alternative.of_part, {}).setdefault(alternative.only_in, alternative)
    for said, parts in found.items():
        if len(parts) > 1:
            first = next(iter(parts.values()))
            where = _say_all(specification(first.operation), list(parts))
            yield Alternative(first.operation, f"in {where}, {said}", _joined(parts), first.cost + COST)


def _say_all(spec: Specification, parts: list[str]) -> str:
    names = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"the gradients of {names}" if spec.is_gradient else names


def _joined(parts: Mapping[str, Alternative]) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        result = call_right(spec, named)
        for part, alternative in parts.items():
            assert alternative.compute is not None
            other = alternative.compute(spec, named)
            result = map_parts(lambda name, y, new, part=part: new if name == part else y, spec, result, other)
        return result

    return compute
