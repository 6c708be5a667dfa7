def d_ff(d_model: int) -> int:
    """Return the usual hidden width of swiglu: the multiple of 64 nearest to 8/3 of the model's width.

        d_ff = 64 * max(1, floor(d_model / 24 + 1/2))

    Dtypes
        int
    Units
        Features.
    Domain
        d_model >= 1, an integer.
    Edges
        Never less than 64. A tie, at d_model = 12, 36, 60, ..., goes up. Integers alone are used: exact.
    Choices
        With three matrices, 8/3 makes as many parameters as 4 with two. Llama's code rounds up instead, to a
        multiple of its own (256 at first).
    Source
        CS336 assignment 1, section 3.5.2.

    >>> [d_ff(d) for d in (1, 35, 36, 512, 1024, 4096)]
    [64, 64, 128, 1344, 2752, 10944]
    """
    return 64 * max(1, (d_model + 12) // 24)
