"""Test cases with fixed inputs: each is a call and a comparison of its answer."""

from __future__ import annotations

import importlib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec_tests.deviations import OracleBackend
from spec_tests.implementation.backend import Backend
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.pytree import leaves, tree_map

from . import Judge


@dataclass(frozen=True)
class Case:
    """One call of an operation, and how its answer is compared."""

    operation: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    compare: Callable[[Any], None]  # raises if the answer is wrong

    @property
    def dtypes(self) -> frozenset[str]:
        arrays = (x for _, x in leaves([self.arguments, self.keywords]) if hasattr(x, "dtype"))
        return frozenset(x.dtype.name for x in arrays if x.dtype.name in DTYPES)

    def passes(self, source: Any) -> bool:
        """Whether the backend's answer is right, or the backend refuses the case.

        The function gets copies, so that it cannot change the inputs of other cases.
        """
        arguments, keywords = tree_map(_copy, self.arguments), tree_map(_copy, self.keywords)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.compare(getattr(source, self.operation)(*arguments, **keywords))
        except NotImplementedError:
            return True
        except Exception:  # an assertion, or whatever a wrong implementation raises
            return False
        return True


def _copy(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def call_oracle(operation: str, *arguments: Any, **keywords: Any) -> Any:
    """Return the oracle's answer. It replaces the numbers that the rival has stored or takes from PyTorch."""
    return getattr(OracleBackend(), operation)(*arguments, **keywords)


def compare_within(expected: Any, **tolerance: Any) -> Callable[[Any], None]:
    def compare(answer: Any) -> None:
        np.testing.assert_allclose(np.asarray(answer, dtype=np.float64), np.asarray(expected, dtype=np.float64), **tolerance)

    return compare


def build_judge(cases: Iterable[Case]) -> Judge:
    """Build a judge that stops at the first case that fails. Cases that a correct implementation fails are left out."""
    by_operation: dict[str, list[Case]] = defaultdict(list)
    alarms, correct = 0, (OracleBackend(), importlib.import_module("backends.numpy_cpu"))
    for case in cases:
        if all(case.passes(source) for source in correct if "bfloat16" not in case.dtypes or isinstance(source, OracleBackend)):
            by_operation[case.operation].append(case)
        else:
            alarms += 1

    def passes(backend: Backend, operation: str) -> bool:
        return all(case.passes(backend.source) for case in by_operation[operation] if case.dtypes <= {*backend.dtypes})

    calls = {name: frozenset().union(*(case.dtypes for case in cases)) for name, cases in by_operation.items()}
    return Judge(passes, calls, sum(map(len, by_operation.values())), alarms)
