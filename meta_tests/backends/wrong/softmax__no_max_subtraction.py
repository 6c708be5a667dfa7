"""Take exponentials of the logits themselves, which overflow or all vanish."""

framework = "torch"


def softmax(x, *, axis):
    e = x.exp()
    return e / e.sum(axis, keepdim=True)


caught_by = "softmax.reference"
named = "softmax/no-maximum-subtracted"
