"""`@invariant` turns a function that states a law into a test that pytest runs on random examples.

The function's parameters name the operations that it calls, and end with `draw`. The names `operation` and `gradient` stand for
every operation and for every gradient. The docstring is the statement, which a failure prints. The place of the function gives
the id: `test_scale` in test_rms_norm.py is rms_norm.scale.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..calls.steps import Steps
from ..calls.violation import Lost, NotImplementedVariant, Violation, from_fault
from ..implementation.framework import CannotMakeArray
from ..implementation.guard import Fault
from ..inputs.choices import Choose
from ..inputs.draw import Draw
from ..inputs.planned_examples import plan_examples
from ..specification.declaration import Declaration
from ..specification.formats import FORMATS
from ..specification.registry import specification
from ..specification.run_settings import current_settings
from ..specification.tiers import EQUATION, TIERS
from .first_failure import make_failure
from .recorder import ShrinkingEnded
from .trial import GENERAL, Trial

ABOUT, NOT = "about:", "not "  # the beginnings of a need that names a field of the operation's declaration
KEYWORD = "keyword:"  # that of a need that names an argument
NEEDS = ("own memory", "ranks", "states", "transforms")  # of a framework

KINDS = MappingProxyType({"E": "exact", "B": "within the derived bound", "S": "statistical", "F": "finite"})


@dataclass(frozen=True)
class Invariant:
    """What `@invariant` knows of a law. Fields without a comment are its arguments of the same name."""

    id: str  # such as rms_norm.scale, or operation.reference
    statement: str  # the docstring
    kind: str
    source: str
    level: str | None
    tier: str
    operations: tuple[str, ...]  # the names of the operations among its parameters
    module: str  # the operation whose file it stands in
    cost: float
    needs: tuple[str, ...]
    effort: str | None
    max_examples: int | None
    bits: int | None
    dtypes: tuple[str, ...] | None
    each_dtype: bool
    about_state: bool

    @property
    def is_general(self) -> bool:
        """Whether it holds of every operation, or of every gradient."""
        return self.operations[0] in GENERAL

    @property
    def compares_with_oracle(self) -> bool:
        return self.id.endswith(".reference")

    @property
    def planned_examples(self) -> int:
        """How many examples are planned in a default run, in all its dtypes together, unless it compares with the oracle."""
        return plan_examples(self.id, is_general=self.is_general, is_about_state=self.about_state)

    def id_for(self, operation: str) -> str:
        """Return the id for an operation: rms_norm.reference for operation.reference. Other ids than general ones are fixed."""
        subject, _, law = self.id.partition(".")
        return f"{operation}.{law}" if subject in GENERAL else self.id

    def drawn_operation(self, subject: str) -> str:
        """Return the operation whose arguments are drawn. `subject` is the operation that a general invariant is tried on."""
        return subject or self.operations[0]

    def subject(self, operation: str) -> str:
        """Return the operation that the law is about. `operation` is the one that a general invariant is tried on."""
        return operation or self.module

    def applies_to(self, operation: str) -> bool:
        """Whether a general invariant is about this operation.

        `about:NAME` among its needs narrows it to operations whose declaration states the field NAME, and `about:not NAME` to
        the others.
        """
        declaration = specification(operation).declaration
        names = [need.removeprefix(ABOUT) for need in self.needs if need.startswith(ABOUT)]
        return all(declaration.states(name.removeprefix(NOT)) != name.startswith(NOT) for name in names)

    def covers_dtype(self, dtype: str) -> bool:
        """Whether the invariant is about this dtype, and about dtypes of this size."""
        has_size = self.bits is None or (dtype in FORMATS and 8 * FORMATS[dtype].bytes == self.bits)
        return has_size and (self.dtypes is None or dtype in self.dtypes)


def laws_about(operation: str, laws: Iterable[Invariant]) -> list[Invariant]:
    """Return the laws that stand in the file of an operation or of a gradient, and the general ones that hold of it."""
    general = "gradient" if operation.endswith("_vjp") else "operation"
    return [
        law
        for law in laws
        if (law.operations[0] == general and law.applies_to(operation) if law.is_general else law.module == operation)
    ]


def invariant(
    kind: str,
    *,
    source: str = "",
    level: str | None = None,
    tier: str = EQUATION,
    cost: float = 1.0,
    needs: tuple[str, ...] = (),
    effort: str | None = None,
    max_examples: int | None = None,
    bits: int | None = None,
    dtypes: tuple[str, ...] | None = None,
    each_dtype: bool = False,
    about_state: bool = False,
) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a test of a law.

    kind: E exact, B within the bound, S statistical, F finite.
    source: what the law is taken from.
    level: the level that the law belongs to, if a backend may conform without it.
    tier: the tier of a contract that asks for it.
    cost: divides the number of examples, as the cost of the operation does.
    needs: keywords or frameworks without which the law cannot be tried.
    effort: the only effort at which it is tried.
    max_examples: at most so many examples in a dtype.
    bits: the law is about dtypes of this size only.
    dtypes: the law is about these dtypes only.
    each_dtype: try it in every dtype at every effort, since a backend may break it in a single dtype, whatever the inputs are.
    about_state: the law is about memory, layouts, or what a backend keeps from one call to the next.
    """
    assert kind in KINDS
    assert tier in TIERS
    fields = [need.removeprefix(ABOUT).removeprefix(NOT) for need in needs if need.startswith(ABOUT)]
    assert set(fields) <= set(Declaration.__dataclass_fields__), f"a declaration has no field {fields}"
    others = [need for need in needs if not need.startswith((ABOUT, KEYWORD))]
    assert {*others} <= {*NEEDS}, f"nothing decides whether a backend has {others}"

    def decorate(statement: Callable[..., None]) -> Any:
        names = tuple(inspect.signature(statement).parameters)
        assert names[-1] == "draw", f"{statement.__name__} must take draw last"
        module = statement.__module__.rsplit(".", maxsplit=1)[-1].removeprefix("test_").partition("__")[0]
        about = next((name for name in names if name in GENERAL), module)
        description = Invariant(
            f"{about}.{statement.__name__.removeprefix('test_')}",
            inspect.cleandoc(statement.__doc__ or ""),
            kind,
            source,
            level,
            tier,
            names[:-1],
            module,
            cost,
            needs,
            effort,
            max_examples,
            bits,
            dtypes,
            each_dtype,
            about_state,
        )

        def replay(trial: Trial, choices: Any) -> None:
            _run_example(trial, choices, statement, description)

        def test(trial: Trial) -> None:
            raise AssertionError("the plugin of spec_tests runs the examples")

        test.place_as = statement  # type: ignore[attr-defined]  # pytest then reports the file and line of the statement
        test.__doc__, test.__name__, test.__qualname__ = statement.__doc__, statement.__name__, statement.__qualname__
        test.__module__ = statement.__module__
        test.invariant, test.replay = description, replay  # type: ignore[attr-defined]
        return test

    return decorate


