"""Budgets for searches that a test starts."""

from __future__ import annotations

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.implementation.backend import Backend
from spec_tests.inputs.effort import EFFORTS
from spec_tests.specification.work import Budget, Meter

AMPLE = 4.0  # times what the failures of an operation may cost at default effort


def give_budget(backend: Backend, share: float = AMPLE) -> Budget:
    """Return a budget of this share of what the failures of an operation may cost at default effort."""
    return Budget(backend.meter, share * EFFORTS["default"].failure_work)


def budget_for(evidence: Evidence, share: float = AMPLE) -> Budget:
    """Return such a budget for a search in the evidence. Without wrong answers there is nothing to search."""
    if not evidence.wrong:
        return Budget(Meter(), 1)
    return give_budget(evidence.wrong[0].operation.backend, share)
