"""What deviations of filters share: which tokens the filters of a call keep, and the distribution over them."""

from typing import Any

import numpy as np

from reference_numpy import sampling_probabilities as module
from reference_numpy._acceptance import number
from reference_numpy._kept import Filters, kept_tokens
from reference_numpy._marks import double, float64, widened
from reference_numpy._targets import is_zero
from reference_numpy._tempered import tempered_softmax


def tempered(logits: Any, temperature: Any) -> Any:
    return tempered_softmax(logits, 1.0 if is_zero(temperature) else temperature)


def over(logits: Any, temperature: Any, kept: Any) -> Any:
    """Return the tempered softmax over these tokens."""
    p = np.where(kept, tempered(logits, temperature), 0.0)
    return p / np.sum(p, axis=-1, keepdims=True)


def call_filters(logits: Any, options: dict[str, Any]) -> Filters:
    """Return the filters of a call, under the conventions that hold of the backend."""
    plain = {name: double(options[name]) if options.get(name) is not None else None for name in ("top_k", "top_p", "min_p")}
    how = vars(module)["rules"]()  # conventions replace it there
    t = double(options.get("temperature", 1.0))
    return Filters(number(logits), t, plain["top_k"], plain["top_p"], plain["min_p"], how)


def kept_by(logits: Any, **options: Any) -> Any:
    """Return which tokens filters keep: those of the answer, where equal tokens or roundings leave that open."""
    return kept_tokens(call_filters(logits, options), widened(float64(logits)))
