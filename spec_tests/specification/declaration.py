"""What a file of spec_tests/operations/ declares of an operation, and what is checked of it when the file is imported."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Any

from .formats import FORMATS, INTEGER, INTEGER_DTYPES, PRECISIONS, WIDER
from .shapes import Shapes, ShapesError, parse_shapes

CLASSES = ("exact", *PRECISIONS)
DTYPES_OF_RESULTS = ("", WIDER, INTEGER, "bool", *FORMATS, *INTEGER_DTYPES)
Drawn = tuple[tuple[Any, ...], dict[str, Any]]  # arguments by position, and those by keyword


class DeclarationError(ValueError):
    """A declaration that does not fit its equation."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the suite knows of an operation beside its equation. A gradient has the declaration of its operation.

    A field that does not exist, a field that is missing, and a name that is none of the equation raise a DeclarationError.
    """

    equation: Callable[..., Any]  # the function of this name in reference_numpy
    arguments: Callable[[Any], Drawn]  # draws a call from a `Draw`
    core: Mapping[str, int] = field(
        default_factory=dict
    )  # how many trailing axes of each array are not batch; without an entry it has no batch
    core_by: Mapping[str, Mapping[Any, Mapping[str, int]]] = field(
        default_factory=dict
    )  # other entries of core, by a keyword and its value
    precision: str = "eager"  # the loosest precision class that passes by default, or "exact"
    composed: bool = False  # it chains matrix products, so that its error is also sampled (see bounds/sampled_error.py)
    cost: float | None = None  # divides the number of examples; None: 1.5 if it is composed, else 1
    dtype: str | None = None  # of the result, if it is not that of the arguments
    dtypes: tuple[str, ...] = ()  # in which it is defined; (): in all
    results: Mapping[str, str] = field(
        default_factory=dict
    )  # the dtype of each result: one, "" for that of the arguments, WIDER or INTEGER
    always_given: tuple[str, ...] = ()  # optional arrays that every call of the suite has: code may take them without a default
    optional_results: tuple[str, ...] = ()  # of these, the last ones, which some calls do not return
    judged_at: tuple[str, ...] = ()  # of these, the ones that the others are judged at, as they were returned
    list_like: str = ""  # the argument, a list of arrays, that the one result is a list like
    arrange: Callable[[list[Any]], list[Any]] = list  # puts results into one order, where their order says nothing
    random: bool = False  # it draws its own random numbers: its answers are compared with no other equation
    chooses: bool | str = False  # it chooses the largest of some entries; a name: only where this optional array is given
    keeps: bool = False  # what it chooses are the entries of its result that are not 0
    passes_choices_on: bool = False  # a choice in one row shows in later rows of its sequence, too
    formats: Mapping[str, str] = field(
        default_factory=dict
    )  # of each argument and result whose format a keyword names: that keyword; "" is the single result
    integer_dtypes: Mapping[str, str] = field(
        default_factory=dict
    )  # of integer arguments whose bits count: the one dtype that each has
    as_codes: tuple[str, ...] = ()  # of these, the ones that are codes in every carrier
    wide_arguments: tuple[str, ...] = ()  # floating arguments that are float32 where the others have 16 bits
    positive: tuple[str, ...] = ()  # floating arguments that are larger than 0 in every call, as scales are
    checked: tuple[str, ...] = ()  # floating arguments that code may refuse where they hold NaN or an infinity anywhere
    refused: tuple[str, ...] = ()  # floating arguments for which a call may raise where they hold NaN or an infinity
    constant_arguments: tuple[str, ...] = ()  # floating arguments that have no gradient
    linear: tuple[str, ...] = ()  # arguments in each of which the equation is linear, but for a constant
    choices: Mapping[str, tuple[Any, ...]] = field(
        default_factory=dict
    )  # the values of each keyword that has a fixed set of values
    go_together: Callable[[Mapping[str, Any]], bool] | None = None  # whether arguments by name are those of a call; None: always
    changeable: tuple[str, ...] = ()  # real-valued keywords, each of which may take any value beside all others
    updates: tuple[str, ...] = ()  # arguments that it may write to, if that is the backend's convention `cache_update`
    optional_weights: tuple[str, ...] = ()  # entries that a dict of weights may have besides
    structure: tuple[str, ...] = ()  # integer arrays that say how others are divided: other values need other arrays
    branches: Mapping[str, Callable[[Any], Drawn]] = field(
        default_factory=dict
    )  # other ways to draw a call for the comparison with the oracle: each makes the inputs of a law, which its function names
    open_questions: Mapping[str, Callable[[Any], Drawn]] = field(
        default_factory=dict
    )  # draws the call that decides each convention
    left_open: Callable[..., Any] | None = None  # from the arguments by name: which elements of an exact result may be anything
    bound: Callable[..., Any] | None = None  # in place of the equation, which takes no real numbers that carry an error
    broadcasts: bool = False  # the axes of its batch broadcast, as an optional variant
    unbatched: bool = False  # the rows of a batch are not independent calls
    joins_rows: bool = False  # it reduces over rows
    leading_axes: Mapping[str, str] = field(
        default_factory=dict
    )  # of each array that has an axis before those of the batch where a keyword is given: that keyword
    pooled: Mapping[str, str] = field(
        default_factory=dict
    )  # of each array that has no batch where an optional array is given, as a cache in pages: that array
    elementwise: bool = False  # each element of its one array counts for itself alone
    short: bool = False  # no size of it is ever long
    mixed_dtypes: bool = False  # its weights may have another dtype than x, as a level

    def __new__(cls, **given: Any) -> Declaration:
        """Check the names of the fields, with a sentence that says what to write."""
        if given:
            _check_fields(given)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if complaint := next(self._complaints(), ""):
            raise DeclarationError(f"{self.name}: {complaint}")

    @property
    def name(self) -> str:
        return self.equation.__name__

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the equation, by name."""
        return dict(inspect.signature(self.equation).parameters)

    @cached_property
    def shapes(self) -> Shapes:
        """The shapes that the equation's docstring states."""
        return parse_shapes(self.equation.__doc__ or "")

    def states(self, name: str) -> bool:
        """Whether the field of this name says anything."""
        return bool(getattr(self, name))

    def _complaints(self) -> Iterator[str]:
        """Yield what does not fit, each as a sentence that says what to write."""
        if self.precision not in CLASSES:
            yield f"precision = {self.precision!r} is no class; write one of {', '.join(CLASSES)}"
        if self.cost is not None and self.cost <= 0:
            yield f"cost = {self.cost} must be larger than 0"
        for name in (
            "core",
            "core_by",
            "wide_arguments",
            "positive",
            "refused",
            "constant_arguments",
            "linear",
            "updates",
            "structure",
            "integer_dtypes",
            "choices",
            "changeable",
            "leading_axes",
            "pooled",
        ):
            yield from self._find_strangers(name, getattr(self, name))
        yield from self._find_strangers("pooled", self.pooled.values())
        yield from self._find_strangers("list_like", filter(None, [self.list_like]))
        yield from self._find_strangers("formats", [name for name in self.formats if name and name not in self.results])
        yield from self._find_strangers("formats", self.formats.values())
        yield from (f"as_codes names {name!r}, which formats does not" for name in self.as_codes if name not in self.formats)
        for name in ("optional_results", "judged_at"):
            strangers = [stranger for stranger in getattr(self, name) if stranger not in self.results]
            yield from (f"{name} names {stranger!r}, which results does not" for stranger in strangers)
        if isinstance(self.chooses, str):
            yield from self._find_strangers("chooses", [self.chooses], self.optional_weights)
        for where, found, known in (
            ("dtypes", self.dtypes, tuple(FORMATS)),
            ("dtype", filter(None, [self.dtype]), DTYPES_OF_RESULTS),
            ("results", self.results.values(), DTYPES_OF_RESULTS),
        ):
            named = ", ".join(map(repr, known))
            yield from (f"{where} has {dtype!r}; write one of {named}" for dtype in found if dtype not in known)
        yield from self._find_faults_of_shapes()

    def _find_strangers(self, where: str, names: Iterable[str], others: tuple[str, ...] = ()) -> Iterator[str]:
        known = (*self.parameters, *others)
        yield from (
            f"{where} names {name!r}, which the equation does not have{_nearest(name, known)}; it has {', '.join(known)}"
            for name in names
            if name not in known
        )

    def _find_faults_of_shapes(self) -> Iterator[str]:
        try:
            shapes = self.shapes
        except ShapesError as error:
            yield f"under Shapes, {error}"
            return
        stated = {**shapes.arguments, **shapes.broadcast}
        known = (*self.parameters, "cotangent")
        for name, shape in stated.items():
            if name not in known and shapes.entry_of.get(name) not in known:
                yield f"under Shapes, {name!r} is no argument of the equation{_nearest(name, known)}; it has {', '.join(known)}"
            elif shape.batch and name in self.parameters and name not in self.core:
                yield f"its docstring has a batch before {name}: write {name!r}: {len(shape.labels)} in core"
            elif name in self.core and not any(
                _fits(self.core[name], each.labels, batch=each.batch, any_shape=each.any)
                for each in (shape, *shapes.others.get(name, ()))
            ):
                yield f"core has {self.core[name]} axes of {name}; its docstring has ({', '.join(shape.labels)})"
        missing = [name for name, p in self.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD and name not in shapes.words]
        yield from (f"its docstring says nothing of {name} under Shapes: write its shape" for name in missing)
        if shapes.results and self.results and "" not in self.results and shapes.results.keys() != self.results.keys():
            yield f"results has {', '.join(self.results)}; its docstring has {', '.join(shapes.results)} after the arrow"


def _fits(core: int, labels: tuple[str, ...], *, batch: bool, any_shape: bool) -> bool:
    """Whether so many axes of these are not batch. A batch that is a named axis, as that of a cache, is the first of them."""
    if any_shape:
        return core in (0, 1)
    return core == len(labels) or (not batch and core == len(labels) - 1)


def _check_fields(given: Mapping[str, Any]) -> None:
    known = {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(Declaration)}
    operation = getattr(given.get("equation"), "__name__", "a declaration")
    for name in given.keys() - known:
        raise DeclarationError(f"{operation}: there is no field {name!r}{_nearest(name, known)}; there are {', '.join(known)}")
    if missing := [name for name, is_required in known.items() if is_required and name not in given]:
        raise DeclarationError(f"{operation}: write {' and '.join(f'{name} = …' for name in missing)}")


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
