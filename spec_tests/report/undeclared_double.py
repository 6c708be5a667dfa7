"""float64 that a backend computes in float32, and never said that it has: one cause, however many laws it breaks."""

from __future__ import annotations

from collections.abc import Sequence

from ..specification.formats import FLOAT64_IN_FLOAT32, RESULT_DTYPES
from .verdict import Verdict


def is_undeclared_double(verdict: Verdict) -> bool:
    """Whether a failure in float64 is that of the right equation in float32, on a backend that states no dtypes."""
    is_failure = verdict.status == "failed" and verdict.dtype == "float64"
    return is_failure and not verdict.dtypes_stated and FLOAT64_IN_FLOAT32 in verdict.explanation_ids


def describe_undeclared_double(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Return one sentence on all such failures, with the line of dtypes that leaves float64 out. Return [] if there is none."""
    failures = [v for v in verdicts if is_undeclared_double(v)]
    if not failures:
        return []
    operations = sorted({v.operation for v in failures})
    others = {v.dtype for v in verdicts} - {"float64", "bool", "int64"}
    stated = tuple(dtype for dtype in RESULT_DTYPES if dtype in others) or ("float32",)
    laws = f"{len(failures)} law{'s' * (len(failures) > 1)}"
    return [
        (
            f"{', '.join(operations)}: the right equation, computed in float32, which breaks {laws} in float64; the backend"
            " states no dtypes, and if it is not meant for float64, a line says so",
            f"dtypes = {stated!r}".replace("'", '"'),
        )
    ]
