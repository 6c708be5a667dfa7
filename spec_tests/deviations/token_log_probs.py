"""What goes wrong with token_log_probs: the temperature, what the entropy is of, and which token is looked up."""

import math
from typing import Any

import numpy as np

from reference_numpy._marks import finite_or_zero
from reference_numpy._sums import rows
from reference_numpy.log_softmax import log_softmax
from reference_numpy.softmax import softmax
from reference_numpy.token_log_probs import token_log_probs

from . import deviation
from ._steps import plain


@deviation("reference", "temperature_divides_the_logits")
def temperature_ignored(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the temperature is not used: the probabilities are not those that the tokens were drawn with.

    Shows: a temperature other than 1. Hides: 1.
    """
    return token_log_probs(logits, targets)


@deviation("reference", "temperature_divides_the_logits")
def temperature_multiplied(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the logits are multiplied by the temperature.

    Shows: a temperature other than 1. Hides: 1.
    """
    return token_log_probs(logits * temperature, targets)


@deviation("reference", "probabilities_sum_to_one", "temperature_divides_the_logits")
def temperature_after_the_logarithm(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the log_probs are divided by the temperature, and not the logits.

    Shows: a temperature other than 1. Hides: 1.
    """
    log_probs, entropy = token_log_probs(logits, targets)
    return log_probs / temperature, entropy


@deviation("reference", "temperature_divides_the_logits")
def entropy_without_the_temperature(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the entropy is that of the logits as they are, without the temperature.

    Shows: a temperature other than 1. Hides: 1.
    """
    return token_log_probs(logits, targets, temperature=temperature)[0], token_log_probs(logits, targets)[1]


@deviation("reference", "entropy_lies_between_zero_and_that_of_equal_logits")
def entropy_negated(logits: Any, targets: Any, **options: Any) -> Any:
    """the entropy is the sum of p log p, without the minus.

    Shows: every row. Hides: a vocabulary of one.
    """
    log_probs, entropy = token_log_probs(logits, targets, **options)
    return log_probs, -entropy


@deviation("reference", "entropy_is_the_mean_surprise")
def entropy_of_the_drawn_token(logits: Any, targets: Any, **options: Any) -> Any:
    """the entropy is minus the log_prob of the target: its estimate from one token.

    Shows: unequal logits. Hides: equal ones.
    """
    log_probs, _ = token_log_probs(logits, targets, **options)
    return log_probs, -log_probs


@deviation("reference", "equal_logits")
def entropy_averaged_over_the_vocabulary(logits: Any, targets: Any, **options: Any) -> Any:
    """the entropy is the mean of −p log p over the vocabulary, and not their sum.

    Shows: two entries or more. Hides: a vocabulary of one.
    """
    log_probs, entropy = token_log_probs(logits, targets, **options)
    return log_probs, entropy / max(logits.shape[-1], 1)


@deviation("reference", "equal_logits", kind="convention")
def entropy_in_bits(logits: Any, targets: Any, **options: Any) -> Any:
    """the entropy is in bits, not in nats.

    Shows: every row. Hides: a vocabulary of one.
    """
    log_probs, entropy = token_log_probs(logits, targets, **options)
    return log_probs, entropy / math.log(2.0)


@deviation("reference", "equal_logits", kind="convention")
def entropy_as_a_share(logits: Any, targets: Any, **options: Any) -> Any:
    """the entropy is divided by ln(vocab), its largest value.

    Shows: three entries or more. Hides: a vocabulary of one.
    """
    log_probs, entropy = token_log_probs(logits, targets, **options)
    return log_probs, entropy / math.log(max(logits.shape[-1], 2))


@deviation("reference", "equal_logits")
def logits_are_taken_for_logarithms(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the entropy is the sum of −p z: the logits are taken for log_probs, without their logsumexp.

    Shows: logits that are not normalized. Hides: logarithms of probabilities.
    """
    z = logits / temperature
    log_probs, _ = token_log_probs(logits, targets, temperature=temperature)
    return log_probs, -np.sum(softmax(z, axis=-1) * finite_or_zero(z), axis=-1)


@deviation("reference", "equal_logits")
def probability_without_its_logarithm(logits: Any, targets: Any, **options: Any) -> Any:
    """the result is the probability of the target, and not its logarithm.

    Shows: every row. Hides: nothing.
    """
    log_probs, entropy = token_log_probs(logits, targets, **options)
    return np.exp(log_probs), entropy


@deviation("reference", "equal_logits")
def negated(logits: Any, targets: Any, **options: Any) -> Any:
    """the log_probs have the sign of a loss: what cross_entropy gives is returned as it is.

    Shows: every row. Hides: a vocabulary of one.
    """
    log_probs, entropy = token_log_probs(logits, targets, **options)
    return -log_probs, entropy


@deviation("reference", "cross_entropy")
def next_token(logits: Any, targets: Any, **options: Any) -> Any:
    """the entry after the target is looked up.

    Shows: unequal logits. Hides: equal ones.
    """
    return token_log_probs(logits, (np.asarray(targets) + 1) % logits.shape[-1], **options)


@deviation("reference", "probabilities_sum_to_one")
def most_probable_token(logits: Any, targets: Any, **options: Any) -> Any:
    """the log_prob is that of the most probable token, whatever the target is.

    Shows: other targets. Hides: the most probable one.
    """
    return token_log_probs(logits, np.argmax(plain(logits), axis=-1), **options)


@deviation("reference", kind="arithmetic")
def probability_plus_a_small_number(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """the logarithms are those of the probability plus 1e-8.

    Shows: a target whose logit is 16 or more below the largest. Hides: others.
    """
    z = rows(logits / temperature)
    p = softmax(z, axis=-1)
    logs, ids = np.log(p + 1e-8), np.ravel(targets)
    log_probs, entropy = logs[np.arange(len(ids)), ids], -np.sum(p * logs, axis=-1)
    return np.reshape(log_probs, np.shape(targets)), np.reshape(entropy, np.shape(targets))


@deviation("reference", "no_overflow", kind="arithmetic")
def logarithm_of_softmax(logits: Any, targets: Any, *, temperature: float = 1.0, held: Any = None) -> Any:
    """softmax is computed first, and then its logarithm: −inf where the probability vanishes, and NaN in the entropy.

    Shows: logits far below the largest. Hides: ordinary logits.
    """
    held = held or (lambda x: x)
    p = held(softmax(rows(logits / temperature), axis=-1))
    ids = np.ravel(targets)
    with np.errstate(all="ignore"):
        logs = np.log(p)
        entropy = -np.sum(p * logs, axis=-1)
    return np.reshape(logs[np.arange(len(ids)), ids], np.shape(targets)), np.reshape(entropy, np.shape(targets))


@deviation("removed_entries_might_be_absent", "no_overflow", kind="arithmetic")
def removed_entries_times_zero(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """entries of −inf are multiplied by their probability of 0 in the entropy, which is NaN.

    Shows: entries of −inf. Hides: finite logits.
    """
    log_probs, entropy = token_log_probs(logits, targets, temperature=temperature)
    with np.errstate(all="ignore"):
        return log_probs, np.where(np.any(np.isneginf(plain(logits)), axis=-1), np.nan, entropy)


@deviation("reference", "shift", "no_overflow", kind="arithmetic")
def no_maximum_subtracted(logits: Any, targets: Any, *, temperature: float = 1.0, held: Any = None) -> Any:
    """the maximum is not subtracted from the logits, so that their exponentials overflow or vanish.

    Shows: logits beyond the range of exp, in float32 from 89 on. Hides: ordinary logits.
    """
    held = held or (lambda x: x)
    z, ids = rows(logits / temperature), np.ravel(targets)
    with np.errstate(all="ignore"):
        e = held(np.exp(z))
        total = held(np.sum(e, axis=-1, keepdims=True))
        logs = z - np.log(total)
        entropy = -np.sum(np.where(np.isneginf(plain(z)), 0.0, e / total * logs), axis=-1)
    return np.reshape(logs[np.arange(len(ids)), ids], np.shape(targets)), np.reshape(entropy, np.shape(targets))


@deviation("reference", kind="arithmetic", dtypes=("bfloat16", "float16"))
def log_probs_in_half(logits: Any, targets: Any, *, temperature: float = 1.0, held: Any = None) -> Any:
    """the logarithms of all probabilities are rounded to 16 bits, and the entropy is made of them.

    Shows: 16 bits. Hides: float32, float64.
    """
    held = held or (lambda x: x)
    logs, ids = held(log_softmax(rows(logits / temperature), axis=-1)), np.ravel(targets)
    p = held(np.exp(logs))
    entropy = -np.sum(p * np.where(np.isneginf(plain(logs)), 0.0, logs), axis=-1)
    return np.reshape(logs[np.arange(len(ids)), ids], np.shape(targets)), np.reshape(entropy, np.shape(targets))
