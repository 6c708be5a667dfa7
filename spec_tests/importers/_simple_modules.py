"""Modules with at most one matrix or one gain: norms, projections, tables and activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..specification.aliases import WIDTH_NAMES
from ._configurations import BIAS_NAMES, EPS_NAMES, find_config, make_config, name_sizes
from ._feed_forward_modules import bind_feed_forward, bind_swiglu
from ._imported import NotTaken, find_name, list_parameters, say_no_parameter
from ._module_probes import NormProbe, call_module, find_factor_of_embedding, find_form_of_gate, find_form_of_gelu

WIDTH, INPUTS, OUTPUTS = 4, 3, 5  # sizes of the small modules that are made to see their parameters
Bound = tuple[Callable[..., Any], str, dict[str, Any]]


def required_parameters(found: Any) -> list[str]:
    """Return the names of the constructor's parameters that have no default."""
    kinds = ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY", "POSITIONAL_ONLY")
    return [p.name for p in list_parameters(found) if p.default is p.empty and p.kind.name in kinds]


def shapes_of(module: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


Norm = tuple[Callable[[int, float], Any], list[str], str, dict[str, Any], dict[str, str]]


def _bind_norm(found: Any, count: int) -> Norm:
    """Return what makes a norm of a width and an epsilon, the names of gain and bias, words on the constructor, the domain, and
    the conventions.

    An epsilon that the constructor does not take is seen from a call.
    """
    make, words, takes_eps = _find_constructor(found)
    module = make(WIDTH, 1e-5)
    sizes = shapes_of(module)
    if len(sizes) < count:  # a bias that is never trained may be a buffer
        sizes |= {name: tuple(x.shape) for name, x in module.named_buffers() if x.is_floating_point()}
    if len(sizes) != count or any(shape != (WIDTH,) for shape in sizes.values()):
        raise NotTaken(f"its parameters are {_describe_shapes(sizes)} where {count} of the row's width are needed")
    probe = NormProbe(module, list(sizes))
    gain, *shifts = probe.order_parameters()
    adds_one = probe.adds_one_to(gain)
    conventions = {"gain": "one plus weight"} if adds_one else {}
    domain, one = dict[str, Any](), 0.0 if adds_one else 1.0
    if not takes_eps:
        epsilon = probe.find_epsilon(gain, one)
        words, domain = f"{words}, with eps = {epsilon:g} as a call shows", {"eps": (epsilon,)}
    return make, [gain, *shifts], words, domain, conventions


def _find_constructor(found: Any) -> tuple[Callable[[int, float], Any], str, bool]:
    """Return what makes a norm of a width and an epsilon, the words on it, and whether it can be given an epsilon.

    A configuration may have an epsilon that the norm does not use: a call shows whether it does.
    """
    names = [p.name for p in list_parameters(found)]
    config, annotated = find_config(found)
    if config:
        shown = getattr(annotated, "__name__", config)

        def configure(d: int, epsilon: float) -> Any:
            return found(**{config: make_config(annotated, name_sizes(d, eps=epsilon))})

        used = [NormProbe(module := configure(WIDTH, eps), list(shapes_of(module))) for eps in (1e-2, 1e-4)]
        small, large = (float(probe.call(1e-3, **dict.fromkeys(probe.names, 1.0)).abs().max()) for probe in used)
        return configure, f"the class {found.__name__}({shown})", small != large
    width, eps = find_name(names, WIDTH_NAMES) or (names[0] if names else ""), find_name(names, EPS_NAMES)
    if not width:
        raise NotTaken(say_no_parameter(names, "the width of a row", WIDTH_NAMES[1:]))
    switches = [name for name in required_parameters(found) if name in BIAS_NAMES]
    if other := [name for name in required_parameters(found) if name not in (width, eps, *switches)]:
        raise NotTaken(f"its constructor also requires {', '.join(other)}")

    def make(d: int, epsilon: float) -> Any:
        return found(**{width: d, **dict.fromkeys(switches, True), **({eps: epsilon} if eps else {})})

    return make, f"the class {found.__name__}({', '.join(filter(None, (width, eps)))})", bool(eps)


def _describe_shapes(sizes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in sizes.items()) or "none"


def bind_rms_norm(found: Any) -> Bound:
    make, (gain,), words, domain, conventions = _bind_norm(found, 1)

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        return call_module(make(x.shape[-1], eps), {gain: weight}, x)

    rms_norm.conventions = conventions  # type: ignore[attr-defined]
    return rms_norm, words + _say_roles({_name_gain(gain, conventions): "weight"}), domain


def bind_layer_norm(found: Any) -> Bound:
    make, (gain, shift), words, domain, conventions = _bind_norm(found, 2)

    def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
        return call_module(make(x.shape[-1], eps), {gain: weight, shift: bias}, x)

    layer_norm.conventions = conventions  # type: ignore[attr-defined]
    return layer_norm, words + _say_roles({_name_gain(gain, conventions): "weight", shift: "bias"}), domain


def _say_roles(roles: Mapping[str, str]) -> str:
    """Return the words on the parameters of a class that have other names than ours."""
    others = [f"whose {theirs} is the {ours}" for theirs, ours in roles.items() if theirs != ours]
    return f", {' and '.join(others)}" if others else ""


def _name_gain(gain: str, conventions: dict[str, str]) -> str:
    return f"{gain} plus 1, as a call shows," if conventions else gain


def bind_linear(found: Any) -> Bound:
    names = [p.name for p in list_parameters(found)]
    if len(names) < 2 or required_parameters(found)[2:]:
        raise NotTaken(f"its constructor ({', '.join(names)}) is not one of two sizes")
    switch = "bias" if "bias" in names else "use_bias" if "use_bias" in names else ""
    sizes = shapes_of(found(INPUTS, OUTPUTS, **{switch: True} if switch else {}))
    matrices = [name for name, shape in sizes.items() if len(shape) == 2]
    vectors = [name for name, shape in sizes.items() if shape == (OUTPUTS,)]
    if len(matrices) != 1 or len(sizes) != 1 + len(vectors) or len(vectors) > 1:
        raise NotTaken(f"its parameters are {_describe_shapes(sizes)}")
    (matrix,) = matrices
    transposes = sizes[matrix] == (INPUTS, OUTPUTS)

    def linear(x: Any, weight: Any, bias: Any = None) -> Any:
        options = {switch: bias is not None} if switch else {}
        module = found(x.shape[-1], len(weight), **options)
        state = {matrix: weight.T if transposes else weight}
        if vectors:
            zeros = weight.new_zeros(len(weight)) if not switch and bias is None else bias
            state |= {} if zeros is None else {vectors[0]: zeros}
        return call_module(module, state, x)

    def without_bias(x: Any, weight: Any) -> Any:
        return linear(x, weight)

    role = "transpose of the weight" if transposes else "weight"
    words = f"the class {found.__name__}({', '.join(names[:2])})" + _say_roles({matrix: role})
    return linear if vectors else without_bias, words, {}


def bind_embedding(found: Any) -> Bound:
    if other := required_parameters(found)[2:]:
        raise NotTaken(f"its constructor also requires {', '.join(other)}")
    sizes = shapes_of(found(OUTPUTS, INPUTS))
    if list(sizes.values()) != [(OUTPUTS, INPUTS)]:
        raise NotTaken(f"its parameters are {_describe_shapes(sizes)} where one of (vocab, width) is needed")
    (table,) = sizes
    factor = find_factor_of_embedding(found(OUTPUTS, INPUTS), table)
    if factor != 1:
        raise NotTaken(f"it multiplies its rows by {factor:g}, as a call shows")

    def embedding(token_ids: Any, weight: Any) -> Any:
        return call_module(found(*weight.shape), {table: weight}, token_ids)

    return embedding, f"the class {found.__name__}(vocab, width)" + _say_roles({table: "weight"}), {}


def bind_pointwise(operation: str, domain: Mapping[str, Any] = MappingProxyType({})) -> Callable[[Any], Bound]:
    """Return the binder of a module without parameters. `domain` has the options that its name states."""

    def bind(found: Any) -> Bound:
        if required_parameters(found):
            raise NotTaken(f"its constructor requires {', '.join(required_parameters(found))}")
        takes_approximate = operation == "gelu" and "approximate" in [p.name for p in list_parameters(found)]
        if sizes := shapes_of(found()):
            raise NotTaken(f"it has parameters: {_describe_shapes(sizes)}")

        def plain(x: Any) -> Any:
            return call_module(found(), {}, x)

        def gelu(x: Any, *, approximate: str) -> Any:
            return call_module(found(approximate=approximate) if takes_approximate else found(), {}, x)

        def gated_activation(x: Any, *, activation: str, layout: str, gate: str) -> Any:
            return call_module(found(), {}, x)

        words, stated = f"the class {found.__name__}()", dict(domain)
        if operation == "gelu" and not takes_approximate and not domain:
            stated = {"approximate": (find_form_of_gelu(plain),)}
        words += "".join(f", {name} {' or '.join(values)}" for name, values in stated.items())
        if operation == "gated_activation":
            return gated_activation, words, stated
        if operation == "gelu":
            return gelu, words, stated
        return plain, words, {}

    return bind


def bind_along_axis(operation: str) -> Callable[[Any], Bound]:
    """Return the binder of a module that is made with an axis, or that always takes the last one."""

    def bind(found: Any) -> Bound:
        axis_name = find_name([p.name for p in list_parameters(found)], ("axis", "dim"))

        def along(x: Any, *, axis: int) -> Any:
            return call_module(found(**{axis_name: axis}), {}, x)

        def along_last(x: Any) -> Any:
            return call_module(found(), {}, x)

        found(**({axis_name: -1} if axis_name else {}))
        return along if axis_name else along_last, f"the class {found.__name__}({axis_name or 'along the last axis'})", {}

    return bind


def bind_gate(*activations: str) -> Callable[[Any], Bound]:
    """Return the binder of a module without parameters that gates one half of a packed array with the other.

    A call shows which half is the gate, how the halves are packed, and which of the activations is computed.
    """

    def bind(found: Any) -> Bound:
        if required_parameters(found):
            raise NotTaken(f"its constructor requires {', '.join(required_parameters(found))}")
        if sizes := shapes_of(found()):
            raise NotTaken(f"its parameters are {_describe_shapes(sizes)}, and a gate has none")

        def gated_activation(x: Any, *, activation: str, layout: str, gate: str) -> Any:
            return call_module(found(), {}, x)

        form = find_form_of_gate(lambda x: call_module(found(), {}, x), activations)
        words = ", ".join(f"{name} {value}" for name, value in form.items())
        return gated_activation, f"the class {found.__name__}(), {words}, as a call shows", {k: (v,) for k, v in form.items()}

    return bind


def _gate(activation: str) -> Callable[[Any], Bound]:
    return bind_pointwise("gated_activation", {"activation": (activation,), "layout": ("concatenated",), "gate": ("first",)})


FEED_FORWARD = (
    "FeedForward",
    "FeedFoward",
    "FFN",
    "MLP",
    "PositionwiseFeedForward",
    "PositionwiseFeedForwardNet",
    "FeedForwardNetwork",
)
CLASSES: Mapping[str, tuple[tuple[str, ...], Callable[[Any], Bound]]] = MappingProxyType(
    {
        # an operation, and a word where it stands several times: the names of classes, and what binds one
        "rms_norm": (("RMSNorm", "LlamaRMSNorm", "MistralRMSNorm", "Qwen2RMSNorm", "GemmaRMSNorm", "T5LayerNorm"), bind_rms_norm),
        "layer_norm": (("LayerNorm", "LayerNormalization"), bind_layer_norm),
        "linear": (("Linear", "Dense"), bind_linear),
        "embedding": (("Embedding", "TokenEmbedding"), bind_embedding),
        "relu": (("ReLU",), bind_pointwise("relu")),
        "sigmoid": (("Sigmoid",), bind_pointwise("sigmoid")),
        "silu": (("SiLU", "Swish"), bind_pointwise("silu")),
        "gelu": (("GELU",), bind_pointwise("gelu")),
        "gelu tanh": (("NewGELU", "GELUTanh", "NewGELUActivation"), bind_pointwise("gelu", {"approximate": ("tanh",)})),
        "softmax": (("Softmax",), bind_along_axis("softmax")),
        "log_softmax": (("LogSoftmax",), bind_along_axis("log_softmax")),
        "gated_activation silu": (("SiluAndMul",), _gate("silu")),
        "gated_activation gelu": (("GeluAndMul",), _gate("gelu")),
        "gated_activation tanh": (("GeluTanhAndMul",), _gate("gelu_tanh")),
        "gated_activation swiglu": (("SwiGLU",), bind_gate("silu")),
        "gated_activation geglu": (("GEGLU",), bind_gate("gelu", "gelu_tanh")),
        "swiglu": (("SwiGLU", "SwiGLUFFN", "SwiGLUFeedForward", "SwiGLUMLP", "GatedMLP", "LlamaMLP", *FEED_FORWARD), bind_swiglu),
        "feed_forward": (FEED_FORWARD, bind_feed_forward),
    }
)
