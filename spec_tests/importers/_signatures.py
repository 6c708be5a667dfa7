"""Which parameter of a function is which argument of an operation, by their names and before any call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..specification.aliases import ARRAYS, ARRAYS_OF, KEYWORDS, OPERATIONS, OTHER_PARAMETERS, TAKEN_BY
from ._imported import list_parameters

ALWAYS_GIVEN = ("axis", "eps", "num_heads", "theta", "window")  # keywords that a function is hardly ever without
ATTENDED = ("q", "k", "v")
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
SHAPES: Mapping[str, str] = MappingProxyType({"normalized_shape": "weight"})  # parameters that are the shape of an array
PACKED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Match:
    """A function's parameters, by our names of the arguments that they are."""

    name: str  # of the function
    function: Callable[..., Any]
    arrays: dict[str, str]
    keywords: dict[str, str]
    order: tuple[str, ...] = ()  # our names of all arrays, if the function has them in another order or lacks some
    missing: tuple[str, ...] = ()  # arrays that no parameter is
    hidden: dict[str, Any] = field(default_factory=dict)  # options that the function lacks, and the value that a call shows

    def bind(self, *given: Any, **options: Any) -> dict[str, Any]:
        """Return the arguments of the function, by its own names."""
        renamed = {self.keywords.get(name, name): x for name, x in options.items() if name not in self.hidden}
        if not self.order:
            return dict(inspect.signature(self.function).bind(*given, **renamed).arguments)
        arrays = dict(zip(self.order, given, strict=False))
        shapes = {theirs: tuple(arrays[ours].shape) for theirs, ours in self.shapes.items() if ours in arrays}
        return renamed | shapes | {self.arrays[ours]: x for ours, x in arrays.items() if ours in self.arrays}

    @property
    def shapes(self) -> dict[str, str]:
        """The parameters that are the shape of an array, with our name of the array."""
        names = [p.name for p in list_parameters(self.function)] if self.order else []
        return {theirs: ours for theirs, ours in SHAPES.items() if theirs in names and ours in self.arrays}

    @property
    def words(self) -> dict[str, str]:
        """The parameters that have other names than ours, by our names."""
        found = self.keywords | (self.arrays if self.order else {})
        return {ours: theirs for ours, theirs in found.items() if ours != theirs}

    @property
    def is_plain(self) -> bool:
        """Whether the function can be called as the operation."""
        return not self.order and not self.words

    @property
    def is_shared(self) -> bool:
        """Whether one array is queries, keys and values."""
        return self.missing == ATTENDED[1:]

    def wrap(self) -> Callable[..., Any]:
        """Return the operation: a function with our names of the arguments, in our order."""
        if not self.order:
            return self._rename_keywords()

        def operation(*given: Any, **options: Any) -> Any:
            if self.is_shared:  # the gradient of one argument is no gradient of three
                given = tuple(x.detach() if hasattr(x, "detach") else x for x in given)
            return _call(self.function, self.bind(*given, **options))

        taken = {*self.arrays.values(), *self.shapes}
        ours = {theirs: name for name, theirs in self.keywords.items()}
        kinds = inspect.Parameter
        parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in self.order]
        parameters += [
            kinds(ours.get(p.name, p.name), kinds.KEYWORD_ONLY, default=p.default)
            for p in list_parameters(self.function)
            if p.name not in taken and p.kind not in PACKED
        ]
        parameters += [kinds(name, kinds.KEYWORD_ONLY) for name in self.hidden]
        operation.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return operation

    def _rename_keywords(self) -> Callable[..., Any]:
        if not self.keywords and not self.hidden:
            return self.function

        @functools.wraps(self.function, updated=())
        def renamed(*given: Any, **options: Any) -> Any:
            shown = {name: value for name, value in options.items() if name not in self.hidden}
            return self.function(*given, **{self.keywords.get(name, name): value for name, value in shown.items()})

        ours = {theirs: name for name, theirs in self.keywords.items()}
        parameters = [p.replace(name=ours.get(p.name, p.name)) for p in list_parameters(self.function)]
        parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in self.hidden]
        renamed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return renamed


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function with arguments by name, and those by position that it takes in no other way."""
    by_position = [p.name for p in list_parameters(function) if p.kind is p.POSITIONAL_ONLY and p.name in arguments]
    return function(*(arguments[name] for name in by_position), **{k: x for k, x in arguments.items() if k not in by_position})


def match_parameters(name: str, function: Callable[..., Any], operation: str) -> Match | None:
    """Return which parameters are the arguments of the operation, None if the function cannot be called as it.

    A function with the operation's own name takes its arrays by position, whatever these are called, unless one of their places
    has the name of another argument. With any other name all of them must be known, apart from the first.
    """
    parameters, is_exact = list_parameters(function), name == operation
    arrays, keywords = _find_arrays(parameters, operation), _find_keywords(parameters, operation)
    other_names = {ours: theirs for ours, theirs in keywords.items() if ours != theirs}
    wanted = _list_arrays(operation)
    if not wanted or not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return Match(name, function, {}, other_names) if is_exact else None
    in_order = [p.name for p in parameters if p.kind in BY_POSITION][: len(wanted)]
    pairs = list(zip(wanted, in_order, strict=False))
    clashes = any(theirs in keywords.values() or arrays.get(ours, theirs) != theirs for ours, theirs in pairs)
    if not clashes and len(pairs) == len(wanted) and (is_exact or {*in_order} <= {*arrays.values()}):
        return Match(name, function, dict(pairs), other_names)
    found = _match_by_name(name, function, operation, arrays, keywords)
    return found or (Match(name, function, {}, other_names) if is_exact and not clashes else None)


def _match_by_name(
    name: str, function: Callable[..., Any], operation: str, arrays: dict[str, str], keywords: dict[str, str]
) -> Match | None:
    """Return the match of a function that lacks some of the arrays, or has them in another order."""
    wanted, parameters = _list_arrays(operation), list_parameters(function)
    first = parameters[0].name
    if wanted[0] not in arrays and first not in (*arrays.values(), *keywords.values()):
        arrays = {wanted[0]: first, **arrays}
    known = {*arrays.values(), *keywords.values(), *(theirs for theirs, ours in SHAPES.items() if ours in arrays)}
    if any(p.default is p.empty and p.name not in known and p.kind not in PACKED for p in parameters):
        return None
    missing = tuple(ours for ours in wanted if ours not in arrays)
    may_lack = missing in ((), ("positions",)) or (missing == ATTENDED[1:] and name == operation)
    return Match(name, function, arrays, keywords, wanted, missing) if may_lack else None


def _list_arrays(operation: str) -> tuple[str, ...]:
    return OPERATIONS.get(operation, ((), ()))[1]


def _find_arrays(parameters: list[inspect.Parameter], operation: str) -> dict[str, str]:
    """Return the parameters that have the name of one of the operation's arrays, or another name of it."""
    wanted, found = _list_arrays(operation), dict[str, str]()
    names = [p.name for p in parameters if p.kind not in PACKED]
    for ours in wanted:
        others = (*ARRAYS.get(ours, ()), *ARRAYS_OF.get(operation, {}).get(ours, ()))
        theirs = [name for name in names if name == ours or (name in others and name not in wanted)]
        found |= dict.fromkeys((ours,), theirs[0]) if theirs and theirs[0] not in found.values() else {}
    return found


