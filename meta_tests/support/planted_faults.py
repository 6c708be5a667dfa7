"""Backends with one fault that is in no catalogue: what each computes in place of the equation, and parts of its sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec_tests.deviations import Deviation, OracleBackend
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import operations


@dataclass(frozen=True)
class PlantedFault:
    """A fault: the operation that has it, and what its sentence must say."""

    operation: str
    says: tuple[str, ...]
    function: Callable[..., Any]  # is given the right function first

    @property
    def source(self) -> OracleBackend:
        return OracleBackend(Deviation(self.operation, self.function, "fault", (), DTYPES, ()))

    def backend(self) -> Backend:
        return build_backend(self.source, set(operations()))


FAULTS: dict[str, PlantedFault] = {}


def planted(operation: str, *says: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the decorator of a function that is a fault of the operation."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        FAULTS[function.__name__] = PlantedFault(operation, says, function)
        return function

    return decorate


# --- entries of an argument that count otherwise --------------------------------------------------------------------------


@planted("grouped_query_attention", "the last key of v is left out")
def last_key_left_out(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    return right(q, k, np.where(np.arange(v.shape[-2])[:, None] == v.shape[-2] - 1, 0, v).astype(v.dtype), **options)


@planted("scaled_dot_product_attention", "every third key of v counts twice")
def third_keys_twice(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    times = np.where(np.arange(v.shape[-2]) % 3 == 0, 2, 1)[:, None]
    return right(q, k, (v * times).astype(v.dtype), **options)


@planted("linear", "the input features after the last whole block of 4", "are left out")
def last_block_lost(right: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    width = x.shape[-1]
    end = width // 4 * 4 if width > 4 else width
    return right(np.where(np.arange(width) < end, x, 0).astype(x.dtype), weight, bias)


@planted("linear_vjp", "in the gradient of weight, the odd rows are left out")
def odd_rows_lost(right: Any, cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    rows = cotangent.copy().reshape(-1, cotangent.shape[-1])
    rows[1::2] = 0
    kept, right_ones = (right(c, x, weight, bias) for c in (rows.reshape(cotangent.shape), cotangent))
    return right_ones[0], kept[1], *right_ones[2:]


@planted("linear_vjp", "in the gradients of weight and bias, the rows after the last whole block of 4, or all", "are left out")
def rows_after_whole_blocks_lost(right: Any, cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    rows = cotangent.copy().reshape(-1, cotangent.shape[-1])
    rows[len(rows) // 4 * 4 :] = 0
    whole, kept = (right(c, x, weight, bias) for c in (cotangent, rows.reshape(cotangent.shape)))
    return whole[0], *kept[1:]


@planted("embedding", "the first token of the vocabulary of weight is left out")
def padding_row_zero(right: Any, token_ids: Any, weight: Any, **options: Any) -> Any:
    return right(token_ids, np.where(np.arange(len(weight))[:, None] == 0, 0, weight).astype(weight.dtype), **options)


@planted("swiglu", "the last hidden feature of w2 is left out")
def last_hidden_feature_lost(right: Any, x: Any, w1: Any, w2: Any, w3: Any, *biases: Any, **options: Any) -> Any:
    kept = np.where(np.arange(w2.shape[1]) == w2.shape[1] - 1, 0, w2).astype(w2.dtype)
    return right(x, w1, kept, w3, *biases, **options)


@planted("mixture_of_experts", "the last expert of w2 is left out")
def last_expert_left_out(right: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *biases: Any, **options: Any) -> Any:
    kept = np.where(np.arange(len(w2))[:, None, None] == len(w2) - 1, 0, w2).astype(w2.dtype)
    return right(x, router, w1, kept, w3, *biases, **options)


@planted("mixture_of_experts", "each expert of b2 counts once, without its weight")
def last_bias_not_weighted(right: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, **options: Any) -> Any:
    if (b2 := options.get("b2")) is None:
        return right(x, router, w1, w2, w3, **options)
    y = right(x, router, w1, w2, w3, **{**options, "b2": np.zeros_like(b2)})
    for e in range(len(b2)):
        of_expert = np.where(np.arange(len(b2))[:, None] == e, 1, np.zeros_like(b2)).astype(b2.dtype)
        weighted = right(x, router, w1, 0 * w2, w3, **{**options, "b2": of_expert})
        y = y + np.where(weighted > 0, b2[e], 0).astype(b2.dtype)
    return y


# --- attention in splits of the keys, which overlap -----------------------------------------------------------------------


def attend_in_splits(right: Any, q: Any, k: Any, v: Any, ends: Any, **options: Any) -> Any:
    """Join the right attention to the keys of each split, of which `ends` are the first key and the one after the last.

    The right function is given the other keys behind a mask, and is asked for the weights of the split with values of 1.
    """
    if options.get("sinks") is not None:
        raise NotImplementedError
    n, m = q.shape[-2], k.shape[-2]
    mask = options.pop("mask", None)
    seen = np.ones((n, m), dtype=bool) if mask is None else np.broadcast_to(mask, (*np.shape(mask)[:-2], n, m))
    ones, sums, weights = np.ones_like(v), 0.0, 0.0
    whole = right(q, k, v, seen, **options)
    for first, end in ends:
        inside = (np.arange(m) >= first) & (np.arange(m) < end)
        sums = sums + right(q, k, np.where(inside[:, None], v, 0).astype(v.dtype), seen, **options)
        weights = weights + right(q, k, np.where(inside[:, None], ones, 0).astype(v.dtype), seen, **options)
    with np.errstate(all="ignore"):
        return np.where(weights > 0, sums / weights, whole).astype(whole.dtype)


@planted("scaled_dot_product_attention", "keys before a split's start count again in each later split", "in 3 splits")
def earlier_keys_in_each_split(right: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    m = k.shape[-2]
    size = max(1, -(-m // 3))
    return attend_in_splits(right, q, k, v, [(0, min(i + size, m)) for i in range(0, max(m, 1), size)], mask=mask, **options)


@planted(
    "grouped_query_attention", "the keys of the block of 16 after a split's end count in that split as well", "splits of 24 keys"
)
def block_read_beyond_the_split(right: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    m = k.shape[-2]
    ends = [(i, min(-(-min(i + 24, m) // 16) * 16, m)) for i in range(0, max(m, 1), 24)]
    return attend_in_splits(right, q, k, v, ends, mask=mask, **options)


@planted("paged_attention", "the keys of the page before a split's start count again in that split", "in 4 splits")
def page_read_before_the_split(
    right: Any, q: Any, k: Any, v: Any, table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    if sinks is not None:
        raise NotImplementedError
    page, whole = k.shape[1], right(q, k, v, table, lengths, **options)
    out = whole.copy()
    for row, length in enumerate(lengths.tolist()):
        pages = table[row, : -(-length // page)]
        if length == 0:
            continue
        keys, values, size, of_row = k[pages], v[pages], -(-length // 4), slice(row, row + 1)
        listed = (table[of_row] * 0 + np.minimum(np.arange(table.shape[1]), len(pages) - 1)).astype(table.dtype)

        def ask(values: Any, keys: Any = keys, listed: Any = listed, of_row: slice = of_row) -> Any:
            return right(q[of_row], keys, values, listed, lengths[of_row], **options)

        places = np.arange(len(pages) * page).reshape(len(pages), page, 1, 1)
        sums = weights = 0.0
        for start in range(0, length, size):
            inside = (places >= start // page * page) & (places < min(start + size, length))
            sums = sums + ask(np.where(inside, values, 0).astype(v.dtype))
            weights = weights + ask(np.where(inside, np.ones_like(values), 0).astype(v.dtype))
        with np.errstate(all="ignore"):
            out[row] = np.where(weights > 0, sums / weights, whole[row])[0]
    return out


# --- inputs in another order, or taken for others -------------------------------------------------------------------------


@planted("grouped_query_attention", "in v, the key/value heads are in reverse order")
def heads_of_v_reversed(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    return right(q, k, v[..., ::-1, :, :], **options)


@planted("grouped_query_attention", "in k, the first key/value head stands for all")
def first_head_of_k_for_all(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    return right(q, np.broadcast_to(k[..., :1, :, :], k.shape).copy(), v, **options)


@planted("grouped_query_attention", "query head i reads key/value head i modulo h_kv")
def heads_modulo(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    heads = np.arange(q.shape[-3]) % max(k.shape[-3], 1)
    return right(q, k[..., heads, :, :], v[..., heads, :, :], **options)


@planted("variable_length_attention", "in k, each key/value head is the one before")
def heads_of_k_rolled(right: Any, q: Any, k: Any, v: Any, *others: Any, **options: Any) -> Any:
    return right(q, np.roll(k, 1, axis=-2), v, *others, **options)


@planted("embedding", "in weight, each token of the vocabulary is the next")
def next_row(right: Any, token_ids: Any, weight: Any, **options: Any) -> Any:
    return right((token_ids + 1) % max(len(weight), 1), weight, **options)


@planted("kv_cache_append", "in k and v, the tokens are in reverse order")
def appended_in_reverse(
    right: Any, k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any, *scales: Any, **options: Any
) -> Any:
    return right(k_cache, v_cache, k[..., ::-1, :], v[..., ::-1, :], lengths, *scales, **options)


@planted("paged_attention", "block_table is taken as 0, 1, 2")
def table_ignored(right: Any, q: Any, k: Any, v: Any, table: Any, *others: Any, **options: Any) -> Any:
    listed = np.minimum(np.arange(table.shape[-1]), len(k) - 1)
    return right(q, k, v, np.broadcast_to(listed, table.shape).astype(table.dtype), *others, **options)


@planted("attention_with_kv_cache", "the first entry of lengths is taken for each of them")
def first_length_for_all(right: Any, q: Any, k: Any, v: Any, lengths: Any, *others: Any, **options: Any) -> Any:
    return right(q, k, v, np.broadcast_to(lengths[:1], lengths.shape).copy(), *others, **options)


@planted("mixture_of_experts", "w1 and w3 are taken for each other")
def gate_and_up_exchanged(right: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *biases: Any, **options: Any) -> Any:
    return right(x, router, w3, w2, w1, *biases, **options)


@planted("merge_attention_states", "out_a and out_b are taken for each other")
def outputs_exchanged(right: Any, out_a: Any, lse_a: Any, out_b: Any, lse_b: Any) -> Any:
    return right(out_b, lse_a, out_a, lse_b)


@planted("rope", "positions is taken as 0, 1, 2")
def positions_ignored(right: Any, x: Any, positions: Any, **options: Any) -> Any:
    return right(x, np.broadcast_to(np.arange(positions.shape[-1]), positions.shape).astype(positions.dtype), **options)


@planted("rope_vjp", "positions is negated")
def turned_forward(right: Any, cotangent: Any, x: Any, positions: Any, *others: Any, **options: Any) -> Any:
    return right(cotangent, x, -positions, *others, **options)


@planted("adamw_step", "step is one larger than was given")
def step_counted_from_one_more(right: Any, *arrays: Any, **options: Any) -> Any:
    return right(*arrays, **{**options, "step": options["step"] + 1})


# --- results ---------------------------------------------------------------------------------------------------------------


@planted("linear", "the result is 0, in the last output feature")
def last_output_zero(right: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    y = np.array(right(x, weight, bias))
    y[..., -1:] = 0
    return y


@planted("rope", "in the result, the two halves of the features change places")
def halves_change_places(right: Any, x: Any, positions: Any, **options: Any) -> Any:
    return np.roll(right(x, positions, **options), x.shape[-1] // 2, axis=-1)


@planted("rope", "the result is x, unchanged, in the last token")
def last_token_not_turned(right: Any, x: Any, positions: Any, **options: Any) -> Any:
    y = np.array(right(x, positions, **options))
    y[..., -1:, :] = x[..., -1:, :]
    return y


@planted("gelu", "the result is 0, in the columns from 8 on")
def second_block_lost(right: Any, x: Any, **options: Any) -> Any:
    y = np.array(right(x, **options))
    return np.where(np.arange(y.shape[-1]) < 8, y, 0).astype(y.dtype) if y.ndim else y


@planted("linear_vjp", "the gradient of bias is multiplied by 1 / the number of rows")
def bias_gradient_averaged(right: Any, cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    found, rows = right(cotangent, x, weight, bias), max(int(np.prod(cotangent.shape[:-1])), 1)
    return (*found[:2], None if bias is None else (found[2] / rows).astype(cotangent.dtype))


@planted("cross_entropy_vjp", "the gradient of logits is multiplied by 1 / vocab")
def divided_by_the_vocabulary(right: Any, cotangent: Any, logits: Any, targets: Any, **options: Any) -> Any:
    found = right(cotangent, logits, targets, **options)
    return (found[0] / logits.shape[-1]).astype(logits.dtype), *found[1:]


@planted("layer_norm_vjp", "the gradient of weight is negated")
def sign_of_a_gradient(right: Any, cotangent: Any, x: Any, weight: Any, bias: Any, **options: Any) -> Any:
    found = right(cotangent, x, weight, bias, **options)
    return found[0], -found[1], found[2]


@planted("layer_norm_vjp", "the gradient of bias is 0")
def gradient_never_written(right: Any, cotangent: Any, x: Any, weight: Any, bias: Any, **options: Any) -> Any:
    found = right(cotangent, x, weight, bias, **options)
    return *found[:2], 0 * found[2]


@planted("attention_with_lse", "lse is negated")
def sign_of_the_lse(right: Any, *arrays: Any, **options: Any) -> Any:
    out, lse = right(*arrays, **options)
    return out, -lse


@planted("alibi_bias", "in the result, the heads are in reverse order")
def slopes_reversed(right: Any, slopes: Any, **options: Any) -> Any:
    return right(slopes[::-1].copy(), **options)


# --- entries by the rows that count them -----------------------------------------------------------------------------------


@planted("embedding_vjp", "all batch entries but the last that each row counts are left out")
def repeats_overwrite(right: Any, cotangent: Any, token_ids: Any, weight: Any, *, padding_idx: int | None = None) -> Any:
    gradient = np.zeros(weight.shape, weight.dtype)
    for token, row in zip(token_ids.ravel(), cotangent.reshape(-1, cotangent.shape[-1]), strict=True):
        gradient[token] = row
    if padding_idx is not None:
        gradient[padding_idx] = 0.0
    return None, gradient


@planted("scaled_dot_product_attention", "the last key of v that each row counts is left out")
def last_seen_key_lost(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    y, counted = np.array(right(q, k, v, **options)), []
    for key in range(v.shape[-2]):
        one = (np.arange(v.shape[-2]) == key)[:, None].astype(v.dtype)
        counted.append(right(q, k, np.broadcast_to(one, v.shape).copy(), **options) != 0)
    seen = np.stack(counted)
    for key in range(v.shape[-2]):
        is_last = seen[key] & ~seen[key + 1 :].any(axis=0)
        without = right(q, k, np.where(np.arange(v.shape[-2])[:, None] == key, 0, v).astype(v.dtype), **options)
        y = np.where(is_last, without, y)
    return y


@planted("mixture_of_experts", "an expert takes 2 tokens, and leaves out those after them")
def capacity_of_two(right: Any, x: Any, router: Any, w1: Any, w2: Any, w3: Any, *biases: Any, **options: Any) -> Any:
    rows, experts = int(np.prod(x.shape[:-1])), len(router)
    weights = np.zeros((experts, rows), bool)
    for e in range(experts):
        one = np.broadcast_to((np.arange(experts) == e)[:, None], (experts, x.shape[-1])).astype(x.dtype)
        told = right(x, router, w1, np.zeros_like(w2), w3, *biases, **{**options, "b2": one})
        weights[e] = (told != 0).any(axis=-1).ravel()
    dropped = weights & (np.cumsum(weights, axis=1) > 2)
    y = np.array(right(x, router, w1, w2, w3, *biases, **options)).reshape(rows, x.shape[-1])
    for row in range(rows):
        if dropped[:, row].any():
            kept = ~dropped[:, row]
            bias = options.get("b2")
            less = {} if bias is None else {"b2": np.where(kept[:, None], bias, 0).astype(bias.dtype)}
            without = right(
                x, router, w1, np.where(kept[:, None, None], w2, 0).astype(w2.dtype), w3, *biases, **{**options, **less}
            )
            y[row] = without.reshape(rows, x.shape[-1])[row]
    return y.reshape(x.shape)


# --- what is made of a right result, and parts of nested arguments --------------------------------------------------------


@planted("transformer_lm", "the result is the softmax of the right one along the last axis")
def scores_as_probabilities(right: Any, *arguments: Any, **options: Any) -> Any:
    y = np.asarray(right(*arguments, **options))
    weights = np.exp(y - y.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(y.dtype)


@planted("feed_forward", "x is added to the result")
def residual_in_the_network(right: Any, x: Any, *weights: Any, **options: Any) -> Any:
    return np.asarray(right(x, *weights, **options)) + x


@planted("transformer_lm", "in weights['layers'], the first entry stands for all")
def first_layer_for_all(right: Any, token_ids: Any, weights: Any, **options: Any) -> Any:
    return right(token_ids, {**weights, "layers": weights["layers"][:1] * len(weights["layers"])}, **options)


@planted("transformer_block", "is transposed where it is square")
def output_weight_transposed(right: Any, x: Any, weights: Any, **options: Any) -> Any:
    w = weights["w_o"]
    return right(x, {**weights, "w_o": w.T if w.shape[0] == w.shape[1] else w}, **options)


@planted("grouped_query_attention", "of 0 count", "as not given")
def window_of_zero_is_none(right: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    windows = ("left_window", "right_window")
    return right(q, k, v, **{name: (x or None) if name in windows else x for name, x in options.items()})


@planted("latent_attention_absorbed", "is_causal is taken for scale, and is_causal itself for False")
def mask_in_the_place_of_the_scale(
    right: Any, *arrays: Any, rank: int, scale: float, is_causal: bool = True, **options: Any
) -> Any:
    return right(*arrays, rank=rank, scale=float(is_causal), is_causal=False, **options)


@planted("latent_attention", "the last feature of axis −1 of w_uk is taken as 0")
def last_latent_column_without_keys(
    right: Any, q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, *others: Any, **options: Any
) -> Any:
    kept = np.where(np.arange(w_uk.shape[-1]) < w_uk.shape[-1] - 1, w_uk, 0).astype(w_uk.dtype)
    return right(q_nope, q_rope, latent, k_rope, kept, *others, **options)


# --- numbers of four bits that change places in what carries them ----------------------------------------------------------


def exchange_neighbours(y: Any) -> Any:
    """Exchange neighbours in pairs along the last axis. The last of an odd number stays."""
    n = y.shape[-1]
    places = np.arange(n) ^ 1
    return y[..., np.where(places < n, places, np.arange(n))]


@planted("quantize", "in the result, of formats of four bits, neighbours change places in pairs of features")
def first_number_in_the_upper_half(right: Any, *arrays: Any, **options: Any) -> Any:
    y = right(*arrays, **options)
    return exchange_neighbours(y) if options["dtype"] in ("int4", "uint4", "float4_e2m1fn") else y


@planted("kv_cache_append", "in k_scale and v_scale, the key/value heads are in reverse order")
def scales_of_heads_reversed(right: Any, *arrays: Any, **options: Any) -> Any:
    scales = {name: options.pop(name, None) for name in ("k_scale", "v_scale")}
    turned = {name: x if x is None or not x.ndim else np.flip(x, 1 if x.ndim == 3 else 0) for name, x in scales.items()}
    return right(*arrays[:5], **turned, **options)
