"""What goes wrong with memory and state in operations on rows, whatever their equation."""

from typing import Any

import numpy as np

from spec_tests.deviation import deviation

NORMS = ("rms_norm", "layer_norm")


@deviation("nan_propagation", kind="fault", operations=(*NORMS, "linear", "log_softmax", "logsumexp"))
def nan_made_zero(function: Any, x: Any, *arguments: Any, **keywords: Any) -> Any:
    """NaN in x is replaced by 0 before anything is computed.

    Shows: a row with a NaN. Hides: rows of numbers.
    """
    return function(np.where(np.isnan(x.astype(float)), np.zeros_like(x), x), *arguments, **keywords)
