"""What the conventions of sampling_probabilities share: which of them decide a call, and how they change the equation."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._convention import Equation
from ._in_parts import change_part

if TYPE_CHECKING:
    from reference_numpy._kept import Filters

OPERATIONS = ("sampling_probabilities",)
FILTERS = ("top_k", "top_p", "min_p")
RULES = ("temperature_order", "top_k_ties", "top_p_mass", "top_p_ties")
UNIT = 2.0**-24  # of float32: roundings may reach other sets by it


def follow(**changed: str) -> Callable[[Equation], Equation]:
    """Return the change of the equation to one that follows another rule."""
    return change_part("sampling_probabilities", "rules", lambda rules: lambda: rules()._replace(**changed))


def number_of(named: dict[str, Any], name: str) -> Any:
    """Return a number among the arguments of a call, None if it is not given."""
    x = named.get(name)
    return None if x is None else float(getattr(x, "value", x))


def has(named: dict[str, Any], *names: str) -> bool:
    """Whether some of these filters are given, and a temperature other than 0."""
    return any(named.get(name) is not None for name in names) and number_of(named, "temperature") != 0


def filter_with(named: dict[str, Any], settled: dict[str, str], **rules: str) -> Filters:
    """Return the filters of a call under these rules, and under the conventions that are settled."""
    logits, temperature = named["logits"], number_of(named, "temperature")
    kept = importlib.import_module("reference_numpy._kept")  # it is there where the operation is tried
    known = kept.Rules(**{**{name: value for name, value in settled.items() if name in RULES}, **rules})
    k, p, m = (number_of(named, name) for name in FILTERS)
    z = np.asarray(getattr(logits, "value", logits), dtype=np.float64)
    found: Filters = kept.Filters(z, 1.0 if temperature is None else temperature, k, p, m, known)
    return found


def list_counts(filters: Filters) -> list[np.ndarray]:
    """Return how many tokens min_p and top_p may keep, the latter by each mass that top_p may count of."""
    k, m = filters.by_top_k(UNIT), filters.by_min_p(UNIT)
    masses = [k]
    if filters.min_p is not None:
        masses.append(tuple(np.minimum(a, b) for a, b in zip(k, m, strict=True)))
    if filters.top_k is not None or filters.min_p is not None:
        masses.append((filters.present, filters.present))
    return [np.stack(m), *(np.stack(filters.by_top_p(UNIT, mass)) for mass in masses)]
