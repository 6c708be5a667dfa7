"""The sizes that constructors and configurations of modules take, under the names that are common."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, SimpleNamespace
from typing import Any

from ..specification.aliases import KEYWORDS, WIDTH_NAMES
from ._imported import NotTaken, find_name, list_named_parameters, list_parameters

CONFIG_NAMES = ("config", "cfg", "args")
SETTING = threading.RLock()  # held while variables of a file have other values
MAPPINGS: tuple[Any, ...] = (Any, dict, object, SimpleNamespace)  # annotations that do not say what a configuration has
EPS_NAMES = ("eps", *KEYWORDS["eps"])
EPSILON = 1e-5
HEADS_NAMES = ("num_heads", *KEYWORDS["num_heads"], "heads", "nhead", "h", "number_of_heads", "nheads")
HEAD_WIDTH_NAMES = ("head_dim", "head_size", "d_head", "dim_head", "d_k", "d_v")
WIDTHS = (
    "embed_dim", "d_model", "hidden_size", "emb_dim", "d_in", "d_out", "n_embed", "input_dim", "output_dim", "embed_size",
    "emb_size", "hidden", "model_dim", "model_dimension", "dim_model", "embedding_dim", "d_embed", *WIDTH_NAMES,
)  # fmt: skip
HIDDEN_NAMES = (
    "d_ff",
    "intermediate_size",
    "hidden_dim",
    "ffn_dim",
    "n_inner",
    "d_hidden",
    "ffn_hidden_size",
    "mlp_dim",
    "dim_feedforward",
)
LENGTH_NAMES = (
    "block_size", "context_length", "max_seq_len", "max_position_embeddings", "seq_len", "max_len", "n_positions", "context_len",
    "max_length", "max_seq_length", "n_ctx",
)  # fmt: skip
KV_HEADS_NAMES = ("num_kv_heads", *KEYWORDS["num_kv_heads"])
BIAS_NAMES = ("bias", "qkv_bias", "use_bias", "attention_bias", "mlp_bias")
DROPOUT_NAMES = (
    "dropout",
    "attn_dropout",
    "attention_dropout",
    "attn_pdrop",
    "resid_pdrop",
    "drop_rate",
    "dropout_rate",
    "p_drop",
    "dropout_probability",
    "dropout_prob",
    "dropout_p",
)
ROUNDED: Mapping[str, Any] = MappingProxyType(
    {"multiple_of": 1, "ffn_dim_multiplier": None}
)  # of Llama's feed-forward: its number of features is rounded to no multiple
THETA = 10_000.0
THETA_NAMES = ("rope_theta", "theta", *KEYWORDS["theta"])
ROTATION_SWITCHES = ("use_rope", "rope", "use_rotary", "rotary", "apply_rope", "use_rotary_embedding")


def name_sizes(
    d: int, heads: int = 1, length: int = 1, theta: float | None = None, *, hidden: int | None = None, eps: float = EPSILON
) -> dict[str, Any]:
    """Return what constructors and configurations take, under all names that are common."""
    named: dict[str, Any] = {
        **dict.fromkeys(WIDTHS, d),
        **dict.fromkeys(HEADS_NAMES, heads),
        **dict.fromkeys(LENGTH_NAMES, length),
    }
    named |= {**dict.fromkeys(KV_HEADS_NAMES, heads), **dict.fromkeys(BIAS_NAMES, False), **dict.fromkeys(DROPOUT_NAMES, 0.0)}
    named |= {**dict.fromkeys(THETA_NAMES, theta or THETA), **dict.fromkeys(ROTATION_SWITCHES, theta is not None)}
    named |= {**dict.fromkeys(HIDDEN_NAMES, hidden or 4 * d), **dict.fromkeys(EPS_NAMES, eps)}
    named |= {"hidden_act": "silu", "pretraining_tp": 1, **ROUNDED}
    return named | {**dict.fromkeys(HEAD_WIDTH_NAMES, d // heads), "vocab_size": 2, "n_layer": 1}


def find_config(found: Any) -> tuple[str, Any]:
    """Return the name of the only parameter of a constructor that is a configuration, "" if there is none, and its class."""
    parameters = {p.name: p for p in list_named_parameters(found)}
    config = find_name(list(parameters), CONFIG_NAMES)
    return (config, resolve_annotation(found, parameters[config].annotation)) if config else ("", None)


def resolve_annotation(found: Any, annotation: Any) -> Any:
    """Return the class of the configuration, which may be named in a string, or None."""
    if isinstance(annotation, str):
        annotation = getattr(sys.modules.get(found.__module__), annotation, None)
    if annotation in MAPPINGS:
        return None
    if inspect.isclass(annotation) and annotation is not inspect.Parameter.empty:
        return annotation
    own = vars(sys.modules[found.__module__]).values() if found.__module__ in sys.modules else ()
    configs = [value for value in own if inspect.isclass(value) and dataclasses.is_dataclass(value)]
    return configs[0] if len(configs) == 1 else None


def find_variables(found: Any) -> tuple[str, ...]:
    """Return the variables of a class's file that have names of sizes, () if none of them is a width: its code reads these."""
    known = name_sizes(1)
    names = [name for name, value in _find_variables(found).items() if name in known and isinstance(value, int | float)]
    return tuple(names) if any(name in WIDTHS for name in names) else ()


def _find_variables(found: Any) -> dict[str, Any]:
    return vars(sys.modules[found.__module__]) if found.__module__ in sys.modules else {}


@contextmanager
def setting_variables(found: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """Let variables of a class's file have other values, in one thread at a time."""
    variables = _find_variables(found)
    with SETTING:
        before = {name: variables[name] for name in values}
        variables.update(values)
        try:
            yield
        finally:
            variables.update(before)


def forward_with_variables(module: Any, values: Mapping[str, Any]) -> Any:
    """Return the module. From now on its forward runs with these values of its file's variables."""
    forward = module.forward

    @functools.wraps(forward)
    def run(*given: Any, **options: Any) -> Any:
        with setting_variables(type(module), values):
            return forward(*given, **options)

    module.forward = run
    return module


class _Config(SimpleNamespace):
    """A configuration whose entries are attributes and items."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)


def make_config(annotated: Any, common: dict[str, Any]) -> Any:
    """Return the configuration: of its own class if that is known, else an object that has all the common names."""
    if annotated is None:
        return _Config(**common, dtype=None)
    parameters = list_parameters(annotated)
    unknown = [p.name for p in parameters if p.default is p.empty and p.name not in common]
    if unknown:
        raise NotTaken(f"{annotated.__name__} also requires {', '.join(unknown)}")
    return annotated(**{p.name: common[p.name] for p in parameters if p.name in common})
