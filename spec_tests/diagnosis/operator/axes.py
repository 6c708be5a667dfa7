"""The axes of an operation's arrays: the dimension of each, its size, and what the field calls an entry along it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...specification.registry import Specification, core_of
from ...specification.shapes import Shape

NOUNS = MappingProxyType(
    {
        "n": "token", "m": "key", "M": "slot", "N": "token", "b": "batch entry", "P": "page", "page_size": "slot of a page",
        "h_kv": "key/value head", "experts": "expert", "k": "choice", "vocab": "token of the vocabulary", "t": "step",
        "w": "tap", "d_in": "input feature", "d_out": "output feature", "num_heads": "head",
    }
)  # fmt: skip
UNNAMED = ("column", "row")  # the last axis and the one before, where the shape of an array has no names
BATCH = ("batch entry", "index of the second batch axis", "index of the third batch axis", "index of the fourth batch axis")


def name_axes(spec: Specification, array: str, ndim: int) -> tuple[str, ...]:
    """Return what an entry along each axis of an array is called. Axes whose entries have one name are told apart.

    array: an argument by its name, or by the path of an array in it, or a result, which is "" if there is one.
    """
    names = _name_axes(spec, array, ndim)
    return tuple(f"{name} of axis −{ndim - i}" if names.count(name) > 1 else name for i, name in enumerate(names))


def _name_axes(spec: Specification, array: str, ndim: int) -> tuple[str, ...]:
    shape = _find_shape(spec, array)
    if array in spec.shapes.others:
        shape = spec.shapes.of_rank(array, ndim, core_of(spec, {}).get(array))
    labels = shape.labels[len(shape.labels) - min(len(shape.labels), ndim) :] if shape and not shape.any else ()
    others = ndim - len(labels)
    if not labels:
        named = tuple(reversed(UNNAMED))[-min(ndim, 2) :] if ndim else ()
        return (*(BATCH[min(i, 3)] for i in range(ndim - len(named))), *named)
    return (*(BATCH[min(i, 3)] for i in range(others)), *(name_dimension(spec, label) for label in labels))


def _find_shape(spec: Specification, array: str) -> Shape | None:
    known: Mapping[str, Shape] = {**spec.shapes.broadcast, **spec.shapes.arguments}
    if array in known and (spec.is_gradient or array in spec.positional):
        return known[array]
    if spec.is_gradient and array == "":
        return None
    if array in spec.shapes.results:
        return spec.shapes.results[array]
    inner = array.rpartition("['")[2].removesuffix("']")
    if array == "" or array == "cotangent":
        if spec.shapes.like:
            return known.get(spec.shapes.like)
        return spec.shapes.single
    return known.get(inner)


def name_dimension(spec: Specification, label: str) -> str:
    """Return what an entry along a dimension is called, such as a key, or a feature where the dimension has no other name."""
    last = label.split()[-1] if label else label
    if last in ("n", "N") and "q" in spec.parameters:
        return "query"
    if last == "M" and "k_cache" not in spec.parameters:
        return "key"
    if label == "h":
        return "hidden feature" if spec.parameters.keys() & {"w1", "x"} and "num_heads" not in spec.parameters else "head"
    return NOUNS.get(label, "feature")


def plural(noun: str) -> str:
    head, of, rest = noun.partition(" of ")
    ending = {"batch entry": "batch entries", "index": "indices", "query": "queries"}.get(head, head + "s")
    return f"{ending}{of}{rest}"
