from typing import Any

from ._filters import activated, filtered, with_past
from ._marks import float64
from ._members import one_by_one


def causal_conv1d(
    x: Any, weight: Any, bias: Any = None, state: Any = None, cu_seqlens: Any = None, *, activation: str | None = None
) -> Any:
    """Convolution of each channel with a filter of its own that looks back, and the columns that the next call needs.

        p = state, then x, along the tokens
        out_t = act(bias + sum over j = 0, ..., w - 1 of weight_j p_(t + j)),   state = the last w - 1 columns of p

    act is silu with activation "silu", else nothing.

    Shapes
        x (..., d, n),  weight (d, w),  bias (d),  state (..., d, past),  cu_seqlens (members)
        ->  out (..., d, n),  state (..., d, past)
    Dtypes
        out and state as the arguments
    Units
        n in tokens, and cu_seqlens: B + 1 of them for B members; w in taps; past = w - 1 in tokens.
    Domain
        x, weight, bias and state finite; w >= 1. With cu_seqlens, which begin with 0, never fall and end with n, x has the
        tokens of B >= 1 sequences, one behind the other, and no batch; the states are (B, d, past).
    Edges
        Without a state the columns before the first token are zeros. n = 0 returns the state. With n < w - 1 the new state
        keeps columns of the old one. w = 1 has a state of no columns. The state has columns of p, bit for bit: no bias, no
        activation and no rounding. A member of no tokens returns its state; no member sees columns of another.

    Raises
        ValueError where activation is unknown.
    Choices
        The last tap is for the newest token, so that the filter is not flipped: torch.nn.Conv1d with groups = d and w - 1
        columns of padding on the left. Channels stand before tokens. The state has w - 1 columns; some code keeps w.
    Source
        Gu and Dao 2023, arXiv:2312.00752, section 3.4. causal_conv1d_fn of Dao-AILab/causal-conv1d. ONNX CausalConvWithState-27.

    A filter of two taps over three tokens; the next call goes on from the last of them:

    >>> out, state = causal_conv1d([[1.0, 2.0, 3.0]], [[10.0, 1.0]])
    >>> out, state
    (array([[ 1., 12., 23.]]), array([[3.]]))
    >>> causal_conv1d([[4.0]], [[10.0, 1.0]], state=state)[0]
    array([[34.]])
    """
    if cu_seqlens is not None:
        arrays = ((x, -1),)
        return one_by_one(causal_conv1d, cu_seqlens, arrays, state, weight=weight, bias=bias, activation=activation)
    x, weight = float64(x), float64(weight)
    columns = with_past(x, weight.shape[-1] - 1, state)
    return activated(filtered(columns, weight, bias), activation, "causal_conv1d"), columns[..., x.shape[-1] :]
