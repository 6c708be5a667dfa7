def parameter_count(
    *,
    d_model: int,
    d_ff: int,
    num_layers: int,
    num_heads: int = 1,
    num_kv_heads: int | None = None,
    vocab_size: int = 0,
    style: str = "decoder",
) -> int:
    """Count the trained numbers of a transformer, from its dimensions alone.

        decoder:  L (2 d d_k (h + h_kv) + 3 d f + 2 d) + d + 2 vocab d
        encoder:  L (2 d d_k (h + h_kv) + d_k (h + 2 h_kv) + d + 2 d f + f + d + 4 d) + vocab d

    with d = d_model, f = d_ff, L = num_layers, h = num_heads, h_kv = num_kv_heads, d_k = d // h.

    Dtypes
        int64
    Units
        Numbers, not bytes.
    Domain
        Integers: d_model >= num_heads >= 1, the others >= 0.
    Edges
        Exact. num_heads changes nothing while h_kv = h and h divides d_model.

    Raises
        ValueError where style is neither "decoder" nor "encoder", or h_kv does not divide h.
    Choices
        decoder: the arrays of transformer_lm (swiglu, no biases, a last norm, a head of its own). encoder:
        biases everywhere, two layer norms with bias and a two-matrix feed-forward in each layer, nothing after
        the last one, and one embedding if vocab_size is given: PyTorch's nn.TransformerEncoder.
    Source
        Exercise 6 (encoder). CS336 assignment 1, section 3.5 (decoder).

    Deep and narrow against shallow and wide, as in the exercise:

    >>> parameter_count(d_model=256, d_ff=1024, num_layers=24, num_heads=4, style="encoder")
    18954240
    >>> parameter_count(d_model=1024, d_ff=4096, num_layers=6, num_heads=16, style="encoder")
    75577344

    """
    h_kv = num_heads if num_kv_heads is None else num_kv_heads
    if num_heads % h_kv:
        raise ValueError(f"parameter_count: {num_heads} query heads cannot be shared evenly by {h_kv} key/value heads.")
    d_k = d_model // num_heads
    attention = 2 * d_model * d_k * (num_heads + h_kv)
    if style == "decoder":
        layer = attention + 3 * d_model * d_ff + 2 * d_model
        return num_layers * layer + d_model + 2 * vocab_size * d_model
    if style == "encoder":
        biases = d_k * (num_heads + 2 * h_kv) + d_model + d_ff + d_model
        layer = attention + 2 * d_model * d_ff + biases + 4 * d_model
        return num_layers * layer + vocab_size * d_model
    raise ValueError(f"parameter_count: style={style!r} is unknown; there are 'decoder' and 'encoder'.")
