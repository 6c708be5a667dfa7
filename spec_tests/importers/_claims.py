"""Which operation a file says that it is: by the name of the file, of its classes, of the kernel that it defines or of its node.

Nothing is imported for it. What a file says decides how it is counted. What it is taken for is decided by what it computes.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..specification.aliases import CLASS_NAMES, OPERATIONS
from ..specification.registry import operations
from ..specification.source_text import parse_file
from .nn_modules import BINDERS

FILLERS = frozenset(
    ["and", "batch", "causal", "exact", "fused", "kernel", "layer", "model", "my", "new", "reference", "the", "with"]
)  # words that say nothing about which operation it is
MORE = frozenset(["softcap", "qk_matmul_output_mode", "left_window_size"])  # attributes of ONNX's Attention
NONPAD = 6  # the place of its input that says how many of the keys count
OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {  # as formats call the operations, beside the names that functions and classes have
        "addrmsnorm": "add_rms_norm",
        "crossentropyloss": "cross_entropy",
        "softmaxcrossentropyloss": "cross_entropy",
        "gather": "embedding",
        "gemm": "linear",
        "matmul": "linear",
        "matrixmultiplication": "linear",
        "gelumul": "gated_activation",
        "silumul": "gated_activation",
        "gqapageddecode": "paged_attention",
        "gqaraggedprefill": "variable_length_attention",
        "rotaryembedding": "rope",
    }
)


def list_claims(path: Path) -> tuple[str, ...]:
    """Return the operations that a file or a folder says that it is, () if it says none, or if it is in no known format."""
    with suppress(OSError, ValueError, SyntaxError, RecursionError, ImportError):
        named = (_find_operation(name) for name in _list_names(path))
        return tuple(dict.fromkeys(operation for operation in named if operation))
    return ()


def _list_names(path: Path) -> Iterator[str]:
    if path.is_dir():
        yield path.name
    elif path.suffix == ".json":
        found = json.loads(path.read_bytes())
        yield from (str(found.get(key) or "") for key in ("op_type", "name"))
    elif path.suffix == ".onnx":
        nodes = importlib.import_module("onnx").load(str(path)).graph.node
        yield from (node.op_type for node in nodes if not _is_more(node))
    else:
        classes = [node.name for node in parse_file(path).body if isinstance(node, ast.ClassDef)]
        yield from [path.stem] if {"Model", "ModelNew"} & {*classes} else classes


def _is_more(node: Any) -> bool:
    """Whether the node says that it is more than the operation of its name: attention that caps its scores, say."""
    counts_keys = node.op_type == "Attention" and len(node.input) > NONPAD and bool(node.input[NONPAD])
    return counts_keys or any(item.name in MORE and (item.i or item.f) for item in node.attribute)


def _find_operation(name: str) -> str:
    """Return the operation of a name, "" if another word stands beside it: 23_Softmax is one, and 20_LeakyReLU is none."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+", name)
    own = [word.lower() for word in words if not re.fullmatch("[a-z]*[0-9]+", word)]  # without sizes
    names = ("".join(own), "".join(word for word in own if word not in FILLERS))  # layer_norm is one, and layer says nothing
    return next((found for name in names if (found := _list_known().get(name))), "")


@cache
def _list_known() -> Mapping[str, str]:
    """Return the operation of each name, in small letters alone."""
    found = {_squeeze(name): name for name in operations()}
    for operation, (names, _) in OPERATIONS.items():
        found |= {_squeeze(name): operation for name in (*names, *CLASS_NAMES.get(operation, ()))}
    found |= {name: operation for name, ((operation, _), *_) in BINDERS.items()}
    return MappingProxyType({**found, **OTHER_NAMES})


def _squeeze(name: str) -> str:
    return name.replace("_", "").lower()
