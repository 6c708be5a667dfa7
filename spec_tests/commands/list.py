"""Print what can be named: backends, operations, levels or deviations; or how many laws each operation has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ._parser import Parser


def _list_backends() -> str:
    from ..running.listing import LISTING_FORMATTERS

    return LISTING_FORMATTERS["list-backends"]()


def _list_deviations() -> str:
    from ..running.listing import LISTING_FORMATTERS

    return LISTING_FORMATTERS["list-deviations"]()


def _list_operations() -> str:
    """Return the signature of each operation, and of each gradient."""
    from ..specification.registry import gradients, operations, specification

    names = (*operations(), *gradients())
    signatures = (inspect.signature(specification(name).reference) for name in names)
    return "\n".join(
        name + str(signature.replace(return_annotation=signature.empty, parameters=_drop_types(signature)))
        for name, signature in zip(names, signatures, strict=True)
    )


def _drop_types(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]


def _list_levels() -> str:
    from ..specification.levels import LEVELS

    return "\n".join(f"{level:<20} {sentence}" for level, sentence in LEVELS.items())


def _list_laws() -> str:
    """Return how many laws are about each operation and each gradient: its own, and those of every operation."""
    from collections import Counter

    from ..specification.registry import gradients, operations
    from ..trials.collection import invariants
    from ..trials.invariant import laws_about

    laws = [test.invariant for test in invariants()]
    general = [law for law in laws if law.is_general]
    own = Counter(law.module for law in laws if not law.is_general)
    return "\n".join(
        f"{name:<36} {own[name]:>3} of its own, {len(laws_about(name, general)):>2} of every operation"
        for name in (*operations(), *gradients())
    )


KINDS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "backends": _list_backends,
        "operations": _list_operations,
        "laws": _list_laws,
        "levels": _list_levels,
        "deviations": _list_deviations,
    }
)


def main(argv: list[str]) -> int:
    """Print the list, and return 0."""
    parser = Parser("list", __doc__)
    parser.add_argument("kind", nargs="?", choices=KINDS, default="backends", help="what to list (default: backends)")
    print(KINDS[parser.parse_args(argv).kind]())
    return 0
