"""The badge of a report, as JSON for the endpoint badges of shields.io."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType

from ..implementation.printable import printable
from .backend_results import BackendResults

TONE_COLOURS = MappingProxyType({"good": "brightgreen", "bad": "red", "open": "lightgrey"})


def format_badge(results: Sequence[BackendResults]) -> str:
    """Return the JSON of the badge. With several backends, the worst one decides."""
    worst = next((result for tone in ("bad", "open", "good") for result in results if result.tone == tone), None)
    message, tone = (worst.sentence, worst.tone) if worst else ("nothing was tried", "open")
    name = f"{printable(worst.name, 60)}: " if worst and len(results) > 1 else ""
    badge = {"schemaVersion": 1, "label": "spec_tests", "message": f"{name}{message}", "color": TONE_COLOURS[tone]}
    return json.dumps(badge) + "\n"
