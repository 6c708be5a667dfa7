"""What the arguments of an operation may be called in the schema of an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..specification.aliases import ARRAYS, KEYWORDS, OPERATIONS
from ._imported import NotTaken

NUMBERS = ("eps", "axis", "approximate", "theta", "is_causal", "scale", "window")


def _like_first(x: Any, *others: Any) -> Any:
    return x.new_empty(x.shape)


def _half_of_first(x: Any, *others: Any) -> Any:
    return x.new_empty((*x.shape[:-1], x.shape[-1] // 2))


@dataclass(frozen=True)
class Form:
    """One operation as an operator: its arrays in their order, what it may also take, and the array for its result."""

    operation: str
    arrays: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    make_output: Callable[..., Any] = _like_first
    domain: Mapping[str, Any] = field(default_factory=dict)


FORMS = (
    Form("rms_norm", ("x", "weight"), ("eps",)),
    Form("add_rms_norm", ("x", "residual", "weight"), ("eps",)),
    Form("layer_norm", ("x", "weight", "bias"), ("eps",)),
    Form("softmax", ("x",), ("axis",)),
    Form("log_softmax", ("x",), ("axis",)),
    Form("gelu", ("x",), ("approximate",)),
    Form("silu", ("x",)),
    Form("relu", ("x",)),
    Form("sigmoid", ("x",)),
    Form("linear", ("x", "weight"), optional=("bias",), make_output=lambda x, weight: x.new_empty((*x.shape[:-1], len(weight)))),
    Form("embedding", ("token_ids", "weight"), make_output=lambda ids, weight: weight.new_empty((*ids.shape, weight.shape[-1]))),
    Form("rope", ("x", "positions"), ("theta",)),
    Form("scaled_dot_product_attention", ("q", "k", "v"), ("is_causal", "scale"), ("mask",)),
)
GATES = MappingProxyType({"silu_and_mul": "silu", "gelu_and_mul": "gelu", "gelu_tanh_and_mul": "gelu_tanh"})


def _list_names() -> Mapping[str, Form]:
    """Return the forms by all names of their operators."""
    names = {form.operation: form for form in FORMS}
    names |= {alias: form for form in FORMS for alias in OPERATIONS.get(form.operation, ((), ()))[0]}
    names |= dict.fromkeys(("fused_add_rms_norm", "fused_add_rmsnorm", "add_rmsnorm"), names["add_rms_norm"])
    for name, activation in GATES.items():
        domain = MappingProxyType({"activation": (activation,), "layout": ("concatenated",), "gate": ("first",)})
        names[name] = Form("gated_activation", ("x",), make_output=_half_of_first, domain=domain)
    return MappingProxyType(names)


NAMES = _list_names()


def match_arguments(
    form: Form, arguments: Sequence[tuple[str, str, bool]], written: set[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the name in the schema of each of our arguments, and which of these have defaults there.

    An argument is a name, a type and whether it has a default. Raise NotTaken for an argument that must be given and is unknown.
    """
    wanted = (*form.arrays, *form.optional, *form.keywords)
    aliases = {name: {name, *ARRAYS.get(name, ()), *KEYWORDS.get(name, ())} for name in wanted}
    found: dict[str, str] = {}
    optional: list[str] = []
    for name, kind, has_default in arguments:
        ours = next((ours for ours in wanted if name in aliases[ours] and ours not in found), None)
        if ours is not None and (("Tensor" in kind) == (ours not in NUMBERS)):
            found[ours] = name
            optional += [ours] if has_default else []
        elif name not in written and not has_default:
            raise NotTaken(f"its argument {name} is not known")
    if missing := [name for name in form.arrays if name not in found]:
        raise NotTaken(f"no argument is {' or '.join(missing)}")
    return found, tuple(optional)
