"""The levels: optional properties, which no equation demands. Each has a name and one sentence that says what holds."""

from types import MappingProxyType

LEVELS = MappingProxyType(
    {
        "bitwise-repeatable": "The same call gives the same bits again.",
        "batch-invariant": "A result has the same bits alone as in a batch.",
        "quarantine": "NaN and infinities in hidden keys and values do not reach the result.",
        "padded-tokens": "Tokens beyond the last of packed sequences change no result.",
        "nan-propagation": "A NaN in the input shows in the result.",
        "limits": "The results for infinite inputs are the limits of the equation.",
        "no-entries": "An axis without entries gives an empty result, and a logsumexp of -inf.",
        "mixed-dtypes": "16-bit inputs with float32 weights give a 16-bit result, rounded once; in a list, each keeps its dtype.",
        "relative-tails": "Results close to 0 are accurate relative to their own size.",
        "attention-range": "Scores beyond the dtype's largest number do not spoil the result.",
        "all-gradients": "Every floating argument that the result depends on has a gradient.",
        "decode-equals-prefill": "Queries give the same bits token by token, in chunks, or all at once.",
        "rank-identical": "All ranks of a sharded backend give the same bits.",
        "signed-zero": "In formats of few bits, −0 and negative numbers that round to 0 give −0.",
        "any-memory": "Misaligned and byte-swapped arrays give what others give.",
        "other-threads": "A call from another thread gives what one from the main thread gives.",
        "transforms": "Under vmap, jvp and vjp of the framework, a function gives what it gives otherwise.",
        "compiled": "Compiled by its framework, a function gives what it gives otherwise.",
        "unbiased": "Rounding errors of many results average out.",
    }
)

SPOILING = ("quarantine", "nan-propagation", "limits", "all-gradients")  # where they do not hold, real programs fail silently
