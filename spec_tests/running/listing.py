"""What the command line can name: --list-backends, --list-deviations."""

from __future__ import annotations

from ..deviations import catalogue
from ..implementation.lookup import built_in_backends, registered_backends


def _backends() -> str:
    lines = [f"{name:<20} {path}" for name, path in built_in_backends().items()]
    lines += [f"{name:<20} {entry.value} (registered by {entry.dist.name})" for name, entry in registered_backends().items()]
    return "\n".join([*lines, "Or a path to a .py file, a dotted module name, or module:attribute."])


def _deviations() -> str:
    return "\n".join(f"deviation:{one.id:<55} {one.kind:<10} {one.what}" for one in catalogue().values())


LISTED = {"--list-backends": _backends, "--list-deviations": _deviations}
