"""What goes wrong with penalize_logits where penalties are exchanged or added, or count other occurrences."""

from typing import Any

import numpy as np

from reference_numpy._occurrences import occurrences
from reference_numpy.penalize_logits import penalize_logits

from . import deviation


@deviation("reference", "frequency_is_linear_in_counts", "presence_counts_once")
def presence_and_frequency_exchanged(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, presence_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the frequency_penalty and the presence_penalty are exchanged: the latter is subtracted for each occurrence.

    Shows: a token that is twice in the output. Hides: ids that all differ, with equal penalties.
    """
    given = {"frequency_penalty": presence_penalty, "presence_penalty": frequency_penalty}
    return penalize_logits(logits, output_ids, prompt_ids, logit_bias, **given, **options)


@deviation("reference")
def frequency_added(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the frequency_penalty is added, not subtracted.

    Shows: a frequency_penalty. Hides: none.
    """
    return penalize_logits(logits, output_ids, prompt_ids, logit_bias, frequency_penalty=-frequency_penalty, **options)


@deviation("reference")
def presence_added(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, presence_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the presence_penalty is added, not subtracted.

    Shows: a presence_penalty. Hides: none.
    """
    return penalize_logits(logits, output_ids, prompt_ids, logit_bias, presence_penalty=-presence_penalty, **options)


@deviation("reference")
def share_of_the_output(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the frequency_penalty is multiplied by the share of a token in output_ids, and not by its count.

    Shows: more than one id. Hides: no frequency_penalty; one id.
    """
    n = max(np.shape(output_ids)[-1], 1)
    return penalize_logits(logits, output_ids, prompt_ids, logit_bias, frequency_penalty=frequency_penalty / n, **options)


@deviation("reference")
def first_occurrence_is_free(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, presence_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the frequency_penalty is subtracted for each occurrence but the first.

    Shows: a frequency_penalty and a token that occurs. Hides: no frequency_penalty.
    """
    given = {"frequency_penalty": frequency_penalty, "presence_penalty": presence_penalty - frequency_penalty}
    return penalize_logits(logits, output_ids, prompt_ids, logit_bias, **given, **options)


@deviation("reference")
def repetition_of_the_prompt_alone(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, repetition_penalty: float = 1.0, **options: Any,
) -> Any:  # fmt: skip
    """the repetition penalty sees the prompt alone where there is one.

    Shows: a token of the output that is not in the prompt. Hides: no prompt.
    """
    ids = output_ids if prompt_ids is None else prompt_ids
    z = penalize_logits(logits, ids, repetition_penalty=repetition_penalty)
    return penalize_logits(z, output_ids, None, logit_bias, **options)


@deviation("reference", kind="convention")
def presence_in_the_prompt(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, presence_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the presence_penalty sees the prompt, too; the frequency_penalty does not.

    Shows: a prompt, and a presence_penalty. Hides: no prompt.
    """
    z = penalize_logits(logits, output_ids, prompt_ids, **options)
    ids = output_ids if prompt_ids is None else np.concatenate([prompt_ids, output_ids], axis=-1)
    return penalize_logits(z, ids, None, logit_bias, presence_penalty=presence_penalty)


@deviation("reference", "repetition_of_each_sign", seen=("https://github.com/huggingface/transformers/pull/2303",))
def repetition_by_a_difference(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, repetition_penalty: float = 1.0, **options: Any,
) -> Any:  # fmt: skip
    """the logarithm of the repetition_penalty is subtracted from logits of either sign: their probability is divided by it.

    Shows: a repetition_penalty other than 1. Hides: 1.
    """
    seen = occurrences(output_ids, logits.shape)
    seen = seen if prompt_ids is None else seen + occurrences(prompt_ids, logits.shape)
    z = np.where(seen > 0, logits - np.log(repetition_penalty), logits)
    return penalize_logits(z, output_ids, None, logit_bias, **options)


@deviation("reference")
def last_of_the_output_uncounted(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """the last id of the output is not yet counted: penalties see the output up to the step before.

    Shows: a last id that has not occurred before. Hides: an output without ids.
    """
    return penalize_logits(logits, output_ids[..., :-1], prompt_ids, logit_bias, **options)
