"""Counts of tokens that are held in few bits, or that hold the tokens of the prompt as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from reference_numpy._occurrences import occurrences

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right
from .binding import bound

BITS = (2, 3, 4, 5, 6, 7, 8)
NO_TOKEN = -1


def list_counts(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to calls to penalize_logits in which tokens have other counts."""
    ids = call.named.get("output_ids")
    if call.operation.name != "penalize_logits" or not isinstance(ids, np.ndarray):
        return
    if isinstance(call.named.get("prompt_ids"), np.ndarray):
        for penalty, is_once in (("frequency_penalty", False), ("presence_penalty", True)):
            said = f"{penalty} {'is also taken from' if is_once else 'also counts'} the tokens of prompt_ids"
            yield Alternative(call.operation.name, said, bound(_with_prompt, penalty, is_once), 0.5)
    for limit in (2**bits - 1 for bits in BITS):
        if np.any(_earlier(ids) >= limit):
            said = f"a token that occurs more than {limit} times in output_ids counts {limit} times"
            yield Alternative(call.operation.name, said, bound(_limited, limit), 0.5)


def _limited(spec: Specification, named: Named, limit: int) -> Any:
    ids = np.asarray(named["output_ids"])
    return call_right(spec, {**named, "output_ids": np.where(_earlier(ids) < limit, ids, NO_TOKEN)})


def _with_prompt(spec: Specification, named: Named, penalty: str, is_once: bool) -> Any:
    """Return the right answer less a penalty for each token of the prompt, or for each that the output has not."""
    y = call_right(spec, named)
    if named.get("prompt_ids") is None:
        return y
    counts = occurrences(named["prompt_ids"], y.shape)
    if is_once:
        counts = np.where(occurrences(named["output_ids"], y.shape) > 0, 0.0, np.minimum(counts, 1.0))
    return y - named.get(penalty, 0.0) * counts


def _earlier(ids: np.ndarray) -> np.ndarray:
    """Return for each id how often it stands before it in its row."""
    same = ids[..., :, None] == ids[..., None, :]
    return np.sum(same & np.tri(ids.shape[-1], k=-1, dtype=bool), axis=-1)
