"""The plain form of an operation: no optional array, and every option at its default. A plain implementation has it alone."""

from __future__ import annotations

from typing import Any

from ..calls.call import Call
from ..implementation.domain import is_absent
from ..specification.pytree import leaves
from ..specification.registry import Specification, specification


def list_options(spec: Specification) -> dict[str, Any]:
    """Return the default of each keyword that has one, and None for each optional array that not every call has."""
    arrays = [name for name in spec.positional if spec.parameters[name].default is None]
    left_out = {name: None for name in arrays if name not in spec.declaration.always_given}
    return {**spec.defaults, **left_out}


def restrict_to_plain_form(operation: str, domain: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the domain of the operation without what is not of the plain form. What excludes the plain form stays."""
    spec = specification(specification(operation).forward)
    stated = domain.get(spec.name, {})
    plain = {name: (default,) for name, default in list_options(spec).items() if is_possible(default, stated.get(name))}
    return {spec.name: {**stated, **plain}}


def is_possible(default: Any, allowed: Any) -> bool:
    """Whether a restriction admits a default."""
    return allowed is None or is_absent(allowed) or (not isinstance(allowed, str | bool) and default in allowed)


def is_plain(call: Call) -> bool:
    """Whether a call has no optional array and no optional weight, and each option at its default."""
    spec = call.operation.spec
    options = list_options(spec)
    if any(not is_default(call.named.get(name, default), default) for name, default in options.items()):
        return False
    weights = spec.declaration.optional_weights
    return not any(path.rpartition("['")[2].rstrip("']") in weights for path, _ in leaves(call.named.get("weights", {})))


def is_default(value: Any, default: Any) -> bool:
    """Whether a value is the default of an option: the same, and of the same type."""
    return value is default or (type(value) is type(default) and value == default)
