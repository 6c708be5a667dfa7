"""Hypothesis runs the examples of a trial. A source of the suite draws their choices, as an alternative backend of Hypothesis.

The source covers pairs of factors, and follows `--shapes`. The engine counts the examples, watches them, and stops at one that
fails: so statistics, observability, settings and the seed are those that users of Hypothesis know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.internal import entropy
from hypothesis.internal.conjecture import providers
from hypothesis.internal.conjecture.data import ConjectureData

BACKEND = "spec_tests"  # of Hypothesis

Range = tuple[int, int]


class Source(Protocol):
    """What draws the choices of one example."""

    def draw_integer(self, low: int, high: int) -> int: ...

    def draw_shape(self, low: int, high: int) -> int: ...

    def plan(self, options: Sequence[Any], *, of_shape: bool) -> None: ...


class Ended(BaseException):
    """No further example is to be run. Hypothesis lets it through, since it is no Exception."""


class RaisedBetweenCalls(BaseException):
    """SystemExit or GeneratorExit was raised while no call was under way. Hypothesis would take these for a failed example."""


_draw: ContextVar[Callable[[int, int], int]] = ContextVar("draw")  # draws the next choice of the present example
_run: ContextVar[Callable[[Any], None]] = ContextVar("run")  # runs an example of the present law


class SourceProvider(providers.PrimitiveProvider):
    """The backend of Hypothesis that asks the source of the present example. A law draws nothing but integers."""

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        if min_value is None or max_value is None:
            raise NotImplementedError("a law draws integers between two limits")
        return _draw.get()(min_value, max_value)

    def _refuse(self, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError("a law draws integers alone")

    draw_boolean = draw_float = draw_string = draw_bytes = _refuse


class EngineChoices:
    """The choices of an example that the engine runs. Without a source it is the simplest one, which the engine draws itself."""

    def __init__(self, data: ConjectureData, source: Source | None):
        self.data, self.source, self.numbers, self.ranges = data, source, list[int](), list[Range]()

    def draw_integer(self, low: int, high: int) -> int:
        return self._draw(low, high, self.source.draw_integer if self.source else None)

    def draw_shape(self, low: int, high: int) -> int:
        return self._draw(low, high, self.source.draw_shape if self.source else None)

    def _draw(self, low: int, high: int, draw: Callable[[int, int], int] | None) -> int:
        token = _draw.set(draw) if draw else None
        try:
            number = self.data.draw_integer(low, high)
        finally:
            if token:
                _draw.reset(token)
        self.ranges.append((low, high))
        self.numbers.append(number)
        return number

    def plan(self, options: Sequence[Any], *, of_shape: bool) -> None:
        if self.source:
            self.source.plan(options, of_shape=of_shape)

    def note(self, event: str) -> None:
        """Let the statistics count the examples of which this is so."""
        self.data.events[event] = ""

    def draw_again(self, data: ConjectureData) -> None:
        """Draw the same choices from what replays them."""
        for low, high in self.ranges:
            data.draw_integer(low, high)

    def mark_overrun(self) -> None:
        """Do nothing, since there is no shrinking."""


def draw_mark(data: ConjectureData) -> None:
    """Draw a first choice, which is 0 in the simplest example alone. So leaving that one out leaves others to try."""
    token = _draw.set(lambda low, high: high)
    try:
        data.draw_integer(0, 1)
    finally:
        _draw.reset(token)


@dataclass(frozen=True)
class FailedExample:
    """An example that ended the engine, and what it raised."""

    choices: EngineChoices
    error: Exception


def run_examples(
    run_example: Callable[[EngineChoices], None], sources: Iterator[Source | None], count: int, profile: settings, name: str
) -> FailedExample | None:
    """Run `count` examples, each with the choices of the next source. Return the first one that fails, None if none does.

    The engine begins with the simplest example, which has no source. If the next source is one, that example is left out. The
    engine also repeats an example that failed, to see whether it fails again. It is told so, and nothing is called.
    """
    failed: FailedExample | None = None
    waiting: list[Source | None] = []
    is_first = True

    def run(data: Any) -> None:
        nonlocal failed, is_first
        if failed is not None:
            draw_mark(data.conjecture_data)
            failed.choices.draw_again(data.conjecture_data)
            raise failed.error
        was_first, is_first = is_first, False
        source = waiting.pop() if waiting else next(sources)
        draw_mark(data.conjecture_data)
        if was_first and source is not None:
            waiting.append(source)
            data.conjecture_data.mark_invalid("the simplest example is left out")
        choices = EngineChoices(data.conjecture_data, source)
        try:
            run_example(choices)
        except Exception as error:
            failed = FailedExample(choices, error)
            raise
        except (SystemExit, GeneratorExit) as error:
            raise RaisedBetweenCalls(type(error).__name__) from error

    providers.AVAILABLE_PROVIDERS[BACKEND] = f"{SourceProvider.__module__}.{SourceProvider.__name__}"
    settled = settings(profile, backend=BACKEND, database=None, max_examples=count, phases=(Phase.generate,), print_blob=False)
    test, token = _make_test(name), _run.set(run)
    test._hypothesis_internal_use_settings = settled
    try:
        with _numpy_generator_seeded_once():
            test()
    except Exception as error:
        if failed is None or failed.error is not error:
            raise
    finally:
        _run.reset(token)
    return failed


@contextmanager
def _numpy_generator_seeded_once() -> Iterator[None]:
    """Seed NumPy's global generator for all examples of a block, where Hypothesis would seed it, and put it back, around each.

    Nothing here draws from it, and that takes as long as ten choices. A backend that does answers the same in every run.
    """
    if entropy.NP_RANDOM is None:
        entropy.get_seeder_and_restorer(0)  # which also begins to manage it
    generator, managed = entropy.NP_RANDOM, entropy.RANDOMS_TO_MANAGE
    assert generator is not None
    taken = {key: other for key, other in managed.items() if other is generator}
    for key in taken:
        del managed[key]
    state = generator.getstate()
    generator.seed(0)
    try:
        yield
    finally:
        generator.setstate(state)
        managed.update(taken)


@cache
def _make_test(name: str) -> Any:
    """Return a test of Hypothesis. It is made once for each law, since it takes as long as some examples."""

    def run(data: Any) -> None:
        _run.get()(data)

    run.__name__ = run.__qualname__ = name
    test: Any = given(data=st.data())(run)
    test._hypothesis_internal_database_key, test._hypothesis_internal_use_seed = name.encode(), name  # else it hashes the source
    return test
