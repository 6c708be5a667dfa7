"""The badge of a report, as JSON for the endpoint badges of shields.io."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..implementation.printable import printable, printable_line
from .backend_results import BackendResults

TONE_COLOURS = MappingProxyType({"good": "brightgreen", "bad": "red", "open": "lightgrey"})


@dataclass(frozen=True)
class Badge:
    """What the badge says, and how good that is: the tone of a verdict."""

    message: str
    tone: str
    label: str = "spec_tests"


def build_badge(results: Sequence[BackendResults]) -> Badge:
    """Return the badge. With several backends, the worst one decides."""
    worst = next((result for tone in ("bad", "open", "good") for result in results if result.tone == tone), None)
    message, tone = (worst.sentence, worst.tone) if worst else ("nothing was tried", "open")
    name = f"{printable(worst.name, 60)}: " if worst and len(results) > 1 else ""
    return Badge(printable_line(f"{name}{message}"), tone)


def format_badge(results: Sequence[BackendResults]) -> str:
    """Return the JSON of the badge."""
    badge = build_badge(results)
    shown = {"schemaVersion": 1, "label": badge.label, "message": badge.message, "color": TONE_COLOURS[badge.tone]}
    return json.dumps(shown) + "\n"
