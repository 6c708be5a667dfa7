"""The facts of a call that a region of wrong answers may depend on: more of them than the coverage of a run counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.call_facts import describe_call
from ..calls.in_domain import dimension_sizes
from ..specification.formats import is_floating
from ..specification.pytree import leaves
from ..specification.registry import argument_dimensions
from .region_axis import describe_axis
from .seen_keys import describe_seen_keys

WITH_OPTIONS = "with options"

EQUAL_LENGTHS, FULL_CACHE, UNUSED_COLUMNS = "equal lengths", "a full cache", "unused columns of the table"

BATCH_ENTRIES = "batch entries"  # how many there are

INDEX_OPTIONS = "_index", "_idx", "_id"  # how options end that are an index with a meaning of its own, such as that of padding

AMONG = " among the entries of "

TIMES = " · "  # between two sizes whose product is a fact

ELEMENTS = "elements of the result"  # how many there are

ARRAYS = "arrays in "  # how many a list holds

EQUAL_ENTRIES = "equal batch entries of "  # of an array of integers or truth values


def describe_for_region(call: Call) -> dict[str, Any]:
    """Return the facts of a call: sizes, options, equal sizes, what the arrays hold, and the place among the calls."""
    facts, options = describe_call(call)
    facts[WITH_OPTIONS] = bool(options)
    facts |= {f"with {name}": is_given for name, is_given in list_given_weights(call).items()}
    sizes = dimension_sizes(call)
    facts |= _describe_shape(call) | _describe_values(call) | _describe_lengths(call) | describe_seen_keys(call)
    rows = {BATCH_ENTRIES: facts[BATCH_ENTRIES]} if BATCH_ENTRIES in facts else {}
    for (one, size), (other, other_size) in combinations((sizes | rows).items(), 2):
        facts[f"{one} = {other}"] = size == other_size
        if other == f"{one}_kv" and other_size and size % other_size == 0:
            facts[f"{one} / {other}"] = size // other_size  # query heads that share a head of keys and values
    for (one, size), (other, other_size) in permutations((sizes | rows).items(), 2):
        facts[f"{one} > {other}"] = size > other_size
    for option, number in _list_counts(call).items():
        facts |= {f"{name} > {option}": size > number for name, size in sizes.items()}
        facts |= {f"{option} > {name}": number > size for name, size in sizes.items()}
    for product, value in _list_products(call, sizes):
        facts |= {f"{name} = {product}": size == value for name, size in sizes.items() if name not in product.split()}
    for (one, size), (other, other_size) in combinations((rows | sizes).items(), 2):
        facts[f"{one}{TIMES}{other}"] = size * other_size
    facts |= {f"{ARRAYS}{name}": len(x) for name, x in call.named.items() if isinstance(x, list)}
    if "axis" in call.keywords:
        facts |= describe_axis(np.shape(call.named["x"]), call.keywords["axis"])
    arrays = [x for _, x in leaves(call.named) if isinstance(x, np.ndarray)]
    facts["several rows and columns"] = bool(arrays) and all(size > 1 for x in arrays for size in x.shape)
    return {**facts, "storage": call.layout, "dtype": call.operation.dtype, **call.history}


def list_given_weights(call: Call) -> dict[str, bool]:
    """Return whether the call has each of the optional weights that the backend's domain lists."""
    listed = call.operation.domain.get("weights", ()) if call.operation.spec.declaration.optional_weights else ()
    weights = call.named["weights"] if listed else {}
    return {f"weights[{name!r}]": any(name in one for one in (weights, *weights.get("layers", ()))) for name in listed}