def was_asked(refusal: tuple[str, str] | None) -> bool:
    """Whether the backend was to answer the example: neither its domain nor the suite excludes it."""
    return refusal is None or refusal[0] not in ("domain", "suite")


def _run_example(trial: Trial, choices: Any, statement: Callable[..., None], law: Invariant) -> None:
    """Try the statement on one example. `choices` is Hypothesis's own source of choices, or a replacement of it."""
    tally, recorder, numbers = trial.tally, trial.recorder, list[int]()

    def record(choose: Choose) -> Choose:
        def choose_and_record(low: int, high: int) -> int:
            numbers.append((number := int(choose(low, high))) - low)
            return number

        return choose_and_record

    def cover(**outcome: Any) -> None:
        if tally.shrinking:
            return
        calls = recorder.calls_by_operation(operations[:1])
        tally.coverage.add(calls, **outcome)
        if current_settings().measures_skill and law.compares_with_oracle and was_asked(outcome.get("refusal")):
            tally.skill.add(calls[-1] if calls else None)

    operations = [trial.operation(trial.operation_name if name in GENERAL else name) for name in law.operations]
    draw_integer, draw_shape = choices.draw_integer, getattr(choices, "draw_shape", choices.draw_integer)
    make_draw = getattr(choices, "make_draw", Draw)  # a Hypothesis strategy would copy values between its draws
    draw = make_draw(record(draw_integer), operations[0], record(draw_shape))
    draw.plan = getattr(choices, "plan", None)
    recorder.start(draw.log)
    try:
        statement(*operations, draw)
    except ShrinkingEnded:
        choices.mark_overrun()  # this is no verdict: with a larger budget, the example might have drawn more
    except NotImplementedVariant as refusal:
        tally.refusals.append(str(refusal))
        cover(refusal=(refusal.kind, str(refusal)))
        return
    except CannotMakeArray as reason:  # where the process of an isolated backend says so after the law has asked for it
        tally.refusals.append(str(reason))
        cover(refusal=("framework", str(reason)))
        return
    except (Violation, Fault) as seen:
        violation = seen if isinstance(seen, Violation) else from_fault(seen)
        cover(failed=True)
        failure = make_failure(
            law.id_for(trial.operation_name),
            law.subject(trial.operation_name),
            trial.dtype,
            violation,
            tuple(numbers),
            recorder.calls_by_operation(operations),
            recorder.calls[-1] if recorder.calls else None,
            recorder.steps.copy() if law.about_state else Steps(),
            lambda other, source: _run_example(other, source, statement, law),
        )
        if isinstance(violation, Lost) and recorder.states:
            tally.losses[recorder.states[-1]] = violation
        if tally.shrinking and trial.is_other_failure(failure):
            return
        if not tally.shrinking:
            tally.failing.clear()
        tally.failing.update(recorder.states)
        tally.failure = failure
        raise violation from None
    finally:
        trial.remember(recorder.calls_by_operation(operations))
        for operation in operations:
            operation.release()
    cover()
    tally.examples += any(call.is_answered for call in recorder.calls_by_operation(operations))
