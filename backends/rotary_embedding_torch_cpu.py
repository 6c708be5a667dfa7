"""The rotation of rotary-embedding-torch, with one module for each width and theta, as a model keeps one for its layers."""

import functools
from importlib import metadata

import torch
from rotary_embedding_torch import RotaryEmbedding

framework = "torch"
device = "cpu"
version = f"rotary-embedding-torch {metadata.version('rotary-embedding-torch')}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
domain = {"rope": {"positions": "offset", "d_k": range(4, 1025, 2)}}


@functools.cache
def _module(d_k, theta):
    return RotaryEmbedding(d_k, theta=theta)


def rope(x, positions, *, theta=10000.0):
    first = int(positions[0]) if len(positions) else 0
    return _module(x.shape[-1], theta).rotate_queries_or_keys(x, offset=first)
