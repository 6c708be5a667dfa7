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
        if names[0] in CONFIG_NAMES:
            return found(make_config(d, hidden))
        return found(d, hidden, *([d] if "d_out" in names or "out_features" in names else []), **options)

    module = make(D, HIDDEN)
    state: dict[str, tuple[int, ...]] = {name: tuple(value.shape) for name, value in module.named_parameters()}
    matrices: dict[str, tuple[int, ...]] = {name: shape for name, shape in state.items() if len(shape) == 2}
    vectors = {name: shape for name, shape in state.items() if len(shape) == 1}
    keys = _find_roles(matrices)
    biases = {role: key.removesuffix("weight") + "bias" for role, key in keys.items()}
    if len(matrices) != 3 or len(keys) != 3 or (vectors and {*vectors} != {*biases.values()}):
        raise NotTaken(f"its parameters are {', '.join(f'{k} {v}' for k, v in state.items())}; w1, w2, w3 would be taken")

    def run(x: Any, weights: dict[str, Any], given: dict[str, Any]) -> Any:
        module = make(weights["w1"].shape[1], weights["w1"].shape[0]).eval().to(x.device)
        state = {keys[role]: weight for role, weight in weights.items()}
        if vectors:
            zeros = {role: weight.new_zeros(len(weight)) for role, weight in weights.items()}
            state |= {biases[role]: zeros[role] if bias is None else bias for role, bias in given.items()}
        return import_torch().func.functional_call(module, state, (x,))

    def swiglu(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
        return run(x, {"w1": w1, "w2": w2, "w3": w3}, {})

    def with_biases(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
        return run(x, {"w1": w1, "w2": w2, "w3": w3}, {"w1": b1, "w2": b2, "w3": b3})

    roles = f"{keys['w1']} is the gate w1, {keys['w3']} is w3, {keys['w2']} is w2"
    shown = ", ".join(names[: 1 if names[0] in CONFIG_NAMES else 2])
    return with_biases if vectors else swiglu, f"the class {found.__name__}({shown}): {roles}", {}


def _find_roles(matrices: dict[str, tuple[int, ...]]) -> dict[str, str]:
    """Return which matrix is the gate w1, which the way up w3 and which the way down w2, as far as names and shapes say it.

    Where another matrix is the way down, w1 and w2 are the gate and the way up.
    """
    own = {name: name.removesuffix(".weight").rpartition(".")[2].lower() for name in matrices}
    down = [name for name, shape in matrices.items() if shape == (D, HIDDEN) and own[name] in ROLES["w2"]]
    up = [name for name, shape in matrices.items() if shape == (HIDDEN, D)]
    gates = [name for name in up if own[name] in ROLES["w1"]]
    others = [name for name in up if own[name] in (*ROLES["w3"], "w2") and name not in gates]
    found = {"w1": gates, "w2": down, "w3": others}
    return {role: names[0] for role, names in found.items() if len(names) == 1}
