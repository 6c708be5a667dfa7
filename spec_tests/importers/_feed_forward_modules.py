"""Feed-forward modules of two matrices, and gated ones of three: the gate, the way up and the way down, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..specification.aliases import GATED
from ._configurations import BIAS_NAMES, DROPOUT_NAMES, HIDDEN_NAMES, ROUNDED, find_config, make_config, name_sizes
from ._imported import RAISED, NotTaken, import_torch, list_named_parameters, say

D, HIDDEN = 4, 9  # two thirds of the second, as in Llama, are another number than the first
UP, DOWN = (HIDDEN, D), (D, HIDDEN)
NAMED = ("swiglu", "llama")  # in the names of classes whose gate is silu
FEED_FORWARD_ACTIVATIONS = ("relu", "gelu")
SAME = 1e-4  # what rounding moves by is less
PROBES = (-2.0, -1.0, -0.25, 0.5, 1.0, 2.0)  # where the activations differ


def bind_feed_forward(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of a module of two matrices, the words on it, and its activation, which a call shows."""
    make, shown = _find_constructor(found)
    module = make(D, HIDDEN)
    sizes: dict[str, tuple[int, ...]] = {name: tuple(value.shape) for name, value in module.named_parameters()}
    matrices = [name for name, shape in sizes.items() if len(shape) == 2]
    if len(matrices) != 2 or sizes[matrices[0]] != sizes[matrices[1]][::-1] or sizes[matrices[0]][1] != D:
        wanted = f"a matrix up and one down, (hidden, {D}) and ({D}, hidden)"
        raise NotTaken(f"its parameters are {_describe(sizes)}; {wanted}, would be taken")
    _check_features(module, dict(zip(matrices, (UP, DOWN), strict=True)))
    biases = [name.removesuffix("weight") + "bias" for name in matrices]
    vectors = [name for name, shape in sizes.items() if len(shape) == 1]
    if vectors and {*vectors} != {*biases}:
        raise NotTaken(f"its parameters are {_describe(sizes)}; two biases would be taken, or none")

    def run(x: Any, weights: tuple[Any, Any], given: tuple[Any, Any]) -> Any:
        module = make(weights[0].shape[1], weights[0].shape[0]).eval().to(x.device)
        state = dict(zip(matrices, weights, strict=True))
        if vectors:
            zeros = [weight.new_zeros(len(weight)) for weight in weights]
            state |= {name: zero if b is None else b for name, zero, b in zip(biases, zeros, given, strict=True)}
        return import_torch().func.functional_call(module, state, (x,))

    def plain(x: Any, w1: Any, w2: Any, *, activation: str) -> Any:
        return run(x, (w1, w2), (None, None))

    def with_biases(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str) -> Any:
        return run(x, (w1, w2), (b1, b2))

    one = import_torch().ones(1, 1)
    activation = _find_activation(lambda x: run(x, (one, one), (None, None)), added=lambda x: x)
    if activation not in FEED_FORWARD_ACTIVATIONS:
        raise NotTaken(f"its activation is {activation}, as a call shows; feed_forward has relu and gelu")
    words = f"the class {found.__name__}({shown}): {matrices[0]} is w1, {matrices[1]} is w2, {activation} as a call shows"
    return with_biases if vectors else plain, words, {"activation": (activation,)}


def _check_features(module: Any, shapes: dict[str, tuple[int, int]]) -> None:
    """Raise NotTaken unless matrices of HIDDEN features can take the place of the module's own.

    A module may round the number of features that it is asked for, or choose its own. Layers that only multiply do not need it.
    """
    torch = import_torch()
    own: dict[str, tuple[int, ...]] = {name: tuple(value.shape) for name, value in module.named_parameters() if name in shapes}
    if own == shapes:
        return
    state = {name: torch.ones(shape) for name, shape in shapes.items()}
    state |= {name: torch.zeros(HIDDEN) for name, value in module.named_parameters() if value.dim() == 1 and len(value) != D}
    try:
        torch.func.functional_call(module.eval(), state, (torch.ones(1, D),))
    except RAISED as error:
        raise NotTaken(f"with {HIDDEN} features in place of its own, {_describe(own)}, it raised {say(error)}") from error


def _find_activation(call: Callable[[Any], Any], added: Callable[[Any], Any]) -> str:
    """Return the name of the activation nearest to the answers for single numbers.

    Raise NotTaken if the answers are nearer to one of them plus what is `added` by a module that adds its input to the result.
    """
    torch = import_torch()
    functional = torch.nn.functional
    x = torch.tensor(PROBES)
    known = {
        "relu": functional.relu(x),
        "gelu": functional.gelu(x),
        "the tanh form of gelu": functional.gelu(x, approximate="tanh"),
        "silu": functional.silu(x),
        "relu squared": functional.relu(x).square(),
        "sigmoid": torch.sigmoid(x),
        "tanh": torch.tanh(x),
    }
    with torch.no_grad():
        answer = call(x[:, None])[:, 0]
    gaps = {name: float((value - answer).abs().max()) for name, value in known.items()}
    if min(float((value + added(x) - answer).abs().max()) for value in known.values()) < min(gaps.values()):
        raise NotTaken("it adds its input to the result, as a call shows")
    return min(gaps, key=lambda name: gaps[name])


