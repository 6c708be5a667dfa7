"""float64 that a backend computes in float32, and never said that it has: one cause, however many laws it breaks."""

from __future__ import annotations

from typing import Any

from ..specification.formats import RESULT_DTYPES

IN_FLOAT32 = "(float64 in float32)"  # the end of the diagnosis of such a failure


def is_undeclared_double(verdict: dict[str, Any]) -> bool:
    """Whether a failure in float64 is that of the right equation in float32, on a backend that states no dtypes."""
    is_failure = verdict["status"] == "failed" and verdict["dtype"] == "float64"
    return is_failure and verdict.get("dtypes_stated") is False and verdict["reason"].endswith(IN_FLOAT32)


def describe_undeclared_double(verdicts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return one sentence on all such failures, with the line of dtypes that leaves float64 out. Return [] if there is none."""
    failures = [v for v in verdicts if is_undeclared_double(v)]
    if not failures:
        return []
    operations = sorted({v["operation"] for v in failures})
    others = {v["dtype"] for v in verdicts} - {"float64", "bool", "int64"}
    stated = tuple(dtype for dtype in RESULT_DTYPES if dtype in others) or ("float32",)
    laws = f"{len(failures)} law{'s' * (len(failures) > 1)}"
    return [
        (
            f"{', '.join(operations)}: the right equation, computed in float32, which breaks {laws} in float64; the backend"
            " states no dtypes, and if it is not meant for float64, a line says so",
            f"dtypes = {stated!r}".replace("'", '"'),
        )
    ]
