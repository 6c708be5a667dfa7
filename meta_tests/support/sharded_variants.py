"""Wrong sharded implementations: the right ones that ship, each with one fault that others have made.

A variant is a change of the text of a file of `backends/`. All files are copied, so that nothing else differs.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .paths import ROOT

LAYERS, VOCABULARY, ATTENTION, GROUP = (f"_distributed_{name}.py" for name in ("layers", "vocabulary", "attention", "group"))
RING, AXIS = "_distributed_ring.py", "_distributed_other_axis.py"
JAX_LAYERS, JAX_VOCABULARY, JAX_ATTENTION = (f"_jax_ranks_{name}.py" for name in ("layers", "vocabulary", "attention"))
FIRST, SECOND, THIRD = "torch_distributed", "torch_distributed_ring", "jax_shard_map"  # the backends that import these files
BACKENDS = (FIRST, SECOND, THIRD)
WORLD_SIZE = "dist.get_world_size()"


@dataclass(frozen=True)
class Variant:
    """One fault: what it is, the file with the text that it changes, and the operation that it spoils."""

    name: str
    operation: str
    file: str
    old: str
    new: str

    @property
    def backend(self) -> str:
        """The backend that the file belongs to."""
        if self.file.startswith("_jax"):
            return THIRD
        return SECOND if self.file in (RING, AXIS) else FIRST

    def write(self, folder: Path) -> Path:
        """Write the wrong backend into the folder, and return its path."""
        for pattern in ("*torch*.py", "_distributed*.py", "*jax*.py"):
            for path in (ROOT / "backends").glob(pattern):
                shutil.copy(path, folder)
        text = (folder / self.file).read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"{self.name}: {text.count(self.old)} places in {self.file}"
        imported = (
            "" if "import torch.distributed as dist" in text or "dist." not in self.new else "import torch.distributed as dist\n"
        )
        start = text.index('"""', 3) + 4  # after the docstring
        text = text.replace(self.old, self.new)
        (folder / self.file).write_text(text[:start] + imported + text[start:], encoding="utf-8")
        return folder / f"{self.backend}.py"


