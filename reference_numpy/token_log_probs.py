from typing import Any

import numpy as np

from ._marks import finite_or_zero
from ._tempered import mean_of, tempered


def token_log_probs(logits: Any, targets: Any, *, temperature: float = 1.0) -> Any:
    """Logarithm of the probability of each token that was drawn, and the entropy of what it was drawn from.

        z = logits / temperature,   log_probs = z_target - logsumexp(z),   entropy = logsumexp(z) - sum(softmax(z) z)

    An entry of -inf adds 0 to the entropy.

    Shapes
        logits (..., vocab),  targets (...) integers  ->  log_probs (...),  entropy (...)
    Dtypes
        log_probs and entropy as the arguments, or float32 or wider
    Units
        Nats.
    Domain
        logits finite, or -inf where no target is; 0 <= targets < vocab; temperature > 0.
    Edges
        A vocabulary of one, or one finite logit, gives 0 for both. Equal logits give -log(vocab) and log(vocab). The log_probs
        are minus the cross_entropy without a reduction, at the temperature 1.
    Choices
        The entropy is that of the tempered distribution, as the log_probs are. Code may compute -sum(p log p) as well. Computed
        in float32 or wider, since a rounding of a log_prob to 16 bits changes a ratio of probabilities by 3 percent.
    Source
        CS336 assignment 5, run_compute_entropy and run_get_response_log_probs. log_probs_from_logits of verl;
        selective_log_softmax of TRL.

    Three tokens of the probabilities 1/4, 1/4 and 1/2, and the last at half of the temperature:

    >>> log_probs, entropy = token_log_probs([[0.0, 0.0, np.log(2.0)]], [2])
    >>> log_probs.round(4), entropy.round(4)
    (array([-0.6931]), array([1.0397]))
    >>> np.exp(token_log_probs([[0.0, 0.0, np.log(2.0)]], [2], temperature=0.5)[0]).round(4)
    array([0.6667])
    """
    z, p, lse = tempered(logits, temperature)
    ids, shape = np.ravel(np.asarray(targets)), np.shape(targets)
    entropy = lse - mean_of(p, finite_or_zero(z), lse)
    return np.reshape(z[np.arange(len(ids)), ids] - lse, shape), np.reshape(entropy, shape)
