from typing import Any

from ._marks import float64, rounded
from .linear import linear
from .silu import silu


def swiglu(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
    """Feed-forward network gated by SiLU, without biases.

        y = w2 (silu(w1 x) * (w3 x))

    Shapes
        x (..., d),  w1 (h, d),  w2 (d, h),  w3 (h, d)  ->  (..., d)
    Domain
        All finite.
    Edges
        Any weight of zeros gives zeros. Linear in w2 and in w3. The order of the hidden units does not matter.
    Choices
        w1 is the gate, w3 goes straight through, w2 leads back: the names in Llama's own code. Hugging Face
        transformers calls them gate_proj, up_proj and down_proj; the exercise calls w3 "w2" and w2 "proj", and
        has biases. The hidden width is the caller's; d_ff.py has the usual one.
    Source
        Shazeer 2020, arXiv:2002.05202, eq. 6. CS336 assignment 1, eq. (7).

    With 1 for each weight it is silu(x) * x; w1 and w3 cannot be exchanged:

    >>> swiglu([2.0], [[1.0]], [[1.0]], [[1.0]]).round(4), swiglu([2.0], [[1.0]], [[1.0]], [[-1.0]]).round(4)
    (array([3.5232]), array([-3.5232]))
    >>> swiglu([2.0], [[-1.0]], [[1.0]], [[1.0]]).round(4)
    array([-0.4768])
    """
    x = float64(x)
    gate = rounded(silu(rounded(linear(x, w1))))
    return linear(rounded(gate * rounded(linear(x, w3))), w2)
