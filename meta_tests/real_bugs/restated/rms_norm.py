"""RMSNorm and its gradient."""

from typing import Any

import numpy as np

from reference_numpy.rms_norm import rms_norm
from reference_numpy.rms_norm_vjp import rms_norm_vjp

from ..restating import restated


@restated("rms_norm", "https://github.com/ggml-org/llama.cpp/pull/1925", says="x goes through rms_norm twice")
def norm_applied_twice(x: Any, weight: Any, *, eps: float) -> Any:
    """A second instance of the norm comes before the weight."""
    return rms_norm(rms_norm(x, np.ones(np.shape(weight)), eps=eps), weight, eps=eps)


@restated("rms_norm_vjp", "https://github.com/karpathy/llm.c/pull/763", names=("gain-ignored",))
def weight_forgotten_in_the_gradient(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """The backward pass does not multiply by the weight."""
    return rms_norm_vjp(cotangent, x, np.ones(np.shape(weight)), eps=eps)[0], rms_norm_vjp(cotangent, x, weight, eps=eps)[1]
