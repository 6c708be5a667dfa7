"""What goes wrong with embedding."""

from typing import Any

import numpy as np

from reference_numpy.embedding import embedding
from spec_tests.specification.formats import DTYPES, FORMATS

from . import deviation
from ._steps import make_rounder, round_to_float32


@deviation("reference", "table", "one_hot_product", kind="convention")
def scaled_by_root_of_d(token_ids: Any, weight: Any) -> Any:
    """rows are multiplied by sqrt(d), as Vaswani et al. and Gemma do.

    Shows: every row. Hides: d = 1, rows of zeros.
    """
    return embedding(token_ids, weight) * float(np.sqrt(weight.shape[-1]))


@deviation("reference", "relabelling", "every_argument_counts", kind="convention")
def first_id_is_padding(token_ids: Any, weight: Any) -> Any:
    """id 0 is padding, and gives a row of zeros.

    Shows: id 0. Hides: every other id.
    """
    return np.where((np.asarray(token_ids) == 0)[..., None], 0.0, embedding(token_ids, weight))


@deviation("reference", "table", kind="convention")
def ids_from_one(token_ids: Any, weight: Any) -> Any:
    """ids count from 1: id t takes row t − 1, and id 0 the last.

    Shows: every id. Hides: a table of one row.
    """
    return embedding(np.asarray(token_ids) - 1, weight)


@deviation("large_table")
def ids_of_16_bits(token_ids: Any, weight: Any) -> Any:
    """ids are kept in 16 bits: ids from 65 536 on wrap around.

    Shows: a large vocabulary. Hides: a small one.
    """
    return embedding(np.asarray(token_ids) % 2**16, weight)


@deviation("reference", "table")
def last_id_clamped(token_ids: Any, weight: Any) -> Any:
    """ids are clamped to vocab − 2: an off-by-one in the guard against wrong ids.

    Shows: the last id. Hides: every other id.
    """
    return embedding(np.clip(token_ids, 0, max(weight.shape[0] - 2, 0)), weight)


@deviation("all_values", "unused_rows")
def one_hot_product(token_ids: Any, weight: Any) -> Any:
    """the table is multiplied by one-hot vectors, so that 0 · NaN and 0 · ∞ of other rows reach the result.

    Shows: NaN or infinity anywhere in the table. Hides: finite tables.
    """
    return np.matmul(np.eye(weight.shape[0])[np.asarray(token_ids)], weight)


@deviation("reference", "table")
def rows_renormalized(token_ids: Any, weight: Any) -> Any:
    """rows longer than 1 are scaled to length 1.

    Shows: long rows. Hides: short ones.
    """
    row = embedding(token_ids, weight)
    return row / np.maximum(np.sqrt(np.sum(np.square(row), axis=-1, keepdims=True)), 1.0)


@deviation("reference", "all_values", kind="arithmetic", dtypes=DTYPES[:2])
def table_in_bfloat16(token_ids: Any, weight: Any) -> Any:
    """the table is stored in bfloat16.

    Shows: float32. Hides: numbers of few bits.
    """
    return embedding(token_ids, make_rounder(FORMATS["bfloat16"])(weight))


@deviation("all_values", kind="arithmetic", dtypes=("float64",))
def float64_in_float32(token_ids: Any, weight: Any) -> Any:
    """float64 goes through float32.

    Shows: float64. Hides: every other dtype.
    """
    return embedding(token_ids, round_to_float32(weight))


@deviation("not_an_alias", kind="fault")
def view_of_the_table(right: Any, token_ids: Any, weight: Any) -> Any:
    """a single id gives a view of the table, not a copy of its row.

    Shows: the table after the result is written to. Hides: several ids.
    """
    return weight[int(token_ids)] if token_ids.ndim == 0 else right(token_ids, weight)


@deviation("shape", kind="fault")
def single_id_made_a_batch(right: Any, token_ids: Any, weight: Any) -> Any:
    """a single id gives an array of one row.

    Shows: an id of shape (). Hides: any batch.
    """
    return right(np.atleast_1d(token_ids), weight)


@deviation("reference", "padding_changes_no_value")
def padding_is_zero(token_ids: Any, weight: Any, *, padding_idx: Any = None) -> Any:
    """tokens of padding_idx give zeros, whatever their row holds.

    Shows: a token of padding. Hides: no padding_idx; a row of zeros, as nn.Embedding begins with.
    """
    y = embedding(token_ids, weight)
    if padding_idx is None:
        return y
    return np.where((np.asarray(token_ids) == padding_idx % weight.shape[0])[..., None], 0.0, y)
