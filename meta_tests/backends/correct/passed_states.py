"""Recurrent states that are passed otherwise: in the dtype of the other arguments, in either, or with their axes exchanged."""

from .tokens_first import ChunksWithTokensFirst, TokenByToken


class StatesOf16Bits(TokenByToken):
    """Token by token; states are stored in the dtype of the arguments, and those of linear_attention have d_k last."""

    conventions = {"token_axis": "before heads", "state_dtype": "input", "state_layout": "vk"}

    def linear_attention(self, q, k, v, g=None, beta=None, state=None, cu_seqlens=None, *, scale=None, qk_l2norm=False):
        given = None if state is None else state.swapaxes(-1, -2)
        out, after = super().linear_attention(q, k, v, g, beta, given, cu_seqlens, scale=scale, qk_l2norm=qk_l2norm)
        return out, after.swapaxes(-1, -2).astype(q.dtype)

    def mamba2_scan(self, x, *arrays, state=None, **options):
        out, after = super().mamba2_scan(x, *arrays, state=state, **options)
        return out, after.astype(x.dtype)


class StatesAsGiven(ChunksWithTokensFirst):
    """In chunks; a state has the dtype of the one that is given, as in ONNX, and d_k is its last axis."""

    conventions = {"token_axis": "before heads", "state_dtype": "given", "state_layout": "vk"}

    def linear_attention(self, q, k, v, g=None, beta=None, state=None, *, scale=None, qk_l2norm=False):
        given = None if state is None else (state.float() if k.element_size() == 2 else state).mT
        out, after = super().linear_attention(q, k, v, g, beta, given, scale=scale, qk_l2norm=qk_l2norm)
        return out, after.mT.to(q.dtype if state is None else state.dtype).clone()

    def mamba2_scan(self, x, *arrays, state=None, **options):
        given = state if state is None or x.element_size() > 2 else state.float()
        out, after = super().mamba2_scan(x, *arrays, state=given, **options)
        return out, after.to(x.dtype if state is None else state.dtype)
