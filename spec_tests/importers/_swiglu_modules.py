"""Gated feed-forward modules: three matrices with the names of the gate, of the way up and of the way down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

from ._imported import NotTaken, import_torch, list_parameters

ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {  # our name of a matrix, and the names that modules give it
        "w1": ("w1", "gate_proj", "gate", "w_gate", "linear_gate", "fc_gate"),
        "w3": ("w3", "up_proj", "up", "w_up", "linear_up", "fc_up", "linear_fc"),
        "w2": ("w2", "down_proj", "down", "w_down", "linear_down", "fc_down", "proj", "out_proj"),
    }
)
D, HIDDEN = 4, 6
CONFIG_NAMES = ("config", "cfg", "args")


def make_config(d: int, hidden: int) -> SimpleNamespace:
    """Return a configuration that has both sizes under the names that are common."""
    widths = dict.fromkeys(("d_model", "hidden_size", "dim", "n_embd", "embed_dim"), d)
    hiddens = dict.fromkeys(("d_ff", "intermediate_size", "hidden_dim", "ffn_dim", "n_inner"), hidden)
    return SimpleNamespace(**widths, **hiddens, bias=False, mlp_bias=False, dropout=0.0, hidden_act="silu", pretraining_tp=1)


def bind_swiglu(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of a module of three matrices, the words on it, and its domain."""
    names = [p.name for p in list_parameters(found)]
    options = {"bias": False} if "bias" in names else {}

    def make(d: int, hidden: int) -> Any:
        return found(make_config(d, hidden)) if names[0] in CONFIG_NAMES else found(d, hidden, **options)

    module = make(D, HIDDEN)
    state = {name.removesuffix(".weight"): tuple(value.shape) for name, value in module.named_parameters()}
    found_names = {role: [name for name in state if name.rpartition(".")[2] in known] for role, known in ROLES.items()}
    wanted = {"w1": (HIDDEN, D), "w3": (HIDDEN, D), "w2": (D, HIDDEN)}
    fits = all(len(of_role) == 1 and state[of_role[0]] == wanted[role] for role, of_role in found_names.items())
    if len(state) != 3 or not fits:
        raise NotTaken(f"its parameters are {', '.join(f'{k} {v}' for k, v in state.items())}; w1, w2, w3 would be taken")
    keys = {role: next(k for k, _ in module.named_parameters() if k.removesuffix(".weight") == of[0])
            for role, of in found_names.items()}  # fmt: skip

    def swiglu(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
        module = make(w1.shape[1], w1.shape[0]).eval().to(x.device)
        return import_torch().func.functional_call(module, {keys["w1"]: w1, keys["w2"]: w2, keys["w3"]: w3}, (x,))

    roles = f"{keys['w1']} is the gate w1, {keys['w3']} is w3, {keys['w2']} is w2"
    return swiglu, f"the class {found.__name__}({', '.join(names[:2])}): {roles}", {}
