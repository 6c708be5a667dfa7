"""The tiers of a contract: who asks for a law. A level says how strict an optional law is."""

from collections.abc import Collection
from types import MappingProxyType

EQUATION, CALLS, SURROUNDINGS = "equation", "calls", "surroundings"

TIERS = MappingProxyType(
    {
        EQUATION: "The values are those of the equation, and results have the dtypes, shapes and devices that it demands.",
        CALLS: "They are so for every layout of an argument, for empty and long arrays, and in every repeated call.",
        SURROUNDINGS: "They are so in every state of the framework, such as another default dtype, autocast and inference mode.",
    }
)
OPTIONAL_TIERS = (CALLS, SURROUNDINGS)  # which a course and an imported format do not ask for


def list_required(promised: Collection[str], asked: Collection[str]) -> tuple[str, ...]:
    """Return the tiers that a backend must hold: those that its author promises, and what a run asks for.

    A tier demands those before it.
    """
    names = list(TIERS)
    last = max(names.index(name) for name in (EQUATION, *promised, *asked))
    return tuple(names[: last + 1])
