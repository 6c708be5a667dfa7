"""Backends with one machine-made fault: the right equation, but for the elements or calls that a random predicate holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec_tests.calls.operation import Operation
from spec_tests.deviations import OracleBackend
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification

SIZES = (3, 4, 5, 8, 12, 16, 17, 31, 32, 33, 64, 72, 100, 128, 255, 256, 512, 1000, 1024)


@dataclass(frozen=True)
class MadeFault:
    """A fault: which operation has it, what its region is called, and where results are spoiled."""

    operation: str
    words: tuple[str, ...]  # parts of the sentence that names the region
    spoils: Callable[..., Any]  # (y, arguments, keywords, memory) -> which elements are spoiled

    def backend(self) -> Backend:
        """Return a backend with this fault. It keeps its own state."""
        oracle, memory = OracleBackend(), dict[Any, Any]()
        right = getattr(oracle, self.operation)

        def faulty(*arguments: Any, **keywords: Any) -> Any:
            y = np.asarray(right(*arguments, **keywords))
            where = np.broadcast_to(self.spoils(y, arguments, keywords, memory), y.shape)
            if y.dtype.kind == "b":
                return y ^ where
            with np.errstate(all="ignore"):
                return np.where(where, np.where(np.isfinite(y.astype(float)), 1.5 * y + np.asarray(1, y.dtype), y), y)

        faulty.__signature__ = right.__signature__  # type: ignore[attr-defined]
        setattr(oracle, self.operation, faulty)
        return Backend("made", oracle, Framework("numpy"))


def make_operation(backend: Backend, name: str, dtype: str = "float64") -> Operation:
    spec = specification(name)
    return Operation(spec, backend, spec.dtype or dtype, spec.precision)


Maker = Callable[[random.Random], MadeFault]


def above_a_size(source: random.Random) -> MadeFault:
    limit, (operation, name) = (
        source.choice(SIZES[:-1]),
        source.choice((("rms_norm", "d"), ("linear", "d_in"), ("embedding", "d"))),
    )
    axis = {"rms_norm": 0, "linear": 0, "embedding": 1}[operation]
    return MadeFault(operation, (f"from {name} = {limit + 1} on",), lambda y, a, k, m: a[axis].shape[-1] > limit)


def no_multiple(source: random.Random) -> MadeFault:
    step, operation = source.choice((2, 3, 4, 8, 16)), source.choice(("rms_norm", "layer_norm"))
    words = "where d is odd" if step == 2 else f"where d is no multiple of {step}"
    return MadeFault(operation, (words,), lambda y, a, k, m: a[0].shape[-1] % step != 0)


def one_size(source: random.Random) -> MadeFault:
    sizes = tuple(sorted(source.sample((2, 3, 4, 5, 7, 8), source.choice((1, 2)))))
    words = f"where n = {' or '.join(map(str, sizes))}"
    return MadeFault("scaled_dot_product_attention", (words,), lambda y, a, k, m: a[0].shape[-2] in sizes)


def option_given(source: random.Random) -> MadeFault:
    name = source.choice(("scale", "bias", "mask"))
    words = {"scale": "scale", "bias": "bias", "mask": "mask"}[name]
    return MadeFault("scaled_dot_product_attention", (words,), lambda y, a, k, m: _given(name, a, k) is not None)


def _given(name: str, arguments: Any, keywords: Any) -> Any:
    return keywords.get(name, arguments[3] if name == "mask" and len(arguments) > 3 else None)


def mask_of_one_row(source: random.Random) -> MadeFault:
    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        mask = _given("mask", a, k)
        return mask is not None and (mask.ndim == 1 or mask.shape[-2] == 1)

    return MadeFault("scaled_dot_product_attention", ("with a mask of one row",), spoils)


def word_of_an_option(source: random.Random) -> MadeFault:
    layout = source.choice(("half", "interleaved"))
    return MadeFault("rope", ("layout",), lambda y, a, k, m: k.get("layout", "interleaved") == layout)


def batch_dimensions(source: random.Random) -> MadeFault:
    rank = source.choice((1, 2))
    words = f"where the batch has {rank + 1} dimensions or more"
    return MadeFault("rms_norm", (words,), lambda y, a, k, m: a[0].ndim - 1 > rank)


def as_many_entries_as_columns(source: random.Random) -> MadeFault:
    words = ("where d = the number of batch entries",)
    return MadeFault("rms_norm", words, lambda y, a, k, m: y.size == y.shape[-1] ** 2)


def entries_beside_the_axis(source: random.Random) -> MadeFault:
    """A kernel for rows that are contiguous, or for one row at a time, that forgets the other axes."""
    side = source.choice(("before", "after"))

    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        place = k["axis"] % y.ndim
        return np.prod(y.shape[:place] if side == "before" else y.shape[place + 1 :]) > 1

    return MadeFault("softmax", (f"where the batch {side} the axis has 2 entries or more",), spoils)


def columns(source: random.Random) -> MadeFault:
    limit = source.choice((1, 2, 3, 8, 16, 32, 64))
    words = "in every column but the first" if limit == 1 else f"in columns {limit} and up"
    operation = source.choice(("rms_norm", "softmax_last", "glu"))
    operation = {"softmax_last": "layer_norm"}.get(operation, operation)
    return MadeFault(operation, (words,), lambda y, a, k, m: np.arange(y.shape[-1]) >= limit)


def rows(source: random.Random) -> MadeFault:
    limit = source.choice((1, 2, 4, 6))
    words = "in every row but the first" if limit == 1 else f"in rows {limit} and up"
    return MadeFault("rope", (words,), lambda y, a, k, m: np.arange(y.shape[-2])[:, None] >= limit)


def batch_entries(source: random.Random) -> MadeFault:
    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        return (np.arange(y.shape[0]) > 0).reshape(-1, *[1] * (y.ndim - 1)) if a[0].ndim > 1 else False

    return MadeFault("rms_norm", ("in every batch entry but the first",), spoils)


def heads_of_a_group(source: random.Random) -> MadeFault:
    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        group = a[0].shape[-3] // a[1].shape[-3]
        return (np.arange(y.shape[-3]) % group > 0)[:, None, None]

    return MadeFault("grouped_query_attention", ("each head but the first of its group",), spoils)


def values_below(source: random.Random) -> MadeFault:
    limit = source.choice((-13.0, -5.0, -1.5, 0.0, 2.0))
    return MadeFault("sigmoid", (f"where x < {limit:g}",), lambda y, a, k, m: a[0].astype(float) < limit)


def one_value(source: random.Random) -> MadeFault:
    value = source.choice((0.0, 1.0, -2.0))
    return MadeFault("gelu", (f"where x is {value:g}",), lambda y, a, k, m: a[0].astype(float) == value)


def rows_with_a_large_entry(source: random.Random) -> MadeFault:
    limit = source.choice((2.0, 10.0, 88.0))
    words = f"where the largest entry of the row of x > {limit:g}"

    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        return np.max(a[0].astype(float), axis=k["axis"], keepdims=True) > limit

    return MadeFault("log_softmax", (words,), spoils)


def later_calls(source: random.Random) -> MadeFault:
    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        seen = a[0].shape in m
        m[a[0].shape] = True
        return seen

    return MadeFault("silu", ("from the second call with",), spoils)


def every_third_call(source: random.Random) -> MadeFault:
    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        m["calls"] = m.get("calls", 0) + 1
        return m["calls"] % 3 == 0

    return MadeFault("rms_norm", ("in every third call",), spoils)


def stored_otherwise(source: random.Random) -> MadeFault:
    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        return not a[0].flags.writeable

    return MadeFault("gelu", ("where arrays are stored", "read-only"), spoils)


def a_dtype(source: random.Random) -> MadeFault:
    return MadeFault("rms_norm", ("in nearly every call",), lambda y, a, k, m: y.dtype.name == "float64")


def optional_weight(source: random.Random) -> MadeFault:
    name = source.choice(("b_k", "q_norm", "sinks", "attn_post_norm"))
    return MadeFault("transformer_block", (f"whenever weights['{name}'] is given",), lambda y, a, k, m: name in a[1])


def unused_columns(source: random.Random) -> MadeFault:
    """The entries but the first read the table with the stride of a table without unused columns."""
    return MadeFault("paged_attention", ("where the table has unused columns",), _has_unused_columns)


def _has_unused_columns(y: Any, arguments: Any, keywords: Any, memory: Any) -> Any:
    _, k_pages, _, table, lengths = arguments[:5]
    return table.shape[1] > -(-int(np.max(lengths, initial=0)) // max(k_pages.shape[1], 1))


def above_a_product(source: random.Random) -> MadeFault:
    limit = source.choice((24, 64, 100))
    words = (f"from n · m = {limit + 1} on",)
    return MadeFault("scaled_dot_product_attention", words, lambda y, a, k, m: a[0].shape[-2] * a[1].shape[-2] > limit)


def elements_in_vectors(source: random.Random) -> MadeFault:
    """A kernel over all elements at once, in vectors, which forgets the last ones."""
    step = source.choice((4, 8))
    words = (f"a number of elements that is no multiple of {step}",)
    return MadeFault("silu", words, lambda y, a, k, m: y.size % step != 0)


def rows_beyond_blocks(source: random.Random) -> MadeFault:
    """As many blocks of rows are computed as would cover the columns."""
    block = source.choice((8, 16, 32))

    def spoils(y: Any, a: Any, k: Any, m: Any) -> Any:
        rows = np.arange(y.size // max(y.shape[-1], 1)).reshape(*y.shape[:-1], 1)
        return rows >= -(-y.shape[-1] // block) * block

    return MadeFault("linear", (f"in the rows from ⌈d_out / {block}⌉ · {block} on",), spoils)


MAKERS: dict[str, Maker] = {
    make.__name__.replace("_", " "): make
    for make in (
        above_a_size, no_multiple, one_size, option_given, mask_of_one_row, word_of_an_option, batch_dimensions,
        as_many_entries_as_columns, entries_beside_the_axis, columns, rows,
        batch_entries, heads_of_a_group, values_below, one_value, rows_with_a_large_entry, later_calls, every_third_call,
        stored_otherwise, a_dtype, optional_weight, unused_columns, above_a_product, elements_in_vectors, rows_beyond_blocks,
    )
}  # fmt: skip
