"""Explanations that hold inside a region: right up to n = 1024; beyond, only the first 1024 keys count."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..calls.call import Call
from .condition import is_integer
from .evidence import Evidence, wrong_in
from .explanation import Explanation
from .region_words import describe_conditions
from .wrong_region import Region


def restrict_evidence(evidence: Evidence, region: Region) -> Evidence:
    """Return the calls that the region holds: what an explanation must account for that is to be restricted to it."""
    return Evidence([c for c in evidence.wrong if region.covers(c)], [c for c in evidence.right if region.covers(c)])


def restrict(explanation: Explanation, region: Region) -> Explanation:
    """Return the explanation restricted to the calls that a region holds. Other answers are right."""

    def predicts(call: Call) -> bool | None:
        if region.covers(call):
            return explanation.predicts(call)
        return None if call.observed is None else not np.any(wrong_in(call))

    return replace(
        explanation,
        id=f"{explanation.id} {describe_conditions(region.inside.of_call, region.inside.of_element)}",
        what=_describe_both(explanation.what, region),
        predicts=predicts,
        facts=(*explanation.facts, *region.facts),
    )


def _describe_both(what: str, region: Region) -> str:
    """Return the sentence of an explanation with the region in front."""
    call, element = region.inside.of_call, region.inside.of_element
    if len(call) == 1 and not element and call[0].kind == "above" and is_integer(call[0].values[0]):
        limit = call[0].values[0]
        if math.isfinite(limit) and call[0].fact.isidentifier():
            return f"right up to {call[0].fact} = {limit}; beyond, {what}"
    return f"{describe_conditions(call, element)}: {what}; right elsewhere"
