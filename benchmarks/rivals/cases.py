"""Cases with fixed inputs: a call, and what says whether the answer will do."""

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

from . import Judging


@dataclass(frozen=True)
class Case:
    operation: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    compare: Callable[[Any], None]  # raises where the answer will not do

    @property
    def dtypes(self) -> frozenset[str]:
        arrays = (x for _, x in leaves([self.arguments, self.keywords]) if hasattr(x, "dtype"))
        return frozenset(x.dtype.name for x in arrays if x.dtype.name in DTYPES)

    def passes(self, source: Any) -> bool:
        """The function is given copies: what it does to them is no other case's affair."""
        arguments, keywords = tree_map(_copied, self.arguments), tree_map(_copied, self.keywords)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.compare(getattr(source, self.operation)(*arguments, **keywords))
        except Exception:  # an assertion, or whatever a wrong implementation raises
            return False
        return True


def _copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def oracle(operation: str, *arguments: Any, **keywords: Any) -> Any:
    """What stands here where a suite has stored numbers, or PyTorch's own."""
    return getattr(OracleBackend(), operation)(*arguments, **keywords)


def allclose(expected: Any, **tolerance: Any) -> Callable[[Any], None]:
    def compare(answer: Any) -> None:
        np.testing.assert_allclose(np.asarray(answer, dtype=np.float64), np.asarray(expected, dtype=np.float64), **tolerance)

    return compare


def judging(cases: Iterable[Case]) -> Judging:
    """Stops at the first case that fails. Cases that a correct implementation fails are left out."""
    by: dict[str, list[Case]] = defaultdict(list)
    alarms, right = 0, (OracleBackend(), importlib.import_module("backends.numpy_cpu"))
    for case in cases:
        if all(case.passes(source) for source in right if "bfloat16" not in case.dtypes or isinstance(source, OracleBackend)):
            by[case.operation].append(case)
        else:
            alarms += 1

    def passes(backend: Backend, operation: str) -> bool:
        return all(case.passes(backend.source) for case in by[operation] if case.dtypes <= {*backend.dtypes})

    calls = {name: frozenset().union(*(case.dtypes for case in found)) for name, found in by.items()}
    return Judging(passes, calls, sum(map(len, by.values())), alarms)
