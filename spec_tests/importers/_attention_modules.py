"""Modules of multi-head self-attention, made of a width and a number of heads or of a configuration that has both."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

from ..specification.aliases import KEYWORDS, WIDTH_NAMES
from ._imported import NotTaken, find_name, import_torch, list_parameters
from ._swiglu_modules import CONFIG_NAMES

HEADS_NAMES = ("num_heads", *KEYWORDS["num_heads"], "heads", "nhead")
WIDTHS = ("embed_dim", "d_model", "hidden_size", *WIDTH_NAMES)
LENGTH_NAMES = ("block_size", "context_length", "max_seq_len", "max_position_embeddings", "seq_len", "max_len", "n_positions")
BIAS_NAMES = ("bias", "qkv_bias", "use_bias", "attention_bias")
FUSED = ("qkv", "c_attn", "qkv_proj", "Wqkv", "wqkv", "in_proj", "in_proj_weight", "to_qkv", "attn")
ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "w_q": ("q_proj", "w_q", "wq", "W_q", "query", "q", "to_q", "q_proj_weight", "W_query", "W_Q"),
        "w_k": ("k_proj", "w_k", "wk", "W_k", "key", "k", "to_k", "k_proj_weight", "W_key", "W_K"),
        "w_v": ("v_proj", "w_v", "wv", "W_v", "value", "v", "to_v", "v_proj_weight", "W_value", "W_V"),
        "w_o": (
            "out_proj",
            "o_proj",
            "c_proj",
            "w_o",
            "wo",
            "W_o",
            "proj",
            "out",
            "output_proj",
            "to_out",
            "output",
            "dense",
            "W_O",
        ),
    }
)
D, HEADS, TOKENS = 4, 2, 3
MAX_LENGTH = 8192  # positions for which a module that needs a largest one is made


def bind_attention(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of an attention module, the words on its weights and its mask, and its domain."""
    make, words = _find_constructor(found)
    call = _find_call(found)
    module = make(D, HEADS)
    sizes: dict[str, tuple[int, ...]] = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    matrices: dict[str, tuple[int, ...]] = {name: shape for name, shape in sizes.items() if len(shape) == 2}
    vectors = [name for name, shape in sizes.items() if len(shape) == 1]
    names, roles = _find_roles(matrices)

    def multihead_self_attention(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, num_heads: int, is_causal: bool) -> Any:
        torch = import_torch()
        given = {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
        state = {name: torch.cat([given[role] for role in of]) for name, of in names.items()}
        module = make(x.shape[-1], num_heads).eval().to(x.device, x.dtype)
        state |= {name: torch.zeros_like(p) for name, p in module.named_parameters() if name in vectors}
        return call(lambda *arguments: torch.func.functional_call(module, state, arguments), x)

    causal = _is_causal(lambda x: call(module.eval(), x))
    mask = "causal" if causal else "without a mask"
    zeros = f"; {', '.join(vectors)} are 0" if vectors else ""
    domain = {"is_causal": (causal,), "d": "h d_k", "d_v": "d_k", "empty": False, "batch_dims": (1,)}
    return multihead_self_attention, f"{words}, {mask}: {roles}{zeros}", domain


def _find_constructor(found: Any) -> tuple[Callable[[int, int], Any], str]:
    """Return what makes the module of a width and a number of heads, and the words on it."""
    parameters = {p.name: p for p in list_parameters(found)}
    config = find_name(list(parameters), CONFIG_NAMES)
    if config:
        annotated = _resolve_annotation(found, parameters[config].annotation)
        shown = getattr(annotated, "__name__", config)
        return lambda d, heads: found(_make_config(annotated, d, heads)), f"the class {found.__name__}({shown})"
    width, heads_name = find_name(list(parameters), WIDTHS), find_name(list(parameters), HEADS_NAMES)
    if not width or not heads_name:
        missing = "width" if not width else "number of heads"
        raise NotTaken(f"its constructor ({', '.join(parameters)}) has no {missing} that is known by name")
    fixed: dict[str, Any] = {name: False for name in parameters if name in BIAS_NAMES}
    fixed |= {name: 0.0 for name in parameters if name in ("dropout", "attn_dropout")}
    fixed |= {name: MAX_LENGTH for name in parameters if name in LENGTH_NAMES}
    fixed |= {"batch_first": True} if "batch_first" in parameters else {}
    required = [p.name for p in parameters.values() if p.default is p.empty and p.name not in (width, heads_name, *fixed)]
    if required:
        raise NotTaken(f"its constructor also requires {', '.join(required)}")
    return lambda d, heads: found(**{width: d, heads_name: heads, **fixed}), f"the class {found.__name__}({width}, {heads_name})"


def _resolve_annotation(found: Any, annotation: Any) -> Any:
    """Return the class of the configuration, which may be named in a string, or None."""
    if isinstance(annotation, str):
        annotation = getattr(sys.modules.get(found.__module__), annotation, None)
    if inspect.isclass(annotation) and annotation is not inspect.Parameter.empty:
        return annotation
    own = vars(sys.modules[found.__module__]).values() if found.__module__ in sys.modules else ()
    configs = [value for value in own if inspect.isclass(value) and dataclasses.is_dataclass(value)]
    return configs[0] if len(configs) == 1 else None


def _make_config(annotated: Any, d: int, heads: int) -> Any:
    """Return the configuration: of its own class if that is known, else an object that has all the common names."""
    common: dict[str, Any] = {**dict.fromkeys(WIDTHS, d), **dict.fromkeys(HEADS_NAMES, heads)}
    common |= {**dict.fromkeys(LENGTH_NAMES, MAX_LENGTH), **dict.fromkeys(BIAS_NAMES, False)}
    common |= {"dropout": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0, "head_dim": d // heads, "vocab_size": 2, "n_layer": 1}
    if annotated is None:
        return SimpleNamespace(**common)
    parameters = list_parameters(annotated)
    unknown = [p.name for p in parameters if p.default is p.empty and p.name not in common]
    if unknown:
        raise NotTaken(f"{annotated.__name__} also requires {', '.join(unknown)}")
    return annotated(**{p.name: common[p.name] for p in parameters if p.name in common})


def _find_call(found: Any) -> Callable[[Callable[..., Any], Any], Any]:
    """Return what calls the module on x: forward takes x, or x three times as queries, keys and values."""
    parameters = list_parameters(found.forward)[1:]
    required = [p.name for p in parameters if p.default is p.empty and p.kind.name.startswith("POSITIONAL")]
    if len(required) not in (1, 3) or (len(required) == 3 and not required[0].lower().startswith("q")):
        raise NotTaken(f"forward({', '.join(required)}) is not one of x, nor one of queries, keys and values")

    def call(module: Callable[..., Any], x: Any) -> Any:
        answer = module(*[x] * len(required))
        return answer[0] if isinstance(answer, tuple) else answer

    return call


def _find_roles(matrices: dict[str, tuple[int, ...]]) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return which of our weights, one after the other, each matrix of the module is."""
    names: dict[str, tuple[str, ...]] = {}
    for name, shape in matrices.items():
        own = name.removesuffix(".weight").rpartition(".")[2]
        if own in FUSED and shape == (3 * D, D):
            names[name] = ("w_q", "w_k", "w_v")
        else:
            names[name] = tuple(role for role, known in ROLES.items() if own in known and shape == (D, D))
    found = sorted(role for of in names.values() for role in of)
    if found != sorted(ROLES):
        raise NotTaken(f"its matrices are {', '.join(f'{name} {shape}' for name, shape in matrices.items()) or 'none'}")
    return names, ", ".join(f"{name} is {' over '.join(of)}" for name, of in names.items())


def _is_causal(call: Callable[[Any], Any]) -> bool:
    """Whether the first token's answer stays when the last token changes."""
    torch = import_torch()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, TOKENS, D, generator=generator)
    changed = x.clone()
    changed[:, -1] += 1
    with torch.no_grad():
        return bool(torch.equal(call(x)[:, 0], call(changed)[:, 0]))


CLASSES: Mapping[str, tuple[tuple[str, ...], Any]] = MappingProxyType(
    {
        "multihead_self_attention": (
            (
                "MultiheadAttention",
                "MultiHeadSelfAttention",
                "CausalSelfAttention",
                "SelfAttention",
                "CausalMultiHeadSelfAttention",
            ),
            bind_attention,
        )
    }
)