def _describe_shape(call: Call) -> dict[str, Any]:
    """Return the facts of the shape of the result, and of a mask."""
    facts: dict[str, Any] = {}
    first = next((x for x in call.named.values() if isinstance(x, np.ndarray)), None)
    if first is not None:
        core = next(iter(call.operation.spec.core.values()), 0) or 1
        batch = first.shape[: max(first.ndim - core, 0)]
        facts[BATCH_ENTRIES] = math.prod(batch)
        facts["first batch axis"] = batch[0] if batch else 1
    shape = call.value.shape
    if not call.operation.spec.is_gradient and call.parts is None:
        facts[ELEMENTS] = math.prod(shape)
        facts["axes of the result"] = len(shape)
        facts["columns of the result"] = shape[-1] if shape else 1
        facts["rows of the result"] = shape[-2] if len(shape) > 1 else 1
        facts["first axis of the result"] = shape[0] if shape else 1
        facts["an axis of size 1 in the result"] = 1 in shape
        facts["a square result"] = len(shape) > 1 and shape[-1] == shape[-2]
    for name in call.operation.spec.core:
        if (x := call.named.get(name)) is not None and hasattr(x, "ndim"):
            facts[f"axes of {name}"] = x.ndim
    for name, core in call.operation.spec.core.items():
        x = call.named.get(name)
        if isinstance(x, np.ndarray) and x.dtype.kind in "iub" and name != "lengths" and x.size:
            entries = x.reshape(-1, *x.shape[max(x.ndim - core, 0) :])
            facts[f"{EQUAL_ENTRIES}{name}"] = bool(np.all(entries == entries[:1]))
            if x.dtype.kind in "iu":
                marked = {option: value for option, value in call.named.items() if option.endswith(INDEX_OPTIONS)}
                facts |= {f"{option}{AMONG}{name}": bool(np.any(x == value)) for option, value in {"0": 0, **marked}.items()}
    for name in ("mask", "bias"):
        if (x := call.named.get(name)) is not None and hasattr(x, "ndim"):
            facts[f"rows of {name}"] = x.shape[-2] if x.ndim > 1 else 1
    return facts


def _list_counts(call: Call) -> dict[str, int]:
    """Return the options that count something, such as the tokens of a window. Heads are dimensions already."""
    indices = "axis", *INDEX_OPTIONS
    numbers = {name: x for name, x in call.keywords.items() if type(x) is int and not name.endswith(indices)}
    return {name: x for name, x in numbers.items() if x >= 0 and not name.endswith("_heads")}


def _list_products(call: Call, sizes: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the sizes of axes that are products of two dimensions, such as "h d_k" of the heads side by side."""
    labels = {label for labels in argument_dimensions(call.operation.spec).values() for label in labels}
    for label in sorted(labels):
        factors = label.split()
        if len(factors) > 1 and all(factor in sizes for factor in factors):
            yield label, math.prod(sizes[factor] for factor in factors)


def _describe_values(call: Call) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, x in call.named.items():
        if is_floating(x) and isinstance(x, np.ndarray) and x.size:
            facts[f"the largest |{name}|"] = float(np.max(np.abs(x), initial=0.0, where=~np.isnan(x)))  # ∞ if x holds −∞
            if not call.operation.spec.is_gradient:
                facts[f"−∞ in {name}"] = bool(np.isneginf(x).any())
                facts[f"NaN in {name}"] = bool(np.isnan(x).any())
                facts[f"{name} is finite"] = bool(np.isfinite(x).all())
        elif name == "positions" and isinstance(x, np.ndarray) and x.size:
            facts["the largest position"] = int(x.max())
    return facts


def _describe_lengths(call: Call) -> dict[str, Any]:
    """Return the facts of the lengths of sequences in a cache, in pages, or packed one after the other."""
    facts: dict[str, Any] = {}
    named = call.named
    ends = {name.removeprefix("cu_seqlens_"): x for name, x in named.items() if name.startswith("cu_seqlens_")}
    lengths = {f" of {name}": np.diff(x) for name, x in ends.items()}
    if (given := named.get("lengths")) is not None:
        lengths[""] = np.asarray(given)
        largest = int(np.max(given, initial=0))
        if (cache := named.get("k_cache")) is not None:
            added = named["k"].shape[-2] if "k" in named else 0  # lengths are those before the keys are added
            facts[FULL_CACHE] = largest + added == cache.shape[-2]
        if (table := named.get("block_table")) is not None:
            facts[UNUSED_COLUMNS] = table.shape[-1] > -(-largest // max(named["k_pages"].shape[1], 1))
    for of, values in lengths.items():
        if values.size:
            facts[f"the largest length{of}"], facts[f"the smallest length{of}"] = int(values.max()), int(values.min())
            facts[f"{EQUAL_LENGTHS}{of}"] = bool(np.all(values == values[0]))
    return facts
