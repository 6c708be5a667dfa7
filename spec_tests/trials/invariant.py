"""`@invariant` makes a pytest-and-Hypothesis test of a function that states what must hold.

The function's parameters name the operations it speaks of (`operation`, `gradient`: each of them in turn) and end with `draw`.
Its docstring is the statement, printed when it fails; its place gives its id: test_scale in test_rms_norm.py is rms_norm.scale.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ..calls.violation import Lost, NotImplementedVariant, Violation, from_fault
from ..implementation.guard import Fault
from ..inputs.choices import Choose
from ..inputs.draw import Draw
from ..specification.formats import FORMATS
from ..specification.registry import specification
from .recorder import ShrinkingTimeout
from .trial import GENERAL, Trial

KINDS = {"E": "exact", "B": "within the derived bound", "S": "statistical", "F": "finite"}


@dataclass(frozen=True)
class Invariant:
    id: str
    statement: str
    kind: str
    source: str
    level: str | None
    operations: tuple[str, ...]
    module: str
    cost: float
    needs: tuple[str, ...]
    effort: str | None
    max_examples: int | None
    bits: int | None
    each_dtype: bool

    def of(self, operation: str) -> str:
        subject, _, law = self.id.partition(".")
        return f"{operation}.{law}" if subject in GENERAL else self.id

    def drawn_operation(self, subject: str) -> str:
        """The operation whose arguments are drawn."""
        return subject or self.operations[0]

    def applies_to(self, operation: str) -> bool:
        """`about:NAME` among its needs narrows it to the operations whose file has such an entry; `about:not NAME`, to others."""
        entries, names = (
            vars(specification(operation).module),
            [n.partition(":")[2] for n in self.needs if n.startswith("about:")],
        )
        return all(bool(entries.get(n.removeprefix("not "))) != n.startswith("not ") for n in names)

    def covers_dtype(self, dtype: str) -> bool:
        return self.bits is None or (dtype in FORMATS and 8 * FORMATS[dtype].bytes == self.bits)


def invariant(
    kind: str,
    *,
    source: str = "",
    level: str | None = None,
    cost: float = 1.0,
    needs: tuple[str, ...] = (),
    effort: str | None = None,
    most: int | None = None,
    bits: int | None = None,
    each_dtype: bool = False,
) -> Callable[[Callable[..., None]], Any]:
    """kind: E exact, B within the bound, S statistical, F finite. cost: examples are divided by it, and by the operation's.
    needs: keywords, conventions or frameworks without which the statement cannot be tried. effort: the only one at which it is.
    most: so many examples at most. bits: it speaks of dtypes of that size alone. each_dtype: what breaks it may depend on nothing
    else, so that it is tried in each of them, however little is tried."""
    assert kind in KINDS

    def decorate(statement: Callable[..., None]) -> Any:
        names = tuple(inspect.signature(statement).parameters)
        assert names[-1] == "draw", f"{statement.__name__} must take draw last"
        subject = statement.__module__.rsplit(".", maxsplit=1)[-1].removeprefix("test_").partition("__")[0]
        about = next((name for name in names if name in GENERAL), subject)
        described = Invariant(
            f"{about}.{statement.__name__.removeprefix('test_')}",
            inspect.cleandoc(statement.__doc__ or ""),
            kind,
            source,
            level,
            names[:-1],
            subject,
            cost,
            needs,
            effort,
            most,
            bits,
            each_dtype,
        )

        def one_example(trial: Trial, data: Any) -> None:
            _one_example(trial, data.conjecture_data, statement, names[:-1])

        one_example.place_as = statement  # type: ignore[attr-defined]  # pytest then reports the file and line of the statement
        test = given(data=st.data())(one_example)
        test.__doc__, test.__name__, test.__qualname__ = statement.__doc__, statement.__name__, statement.__qualname__
        test.__module__ = statement.__module__
        test.invariant = described  # type: ignore[attr-defined]
        test.replay = lambda trial, row: _one_example(trial, row, statement, names[:-1])  # type: ignore[attr-defined]
        return test

    return decorate


def _one_example(trial: Trial, choices: Any, statement: Callable[..., None], names: tuple[str, ...]) -> None:
    """Try the statement on one example. `choices` is Hypothesis's own source of choices, or a row that is replayed."""
    tally, recorder, row = trial.tally, trial.recorder, list[int]()

    def recorded(choose: Choose) -> Choose:
        def chosen(low: int, high: int) -> int:
            row.append((number := int(choose(low, high))) - low)
            return number

        return chosen

    operations = [trial.operation(trial.operation_name if name in GENERAL else name) for name in names]
    free, shapes = choices.draw_integer, getattr(choices, "draw_shape", choices.draw_integer)
    draw = Draw(recorded(free), operations[0], recorded(shapes))  # a Hypothesis strategy would copy values between its draws
    recorder.start(draw.log)
    try:
        statement(*operations, draw)
    except ShrinkingTimeout:
        choices.mark_overrun()  # not a verdict: with more time, more might have been drawn after this call
    except NotImplementedVariant as refusal:
        tally.refusals.append(str(refusal))
        return
    except (Violation, Fault) as seen:
        violation = seen if isinstance(seen, Violation) else from_fault(seen)
        tally.failed_at = tally.failed_at or time.monotonic()
        tally.last_violation, tally.choices = violation, tuple(row)
        if isinstance(violation, Lost) and recorder.states:
            tally.losses[recorder.states[-1]] = violation
        tally.failing.update(recorder.states)
        tally.calls = recorder.calls_by_operation(operations)
        raise violation from None
    finally:
        trial.remember(recorder.calls_by_operation(operations))
    tally.examples += any(call.result is not None for call in recorder.calls_by_operation(operations))