def _find_keywords(parameters: list[inspect.Parameter], operation: str) -> dict[str, str]:
    """Return the parameters that are keywords of the operation, under our names.

    The only other parameter that must be given is the only keyword that functions are hardly ever without.
    """
    wanted = _list_arrays(operation)
    own = [ours for ours in KEYWORDS if operation in TAKEN_BY[ours] and ours not in wanted]
    names = [p.name for p in parameters if p.kind not in (*PACKED, inspect.Parameter.POSITIONAL_ONLY)]
    fitting = {
        ours: [name for name in names if name == ours] or [name for name in names if name in KEYWORDS[ours]] for ours in own
    }
    found = {ours: theirs[0] for ours, theirs in fitting.items() if len(theirs) == 1}
    known = (*found.values(), *_find_arrays(parameters, operation).values())
    after = [p for p in parameters if p.kind in BY_POSITION][len(wanted) :]
    others = (*known, *OTHER_PARAMETERS.get(operation, ()))  # a parameter with a name of the operation's own is that one
    left = [p.name for p in after if p.default is p.empty and p.name not in others]
    open_ = [ours for ours in own if ours in ALWAYS_GIVEN and ours not in found]
    return found | ({open_[0]: left[0]} if wanted and len(open_) == len(left) == 1 else {})
