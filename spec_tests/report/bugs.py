"""The causes of failures in a list of verdicts: each with its verdicts, in the order in which to mend them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..specification.formats import RESULT_DTYPES
from ..specification.registry import gradients, operations
from ..trials.mending import mending_order
from .verdicts import MATCHES_PREFIX

VAGUEST = 99  # a failure without an explanation, after those with several
EXPLAINED_KINDS = ("deviation", "near miss", "equation", "region")


@dataclass
class Bug:
    """One cause of failures, with the verdicts that failed from it."""

    operation: str  # to mend
    kind: str  # as in the data
    what: str  # the cause in one sentence
    keys: set[str]  # of the explanations, or of the symptom
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    wrong: int = 0  # wrong answers that the explanation was tested on
    right: int = 0
    failing: int = 0  # examples

    @property
    def candidates(self) -> list[str]:
        """The explanations, each with its id in brackets; [] if there is none."""
        return re.split(r"(?<=\)) or ", self.what) if self.kind in EXPLAINED_KINDS else []

    @property
    def operations(self) -> list[str]:
        """The operations that fail from it, in the order of their verdicts."""
        return list(dict.fromkeys(v["operation"] for v in self.verdicts))

    @property
    def laws(self) -> list[str]:
        """The names of the laws that it breaks, with the operation if there are several."""
        several = len({v["id"].partition(".")[0] for v in self.verdicts}) > 1
        return list(dict.fromkeys(v["id"] if several else v["id"].partition(".")[2] for v in self.verdicts))

    @property
    def dtypes(self) -> list[str]:
        return [dtype for dtype in RESULT_DTYPES if any(v["dtype"] == dtype for v in self.verdicts)]

    @property
    def confidence(self) -> str:
        """What the explanation was tested on, "" if there is none."""
        return f"all {self.wrong} wrong and {self.right} right answers" if self.candidates else ""

    def find_clearest_failure(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the verdict that is quickest to understand, with the parts of its message, {} if the report has none.

        It is one that was shrunk, that an explanation is known of, and that has the shortest inputs.
        """

        def rank(found: tuple[dict[str, Any], dict[str, Any]]) -> tuple[bool, bool, bool, int]:
            _, parts = found
            inputs = parts.get("inputs", "")
            return bool(parts.get("first")), not parts.get("diagnosis"), not inputs, len(inputs)

        return min(((verdict, self._find_parts(verdict)) for verdict in self.verdicts), key=rank)

    def _find_parts(self, verdict: dict[str, Any]) -> dict[str, Any]:
        """Return the parts of the message about this cause, of a verdict that may have failed from several."""
        parts = [verdict.get("failure") or {}, *verdict.get("other_failures", ())]
        own = (i for i, cause in enumerate(verdict.get("causes", ())) if self.keys & set(cause["key"].split(" or ")))
        index = next(own, 0)
        return parts[index] if index < len(parts) else {}


def list_errors(verdicts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the verdicts that failed by no fault of the backend: an exception inside the suite, or of another plugin.

    Every failed law has a cause. A report of an earlier version has no causes, so that it has no such verdict either.
    """
    return [v for v in verdicts if v["status"] == "failed" and v.get("causes") == []]


def list_failures(verdicts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the verdicts that failed because of the backend."""
    return [v for v in verdicts if v["status"] == "failed" and v.get("causes") != []]


def group_bugs(verdicts: list[dict[str, Any]]) -> list[Bug]:
    """Return the causes of the failures, those to mend first at the front. A verdict that failed from several is in each."""
    found: list[Bug] = []
    for v in sorted(list_failures(verdicts), key=_is_vague):
        for cause in _list_causes(v):
            keys = set(cause["key"].split(" or "))
            bug = next((bug for bug in found if bug.keys & keys), None)
            if bug is None and not v.get("causes") and cause["kind"] == "unexplained":
                bug = next((bug for bug in found if bug.operation == cause["operation"]), None)
            if bug is None:
                found.append(bug := Bug(cause["operation"], cause["kind"], cause["what"], keys))
            elif len(keys) < len(bug.keys):  # another process, or another law, has settled what is ambiguous
                bug.keys, bug.what = keys, cause["what"]
            bug.verdicts.append(v)
            bug.wrong, bug.right = max((bug.wrong, bug.right), (cause["wrong"], cause["right"]))
            bug.failing += cause["failing"]
    return sorted(found, key=_mending_order)


def _mending_order(bug: Bug) -> tuple[Any, ...]:
    known = bug.operation in (*operations(), *gradients())  # a report may be of another version
    record = {"operation": bug.operation, "kind": bug.kind, "what": bug.what, "failures": bug.failing}
    return (not known, *(mending_order(record) if known else ()))


def _is_vague(verdict: dict[str, Any]) -> int:
    """Return the key that puts the vague failures of a report without causes behind those that settle them."""
    if verdict.get("causes"):
        return 0
    return verdict["reason"].count(") or ") if verdict["reason"].startswith(MATCHES_PREFIX) else VAGUEST


def _list_causes(verdict: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the causes of a verdict. A report of an earlier version has none: its reason then says what explains the failure."""
    if verdict.get("causes"):
        return list(verdict["causes"])
    operation, reason = verdict["operation"], verdict["reason"]
    is_named = reason.startswith(MATCHES_PREFIX)
    what = reason.removeprefix(MATCHES_PREFIX)
    ids = re.findall(r"\(([^()]+)\)(?= or |$)", what) if is_named else []
    key = " or ".join(f"{operation}: {name}" for name in ids) or f"{operation}: unexplained"
    kind = "deviation" if is_named else "unexplained"
    return [{"key": key, "kind": kind, "operation": operation, "what": what, "wrong": 0, "right": 0, "failing": 1}]
