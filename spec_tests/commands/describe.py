"""Describe operations for an implementation in any language: names, shapes, dtypes and defaults."""

from __future__ import annotations

import json

from ._parser import Parser
from ._servers import find_complaint


def main(argv: list[str]) -> int:
    """Print the interfaces of operations, and return the exit status: 0, or 4 if there is no such operation."""
    parser = Parser("describe", __doc__)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="operations and gradients (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON (docs/protocol/operations.schema.json)")
    options = parser.parse_args(argv)

    from ..servers.description import describe_as_json, describe_as_text
    from ..servers.interface import interface
    from ..specification.registry import gradients, operations

    names = options.operations or [*operations(), *gradients()]
    if complaint := find_complaint(names):
        parser.error(complaint)
    interfaces = [interface(name) for name in names]
    print(json.dumps(describe_as_json(interfaces), indent=1) if options.json else describe_as_text(interfaces))
    return 0
