"""A backend that states one value of an option is judged with this value alone, and right code conforms."""

import inspect
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.specification.run_settings import using_settings

from ..support.in_process import attempt, backend, trials_of

DAILY = (
    ("feed_forward", "activation", "gelu"),
    ("cross_entropy", "reduction", "mean"),
    ("cross_entropy", "reduction", "none"),
    ("moe_router", "renormalize", False),
)
NUMBERS = {
    "scale": 0.25,
    "softcap": 3.0,
    "scaling_factor": 2.5,
    "attention_factor": 1.5,
    "eps": 1e-3,
    "z_loss": 0.5,
    "alpha": 1.25,
}
NUMBERS |= {"label_smoothing": 0.25, "left_window": 1, "window": 3, "limit": 2.0, "offset": 1.0, "theta": 50.0, "axis": 0}


def list_values() -> Iterator[tuple[str, str, Any]]:
    """Yield each option of each operation with each value that may be stated alone."""
    for name in operations():
        spec = specification(name)
        for option, parameter in spec.parameters.items():
            if option in spec.declaration.choices:
                values = spec.declaration.choices[option]
            elif isinstance(parameter.default, bool):
                values = (True, False)
            elif parameter.kind is parameter.KEYWORD_ONLY and option in NUMBERS:
                values = (NUMBERS[option], *((None,) if parameter.default is None else ()))
            else:
                continue
            yield from ((name, option, value) for value in values)


def state_one_value(operation: str, option: str, value: Any) -> Backend:
    """Return NumPy's backend with a function that has the value in place of the option, as its domain says."""
    right = backend("numpy-cpu").source
    function = getattr(right, operation)

    def fixed(*arrays: Any, **keywords: Any) -> Any:
        return function(*arrays, **{**keywords, option: value})

    signature = inspect.signature(function)
    parameters = [parameter for name, parameter in signature.parameters.items() if name != option]
    fixed.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    domain = {**right.domain, operation: {**right.domain.get(operation, {}), option: (value,)}}
    return Backend("fixed", SimpleNamespace(**{**vars(right), operation: fixed, "domain": domain}), Framework("numpy"))


@pytest.mark.parametrize(
    ("operation", "option", "value"),
    [
        pytest.param(*case, marks=[] if case in DAILY else [pytest.mark.slow, pytest.mark.nightly], id=" ".join(map(str, case)))
        for case in dict.fromkeys((*DAILY, *list_values()))
    ],
)
def test_a_backend_that_states_one_value_conforms(operation: str, option: str, value: Any) -> None:
    under_test = state_one_value(operation, option, value)
    with using_settings(effort="smoke"):
        for name in (operation, f"{operation}_vjp"):
            for test, trial in trials_of(name, under_test) if name in (*operations(), *gradients()) else ():
                if test.invariant.level is None and test.invariant.module in (name, "every_operation", "every_gradient"):
                    violation = attempt(test, trial, seed=1)
                    assert violation is None, (test.invariant.id_for(trial.operation_name), trial.dtype, violation)
