"""From logits to a token, of torch_cpu: penalties, filters, tokens drawn, and drafts verified. All of it is float32 or wider."""

import torch

from ._torch_functions import _widened


def _occurrences(ids, vocab):
    """How often each token occurs in the ids of its row. An id of -1 is no token."""
    counts = torch.zeros((*ids.shape[:-1], vocab + 1), dtype=torch.int64, device=ids.device)
    ids = ids.to(torch.int64)
    return counts.scatter_add(-1, ids.where(ids >= 0, vocab), torch.ones_like(ids))[..., :vocab]


def penalize_logits(
    logits, output_ids, prompt_ids=None, logit_bias=None,
    *, repetition_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0,
):  # fmt: skip
    z, counts = _widened(logits), _occurrences(output_ids, logits.shape[-1])
    seen = counts > 0 if prompt_ids is None else (counts > 0) | (_occurrences(prompt_ids, logits.shape[-1]) > 0)
    z = torch.where(seen, torch.where(z > 0, z / repetition_penalty, z * repetition_penalty), z)
    z = z - frequency_penalty * counts.to(z.dtype) - presence_penalty * (counts > 0).to(z.dtype)
    return (z if logit_bias is None else z + logit_bias).to(logits.dtype)


def verify_draft(draft_tokens, draft_probabilities, target_probabilities, uniforms, final_uniforms):
    p, x = target_probabilities, draft_tokens.to(torch.int64)
    (b, n), vocab = x.shape, p.shape[-1]
    q = torch.nn.functional.one_hot(x, vocab).to(p.dtype) if draft_probabilities is None else draft_probabilities
    of_p, of_q = (y.gather(-1, x[..., None])[..., 0] for y in (p[:, :n], q))
    accepted = (uniforms * of_q < of_p).to(torch.int64).cumprod(-1).sum(-1)
    rows = torch.arange(b, device=x.device)
    target = p[rows, accepted]
    residual = (target - torch.cat([q, torch.zeros_like(p[:, :1])], dim=1)[rows, accepted]).clamp(min=0)
    residual = torch.where(residual.sum(-1, keepdim=True) > 0, residual, target)
    residual = residual / residual.sum(-1, keepdim=True)
    drawn = (residual.cumsum(-1) <= final_uniforms[:, None]).sum(-1)
    last = (residual > 0).to(torch.int64).mul(torch.arange(1, vocab + 1, device=x.device)).amax(-1) - 1
    tokens = torch.cat([x, torch.full_like(rows[:, None], -1)], dim=1)
    tokens = tokens.where(torch.arange(n + 1, device=x.device) < accepted[:, None], -1)
    return tokens.scatter(1, accepted[:, None], torch.minimum(drawn, last)[:, None]), accepted


def sampling_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
    """Filters on the tokens in falling order, which are put back into their places: as many are kept as were counted."""
    z, order = (_widened(logits) / temperature).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        z[..., top_k:] = -torch.inf
    p = torch.softmax(z, dim=-1)
    if top_p is not None and top_p < 1:
        z = z.where(p.cumsum(-1) - p < top_p, -torch.inf)
    if min_p:
        z = z.where(p >= min_p * p[..., :1], -torch.inf)
    return torch.empty_like(z).scatter(-1, order, torch.softmax(z, dim=-1))


def sample_with_noise(probabilities, noise, *, method="inverse"):
    p = probabilities
    if method == "inverse":
        place = torch.searchsorted(p.cumsum(-1), noise[..., None].contiguous(), right=True)[..., 0]
        last = (p > 0).to(torch.int64).mul(torch.arange(1, p.shape[-1] + 1, device=p.device)).amax(-1) - 1
        return torch.minimum(place, last)
    return (p / noise if method == "exponential" else p.log() + noise).argmax(-1)


def sample(probabilities, *, seed=0, num_samples=1):
    p = probabilities
    generator = torch.Generator(device=p.device).manual_seed(seed)
    rows = p.reshape(p.shape[:-1].numel(), p.shape[-1])
    if not len(rows):
        return torch.empty((*p.shape[:-1], num_samples), dtype=torch.int64, device=p.device)
    return torch.multinomial(rows, num_samples, replacement=True, generator=generator).reshape(*p.shape[:-1], num_samples)
