"""What a further call shall be like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..calls.call import Call


@dataclass(frozen=True)
class Wish:
    """The facts that a call shall have. What is not named is drawn: small sizes, and normally distributed values."""

    sizes: Mapping[str, int] = field(default_factory=dict)  # of dimensions
    keywords: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, bool] = field(default_factory=dict)  # which optional arguments are passed
    batch: tuple[int, ...] | None = None  # the shape of the batch
    layout: str = "contiguous"
    fill: Callable[..., Any] | None = None  # fills the rows of arrays, as a regime of inputs/regimes.py does
    like: Call | None = None  # the call has the shapes and options of this one, and other values
    is_ordinary: bool = False  # whether an error shows in the results for the values of `fill`
    as_drawn: bool = False  # sizes and values are drawn as for a law

    def but(self, **changes: Any) -> Wish:
        """Return the wish with changes. A mapping is added to the one that is there."""
        now = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Wish(**{**now, **{n: {**now[n], **v} if isinstance(v, dict) else v for n, v in changes.items()}})

    def with_rows(self, fill: Callable[..., Any] | None) -> Wish:
        """Return the wish with ordinary values that lie along the last axis, which is the one that an `axis` names then."""
        return self.but(fill=fill, is_ordinary=True, keywords={"axis": -1} if "axis" in self.keywords else {})
