"""Penalties of logits by other formulas than those of the oracle: once for each occurrence, or collected first."""

import numpy as np


def _rows(*arrays):
    """Each array with one axis before the last."""
    return [x if x is None else x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1]) for x in arrays]


def _repetition(z, tokens, penalty):
    z[tokens] = np.where(z[tokens] < 0, z[tokens] * penalty, z[tokens] / penalty)


class OneOccurrenceAtATime:
    """A loop over the ids: the frequency penalty is subtracted for each, and rounded each time, after the presence penalty."""

    framework = "numpy"
    dtypes = ("float64", "float32", "float16")
    domain = {"penalize_logits": {"padding": True}}

    def penalize_logits(
        self, logits, output_ids, prompt_ids=None, logit_bias=None,
        *, repetition_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0,
    ):  # fmt: skip
        wide = np.float64 if logits.dtype == np.float64 else np.float32
        result = []
        for z, ids, prompt, bias in self._all_rows(logits, output_ids, prompt_ids, logit_bias):
            z, ids = z.astype(wide), ids[ids >= 0]
            seen = ids if prompt is None else np.append(ids, prompt[prompt >= 0])
            _repetition(z, np.unique(seen), wide(repetition_penalty))
            z[np.unique(ids)] -= wide(presence_penalty)
            for token in ids:
                z[token] -= wide(frequency_penalty)
            result.append(z if bias is None else z + bias.astype(wide))
        return np.reshape(np.asarray(result, dtype=wide), logits.shape).astype(logits.dtype)

    def _all_rows(self, logits, output_ids, prompt_ids, logit_bias):
        z, ids, prompt, bias = _rows(logits, output_ids, prompt_ids, logit_bias)
        for i in range(len(z)):
            yield z[i], ids[i], prompt if prompt is None else prompt[i], bias if bias is None else bias[i]


class CollectedFirst:
    """The penalties are added up in an array of zeros, once for each occurrence, which is added to the bias and to the logits."""

    framework = "numpy"
    dtypes = ("float64", "float32", "float16")

    def penalize_logits(
        self, logits, output_ids, prompt_ids=None, logit_bias=None,
        *, repetition_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0,
    ):  # fmt: skip
        wide = np.float64 if logits.dtype == np.float64 else np.float32
        z, ids, prompt, bias = _rows(logits.astype(wide), output_ids, prompt_ids, logit_bias)
        rows = np.arange(len(z))[:, None]
        seen = np.zeros(z.shape, bool)
        seen[rows, ids] = True
        change = np.where(seen, -wide(presence_penalty), wide(0))
        np.add.at(change, (rows, ids), -wide(frequency_penalty))
        if bias is not None:
            change = change + bias
        if prompt is not None:
            seen[rows, prompt] = True
        scale = np.where(z > 0, 1 / wide(repetition_penalty), wide(repetition_penalty))
        y = np.where(seen, z * scale, z) + change
        return np.reshape(y, logits.shape).astype(logits.dtype)