def _find_constructor(found: Any) -> tuple[Callable[[int, int], Any], str]:
    """Return what makes the module of two sizes, and the words on its parameters."""
    config, annotated = find_config(found)
    if config:
        shown = getattr(annotated, "__name__", config)
        return lambda d, hidden: found(**{config: make_config(annotated, name_sizes(d, hidden=hidden))}), shown
    parameters = list_named_parameters(found)
    names = [p.name for p in parameters]
    switches = {name: False for name in names if name in BIAS_NAMES}
    required = [p.name for p in parameters if p.default is p.empty and p.kind.name.startswith("POSITIONAL")]
    others = {name: 0.0 for name in required[1:] if name in DROPOUT_NAMES}
    others |= {name: value for name, value in ROUNDED.items() if name in required}
    free = [name for name in required if name not in (*switches, *others)]
    if not names or len(free) > 3:
        raise NotTaken(f"its constructor ({', '.join(names)}) is not one of two sizes")
    known_hidden = next((name for name in names[1:] if name in HIDDEN_NAMES), "")

    def make(d: int, hidden: int) -> Any:
        sizes = dict(zip(free, (d, hidden, d), strict=False))
        if len(free) < 2 and known_hidden:
            sizes[known_hidden] = hidden
        elif len(free) < 2 and len(names) > 1 and names[1] not in (*BIAS_NAMES, *DROPOUT_NAMES):
            sizes[names[1]] = hidden
        return found(**sizes, **switches, **others)

    return make, ", ".join(names[:2] if len(free) > 1 or known_hidden else names[:1])


def _describe(sizes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in sizes.items()) or "none"


def bind_swiglu(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of a module of three matrices, the words on it, and its domain."""
    make, shown = _find_constructor(found)
    module = make(D, HIDDEN)
    state: dict[str, tuple[int, ...]] = {name: tuple(value.shape) for name, value in module.named_parameters()}
    matrices: dict[str, tuple[int, ...]] = {name: shape for name, shape in state.items() if len(shape) == 2}
    vectors = {name: shape for name, shape in state.items() if len(shape) == 1}
    keys = _find_roles(matrices) or _find_roles_by_call(make, matrices)
    if keys:
        _check_features(module, {keys["w1"]: UP, keys["w2"]: DOWN, keys["w3"]: UP})
    biases = {role: key.removesuffix("weight") + "bias" for role, key in keys.items()}
    if len(matrices) != 3 or len(keys) != 3 or (vectors and {*vectors} != {*biases.values()}):
        raise NotTaken(f"its parameters are {_describe(state)}; w1, w2, w3 would be taken")

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
    one = import_torch().ones(1, 1)
    gate = _find_activation(lambda x: run(x, dict.fromkeys(GATED, one), dict.fromkeys(GATED)) / x, added=import_torch().ones_like)
    if gate != "silu" and not any(word in found.__name__.lower() for word in NAMED):
        raise NotTaken(f"its gate is {gate}, as a call shows; swiglu has silu")
    return with_biases if vectors else swiglu, f"the class {found.__name__}({shown}): {roles}", {}


def _find_roles(matrices: dict[str, tuple[int, ...]]) -> dict[str, str]:
    """Return which matrix is the gate w1, which the way up w3 and which the way down w2, as far as names and shapes say it.

    The module may have chosen its own number of hidden features, if it is another one than the row's width.
    Where another matrix is the way down, w1 and w2 are the gate and the way up.
    """
    own = {name: name.removesuffix(".weight").rpartition(".")[2].lower() for name in matrices}
    down = [name for name, shape in matrices.items() if shape[0] == D != shape[1] and own[name] in GATED["w2"]]
    up = [name for name, shape in matrices.items() if shape[1] == D != shape[0]]
    gates = [name for name in up if own[name] in GATED["w1"]]
    others = [name for name in up if own[name] in (*GATED["w3"], "w2") and name not in gates]
    found = {"w1": gates, "w2": down, "w3": others}
    named = {role: names[0] for role, names in found.items() if len(names) == 1}
    return named if len(named) == len(GATED) else {}


def _find_roles_by_call(make: Callable[[int, int], Any], matrices: dict[str, tuple[int, ...]]) -> dict[str, str]:
    """Return the roles of two matrices up and one down whose names say nothing, if a call shows that one is a gate of silu."""
    torch = import_torch()
    down = [name for name, shape in matrices.items() if shape[0] == D != shape[1]]
    up = [name for name, shape in matrices.items() if shape[1] == D != shape[0]]
    if len(down) != 1 or len(up) != 2 or len(matrices) != len(GATED):
        return {}
    module = make(1, 1).eval()
    zeros = {name: torch.zeros_like(value) for name, value in module.named_parameters()}
    x = torch.tensor(PROBES)[:, None]
    for gate, other in (up, up[::-1]):
        state = zeros | {gate: torch.full((1, 1), 2.0), other: torch.ones(1, 1), down[0]: torch.ones(1, 1)}
        with torch.no_grad():
            answer = torch.func.functional_call(module, state, (x,))
        if bool((answer - torch.nn.functional.silu(2 * x) * x).abs().max() < SAME):
            return {"w1": gate, "w2": down[0], "w3": other}
    return {}
