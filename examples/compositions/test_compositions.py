"""Judge the two blocks: all at once, in parts that hand the states on, and token by token."""

import equations
import numpy as np
import pytest
from latent_attention_block import latent_attention_block
from linear_attention_block import linear_attention_block

import spec_tests

D = 12  # features of a token


def matrix(rng, rows, columns):
    return rng.standard_normal((rows, columns)) / np.sqrt(columns)


def draw_linear(rng, n):
    """Two key heads of width 4, four value heads of width 3, filters of four taps."""
    mixed, values, heads = 2 * 2 * 4 + 4 * 3, 4 * 3, 4
    weights = {"w_qkv": matrix(rng, mixed, D), "w_z": matrix(rng, values, D), "w_o": matrix(rng, D, values)}
    weights |= {"w_a": matrix(rng, heads, D), "w_b": matrix(rng, heads, D), "taps": rng.standard_normal((mixed, 4)) / 2}
    weights |= {"a_log": rng.uniform(-2, 1.5, heads), "dt_bias": rng.uniform(-3, 1, (heads, 1)), "norm": rng.uniform(0.5, 1.5, 3)}
    return {"x": rng.standard_normal((2, n, D)), "weights": weights | {"key_heads": 2, "key_width": 4}}


def draw_latent(rng, n):
    """Three heads of 4 features and 4 rotated ones, a latent of 5."""
    weights = {"w_dq": matrix(rng, 7, D), "q_norm": rng.uniform(0.5, 1.5, 7), "w_uq": matrix(rng, 3 * 8, 7)}
    weights |= {"w_dkv": matrix(rng, 5, D), "kv_norm": rng.uniform(0.5, 1.5, 5), "w_kr": matrix(rng, 4, D)}
    weights |= {"w_uk": rng.standard_normal((3, 4, 5)), "w_uv": rng.standard_normal((3, 3, 5)), "w_o": matrix(rng, D, 9)}
    return {"x": rng.standard_normal((2, n, D)), "weights": weights}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linear_attention_block(dtype):
    spec_tests.check_composition(
        linear_attention_block, equations.linear_attention_block, draw_linear,
        states=("columns", "state"), tokens={"x": -2, "out": -2}, dtype=dtype,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_latent_attention_block(dtype):
    spec_tests.check_composition(
        latent_attention_block, equations.latent_attention_block, draw_latent,
        states=("latents", "keys"), tokens={"x": -2, "out": -2}, dtype=dtype,
    )  # fmt: skip
