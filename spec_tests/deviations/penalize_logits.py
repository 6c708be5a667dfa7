"""What goes wrong with penalize_logits: the sign of a logit, what is counted, in which order, and what is no token."""

from typing import Any

import numpy as np

from reference_numpy._occurrences import occurrences
from reference_numpy.log_softmax import log_softmax
from reference_numpy.penalize_logits import penalize_logits

from . import HALF, deviation


def _seen(logits: Any, output_ids: Any, prompt_ids: Any) -> np.ndarray:
    seen = occurrences(output_ids, logits.shape) > 0
    return seen if prompt_ids is None else seen | (occurrences(prompt_ids, logits.shape) > 0)


def _penalized_by(logits: Any, factor: Any) -> Any:
    """Return logits with a repetition penalty that differs from token to token."""
    return np.maximum(logits, 0.0) / factor + np.minimum(logits, 0.0) * factor


@deviation(
    "reference",
    "repetition_never_raises",
    "repetition_of_each_sign",
    seen=(
        "https://github.com/huggingface/transformers/issues/2302",
        "https://github.com/NVIDIA-NeMo/Speech/issues/8194",
        "https://github.com/IEIT-Yuan/Yuan-2.0/pull/111",
    ),
)
def negative_logits_divided(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """negative logits are divided by the repetition_penalty, too, so that a penalty raises them.

    Shows: negative logits of tokens that occur. Hides: positive logits.
    """
    seen = _seen(logits, output_ids, prompt_ids)
    return penalize_logits(np.where(seen, logits / repetition_penalty, logits), output_ids, None, logit_bias, **options)


@deviation("reference", "repetition_never_raises")
def repetition_inverted(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """positive logits are multiplied by the repetition_penalty and negative ones divided: tokens that occur are encouraged.

    Shows: a repetition_penalty other than 1. Hides: 1.
    """
    z = np.where(_seen(logits, output_ids, prompt_ids), _penalized_by(logits, 1 / repetition_penalty), logits)
    return penalize_logits(z, output_ids, None, logit_bias, **options)


@deviation("reference", "repetition_is_applied_once", seen=("https://github.com/huggingface/transformers.js/pull/1062",))
def once_per_occurrence(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """the repetition penalty is applied once for each occurrence: ρ to the power of the count.

    Shows: a token that occurs twice. Hides: ids that all differ.
    """
    count = occurrences(output_ids, logits.shape)
    count = count if prompt_ids is None else count + occurrences(prompt_ids, logits.shape)
    z = np.where(count > 0, _penalized_by(logits, np.power(repetition_penalty, count)), logits)
    return penalize_logits(z, output_ids, None, logit_bias, **options)


@deviation("reference", "repetition_is_applied_once", seen=("https://github.com/sgl-project/sglang-omni/issues/1360",))
def once_for_the_prompt_and_once_for_the_output(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """a token that is in the prompt and in the output has the repetition penalty twice.

    Shows: a token in both. Hides: no prompt.
    """
    z = logits
    if prompt_ids is not None:
        z = penalize_logits(logits, prompt_ids, repetition_penalty=repetition_penalty)
    return penalize_logits(z, output_ids, None, logit_bias, repetition_penalty=repetition_penalty, **options)


@deviation("reference")
def prompt_ignored(logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any) -> Any:
    """the repetition penalty does not see the prompt.

    Shows: a token of the prompt that is not in the output. Hides: no prompt.
    """
    return penalize_logits(logits, output_ids, None, logit_bias, **options)


@deviation("reference", "the_prompt_has_no_count", kind="convention")
def prompt_counted(logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any) -> Any:
    """the frequency_penalty and the presence_penalty see the prompt, too, as those of llama.cpp do.

    Shows: a prompt, and one of these penalties. Hides: no prompt.
    """
    ids = output_ids if prompt_ids is None else np.concatenate([prompt_ids, output_ids], axis=-1)
    return penalize_logits(logits, ids, None, logit_bias, **options)


@deviation("reference", "frequency_is_linear_in_counts")
def frequency_without_the_count(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, presence_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the frequency_penalty is subtracted once, however often a token occurs.

    Shows: a token that is twice in the output. Hides: ids that all differ.
    """
    z = penalize_logits(logits, output_ids, prompt_ids, presence_penalty=presence_penalty, **options)
    return penalize_logits(z, output_ids, None, logit_bias, presence_penalty=frequency_penalty)


@deviation("reference", "presence_counts_once")
def presence_by_the_count(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, presence_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the presence_penalty is subtracted once for each occurrence, as the frequency_penalty is.

    Shows: a token that is twice in the output. Hides: ids that all differ.
    """
    z = penalize_logits(logits, output_ids, prompt_ids, frequency_penalty=frequency_penalty, **options)
    return penalize_logits(z, output_ids, None, logit_bias, frequency_penalty=presence_penalty)


@deviation("reference", "frequency_is_linear_in_counts", "presence_counts_once")
def penalties_added(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, presence_penalty: float = 0.0, **options: Any,
) -> Any:  # fmt: skip
    """the frequency_penalty and the presence_penalty are added, not subtracted.

    Shows: one of the two. Hides: neither.
    """
    given = {"frequency_penalty": -frequency_penalty, "presence_penalty": -presence_penalty}
    return penalize_logits(logits, output_ids, prompt_ids, logit_bias, **given, **options)


@deviation("reference")
def repetition_after_the_others(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """the repetition penalty is applied last, to logits from which the two other penalties have been subtracted.

    Shows: a repetition_penalty beside another one. Hides: one penalty alone.
    """
    z = penalize_logits(logits, output_ids, **options)
    return penalize_logits(z, output_ids, prompt_ids, logit_bias, repetition_penalty=repetition_penalty)


@deviation("reference", "bias_is_added_last")
def bias_before_the_penalties(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """logit_bias is added first, so that it is penalized together with the logit.

    Shows: a bias of a token that occurs, and a repetition_penalty. Hides: no repetition_penalty.
    """
    z = logits if logit_bias is None else penalize_logits(logits, output_ids, None, logit_bias)
    return penalize_logits(z, output_ids, prompt_ids, **options)


@deviation("reference", "bias_is_added_last")
def bias_divided(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """logit_bias is divided by the repetition_penalty, for every token.

    Shows: a bias and a repetition_penalty. Hides: one of them alone.
    """
    bias = None if logit_bias is None else logit_bias / repetition_penalty
    return penalize_logits(logits, output_ids, prompt_ids, bias, repetition_penalty=repetition_penalty, **options)


@deviation("reference", "bias_is_added_last")
def bias_where_a_token_occurs(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """logit_bias is added where a token has occurred alone.

    Shows: a bias of another token. Hides: no bias.
    """
    bias = None if logit_bias is None else np.where(_seen(logits, output_ids, prompt_ids), logit_bias, 0.0)
    return penalize_logits(logits, output_ids, prompt_ids, bias, **options)


@deviation("minus_infinity_stays")
def banned_by_a_large_number(logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any) -> Any:
    """a logit_bias of −∞ is taken for −10⁴, so that the token can still be drawn.

    Shows: a bias of −∞. Hides: finite biases.
    """
    bias = None if logit_bias is None else np.maximum(logit_bias, -1e4)
    return penalize_logits(logits, output_ids, prompt_ids, bias, **options)


@deviation("minus_infinity_stays")
def penalized_by_a_difference(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """what the repetition penalty changes is computed as a difference, which is NaN for a logit of −∞.

    Shows: a logit of −∞ whose token occurs. Hides: finite logits.
    """
    with np.errstate(invalid="ignore"):
        change = _penalized_by(logits, repetition_penalty) - logits
    z = np.where(_seen(logits, output_ids, prompt_ids), logits + change, logits)
    return penalize_logits(z, output_ids, None, logit_bias, **options)


@deviation("reference", "a_token_that_does_not_occur")
def every_token_penalized(
    logits: Any,
    output_ids: Any,
    prompt_ids: Any = None,
    logit_bias: Any = None,
    *,
    repetition_penalty: float = 1.0,
    **options: Any,
) -> Any:
    """the repetition penalty is applied to the whole vocabulary.

    Shows: a token that does not occur. Hides: rows in which all tokens occur.
    """
    return penalize_logits(_penalized_by(logits, repetition_penalty), output_ids, None, logit_bias, **options)


@deviation("no_penalty", "a_token_that_does_not_occur")
def logarithms_of_probabilities(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """the logits are normalized first, to logarithms of probabilities, all of which are negative.

    Shows: logits that are not normalized. Hides: log-probabilities.
    """
    return penalize_logits(log_softmax(logits, axis=-1), output_ids, prompt_ids, logit_bias, **options)


@deviation("reference")
def last_id_alone(logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any) -> Any:
    """only the last id of the output is looked at.

    Shows: two different ids. Hides: an output of one id.
    """
    return penalize_logits(logits, output_ids[..., -1:], prompt_ids, logit_bias, **options)


@deviation("no_token_changes_nothing", kind="fault")
def no_token_is_the_last(
    penalize: Any, logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """an id of −1 counts as the last token of the vocabulary.

    Shows: ids of −1. Hides: ids that are tokens.
    """
    wrapped = (x if x is None else np.where(x < 0, logits.shape[-1] - 1, x) for x in (output_ids, prompt_ids))
    return penalize(logits, *wrapped, logit_bias, **options)


@deviation("permuted_vocabulary", kind="fault")
def token_zero_is_padding(
    penalize: Any, logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """the token 0 is taken for padding, and never penalized.

    Shows: the id 0. Hides: ids from 1 on.
    """
    y = penalize(logits, output_ids, prompt_ids, logit_bias, **options)
    plain_one = penalize(logits, output_ids[..., :0], None, logit_bias)
    return np.where(np.arange(logits.shape[-1]) == 0, plain_one, y)


@deviation("order_of_the_ids", kind="fault")
def last_run_counted(
    penalize: Any, logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """a token's count is the length of its last run of equal ids: ids that are not sorted are counted as if they were.

    Shows: a token that occurs twice, with another one between. Hides: equal ids side by side.
    """
    ids = np.array(output_ids)
    for row in ids.reshape(-1, ids.shape[-1]) if ids.size else ():
        for token in set(row.tolist()):
            places = np.flatnonzero(row == token)
            run = 1 + int(np.argmin(np.append(np.diff(places[::-1]) == -1, False)))
            row[places[:-run]] = -1
    return penalize(logits, ids, prompt_ids, logit_bias, **options)


@deviation("frequency_is_linear_in_counts", kind="fault")
def count_of_eight_bits(
    penalize: Any, logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None, **options: Any
) -> Any:
    """counts are kept in eight bits: a token that occurs 256 times has the count 0.

    Shows: 256 occurrences. Hides: fewer.
    """
    ids = np.array(output_ids)
    for row in ids.reshape(-1, ids.shape[-1]) if ids.size else ():
        for token in set(row.tolist()):
            places = np.flatnonzero(row == token)
            row[places[: len(places) // 256 * 256]] = -1
    return penalize(logits, ids, prompt_ids, logit_bias, **options)


@deviation("reference", kind="arithmetic", dtypes=HALF)
def every_penalty_rounded(
    logits: Any, output_ids: Any, prompt_ids: Any = None, logit_bias: Any = None,
    *, frequency_penalty: float = 0.0, presence_penalty: float = 0.0, held: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """the result of each penalty is rounded to the dtype of the logits.

    Shows: two penalties. Hides: one, float32.
    """
    held = held or (lambda x: x)
    z = held(penalize_logits(logits, output_ids, prompt_ids, **options))
    z = held(penalize_logits(z, output_ids, frequency_penalty=frequency_penalty))
    z = held(penalize_logits(z, output_ids, presence_penalty=presence_penalty))
    return z if logit_bias is None else penalize_logits(z, output_ids, None, logit_bias)
