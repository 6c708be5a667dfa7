from typing import Any

from ._marks import float64, rounded
from .linear import linear
from .silu import silu


def swiglu(x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """Feed-forward network gated by SiLU, with or without biases.

        y = w2 (silu(w1 x + b1) * (w3 x + b3)) + b2

    Shapes
        x (..., d),  w1 (h, d),  w2 (d, h),  w3 (h, d),  b1 (h),  b2 (d),  b3 (h)  ->  (..., d)
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        Without biases any weight of zeros gives zeros, and y is linear in w2 and in w3. The order of the hidden
        units does not matter.
    Choices
        w1 is the gate, w3 goes straight through, w2 leads back: the names in Llama's own code. Hugging Face
        transformers calls them gate_proj, up_proj and down_proj; the exercise calls w3 "w2" and w2 "proj", and
        has all three biases. Each bias may be given alone. The
        hidden width is the caller's; d_ff.py has the usual one.
    Source
        Shazeer 2020, arXiv:2002.05202, eq. 6. CS336 assignment 1, eq. (7).

    With 1 for each weight it is silu(x) * x; w1 and w3 cannot be exchanged:

    >>> swiglu([2.0], [[1.0]], [[1.0]], [[1.0]]).round(4), swiglu([2.0], [[1.0]], [[1.0]], [[-1.0]]).round(4)
    (array([3.5232]), array([-3.5232]))
    >>> swiglu([2.0], [[-1.0]], [[1.0]], [[1.0]]).round(4)
    array([-0.4768])
    """
    x = float64(x)
    gate = rounded(silu(rounded(linear(x, w1, b1))))
    return linear(rounded(gate * rounded(linear(x, w3, b3))), w2, b2)
