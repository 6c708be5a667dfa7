"""What must hold of the gradients of packed attention."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero, assert_equal
from .inputs.draw import Draw
from .operations.variable_length_attention import draw_inputs
from .trials.invariant import invariant

SOURCE = "Dao et al. 2022, appendix B.2, for each member"


@invariant("B", source=SOURCE, cost=2)
def test_packed_is_separate(variable_length_attention_vjp: Operation, draw: Draw) -> None:
    """The gradients of each member's queries, keys and values are those that it has alone."""
    (q, k, v, ends_q, ends_k), _ = draw_inputs(draw)
    i = int(np.argmax(np.diff(ends_q)))
    (a, b), (c, d) = ends_q[i : i + 2], ends_k[i : i + 2]
    cotangent = draw.vectors((*q.shape[:2], v.shape[2]))
    for name, part in (("q", slice(a, b)), ("k", slice(c, d)), ("v", slice(c, d))):
        own = (cotangent[a:b], q[a:b], k[c:d], v[c:d], np.array([0, b - a]), np.array([0, d - c]))
        alone = variable_length_attention_vjp(*own, wrt=name)
        assert_equal(variable_length_attention_vjp(cotangent, q, k, v, ends_q, ends_k, wrt=name)[part], alone)


@invariant("E", source=SOURCE, cost=2)
def test_members_do_not_leak(variable_length_attention_vjp: Operation, draw: Draw) -> None:
    """Where one member alone has a cotangent, the keys and values of all others have gradients of exactly 0."""
    (q, k, v, ends_q, ends_k), _ = draw_inputs(draw)
    i = int(np.argmax(np.diff(ends_q)))
    cotangent = np.zeros((*q.shape[:2], v.shape[2]))
    cotangent[ends_q[i] : ends_q[i + 1]] = draw.vectors(cotangent[ends_q[i] : ends_q[i + 1]].shape)
    others = np.ones(len(k), dtype=bool)
    others[ends_k[i] : ends_k[i + 1]] = False
    for name in ("k", "v"):
        assert_all_zero(variable_length_attention_vjp(cotangent, q, k, v, ends_q, ends_k, wrt=name), others)
