"""From logits to a token, of numpy_cpu: penalties, filters, tokens drawn by a given noise or by its own, and drafts verified."""

import math

import numpy as np

from ._numpy_functions import wide


def _occurrences(ids, shape):
    """How often each token occurs in the ids of its row. An id of -1 is no token."""
    counts = np.zeros((*shape[:-1], shape[-1] + 1), np.int64)  # -1 is the column behind the vocabulary
    np.add.at(counts, (*np.indices(ids.shape)[:-1], ids), 1)
    return counts[..., :-1]


@np.errstate(over="ignore")  # a result beyond the dtype is an infinity
def penalize_logits(
    logits, output_ids, prompt_ids=None, logit_bias=None,
    *, repetition_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0,
):  # fmt: skip
    z, counts = wide(logits), _occurrences(output_ids, logits.shape)
    seen = counts > 0 if prompt_ids is None else (counts > 0) | (_occurrences(prompt_ids, logits.shape) > 0)
    z = np.where(seen, np.where(z > 0, z / repetition_penalty, z * repetition_penalty), z).astype(z.dtype)
    z = z - (frequency_penalty * counts).astype(z.dtype)
    z = z - (presence_penalty * (counts > 0)).astype(z.dtype)
    return (z if logit_bias is None else z + logit_bias).astype(logits.dtype)


def _inverse(weights, noise):
    """The first token of each row up to which the weights sum to more than the noise, which is a share of their sum."""
    sums = np.cumsum(weights, axis=-1)
    above = sums > (noise * sums[:, -1])[:, None]
    last = weights.shape[-1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=-1)
    return np.where(above.any(-1), np.argmax(above, axis=-1), last)


def verify_draft(draft_tokens, draft_probabilities, target_probabilities, uniforms, final_uniforms):
    p, (b, n) = target_probabilities, draft_tokens.shape
    rows, places = np.arange(b)[:, None], np.arange(n + 1)
    if draft_probabilities is None:
        q = np.zeros_like(p[:, :n])
        np.put_along_axis(q, draft_tokens[..., None], 1, axis=-1)
    else:
        q = draft_probabilities
    of_x = (rows, places[:n], draft_tokens)
    rejected = np.append(~(uniforms * q[of_x] < p[of_x]), np.ones((b, 1), bool), axis=1)
    accepted = np.argmax(rejected, axis=1)
    q = np.append(q, np.zeros_like(p[:, :1]), axis=1)  # after n tokens there is no draft
    target = p[rows[:, 0], accepted]
    residual = np.maximum(target - q[rows[:, 0], accepted], 0)
    residual = np.where(residual.sum(-1, keepdims=True) > 0, residual, target)
    drawn = _inverse(residual, final_uniforms)
    x = np.append(draft_tokens, draft_tokens[:, :1] * 0 if n else np.zeros((b, 1), np.int64), axis=1)
    tokens = np.where(places < accepted[:, None], x, np.where(places == accepted[:, None], drawn[:, None], -1))
    return tokens, accepted


def _softmax(z):
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def sampling_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
    """Tokens whose logit is below a limit go to -inf, as in transformers: equal tokens share one fate, except at top_p."""
    z = wide(logits) / np.asarray(temperature, wide(logits).dtype)
    if top_k is not None and top_k < z.shape[-1]:
        z = np.where(z < np.sort(z, axis=-1)[..., -top_k, None], -np.inf, z)
    if top_p is not None and top_p < 1:
        order = np.argsort(-z, axis=-1, kind="stable")
        p = np.take_along_axis(_softmax(z), order, axis=-1)
        kept = np.empty(z.shape, bool)
        np.put_along_axis(kept, order, np.cumsum(p, axis=-1) - p < top_p, axis=-1)
        z = np.where(kept, z, -np.inf)
    if min_p:
        p = _softmax(z)
        z = np.where(p < min_p * np.max(p, axis=-1, keepdims=True), -np.inf, z)
    return _softmax(z)


def sample_with_noise(probabilities, noise, *, method="inverse"):
    p = probabilities
    if method == "inverse":
        place = np.sum(np.cumsum(p, axis=-1) <= noise[..., None], axis=-1)
        return np.minimum(place, p.shape[-1] - 1 - np.argmax(p[..., ::-1] > 0, axis=-1))
    with np.errstate(divide="ignore"):
        scores = p / noise if method == "exponential" else np.log(p) + noise
    return np.argmax(scores, axis=-1)


def sample(probabilities, *, seed=0, num_samples=1):
    """Inverse transform, row by row: the sums of a row are searched for all of its uniforms at once."""
    *batch, vocab = probabilities.shape
    rows = probabilities.reshape(math.prod(batch), vocab)
    uniforms = np.random.default_rng(seed).random((len(rows), num_samples))
    tokens = np.empty(uniforms.shape, np.int64)
    for p, u, row in zip(rows, uniforms, tokens, strict=True):
        row[:] = np.minimum(np.searchsorted(np.cumsum(p, dtype=np.float64), u, side="right"), np.flatnonzero(p)[-1])
    return tokens.reshape(*batch, num_samples)