VARIANTS = (
    Variant(
        "every rank adds the bias",
        "linear",
        LAYERS,
        "y = summed(x @ weight.mT)\n    return y if bias is None else y + bias",
        "y = x @ weight.mT\n    return summed(y if bias is None else y + bias)",
    ),
    Variant(
        "every rank adds its share of the bias, whose gradient is then 1/n",
        "linear",
        LAYERS,
        "y = summed(x @ weight.mT)\n    return y if bias is None else y + bias",
        f"y = x @ weight.mT\n    return summed(y if bias is None else y + bias / {WORLD_SIZE})",
    ),
    Variant(
        "rank 0 alone adds the bias after the sum",
        "linear",
        LAYERS,
        "y = summed(x @ weight.mT)\n    return y if bias is None else y + bias",
        "y = summed(x @ weight.mT)\n    return y if bias is None else y + bias * (RANK == 0)",
    ),
    Variant(
        "the gradient of x is not reduced",
        "swiglu",
        LAYERS,
        "    x = copied(x)\n",
        "",
    ),
    Variant(
        "every rank adds the output bias",
        "swiglu",
        LAYERS,
        "@ w2.mT)\n    return y if b2 is None else y + b2\n\n\n@in_float32\ndef feed_forward",
        "@ w2.mT)\n    return y if b2 is None else y + summed(b2)\n\n\n@in_float32\ndef feed_forward",
    ),
    Variant("the result is not reduced", "feed_forward", LAYERS, "y = summed(h @ w2.mT)", "y = h @ w2.mT"),
    Variant(
        "the sum is stored in 16 bits before it is reduced",
        "feed_forward",
        LAYERS,
        "y = summed(h @ w2.mT)",
        "y = summed((h @ w2.mT).bfloat16().to(h.dtype))",
    ),
    Variant("the gradient of x is not reduced", "glu", LAYERS, "whole.glu(copied(x)", "whole.glu(x"),
    Variant(
        "the gradient of the replicated gain is not reduced",
        "rms_norm",
        LAYERS,
        "whole.rms_norm(x, copied(weight)",
        "whole.rms_norm(x, weight",
    ),
    Variant(
        "the gradient of the replicated bias is not reduced",
        "layer_norm",
        LAYERS,
        "copied(weight), copied(bias)",
        "copied(weight), bias",
    ),
    Variant(
        "the experts' outputs are reduced twice", "mixture_of_experts", LAYERS, "summed(y).reshape", "summed(summed(y)).reshape"
    ),
    Variant(
        "the gradient of the router's weights is not reduced",
        "mixture_of_experts",
        LAYERS,
        "copied(tokens), copied(weights)",
        "copied(tokens), weights",
    ),
    Variant(
        "the router's gradient of x is counted by every rank",
        "mixture_of_experts",
        LAYERS,
        "moe_router(tokens @",
        "moe_router(copied(tokens) @",
    ),
    Variant(
        "the first expert of a rank is found as if shards were even",
        "mixture_of_experts",
        LAYERS,
        "first = sum(map(len, places_of(w1, 0)[:RANK]))",
        "first = RANK * len(w1)",
    ),
    Variant("the first row of each shard is missed", "embedding", VOCABULARY, "(ids >= first) &", "(ids > first) &"),
    Variant(
        "the first row of a rank is found as if shards were even",
        "embedding",
        VOCABULARY,
        "first = sum(len(p) for p in places[:RANK])",
        "first = RANK * len(mine)",
    ),
    Variant(
        "ids of other ranks are clamped to the last row and not masked",
        "embedding",
        VOCABULARY,
        "torch.where(here, ids - first, len(mine))",
        "torch.where(here, ids - first, max(len(mine) - 1, 0))",
    ),
    Variant(
        "the maximum is not reduced",
        "log_softmax",
        VOCABULARY,
        "all_reduce(filled.amax(-1, keepdim=True), dist.ReduceOp.MAX)",
        "filled.amax(-1, keepdim=True)",
    ),
    Variant(
        "the sum of the exponentials is not reduced",
        "log_softmax",
        VOCABULARY,
        "copied(summed(shifted.exp().sum(-1, keepdim=True)))",
        "shifted.exp().sum(-1, keepdim=True)",
    ),
    Variant(
        "the gradient of the sum is not reduced",
        "softmax",
        VOCABULARY,
        "copied(summed(e.sum(-1, keepdim=True)))",
        "summed(e.sum(-1, keepdim=True))",
    ),
    Variant(
        "the gradient of a whole result is reduced, and so n times too large",
        "logsumexp",
        VOCABULARY,
        "(top + summed(torch.exp(x - top).sum(-1, keepdim=True)).log())",
        "(top + copied(summed(torch.exp(x - top).sum(-1, keepdim=True))).log())",
    ),
    Variant(
        "label smoothing takes the mean of the local logits",
        "cross_entropy",
        VOCABULARY,
        "mean = summed(z.sum(-1)) / sum(map(len, places))",
        "mean = z.sum(-1) / max(z.shape[-1], 1)",
    ),
    Variant(
        "label smoothing takes the local size of the vocabulary",
        "cross_entropy",
        VOCABULARY,
        "mean = summed(z.sum(-1)) / sum(map(len, places))",
        "mean = summed(z.sum(-1)) / max(z.shape[-1], 1)",
    ),
    Variant(
        "label smoothing takes the mean of the ranks' means",
        "cross_entropy",
        VOCABULARY,
        "mean = summed(z.sum(-1)) / sum(map(len, places))",
        f"mean = summed(z.sum(-1) / max(z.shape[-1], 1)) / {WORLD_SIZE}",
    ),
    Variant(
        "the target's logit is not reduced",
        "cross_entropy",
        VOCABULARY,
        "lse - summed(padded.gather(-1, _place(ids, places)[:, None])[:, 0])",
        "lse - padded.gather(-1, _place(ids, places)[:, None])[:, 0]",
    ),
    Variant(
        "the gradient of x is not reduced",
        "linear_cross_entropy",
        VOCABULARY,
        "cross_entropy(copied(_widened(x))",
        "cross_entropy(_widened(x)",
    ),
    Variant(
        "heads of keys and values are dealt out in turn",
        "grouped_query_attention",
        ATTENTION,
        "heads[RANK] // group",
        "heads[RANK] % k.shape[-3]",
    ),
    Variant(
        "heads of keys and values are counted from the rank's first",
        "grouped_query_attention",
        ATTENTION,
        "heads[RANK] // group",
        "(heads[RANK] - heads[RANK][:1].sum()) // group",
    ),
    Variant(
        "the gradients of replicated keys and values are not reduced",
        "grouped_query_attention",
        ATTENTION,
        "(copied(x).index_select",
        "(x.index_select",
    ),
    Variant(
        "every rank takes the mask of the first heads",
        "grouped_query_attention",
        ATTENTION,
        "seen = seen.index_select(-3, heads[RANK])",
        "seen = seen[..., : len(heads[RANK]), :, :]",
    ),
    Variant(
        "the causal mask begins anew on each rank",
        "scaled_dot_product_attention",
        ATTENTION,
        "visible(n, m, mask, is_causal).index_select(-2, rows[RANK])",
        "visible(n, m, mask, is_causal)[..., : len(rows[RANK]), :]",
    ),
    Variant(
        "the gradients of gathered keys and values are not reduced",
        "scaled_dot_product_attention",
        GROUP,
        "return all_reduce(g).index_select",
        "return g.index_select",
    ),
    Variant(
        "the gradient of the replicated bias is not reduced",
        "scaled_dot_product_attention",
        ATTENTION,
        "copied(bias.expand(torch.broadcast_shapes(bias.shape, (n, m))))",
        "bias.expand(torch.broadcast_shapes(bias.shape, (n, m)))",
    ),
    Variant(
        "the backward ring uses the rank's own keys and values in each step",
        "attention_with_lse",
        RING,
        "k, v, dk, dv = _next(origin, columns, k, v, dk, dv)",
        "_, _, dk, dv = _next(origin, columns, k, v, dk, dv)",
    ),
    Variant(
        "the ring masks each block as if it were the first",
        "attention_with_lse",
        RING,
        "scores, _ = _scores(q, k, seen, scale, rows[RANK], columns[origin])",
        "scores, _ = _scores(q, k, seen, scale, rows[RANK], torch.arange(k.shape[-2]))",
    ),
    Variant(
        "the running output is not rescaled by the new maximum",
        "attention_with_lse",
        RING,
        "out * old + e @ v",
        "out + e @ v",
    ),
    Variant(
        "the ring leaves out its last block",
        "scaled_dot_product_attention",
        RING,
        "            if k.shape[-2]:\n",
        "            if k.shape[-2] and step < max(1, WORLD_SIZE - 1):\n",
    ),
    Variant(
        "the cotangent of the lse is ignored",
        "attention_with_lse",
        RING,
        "keepdim=True) - g_lse[..., None]",
        "keepdim=True)",
    ),
    Variant(
        "keys in zigzag order are masked as if they were contiguous",
        "grouped_query_attention",
        RING,
        "places_of(q, -2, zigzag), places_of(k, -2, zigzag)",
        "places_of(q, -2, zigzag), places_of(k, -2)",
    ),
    Variant("the gradient of x is not reduced", "linear", AXIS, "whole.linear(copied(x)", "whole.linear(x"),
    Variant(
        "the gradients of replicated weights are not reduced",
        "swiglu",
        AXIS,
        "None if w is None else copied(w)",
        "None if w is None else w",
    ),
    Variant(
        "the mean is over the rank's own hidden units",
        "rms_norm",
        AXIS,
        "copied(summed(h.square().sum(-1, keepdim=True))) / width",
        "h.square().sum(-1, keepdim=True) / max(h.shape[-1], 1)",
    ),
    Variant(
        "the mean is the mean of the ranks' means",
        "layer_norm",
        AXIS,
        "mean = copied(summed(h.sum(-1, keepdim=True))) / width",
        f"mean = copied(summed(h.sum(-1, keepdim=True) / max(h.shape[-1], 1))) / {WORLD_SIZE}",
    ),
    Variant(
        "the gradient of the mean square is not reduced",
        "rms_norm",
        AXIS,
        "copied(summed(h.square().sum(-1, keepdim=True))) / width",
        "summed(h.square().sum(-1, keepdim=True)) / width",
    ),
    Variant(
        "the bias is added before the sum over the devices",
        "linear",
        JAX_LAYERS,
        "_plus(summed(h @ weight.T), bias)",
        "summed(_plus(h @ weight.T, bias))",
    ),
    Variant(
        "the first row of the next rank is taken for the rank's own last one",
        "embedding",
        JAX_VOCABULARY,
        "places < len(weight)",
        "places <= len(weight)",
    ),
    Variant(
        "rows are added to zeros in floating point, which makes subnormal numbers zero",
        "embedding",
        JAX_VOCABULARY,
        "return only(jnp.where(",
        "return summed(jnp.where(",
    ),
    Variant(
        "the sum of exponentials is the rank's own",
        "log_softmax",
        JAX_VOCABULARY,
        "jnp.log(summed(jnp.exp(shifted).sum(axis, keepdims=True)))\n\n    return",
        "jnp.log(jnp.exp(shifted).sum(axis, keepdims=True))\n\n    return",
    ),
    Variant(
        "what fills up the vocabulary takes part in the softmax",
        "log_softmax",
        JAX_VOCABULARY,
        "result=cut(x.ndim, axis), filling=-jnp.inf",
        "result=cut(x.ndim, axis), filling=0",
    ),
    Variant(
        "label smoothing divides by the length of the vocabulary that is filled up",
        "cross_entropy",
        JAX_VOCABULARY,
        "z, 0).sum(-1)) / vocabulary",
        "z, 0).sum(-1)) / summed(z.shape[-1])",
    ),
    Variant(
        "a rank takes the heads of keys and values that the first rank uses",
        "grouped_query_attention",
        JAX_ATTENTION,
        "mine // group",
        "(mine - mine[0]) // group",
    ),
    Variant(
        "the keys are taken for those of the rank after",
        "scaled_dot_product_attention",
        JAX_ATTENTION,
        "(rank() - step)",
        "(rank() + step)",
    ),
    Variant(
        "the mask is that of the rank's own keys in every step of the ring",
        "scaled_dot_product_attention",
        JAX_ATTENTION,
        "of_keys(seen, origin)",
        "of_keys(seen, rank())",
    ),
    Variant(
        "the output is not rescaled when the maximum grows",
        "attention_with_lse",
        JAX_ATTENTION,
        "out * old + e @ v",
        "out + e @ v",
    ),
    Variant(
        "the last step of the ring is left out",
        "attention_with_lse",
        JAX_ATTENTION,
        "for step in range(WORLD_SIZE):",
        "for step in range(max(1, WORLD_SIZE - 1)):",
    ),
)
