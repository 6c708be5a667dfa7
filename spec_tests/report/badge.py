"""A badge, as shields.io's endpoint takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..implementation.printable import printable
from .backend_results import BackendResults

COLOURS = {"good": "brightgreen", "bad": "red", "open": "lightgrey"}


def badge(subjects: Sequence[BackendResults]) -> str:
    """Of several backends the worst decides."""
    worst = next((s for tone in ("bad", "open", "good") for s in subjects if s.tone == tone), None)
    message, tone = (worst.sentence, worst.tone) if worst else ("nothing was tried", "open")
    name = f"{printable(worst.name, 60)}: " if worst and len(subjects) > 1 else ""
    return json.dumps({"schemaVersion": 1, "label": "spec_tests", "message": f"{name}{message}", "color": COLOURS[tone]}) + "\n"
