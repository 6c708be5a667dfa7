"""The texts of --list-backends, --list-deviations and `spec-tests list`."""

from __future__ import annotations

from types import MappingProxyType

from ..deviations import catalogue
from ..implementation.lookup import PLACES, built_in_backends, registered_backends


def _list_backends() -> str:
    lines = [f"{name:<20} {path}" for name, path in built_in_backends().items()]
    lines += [f"{name:<20} {entry.value} (registered by {entry.dist.name})" for name, entry in registered_backends().items()]
    return "\n".join([*lines, PLACES])


def _list_deviations() -> str:
    return "\n".join(f"deviation:{deviation.id:<55} {deviation.kind:<10} {deviation.what}" for deviation in catalogue().values())


LISTING_FORMATTERS = MappingProxyType({"list-backends": _list_backends, "list-deviations": _list_deviations})
